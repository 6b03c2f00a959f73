"""The surrogates of the methods in the paper's tables, each as it was published.

The one-stage ones take the whole table of entities: labels first, then experts, as `Panel.one_stage` orders them.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from askwho.exceptions import InvalidInputError
from askwho.losses._comp_sum import same_shape, weighted_comp_sum
from askwho.losses._deferral import deferral_weights


def mozannar_sontag(
    scores: Tensor, errors: Tensor, *, n_labels: int, expert_weight: float = 1.0
) -> Float[Tensor, "*batch"]:
    """Return −(α 1{m=y} + 1{m≠y}) log s_y − Σ_j 1{m_j=y} log s_{n+j}, shape (...).

    For several experts the form of Verma, Barrejón and Nalisnick (2023): one term for each expert that is right.

    Args:
        scores: shape (..., n_labels + J).
        errors: zero-one errors, the shape of `scores`; exactly one label is right.
        n_labels: how many of the entities are labels.
        expert_weight: α, below 1 to lean on the expert where it is right; published for one expert.

    References:
        Mozannar, Sontag. Consistent estimators for learning to defer to an expert. ICML 2020, Equation 3.
    """
    right = _right(scores, errors, n_labels)
    if expert_weight != 1:
        if scores.shape[-1] != n_labels + 1:
            raise InvalidInputError(
                f"`expert_weight` must be 1 for several experts, got {expert_weight}: it was published for one."
            )
        labels, expert = right[..., :n_labels], right[..., n_labels:]
        right = torch.cat([labels * (1 - (1 - expert_weight) * expert), expert], dim=-1)
    return weighted_comp_sum(scores, right)


def one_vs_all(scores: Tensor, errors: Tensor, *, n_labels: int) -> Float[Tensor, "*batch"]:
    """Return the logistic loss of one binary problem an entity, is it right or not, shape (...).

    With φ(z) = log(1 + e^{−z}): φ(g_y) + Σ_{y'≠y} φ(−g_{y'}) + Σ_j [1{m_j=y} φ(g_{n+j}) + 1{m_j≠y} φ(−g_{n+j})].
    For several experts the form of Verma, Barrejón and Nalisnick (2023).

    Args:
        scores: shape (..., n_labels + J).
        errors: zero-one errors, the shape of `scores`; exactly one label is right.
        n_labels: how many of the entities are labels.

    References:
        Verma, Nalisnick. Calibrated learning to defer with one-vs-all classifiers. ICML 2022.
    """
    sign = 2 * _right(scores, errors, n_labels) - 1
    return softplus(-sign * scores).sum(dim=-1)


def mao_one_stage(scores: Tensor, costs: Tensor, *, n_labels: int, u: float = 1.0) -> Float[Tensor, "*batch"]:
    """Return Φ^u(h, x, y) + Σ_j (1 − c_j) Φ^u(h, x, n+j), shape (...) (paper, Definition 3.1).

    Args:
        scores: shape (..., n_labels + J).
        costs: the shape of `scores`: zero-one errors of the labels, exactly one right; costs in [0, 1] of the experts.
        n_labels: how many of the entities are labels.
        u: the member of the comp-sum family.

    References:
        Mao, Mohri, Zhong. Principled approaches for learning to defer with multiple experts. ISAIM 2024.
    """
    same_shape(scores, costs, "costs")
    _check_labels(scores, n_labels)
    _one_right_label(costs[..., :n_labels], "costs")
    return weighted_comp_sum(scores, deferral_weights(costs, shift=1.0), u=u)


def asymmetric_softmax(scores: Tensor, errors: Tensor, *, n_labels: int) -> Float[Tensor, "*batch"]:
    """Return −log ψ_y − Σ_j [1{m_j=y} log ψ_{n+j} + 1{m_j≠y} log(1 − ψ_{n+j})], shape (...).

    ψ as in `asymmetric_softmax_shares`. The scores rank the best entity as the shares do, but not the others: for
    k > 1 rank by the shares.

    Args:
        scores: shape (..., n_labels + J).
        errors: zero-one errors, the shape of `scores`; exactly one label is right.
        n_labels: how many of the entities are labels.

    References:
        Cao, Mozannar, Feng, Wei, An. In defense of softmax parametrization for calibrated and consistent learning to
        defer. NeurIPS 2023. One expert there; here each expert has its own share against the labels.
    """
    right = _right(scores, errors, n_labels)
    log_labels, margin = _asymmetric(scores, n_labels)
    sign = 2 * right[..., n_labels:] - 1
    return -(right[..., :n_labels] * log_labels).sum(dim=-1) - logsigmoid(sign * margin).sum(dim=-1)


def asymmetric_softmax_shares(scores: Tensor, *, n_labels: int) -> Float[Tensor, "*batch a"]:
    """Return ψ, each entity's estimated probability of being right, the shape of `scores`.

    ψ_y = e^{s_y}/Σ_{y'} e^{s_{y'}} for a label; for expert j, e^{s_{n+j}} over itself plus the labels without the
    largest (Cao et al. 2023).
    """
    log_labels, margin = _asymmetric(scores, n_labels)
    return torch.cat([log_labels.exp(), torch.sigmoid(margin)], dim=-1)


def mao_two_stage(scores: Tensor, costs: Tensor, *, u: float = 1.0) -> Float[Tensor, "*batch"]:
    """Return Σ_j (1 − c_j) Φ^u(r, x, j) over the base and the experts, shape (...).

    Args:
        scores: shape (..., 1 + J).
        costs: the shape of `scores`, in [0, 1]; the base's is its zero-one error.
        u: the member of the comp-sum family.

    References:
        Mao, Mohri, Mohri, Zhong. Two-stage learning to defer with multiple experts. NeurIPS 2023.
    """
    same_shape(scores, costs, "costs")
    return weighted_comp_sum(scores, deferral_weights(costs, shift=1.0), u=u)


def mao_two_stage_regression(scores: Tensor, costs: Tensor, *, u: float = 1.0) -> Float[Tensor, "*batch"]:
    """Return Σ_j (Σ_{i≠j} c_i) Φ^u(r, x, j) over the base and the experts, shape (...) (paper, Definition 3.2).

    Args:
        scores: shape (..., 1 + J).
        costs: the shape of `scores`, at least 0 and otherwise unbounded.
        u: the member of the comp-sum family.

    References:
        Mao, Mohri, Zhong. Regression with multi-expert deferral. ICML 2024.
    """
    same_shape(scores, costs, "costs")
    return weighted_comp_sum(scores, deferral_weights(costs, shift="sum"), u=u)


def post_hoc(scores: Tensor, costs: Tensor) -> Float[Tensor, "*batch"]:
    """Return Σ_j [c_base φ(r_j) + c_j φ(−r_j)], shape (...), with φ(z) = log(1 + e^{−z}) and r_j = s_j − s_base.

    The published estimator learns one deferral function r on top of a fixed base, to defer where the base's expected
    cost exceeds the expert's. Here each expert has its own; the best r_j is log(c̄_base/c̄_j), so that together
    they rank all entities by expected cost.

    Args:
        scores: shape (..., 1 + J), the base first.
        costs: the shape of `scores`, at least 0.

    References:
        Narasimhan, Jitkrittum, Menon, Rawat, Kumar. Post-hoc estimators for learning to defer to an expert.
        NeurIPS 2022.
    """
    same_shape(scores, costs, "costs")
    if not (torch.isfinite(costs).all() and (costs >= 0).all()):
        raise InvalidInputError(
            f"`costs` must be finite and at least 0, got values from {float(costs.min()):g} to {float(costs.max()):g}."
        )
    deferral = scores[..., 1:] - scores[..., :1]
    return (costs[..., :1] * softplus(-deferral) + costs[..., 1:] * softplus(deferral)).sum(dim=-1)


def _asymmetric(scores: Tensor, n_labels: int) -> tuple[Tensor, Tensor]:
    """Log-shares of the labels, and the log-odds of each expert against the labels without the largest."""
    _check_labels(scores, n_labels)
    labels = scores[..., :n_labels]
    largest = torch.nn.functional.one_hot(labels.argmax(dim=-1), n_labels).bool()
    others = torch.logsumexp(labels.masked_fill(largest, -torch.inf), dim=-1, keepdim=True)
    return torch.log_softmax(labels, dim=-1), scores[..., n_labels:] - others


def _right(scores: Tensor, errors: Tensor, n_labels: int) -> Tensor:
    """1 − errors, checked: zero-one, and exactly one label right."""
    same_shape(scores, errors, "errors")
    _check_labels(scores, n_labels)
    odd = errors[(errors != 0) & (errors != 1)]
    if odd.numel():
        raise InvalidInputError(
            f"`errors` must be 0 or 1 for this method, got {float(odd[0]):g}: `mao_one_stage` takes general costs."
        )
    _one_right_label(errors[..., :n_labels], "errors")
    return 1 - errors


def _one_right_label(labels: Tensor, name: str) -> None:
    right = (labels == 0).sum(dim=-1)
    if not (((labels == 0) | (labels == 1)).all() and (right == 1).all()):
        raise InvalidInputError(
            f"`{name}` must be 0 for exactly one label of a row and 1 for the others, got {int(right.min())} to "
            f"{int(right.max())} right labels."
        )


def _check_labels(scores: Tensor, n_labels: int) -> None:
    if not 2 <= n_labels <= scores.shape[-1]:
        raise InvalidInputError(f"`n_labels` must be between 2 and {scores.shape[-1]}, got {n_labels}.")

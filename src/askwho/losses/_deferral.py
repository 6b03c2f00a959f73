"""The k-independent deferral surrogate, and the weights it is made of."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from askwho.exceptions import InvalidInputError
from askwho.losses._comp_sum import same_shape, weighted_comp_sum

Shift = Literal["max", "sum"] | float | Tensor
"""M, by the name of how a row gives it, or itself: one for all rows, or one a row."""


def deferral_weights(costs: Tensor, *, shift: Shift = "max", mask: Tensor | None = None) -> Float[Tensor, "*batch a"]:
    r"""Return M − μ_j, how much the surrogate pulls each query towards each entity, the shape of `costs`.

    For any M(x, z) free of j, Σ_j (M − μ_j) 1{j ∉ Π_k} = ℓ_def,k + (|A| − k) M − Σ_j μ_j: every M gives a
    k-independent surrogate with the same Bayes ranking. The paper's `"sum"` makes the targets nearly uniform when
    there are many entities; `"max"` keeps them sharp. Compute the weights once for a data set and train on them
    with `weighted_comp_sum`.

    Args:
        costs: μ, shape (..., |A|); where `mask` is false anything, NaN too.
        shift: M. `"max"`, the row's largest cost; `"sum"`, the row's sum (the paper's); or a number or a tensor that
            broadcasts against (..., 1) or (...), at least every cost.
        mask: the shape of `costs`, true where the entity was asked. It needs a constant shift: the row's own `"max"`
            or `"sum"` would depend on who was asked, and can rank the worse expert first. `Panel.cost_bound` is one.
    """
    if not costs.is_floating_point():
        raise InvalidInputError(f"`costs` must be floating point, got {costs.dtype}.")
    if mask is not None:
        if isinstance(shift, str):
            raise InvalidInputError(
                f"`shift` must be a number where answers are missing, got {shift!r}: it would depend on who was asked. "
                "Pass `panel.cost_bound(...)`."
            )
        same_shape(costs, mask, "mask", torch.bool)
        if not mask.any(dim=-1).all():
            raise InvalidInputError("`mask` must be true once in every row: drop queries that nobody was asked.")
        costs = costs.masked_fill(~mask, 0.0)
    if not torch.isfinite(costs).all():
        raise InvalidInputError(
            f"`costs` must be finite, got {int((~torch.isfinite(costs)).sum())} cells that are not: pass `mask=` to "
            "leave out entities that were not asked."
        )
    weights = _level(costs, shift) - costs
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    if (weights < 0).any():
        raise InvalidInputError(
            f"`shift` must be at least every cost, got {shift!r} for costs up to {float(costs.max()):g}: "
            "a negative weight would push the score of a good entity down without end."
        )
    return weights


def deferral_surrogate(
    scores: Tensor, costs: Tensor, *, u: float = 1.0, shift: Shift = "max", mask: Tensor | None = None
) -> Float[Tensor, "*batch"]:
    r"""Return Φ^u_def = Σ_j (M − μ_j) Φ^u(π, x, j), unreduced, shape (...) (paper, Corollary 4.4).

    The same loss for every k: its minimiser orders the entities by expected cost. With `shift="sum"` it is the
    paper's, in which M − μ_j = Σ_{i≠j} μ_i; with `shift="max"` and u = 1 the cost-sensitive cross-entropy of
    Mozannar and Sontag (2020).

    Args:
        scores: shape (..., |A|).
        costs: μ, the shape of `scores`; where `mask` is false anything, NaN too.
        u: the member of the comp-sum family. Up to 1.5 the paper's bound holds for every k; for k > 1 it fails
            beyond, and at 2 the minimiser itself no longer ranks the second entity.
        shift: M, as in `deferral_weights`.
        mask: the shape of `scores`, true where the entity was asked; the softmax is restricted to those.

    >>> costs = torch.tensor([[0.0, 1.0, 0.3]])
    >>> deferral_surrogate(torch.zeros(1, 3), costs)  # (1.0 + 0.0 + 0.7) log 3
    tensor([1.8676])
    """
    same_shape(scores, costs, "costs")
    return weighted_comp_sum(scores, deferral_weights(costs, shift=shift, mask=mask), u=u, mask=mask)


def _level(costs: Tensor, shift: Shift) -> Tensor:
    """M, in a shape that broadcasts against the costs."""
    if isinstance(shift, str):
        if shift == "max":
            return costs.amax(dim=-1, keepdim=True)
        if shift == "sum":
            if (costs < 0).any():
                raise InvalidInputError("`costs` must not be below zero with shift='sum': use shift='max'.")
            return costs.sum(dim=-1, keepdim=True)
        raise InvalidInputError(f"`shift` must be 'max', 'sum', a number or a tensor, got {shift!r}.")
    level = torch.as_tensor(shift, dtype=costs.dtype, device=costs.device)
    if level.ndim == costs.ndim - 1 and level.shape == costs.shape[:-1]:
        level = level.unsqueeze(-1)
    if level.ndim and level.shape != (*costs.shape[:-1], 1):
        raise InvalidInputError(
            f"`shift` must be one number, or one a row ({tuple(costs.shape[:-1])}), got shape {tuple(level.shape)}: "
            "it must not differ between entities."
        )
    return level

"""The comp-sum (cross-entropy) family Φ^u."""

import torch
from jaxtyping import Float
from torch import Tensor

from askwho._comp_sum import check_u, psi, psi_of_log_share
from askwho.exceptions import InvalidInputError


def comp_sum(scores: Tensor, *, u: float = 1.0, normalized: bool = False) -> Float[Tensor, "*batch a"]:
    r"""Return Φ^u of every entity, the shape of `scores`.

    Φ^u(π, x, j) = Ψ^u(Σ_{j'} e^{π(x,j') − π(x,j)} − 1), with Ψ^u(v) = [(1 + v)^{1−u} − 1]/(1 − u) and
    Ψ^1(v) = log(1 + v) (paper, Section 3). u = 0 is the sum-exponential loss, 1 the logistic, 2 the mean absolute
    error; between 1 and 2 lies generalised cross-entropy.

    For u ≥ 1 values and gradients are finite at any finite score. For u < 1 the loss grows like
    e^{(1−u)·gap}, and is exact until that leaves the dtype (a gap of 88.7/(1 − u) in float32, 709/(1 − u) in
    float64); past it the value is +inf, never NaN, and the gradient is not finite: lower the scores or raise u.

    Args:
        scores: shape (..., |A|).
        u: the member of the family, at least 0.
        normalized: divide by Ψ^u(1), so that Φ^u ≥ 1{j is not the best entity}; without it that bound fails.

    References:
        Mao, Mohri, Zhong. Cross-entropy loss functions: theoretical analysis and applications. ICML 2023.

    >>> comp_sum(torch.tensor([[0.0, 0.0]]), u=2.0)
    tensor([[0.5000, 0.5000]])
    """
    u = check_u(u)
    losses = psi_of_log_share(torch.log_softmax(_floating(scores), dim=-1), u, torch.expm1)
    return losses / psi(1.0, u=u) if normalized else losses


def weighted_comp_sum(
    scores: Tensor, weights: Tensor, *, u: float = 1.0, mask: Tensor | None = None
) -> Float[Tensor, "*batch"]:
    """Return Σ_j w_j Φ^u_j, the form of every comp-sum surrogate, shape (...).

    An entity of weight zero adds nothing to value or gradient, even where its Φ^u has left the dtype.

    Args:
        scores: shape (..., |A|).
        weights: the shape of `scores`, at least 0; checked where they are made, not here.
        u: the member of the family.
        mask: the shape of `scores`; false entities leave the softmax, and must weigh zero.
    """
    u = check_u(u)
    scores = _floating(scores)
    same_shape(scores, weights, "weights")
    if mask is not None:
        same_shape(scores, mask, "mask", torch.bool)
        scores = scores.masked_fill(~mask, -torch.inf)
    counts = weights > 0
    # Zero before the exponential, not after: inf · 0 is NaN, in the value and in the gradient.
    log_shares = torch.log_softmax(scores, dim=-1).masked_fill(~counts, 0.0)
    return (weights * psi_of_log_share(log_shares, u, torch.expm1)).sum(dim=-1)


def same_shape(scores: Tensor, table: Tensor, name: str, dtype: torch.dtype | None = None) -> None:
    """Raise unless `table` has the shape of `scores`, and the type asked for: floating point unless said."""
    if table.shape != scores.shape:
        raise InvalidInputError(
            f"`{name}` must have the shape of `scores`, got {tuple(table.shape)} for {tuple(scores.shape)}."
        )
    if (dtype is None and not table.is_floating_point()) or (dtype is not None and table.dtype != dtype):
        raise InvalidInputError(f"`{name}` must be {dtype or 'floating point'}, got {table.dtype}.")


def _floating(scores: Tensor) -> Tensor:
    if not scores.is_floating_point() or scores.ndim == 0:
        raise InvalidInputError(
            f"`scores` must be a floating-point tensor of shape (..., entities), got {scores.dtype} "
            f"of shape {tuple(scores.shape)}."
        )
    return scores

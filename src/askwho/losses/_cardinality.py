"""The surrogate for k(x)."""

import torch
from jaxtyping import Float
from torch import Tensor

from askwho.exceptions import InvalidInputError
from askwho.losses._comp_sum import same_shape, weighted_comp_sum
from askwho.losses._deferral import deferral_weights


def cardinality_surrogate(
    scores: Tensor,
    set_losses: Tensor,
    *,
    u: float = 1.0,
    normalization: str | float = "shift",
    mask: Tensor | None = None,
) -> Float[Tensor, "*batch"]:
    r"""Return Φ_card = Σ_v (1 − ℓ̃_card(v)) Φ^u(k_θ, x, v), unreduced, shape (...) (paper, Section 5).

    The paper leaves the normalised ℓ̃ open. It must not rescale each row by its own size, which can reverse the
    better k in the mean: losses (0, .1) and (1, .5), equally likely, prefer 2, and 1 after row scaling.

    Args:
        scores: k_θ(x, ·), shape (..., K): one score for each number of entities.
        set_losses: ℓ_card(v) = d(Π_v) + λ ξ(S_v), the shape of `scores`; where `mask` is false anything, NaN too.
        u: the member of the comp-sum family.
        normalization: `"shift"`, weights max_v ℓ − ℓ(v) in each row; or a number s of at least every ℓ, weights
            1 − ℓ(v)/s.
        mask: the shape of `scores`, false where part of the prefix was not asked and ℓ(v) is unknown. It needs a
            number for `normalization`: a row's own maximum would depend on who was asked.
    """
    same_shape(scores, set_losses, "set_losses")
    if mask is not None:
        same_shape(scores, mask, "mask", torch.bool)
        if not mask.any(dim=-1).all():
            raise InvalidInputError("`mask` must be true once in every row: drop queries without a known set loss.")
    known = set_losses if mask is None else set_losses[mask]
    if not torch.isfinite(known).all():
        raise InvalidInputError("`set_losses` must be finite: pass `mask=` where part of a prefix was not asked.")
    if normalization == "shift":
        if mask is not None:
            raise InvalidInputError(
                "`normalization` must be a number where answers are missing, got 'shift': a row's own maximum would "
                "depend on who was asked. Pass a bound on every set loss."
            )
        return weighted_comp_sum(scores, deferral_weights(set_losses, shift="max"), u=u)
    least = max(float(known.max()), torch.finfo(known.dtype).tiny)
    if isinstance(normalization, str | None) or not least <= normalization < float("inf"):
        raise InvalidInputError(
            f"`normalization` must be 'shift' or a finite number of at least every set loss ({float(known.max()):g}), "
            f"got {normalization!r}."
        )
    weights = deferral_weights(set_losses, shift=float(normalization), mask=mask) / normalization
    return weighted_comp_sum(scores, weights, u=u, mask=mask)

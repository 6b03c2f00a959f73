"""The cardinality-aware loss: committee error plus the price of its size."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import FloatRanks
from askwho.exceptions import InvalidInputError

FeeTransform = Callable[[np.ndarray], np.ndarray]
"""ξ, a non-decreasing transform of summed fees, elementwise."""


def cardinality_losses(
    errors: ArrayLike,
    fees: ArrayLike,
    *,
    fee_weight: float,
    fee_transform: FeeTransform | None = None,
) -> FloatRanks:
    """Return ℓ_card(k) = d(Π_k) + λ ξ(S_k) for every query and every k, shape (n, K) (paper, Definition 5.1).

    Args:
        errors: d, shape (n, K), as `prefix_errors` gives them; NaN where a committee cannot be scored.
        fees: S_k, shape (n, K), as `prefix_fees` gives them.
        fee_weight: λ ≥ 0.
        fee_transform: ξ, non-decreasing; the identity unless given.
    """
    table = check.table(errors, "errors", allow_nan=True)
    summed = check.nonnegative(check.table(fees, "fees"), "fees")
    check.same_shape(summed, "fees", table.shape, "one sum of fees for each committee error")
    rate = check.finite_number(fee_weight, "fee_weight", minimum=0.0)
    return table + rate * transformed_fees(summed, fee_transform)


def transformed_fees(summed: np.ndarray, fee_transform: FeeTransform | None) -> np.ndarray:
    """Return ξ(S), raising where ξ decreases as the sums grow."""
    if fee_transform is None:
        return summed
    prices = check.table(fee_transform(summed), "fee_transform")
    check.same_shape(prices, "fee_transform", summed.shape, "it must work elementwise")
    order = np.argsort(summed, axis=None)
    fees, steps = summed.ravel()[order], np.diff(prices.ravel()[order])
    if (steps < 0).any():
        worst = int(steps.argmin())
        raise InvalidInputError(
            f"`fee_transform` must not decrease, got {steps[worst]:+g} from a fee of {fees[worst]:g} to one of "
            f"{fees[worst + 1]:g}: asking more can never be cheaper."
        )
    return prices

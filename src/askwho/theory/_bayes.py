"""The best rankings and cardinalities, where the conditionals are known."""

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import Order
from askwho.core import FeeTransform, cardinality_losses, rank
from askwho.exceptions import InvalidInputError


def bayes_ranking(expected_costs: ArrayLike) -> Order:
    """Return the entities by expected cost, cheapest first, shape (n, |A|); its first k columns are Π^B_k(x).

    Paper, Lemma 4.5. Ties to the smaller index.

    Args:
        expected_costs: μ̄_j(x), shape (n, |A|).
    """
    return rank(-check.table(expected_costs, "expected_costs"))


def bayes_risk(expected_costs: ArrayLike) -> Float[np.ndarray, "n a"]:
    """Return the least conditional deferral risk Σ_{i≤k} μ̄_[i]↑, for every k, shape (n, |A|) (paper, Lemma 4.5)."""
    return np.cumsum(np.sort(check.table(expected_costs, "expected_costs"), axis=1), axis=1)


def bayes_cardinality(
    expected_errors: ArrayLike,
    fees: ArrayLike,
    *,
    fee_weight: float,
    fee_transform: FeeTransform | None = None,
) -> Int[np.ndarray, " n"]:
    """Return k^B(x) = argmin_k D_x(k) + λ ξ(S_k), shape (n,) (paper, Section 5). Ties to the smaller k.

    Args:
        expected_errors: D_x(k) = E[d(Π_k) | x], shape (n, K).
        fees: S_k, the fees of the first k, shape (n, K).
        fee_weight: λ.
        fee_transform: ξ; the identity unless given.

    >>> bayes_cardinality([[0.30, 0.20, 0.19]], [[0.1, 0.2, 0.3]], fee_weight=0.5)
    array([2])
    """
    check.table(expected_errors, "expected_errors")
    losses = cardinality_losses(expected_errors, fees, fee_weight=fee_weight, fee_transform=fee_transform)
    return losses.argmin(axis=1) + 1


def chow_rule(probabilities: ArrayLike, *, penalty: float) -> Int[np.ndarray, " n"]:
    """Return the most probable class, or C (reject) where its error probability exceeds the penalty, shape (n,).

    Chow (1970); paper, Corollary 4.6: the Bayes rule of `Panel.selective`, whose entity C is reject.

    Args:
        probabilities: P(Y = j | x), shape (n, C), rows that sum to 1.
        penalty: λ, the price of abstaining.
    """
    table = check.nonnegative(check.table(probabilities, "probabilities"), "probabilities")
    sums_to_one(table, "probabilities")
    best = table.argmax(axis=1)
    too_risky = 1.0 - table.max(axis=1) > check.finite_number(penalty, "penalty", minimum=0.0)
    return np.where(too_risky, table.shape[1], best)


def sums_to_one(table: np.ndarray, name: str) -> None:
    """Raise unless the last axis of `table` sums to 1."""
    off = np.abs(table.sum(axis=-1) - 1.0)
    if not (off <= 1e-6).all():
        raise InvalidInputError(f"`{name}` must sum to 1 for each query, got a sum that is off by {off.max():.3g}.")

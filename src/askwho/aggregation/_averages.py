"""Averages: one number from many, for committees of every size at once."""

import numpy as np
from jaxtyping import Float

from askwho.aggregation._committee import Committee, Verdicts
from askwho.aggregation._weights import inverse_error_weights, softmax_weights


def average(committee: Committee, weights: Float[np.ndarray, "n K"]) -> Verdicts:
    """Return the weighted mean of the members that answered, for every prefix of the committee.

    Args:
        committee: members in rank order, their answers numbers.
        weights: shape (n, K), above 0; renormalised over the members that answered.
    """
    shares = committee.voices(weights, silent=0.0)
    total = np.cumsum(shares, axis=1)
    values = np.cumsum(shares * committee.numbers(), axis=1)
    np.divide(values, total, out=values, where=committee.decided)
    return Verdicts(values=values, decided=committee.decided)


def mean(committee: Committee) -> Verdicts:
    """Return the mean of every prefix (paper, Appendix A.13, d_avg)."""
    return average(committee, np.ones(committee.order.shape))


def weighted_mean(committee: Committee) -> Verdicts:
    """Return the softmax-weighted mean of every prefix (paper, Appendix A.13, d_w-avg).

    The paper divides by the sum over the whole panel; here the weights of a committee sum to 1.
    """
    return average(committee, softmax_weights(committee))


def inverse_error_mean(committee: Committee) -> Verdicts:
    """Return the mean of every prefix, weighted by the inverse of the members' expected squared errors."""
    return average(committee, inverse_error_weights(committee))


def median(committee: Committee) -> Verdicts:
    """Return the median of every prefix; of an even number, the mean of the middle two."""
    numbers, voted = committee.numbers(), committee.voted
    answered = np.cumsum(voted, axis=1)
    values = np.zeros(numbers.shape)
    rows = np.arange(len(numbers))
    ascending = np.full((len(numbers), numbers.shape[1] + 2), np.inf)
    ascending[:, 0] = -np.inf
    for r in range(numbers.shape[1]):
        new = np.where(voted[:, r], numbers[:, r], np.inf)[:, None]
        # Insertion without sorting: place j holds the larger of its left neighbour and min(itself, the new one).
        ascending[:, 1 : r + 2] = np.maximum(ascending[:, : r + 1], np.minimum(ascending[:, 1 : r + 2], new))
        below, above = (answered[:, r] + 1) // 2, answered[:, r] // 2 + 1
        values[:, r] = np.where(answered[:, r] > 0, _middle(ascending[rows, below], ascending[rows, above]), 0.0)
    return Verdicts(values=values, decided=answered > 0)


def weighted_median(committee: Committee) -> Verdicts:
    """Return the median of every prefix, each member as many as the inverse of its expected error.

    The lowest answer that half of the weight does not exceed: what errs least in the mean of absolute errors, if the
    answers are what the truth may be.
    """
    numbers, voted = committee.numbers(), committee.voted
    share = committee.voices(inverse_error_weights(committee), silent=0.0)
    values = np.zeros(numbers.shape)
    for r in range(1, numbers.shape[1] + 1):
        order = np.where(voted[:, :r], numbers[:, :r], np.inf).argsort(axis=1, kind="stable")
        total = np.take_along_axis(share[:, :r], order, axis=1).cumsum(axis=1)
        place = (total >= 0.5 * total[:, -1:] * (1.0 - 1e-12)).argmax(axis=1)[:, None]
        values[:, r - 1] = np.take_along_axis(numbers[:, :r], np.take_along_axis(order, place, axis=1), axis=1)[:, 0]
    return Verdicts(values=values, decided=np.logical_or.accumulate(voted, axis=1))


def _middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    finite = np.isfinite(low) & np.isfinite(high)
    return np.where(finite, low, 0.0) / 2 + np.where(finite, high, 0.0) / 2

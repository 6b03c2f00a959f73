"""Doubly robust means: what a model expects of every row, moved by what came where it can be seen."""

import numpy as np
from jaxtyping import Float, Int

from askwho.policy import Outcomes

# A model is moved by what is beyond so many standard errors: of a few rows with large weights these are told too small.
_ERRORS = 2.0


def corrected(
    expected: Float[np.ndarray, "p n"],
    came: Float[np.ndarray, "p n"],
    weights: Float[np.ndarray, "p n"],
    groups: Int[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, "p n"]:
    """Return what is expected, moved so that it is right in the mean where that is known, shape (p, n).

    Augmented inverse-propensity weighing (Robins, Rotnitzky and Zhao 1994): right where the model or the weights are.
    The mean residual is itself uncertain, the more so the fewer rows have a whole committee: it is drawn to nothing by
    as much as its variance says (as James and Stein 1961, positive part), since settings are chosen by what comes out.
    Its variance is no less than what all settings together say of errors as large as those expected: a few rows that
    happen to miss every large error know nothing of how far they vary.

    Args:
        expected: shape (p, n), of a model that did not see the row.
        came: shape (p, n), NaN where it cannot be known.
        weights: shape (p, n), one by the probability that it could.
        groups: shape (n,), which rows belong together.
    """
    expected = pooled_ratio(expected, came, weights, groups) * expected
    share, gap = _weighed(expected, came, weights)
    total = share.sum(axis=1, keepdims=True)
    mean = np.divide((share * gap).sum(axis=1, keepdims=True), total, out=np.zeros_like(total), where=total > 0)
    spread = np.square(_by_group(share * (gap - mean), groups)).sum(axis=1, keepdims=True)
    least = _dispersion(expected, share, gap) * (np.square(share) * expected).sum(axis=1, keepdims=True)
    variance = np.divide(np.maximum(spread, least), np.square(total), out=np.zeros_like(total), where=total > 0)
    square = np.square(mean)
    beyond = np.maximum(square - _ERRORS**2 * variance, 0.0)
    return expected + np.divide(beyond, square, out=np.zeros_like(square), where=square > 0) * mean


def like_at_once(
    like: Outcomes,
    prices: Float[np.ndarray, " p"],
    got: Float[np.ndarray, "p n"],
    paid: Float[np.ndarray, "p n"],
    weights: Float[np.ndarray, "p n"],
) -> tuple[Float[np.ndarray, "p n"], Float[np.ndarray, "p n"]]:
    """Return what asking in turn is taken to get and to pay, where the truth is not known of every row.

    What asking at once at about the same price gets and pays is expected of every row alike, known or not.

    Args:
        like: asking at once, on the same rows.
        prices: λ, shape (p,).
        got: shape (p, n), NaN where it cannot be known.
        paid: shape (p, n), likewise.
        weights: shape (p, n), one by the probability that it could.
    """
    near = np.abs(like.prices[:, None] - prices).argmin(axis=0)
    weights = np.where(np.isnan(got), 0.0, weights)
    error = corrected(like.errors[near], got, weights, like.groups)
    if np.isnan(paid).any():
        # Fees are nearly known: what came beyond those expected is taken as it is, or a budget would be missed.
        expected = like.fees[near]
        share, gap = _weighed(expected, paid, weights)
        total = share.sum(axis=1, keepdims=True)
        paid = expected + np.divide(
            (share * gap).sum(axis=1, keepdims=True), total, out=np.zeros_like(total), where=total > 0
        )
    return error, np.maximum(paid, 0.0)


def pooled_ratio(
    expected: Float[np.ndarray, "p n"],
    came: Float[np.ndarray, "p n"],
    weights: Float[np.ndarray, "p n"],
    groups: Int[np.ndarray, " n"] | None = None,
) -> float:
    """Return by how much more, or less, came than was expected, over all settings together.

    A model that is too hopeful mostly is so everywhere: each setting tells of it by its effective rows. What comes out
    is drawn to 1 by as much as its variance says.

    Args:
        expected: shape (p, n), of a model that did not see the row.
        came: shape (p, n), NaN where it cannot be known.
        weights: shape (p, n), one by the probability that it could.
        groups: shape (n,), which rows belong together.
    """
    share, gap = _weighed(expected, came, weights)
    squares = np.square(share).sum(axis=1, keepdims=True)
    share = share * np.divide(share.sum(axis=1, keepdims=True), squares, out=np.zeros_like(squares), where=squares > 0)
    hoped = float((share * expected).sum())
    if hoped <= 0:
        return 1.0
    beyond = float((share * gap).sum()) / hoped
    doubt = _by_group((share * (gap - beyond * expected)).sum(axis=0, keepdims=True), groups)
    variance = float(np.square(doubt).sum()) / hoped**2
    return 1.0 + beyond * max(0.0, 1.0 - _ERRORS**2 * variance / beyond**2) if beyond else 1.0


def _dispersion(expected: np.ndarray, share: np.ndarray, gap: np.ndarray) -> float:
    """How far errors vary in parts of what is expected of them, over all settings (Wedderburn 1974)."""
    hoped = float((share * expected).sum())
    return float((share * np.square(gap)).sum()) / hoped if hoped > 0 else 0.0


def _weighed(expected: np.ndarray, came: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each row weighs where it is known what came, and what came beyond what was expected."""
    known = ~np.isnan(came) & (weights > 0)
    # Truncated at √n (Ionides 2008): no single row stands for more.
    share = np.where(known, np.minimum(weights, np.sqrt(came.shape[1])), 0.0)
    return share, np.where(known, came - expected, 0.0)


def _by_group(table: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    return table if groups is None else np.stack([np.bincount(groups, each) for each in table])

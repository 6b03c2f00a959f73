"""Doubly robust means: what a model expects of every row, moved by what came where it can be seen."""

import numpy as np
from jaxtyping import Float, Int

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

    Args:
        expected: shape (p, n), of a model that did not see the row.
        came: shape (p, n), NaN where it cannot be known.
        weights: shape (p, n), one by the probability that it could.
        groups: shape (n,), which rows belong together.
    """
    known = ~np.isnan(came) & (weights > 0)
    # Truncated at √n (Ionides 2008): no single row stands for more.
    share = np.where(known, np.minimum(weights, np.sqrt(came.shape[1])), 0.0)
    total = share.sum(axis=1, keepdims=True)
    gap = np.where(known, came - expected, 0.0)
    mean = np.divide((share * gap).sum(axis=1, keepdims=True), total, out=np.zeros_like(total), where=total > 0)
    spread = share * (gap - mean)
    if groups is not None:
        spread = np.stack([np.bincount(groups, each) for each in spread])
    variance = np.divide(
        np.square(spread).sum(axis=1, keepdims=True), np.square(total), out=np.zeros_like(total), where=total > 0
    )
    square = np.square(mean)
    kept = np.divide(
        np.maximum(square - _ERRORS**2 * variance, 0.0), square, out=np.zeros_like(square), where=square > 0
    )
    return expected + kept * mean

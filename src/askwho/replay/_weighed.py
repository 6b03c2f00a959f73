"""Ranks and quantiles of values that do not all weigh the same."""

import numpy as np
from jaxtyping import Float


def ranks(values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return what part of all lies below each value, and half of what is alike, between 0 and 1."""
    kinds, place = np.unique(values, return_inverse=True)
    place = place.reshape(-1)
    each = np.bincount(place, weights, minlength=len(kinds))
    return ((np.cumsum(each) - 0.5 * each) / each.sum())[place]


def quantiles(values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return as many values in order, each as often as it weighs."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order])
    wanted = (np.arange(len(values)) + 0.5) / len(values) * upto[-1]
    return values[order][np.minimum(np.searchsorted(upto, wanted), len(values) - 1)]

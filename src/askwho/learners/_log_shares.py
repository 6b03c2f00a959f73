"""Scores as logarithms of shares: the softmax, taken so that nothing overflows."""

import numpy as np
from jaxtyping import Float


def log_shares(scores: Float[np.ndarray, "*batch m"]) -> Float[np.ndarray, "*batch m"]:
    """Return scores less the logarithm of the sum of their exponentials, the shape of `scores`, float64."""
    exact = scores.astype(np.float64)
    exact -= exact.max(axis=-1, keepdims=True)
    return exact - np.log(np.exp(exact).sum(axis=-1, keepdims=True))

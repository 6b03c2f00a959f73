"""Features at mean zero and deviation one."""

import numpy as np
from jaxtyping import Float

LEAST_DEVIATION = 1e-12
"""A feature that varies less is a constant and rounding: divided by its deviation it would be noise."""


def standardisation(X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Return what to take off each feature and what to divide it by; a constant one is left alone."""
    deviation = X.std(axis=0, dtype=np.float64)
    return X.mean(axis=0, dtype=np.float64), np.where(deviation > LEAST_DEVIATION, deviation, 1.0)

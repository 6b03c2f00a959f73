"""Prices to try: from where errors alone count to where money does."""

import numpy as np
from jaxtyping import Float


def price_grid(
    fees: Float[np.ndarray, " a"], expected: Float[np.ndarray, "..."], count: int = 31
) -> Float[np.ndarray, " p"]:
    """Return prices λ from 0 to where money alone decides, shape (count,); errors of any shape tell their spread."""
    paid = fees[fees > 0]
    if not paid.size:
        return np.zeros(1)
    # What one more answer can save is no less than the errors that are expected, however alike everybody is.
    spread = max(float(np.quantile(expected, 0.95) - np.quantile(expected, 0.05)), float(np.mean(expected))) or 1.0
    # A fee under a hundredth of the largest is as good as free: no price need tell it from nothing.
    cheap = paid[paid >= paid.max() / 100].min()
    return np.concatenate([[0.0], np.geomspace(0.003 * spread / paid.max(), 2.0 * spread / cheap, count - 1)])

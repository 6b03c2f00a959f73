"""Sums and maxima of rows with a few columns: by columns, many times faster than by rows, and the same to the bit."""

import numpy as np
from jaxtyping import Float

# NumPy adds up to so many numbers of a row one after the other, as is done here; of more it makes several sums.
_NARROW = 7


def largest(table: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n 1"]:
    """Return the largest of each row, shape (n, 1)."""
    return _by_columns(np.maximum, table)


def total(table: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n 1"]:
    """Return the sum of each row, shape (n, 1)."""
    return _by_columns(np.add, table)


def _by_columns(together: np.ufunc, table: np.ndarray) -> np.ndarray:
    if not 0 < table.shape[1] <= _NARROW:
        return together.reduce(table, axis=1, keepdims=True)
    found = table[:, 0].copy()
    for column in table.T[1:]:
        together(found, column, out=found)
    return found[:, None]

"""How loops are compiled."""

from typing import Any

from numba import njit


def compiled(function: Any) -> Any:  # noqa: ANN401 - numba's functions have no types
    """Return the function compiled at its first call, and kept on disk where there is a place that can be written."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)

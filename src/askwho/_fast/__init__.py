"""Loops that numba compiles, where the extra `fast` has brought it: each gives the bits of the NumPy it stands for."""

from typing import Any

# From so many rows on: importing numba, and loading what it compiled before, takes longer than few rows do.
WORTH = 1 << 13


def loops(rows: int) -> Any:  # noqa: ANN401 - numba's functions have no types
    """Return the compiled loops, where there are rows enough; None for few, and where numba is not installed."""
    if rows < WORTH:
        return None
    try:
        from askwho._fast import _loops  # noqa: PLC0415 - the one seam to this optional dependency
    except ImportError:
        return None
    return _loops

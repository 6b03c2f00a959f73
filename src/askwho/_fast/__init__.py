"""Loops that numba compiles, where the extra `fast` has brought it: each gives the bits of the NumPy it stands for."""

import importlib.util
from functools import cache
from typing import Any

# From so many rows on, importing numba and loading what it compiled before takes less than it saves.
WORTH_LOADING = 1 << 14
# From so many on where that is done: the rest of a large table.
WORTH = 1 << 9


def loops(rows: int) -> Any:  # noqa: ANN401 - numba's functions have no types
    """Return the compiled loops, where there are rows enough; None for few, and where numba is not installed."""
    if rows < WORTH or (rows < WORTH_LOADING and not _loaded.cache_info().currsize):
        return None
    return _loaded()


@cache
def installed() -> bool:
    """Return whether numba is there, without loading it."""
    return importlib.util.find_spec("numba") is not None


@cache
def _loaded() -> Any:  # noqa: ANN401 - likewise
    """All loops; None where numba is not installed, or does not know the NumPy that is."""
    try:
        from askwho._fast import _loops  # noqa: PLC0415 - the one seam to this optional dependency
    except ImportError:
        return None
    return _loops

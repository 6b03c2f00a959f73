"""Forests grown on two threads, and used on one."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped


def grow(forest: Any, X: Float[np.ndarray, "n d"], targets: Shaped[np.ndarray, "..."]) -> Any:  # noqa: ANN401
    """Return a forest of scikit-learn's, fitted by two threads, to be used by one.

    Threads add the trees up in any order, and sums of floats depend on it: one thread repeats itself. While it is
    fitted, each thread of scikit-learn's sets aside the process's filters of warnings and puts them back, and where two
    do so at once they may put back none, whereupon every later fit warns a thousand times: they are kept here.

    Args:
        forest: any that takes `n_jobs`.
        X: shape (n, d).
        targets: shape (n,) or (n, outputs).
    """
    filters = warnings.filters
    kept = list(filters)
    try:
        forest.set_params(n_jobs=2).fit(X, targets)
    finally:
        # The very list, as it was: whoever set it aside puts it back by itself.
        filters[:] = kept  # pyright: ignore[reportIndexIssue]
        warnings.filters = filters
    return forest.set_params(n_jobs=1)

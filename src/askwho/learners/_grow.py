"""Forests grown on two threads where that pays, and used on one."""

import functools
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

# Numbers that all trees together look through above which a second thread pays. Who waits for it looks every hundredth
# of a second, and its trees wait for Python: on two busy cores 150 trees of 800 x 8 took a fifth longer with it,
# 48 of 6,400 x 21 as long.
_WORTH_THREADS = 4_000_000


def grow(
    forest: Any,  # noqa: ANN401
    X: Float[np.ndarray, "n d"],
    targets: Shaped[np.ndarray, "..."],
    weights: Float[np.ndarray, " n"] | None = None,
) -> Any:  # noqa: ANN401
    """Return a forest of scikit-learn's, fitted by one thread or by two, to be used by one; the trees are the same.

    Threads add the trees up in any order, and sums of floats depend on it: one thread repeats itself. While it is
    fitted, each thread of scikit-learn's sets aside the process's filters of warnings and puts them back, and where two
    do so at once they may put back none, whereupon every later fit warns a thousand times: they are kept here.

    Args:
        forest: any that takes `n_jobs`.
        X: shape (n, d).
        targets: shape (n,) or (n, outputs).
        weights: shape (n,), of the rows; all the same, unless said.
    """
    filters = warnings.filters
    kept = list(filters)
    threads = 2 if X.size * forest.n_estimators > _WORTH_THREADS else 1
    forest.estimator = _quick(type(forest.estimator))()
    try:
        forest.set_params(n_jobs=threads).fit(X, targets, **({} if weights is None else {"sample_weight": weights}))
    finally:
        # The very list, as it was: whoever set it aside puts it back by itself.
        filters[:] = kept  # pyright: ignore[reportIndexIssue]
        warnings.filters = filters
    return forest.set_params(n_jobs=1)


@functools.cache
def _quick(tree: Any) -> Any:  # noqa: ANN401 - a class of scikit-learn's
    """A tree that knows the names of its settings: each of a forest would read them from its signature five times."""
    names = tuple(tree().get_params())

    def get_params(self: Any, deep: bool = True) -> dict[str, Any]:  # noqa: ANN401, ARG001, FBT001, FBT002 - as its own
        return {name: getattr(self, name) for name in names}

    return type(f"Quick{tree.__name__}", (tree,), {"get_params": get_params})

"""Which rows are held out together: groups stay whole, and folds are of nearly equal size."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int


def folds(groups: np.ndarray, count: int, *, random_state: int = 0) -> Int[np.ndarray, " n"]:
    """Return the fold of each row, shape (n,): groups stay whole, and folds are of nearly equal size."""
    _, group = np.unique(groups, return_inverse=True)
    size = np.bincount(group)
    shuffled = np.random.default_rng(random_state).permutation(len(size))
    # Largest groups first, each into the emptiest fold: one huge group cannot unbalance the rest.
    order = shuffled[np.argsort(-size[shuffled], kind="stable")]
    if size.max() == 1:
        place = np.empty(len(size), dtype=np.intp)
        place[order] = np.arange(len(size)) % count
        return place[group]
    place, filled = np.empty(len(size), dtype=np.intp), np.zeros(count)
    for each in order:
        place[each] = filled.argmin()
        filled[place[each]] += size[each]
    return place[group]


def each_fold(fold: Int[np.ndarray, " n"]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows to learn from and the rows to predict, a fold at a time, each of shape (rows,)."""
    for each in np.unique(fold):
        yield np.flatnonzero(fold != each), np.flatnonzero(fold == each)

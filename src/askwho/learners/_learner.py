"""What every learner of expected error is, and how one is cross-fitted."""

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int


@runtime_checkable
class Learner(Protocol):
    """From features to each entity's expected error."""

    def fit(self, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"]) -> "Learner":
        """Learn from errors of shape (n, |A|), NaN where an entity was not asked."""
        ...

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        ...


MakeLearner = Callable[[int], Learner]
"""A learner from a seed."""


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


def cross_fit(
    make: MakeLearner,
    X: Float[np.ndarray, "n d"],
    errors: Float[np.ndarray, "n a"],
    fold: Int[np.ndarray, " n"],
    *,
    random_state: int = 0,
) -> Float[np.ndarray, "n a"]:
    """Return each row's expected errors from a learner that never saw its fold, shape (n, |A|)."""
    out = np.empty(errors.shape)
    for seen, held in each_fold(fold):
        out[held] = make(random_state).fit(X[seen], errors[seen]).predict(X[held])
    return out

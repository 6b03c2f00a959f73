"""What every learner of expected error is, and how one is cross-fitted."""

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from askwho import _validation as check
from askwho.exceptions import InvalidInputError


@runtime_checkable
class Learner(Protocol):
    """From features to each entity's expected error: ours, or an object of your own.

    One of your own is copied, unfitted as it is, for every fit; where it has an attribute `random_state`, the copy's is
    the seed of the fit. To be saved with a policy it needs `to_state` and `from_state` (see `askwho.State`).
    """

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


def fitted(
    make: MakeLearner, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"], *, random_state: int = 0
) -> Learner:
    """Return a learner that has learned from these errors, whether or not its `fit` returns it."""
    learner = make(random_state)
    learner.fit(X, errors)
    return learner


def predicted(learner: Learner, X: Float[np.ndarray, "n d"], size: int) -> Float[np.ndarray, "n a"]:
    """Return what a learner expects of `size` entities, shape (n, size), checked: it may be the user's own."""
    said = check.numeric(learner.predict(X), "learner.predict")
    check.same_shape(said, "learner.predict", (len(X), size), "one row a query, one expected error an entity")
    if not np.isfinite(said).all():
        raise InvalidInputError(
            f"`learner.predict` must be finite, got {int((~np.isfinite(said)).sum())} cells that are not: errors are "
            "NaN where an entity was not asked, and there is nothing to learn from those."
        )
    return said


def cross_fit(
    make: MakeLearner,
    X: Float[np.ndarray, "n d"],
    errors: Float[np.ndarray, "n a"],
    fold: Int[np.ndarray, " n"],
    *,
    random_state: int = 0,
) -> Float[np.ndarray, "n a"]:
    """Return each row's expected errors from a learner that never saw its fold, shape (n, |A|).

    References:
        Wolpert. Stacked generalization. Neural Networks 5, 1992: out-of-fold predictions as the next level's inputs.
    """
    out = np.empty(errors.shape)
    for seen, held in each_fold(fold):
        learner = fitted(make, X[seen], errors[seen], random_state=random_state)
        out[held] = predicted(learner, X[held], errors.shape[1])
    return out

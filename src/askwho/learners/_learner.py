"""What every learner of expected error is, and how one is cross-fitted."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from askwho import _validation as check
from askwho.core import each_fold
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

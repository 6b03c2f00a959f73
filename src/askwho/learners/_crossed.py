"""A base that is fitted without each fold in turn, and answers the rows that it was not fitted on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from askwho._types import Task
from askwho.core import each_fold


class Crossed:
    """One candidate out of fold, a fold at a time: a hopeless one is left after the first.

    Args:
        name: what it is called.
        fit: from inputs and truth to a model with `predict`, and for classes `predict_proba` and `classes_`.
        inputs: n rows, dense or sparse.
        truth: shape (n,).
        fold: shape (n,), from `folds`.
        task: what the truth is.
        costs: shape (T, T), what it costs to say [said] where [truth] is true; None where all mistakes are alike.
    """

    def __init__(
        self,
        name: str,
        fit: Callable[[Any, np.ndarray], Any],
        inputs: Any,  # noqa: ANN401 - dense features or sparse words
        truth: Shaped[np.ndarray, " n"],
        fold: Int[np.ndarray, " n"],
        *,
        task: Task = "classification",
        costs: Float[np.ndarray, "t t"] | None = None,
    ) -> None:
        self.name, self.fit, self.inputs, self.truth = name, fit, inputs, truth
        self.task: Task = task
        self.costs = costs
        self.classes = np.unique(truth)
        self.answers = np.empty_like(truth)
        self.shares = None if task == "regression" else np.zeros((len(truth), len(self.classes)))
        self._done: list[np.ndarray] = []
        self._left = each_fold(fold)

    def begin(self) -> Int[np.ndarray, " r"]:
        """Answer the first fold, unless that was done. Return its rows, shape (r,)."""
        if not self._done:
            self._answer(*next(self._left))
        return self._done[0]

    def finish(self) -> "Crossed":
        """Answer whatever is left."""
        for seen, held in self._left:
            self._answer(seen, held)
        return self

    @property
    def losses(self) -> np.ndarray:
        """The error of each row, shape (n,); of rows not answered yet it means nothing."""
        return losses_of(self.answers, self.truth, self.task, self.costs)

    def _answer(self, seen: np.ndarray, held: np.ndarray) -> None:
        model = self.fit(self.inputs[seen], self.truth[seen])
        self.answers[held] = model.predict(self.inputs[held])
        if self.shares is not None:
            shares = model.predict_proba(self.inputs[held])
            self.shares[np.ix_(held, np.searchsorted(self.classes, model.classes_))] = shares
            if self.costs is not None:
                self.answers[held] = self.classes[(self.shares[held] @ self.costs).argmin(axis=1)]
        self._done.append(held)


def losses_of(
    answers: np.ndarray, truth: np.ndarray, task: Task, costs: Float[np.ndarray, "t t"] | None = None
) -> np.ndarray:
    """Return the error of each answer, shape (n,): wrong or not, what that costs, or squared."""
    if costs is not None:
        classes = np.unique(truth)
        return costs[np.searchsorted(classes, truth), np.searchsorted(classes, answers)].astype(np.float64)
    return (answers != truth).astype(float) if task == "classification" else np.square(answers - truth)

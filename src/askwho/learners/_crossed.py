"""A base that is fitted without each fold in turn, and answers the rows that it was not fitted on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from askwho._types import Task
from askwho.core import ErrorFunction, cost_table, each_fold, zero_one


class Crossed:
    """One candidate out of fold, a fold at a time: a hopeless one is left after the first.

    Args:
        name: what it is called.
        fit: from inputs and truth to a model with `predict`, and for classes `predict_proba` and `classes_`.
        inputs: n rows, dense or sparse.
        truth: shape (n,).
        fold: shape (n,), from `folds`.
        task: what the truth is.
        error: what each answer errs; of classes answers are those that are expected to err least.
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
        error: ErrorFunction = zero_one,
    ) -> None:
        self.name, self.fit, self.inputs, self.truth = name, fit, inputs, truth
        self.error: ErrorFunction = error
        self.classes = np.unique(truth)
        self.costs = None if task == "regression" or error is zero_one else cost_table(self.classes, error)
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

    def moved(self, quantile: float) -> float:
        """Move every answer by a quantile of what the others are off, fold by fold; return that of them all."""
        left = self.truth - self.answers
        shifts = np.empty(len(left))
        for held in self._done:
            others = np.delete(left, held)
            shifts[held] = np.quantile(others if len(others) else left, quantile)
        self.answers = self.answers + shifts
        return float(np.quantile(left, quantile))

    @property
    def losses(self) -> np.ndarray:
        """The error of each row, shape (n,); of rows not answered yet it means nothing."""
        return self.error(self.answers, self.truth)

    def _answer(self, seen: np.ndarray, held: np.ndarray) -> None:
        model = self.fit(self.inputs[seen], self.truth[seen])
        self.answers[held] = model.predict(self.inputs[held])
        if self.shares is not None:
            shares = model.predict_proba(self.inputs[held])
            self.shares[np.ix_(held, np.searchsorted(self.classes, model.classes_))] = shares
            if self.costs is not None:
                self.answers[held] = self.classes[(self.shares[held] @ self.costs).argmin(axis=1)]
        self._done.append(held)

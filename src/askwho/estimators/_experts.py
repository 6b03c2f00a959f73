"""Live experts: who they are, what they would have answered to rows they never saw, and asking only the chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from askwho import _validation as check
from askwho._types import Task
from askwho.core import Answers, Cell, column, each_fold, is_null
from askwho.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class Source:
    """Somebody who answers when asked.

    Args:
        name: its name in the panel.
        model: fitted; has `predict`.
        kind: what it is in the panel.
    """

    name: str
    model: Any
    kind: Literal["base", "expert"] = "expert"


@dataclass(frozen=True, eq=False)
class Queries:
    """The same queries twice: as the user gave them, a data frame with its names, and as a validated array."""

    given: Any
    array: np.ndarray

    @classmethod
    def of(cls, X: Any, array: np.ndarray) -> "Queries":  # noqa: ANN401
        """Return the rows; whatever is no data frame is given on as the array."""
        return cls(X if hasattr(X, "columns") and not isinstance(X, np.ndarray) else array, array)

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: Int[np.ndarray, " m"]) -> Any:  # noqa: ANN401
        """Return some of the rows, as the user gave them."""
        return self.given.iloc[rows] if hasattr(self.given, "iloc") else self.given[rows]


def named_experts(experts: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    """Return (name, estimator) pairs; those without a name are called by their class, numbered where it repeats."""
    if isinstance(experts, str) or not isinstance(experts, Sequence) or not experts:
        raise InvalidInputError(
            f"`experts` must be a list of estimators or of (name, estimator) pairs, got {experts!r}."
        )
    names = [pair[0] if isinstance(pair, tuple) and len(pair) == 2 else type(pair).__name__.lower() for pair in experts]
    models = [pair[1] if isinstance(pair, tuple) and len(pair) == 2 else pair for pair in experts]
    unnamed = [not isinstance(pair, tuple) for pair in experts]
    for name in {name for name, ours in zip(names, unnamed, strict=True) if ours and names.count(name) > 1}:
        places = [i for i, other in enumerate(names) if other == name and unnamed[i]]
        for number, i in enumerate(places, start=1):
            names[i] = f"{name}-{number}"
    for name, model in zip(names, models, strict=True):
        if not callable(getattr(model, "predict", None)) or isinstance(model, type):
            raise InvalidInputError(f"`experts` must be estimators that have `predict`, got {model!r} for {name!r}.")
    check.unique_names(names, "`experts`")
    return list(zip(names, models, strict=True))


def default_experts(task: Task) -> list[tuple[str, Any]]:
    """Return the small pool that stands in where neither experts nor answers are given."""
    if task == "classification":
        return [
            ("linear", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))),
            ("neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier(3))),
            ("tree", DecisionTreeClassifier(max_depth=4)),
        ]
    return [
        ("linear", make_pipeline(StandardScaler(), Ridge())),
        ("neighbours", make_pipeline(StandardScaler(), KNeighborsRegressor(3))),
        ("tree", DecisionTreeRegressor(max_depth=4)),
    ]


def consult(
    name: str,
    model: Any,  # noqa: ANN401
    rows: Queries,
    y: np.ndarray,
    fold: Int[np.ndarray, " n"],
    *,
    seed: int,
) -> tuple[Source, Answers]:
    """Return a source that is ready to be asked, and what it answers to the training rows, shape (n, 1).

    A fitted model is used as it is. One that is not fitted answers out of fold, and is then fitted on everything.
    """
    if is_fitted(model):
        source = Source(name, model)
        return source, ask_one(source, rows, np.arange(len(rows)))
    fresh = seeded(clone(model), seed)
    said = cross_val_predict(fresh, rows.given, y, cv=list(each_fold(fold)))
    return Source(name, fresh.fit(rows.given, y)), _heard(said, name)


def ask(
    sources: Sequence[Source], rows: Queries, wanted: Bool[np.ndarray, "n a"]
) -> list[tuple[Int[np.ndarray, " m"], Answers]]:
    """Return, for each source, the rows it is wanted for and its answers to them (m, 1): it sees no other row."""
    return [
        (chosen, ask_one(source, rows, chosen))
        for source, chosen in zip(sources, [np.flatnonzero(column) for column in wanted.T], strict=True)
    ]


def ask_one(source: Source, rows: Queries, chosen: Int[np.ndarray, " m"]) -> Answers:
    """Return what a source answers to the chosen rows, shape (m, 1); nobody is asked about no row at all."""
    if not len(chosen):
        return Answers(np.zeros((0, 1)), np.zeros((0, 1), dtype=np.int8))
    return _heard(source.model.predict(rows.take(chosen)), source.name)


def is_fitted(model: Any) -> bool:  # noqa: ANN401
    """Return whether an estimator is fitted; whatever has no `fit` needs none."""
    if not hasattr(model, "fit"):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def seeded(model: Any, seed: int) -> Any:  # noqa: ANN401
    """Return the estimator with every `random_state` that was left open set to the seed."""
    left_open = {
        name: seed
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return model.set_params(**left_open) if left_open else model


def _heard(said: Any, name: str) -> Answers:  # noqa: ANN401
    """A live answer that is null was asked for, and is of no use."""
    values = column(said, f"answers of {name}")
    states = np.where(is_null(values), np.int8(Cell.NO_ANSWER), np.int8(Cell.ANSWERED))
    return Answers(values[:, None], states[:, None])

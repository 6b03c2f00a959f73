"""What is to be predicted: labels, or numbers; and which answers can be right at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Float, Shaped

from askwho import _validation as check
from askwho._types import Task
from askwho.core import (
    Answers,
    Cell,
    CostMapping,
    CostMatrix,
    ErrorFunction,
    check_error,
    column,
    cost_table,
    family,
)
from askwho.exceptions import InvalidInputError

# Labels that a message shows.
_SHOWN = 12


@runtime_checkable
class Truths(Protocol):
    """The one place that knows whether answers are labels or numbers."""

    @property
    def task(self) -> Task:
        """What is to be learned."""
        ...

    @property
    def fallback(self) -> np.generic:
        """The best constant prediction."""
        ...

    def plain(self, y: np.ndarray) -> np.ndarray:
        """Return truths as text or numbers, never as objects, shape (n,)."""
        ...

    def usable(self, said: Answers) -> Answers:
        """Return the answers in the type of the truths; what cannot be right is no usable answer."""
        ...

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Return predictions as the user knows them, shape (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels: an answer that is none of them is of no use.

    Args:
        classes: the different labels of y, sorted, as the user has them.
        shares: how often each is true, shape (C,).
        costs: what it costs to say [said] where [truth] is true, shape (C, C); None where all mistakes are alike.
    """

    classes: Shaped[np.ndarray, " C"]
    shares: Float[np.ndarray, " C"]
    costs: Float[np.ndarray, "C C"] | None = None
    task: Task = "classification"

    @classmethod
    def of(cls, y: np.ndarray, error: Any = "auto") -> "Labels":  # noqa: ANN401 - it says what is wrong with it
        """Return the labels of y, and what mistakes cost, as the user says."""
        classes, counts = np.unique(y, return_counts=True)
        check.two_classes(classes.tolist(), "y")
        shares = counts / counts.sum()
        if not callable(error) and not isinstance(error, Mapping):
            check_error(error)
            if error in ("auto", "zero-one"):
                return cls(classes, shares)
        plain, scored = _plain(classes), cast("str | ErrorFunction", error)
        if isinstance(error, Mapping):
            scored = CostMatrix.of(error)
            unknown = scored.unknown(plain)
            if unknown:
                raise InvalidInputError(
                    f"`error` must name labels of `y`, got {unknown[0]!r}: they are {plain[:_SHOWN].tolist()}."
                )
        costs = cost_table(plain, scored)
        matrix = CostMatrix.on(plain, costs)
        return cls(classes, shares, None if matrix.alike else costs)

    @property
    def fallback(self) -> np.generic:
        """The commonest, in plain type; the one that costs least in the mean, where mistakes differ."""
        best = self.shares.argmax() if self.costs is None else (self.shares @ self.costs).argmin()
        return _plain(self.classes)[best]

    @property
    def error(self) -> str | CostMapping:
        """How an answer is scored, as the columns of a log say it."""
        return "auto" if self.costs is None else CostMatrix.on(_plain(self.classes), self.costs).to_json()

    def plain(self, y: np.ndarray) -> np.ndarray:
        """Return truths as text or numbers, never as objects, shape (n,)."""
        return _plain(y)

    def usable(self, said: Answers) -> Answers:
        """Return the answers in the type of the labels; an answer that is no class of y is no usable answer."""
        answered, known = said.states == Cell.ANSWERED, _plain(self.classes)
        # The first label may be shorter than the others: their type holds them all.
        values, states = np.full(said.states.shape, known[0], dtype=known.dtype), said.states.copy()
        if answered.any():
            cells = _plain(said.values[answered])
            _same_family(family(cells), family(known))
            place = np.minimum(np.searchsorted(known, cells), len(known) - 1)
            values[answered] = known[place]
            states[answered] = np.where(known[place] == cells, np.int8(Cell.ANSWERED), np.int8(Cell.NO_ANSWER))
        return Answers(values, states)

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Return the labels as the user has them."""
        known = _plain(self.classes)
        return self.classes[np.minimum(np.searchsorted(known, values), len(known) - 1)]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers, as they are.

    Args:
        fallback: their mean.
    """

    fallback: np.generic
    task: Task = "regression"

    def plain(self, y: np.ndarray) -> np.ndarray:
        """Return truths as floats, for answers to be floats too, shape (n,)."""
        return y.astype(np.float64)

    def usable(self, said: Answers) -> Answers:
        """Return the answers as floats; an infinite one is no usable answer."""
        answered = said.states == Cell.ANSWERED
        values, states = np.zeros(said.states.shape), said.states.copy()
        if answered.any():
            cells = _plain(said.values[answered])
            _same_family(family(cells), "numbers")
            numbers = check.numeric(cells, "answers")
            finite = np.isfinite(numbers)
            values[answered] = np.where(finite, numbers, 0.0)
            states[answered] = np.where(finite, np.int8(Cell.ANSWERED), np.int8(Cell.NO_ANSWER))
        return Answers(values, states)

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers unchanged."""
        return values


def _plain(cells: np.ndarray) -> np.ndarray:
    return column(cells.tolist(), "answers") if cells.dtype.kind == "O" else cells


def _same_family(theirs: str, ours: str) -> None:
    if theirs != ours:
        raise InvalidInputError(
            f"`answers` must be of the type of `y`, got {theirs} for a `y` of {ours}: 1 and '1' would never agree. "
            "Convert one of them first."
        )

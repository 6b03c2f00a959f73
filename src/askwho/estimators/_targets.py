"""What is to be predicted, as the router takes it: labels by their number, or numbers as they are."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Shaped

from askwho import _validation as check
from askwho.answers import Answers, Cell, column, family
from askwho.exceptions import InvalidInputError


@runtime_checkable
class Target(Protocol):
    """The one place that knows whether answers are labels or numbers."""

    @property
    def task(self) -> Literal["classification", "regression"]:
        """What the router is to learn."""
        ...

    def encode(self, said: Answers) -> Answers:
        """Return the answers as the router takes them; what cannot be right is no usable answer."""
        ...

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Return encoded answers as the user knows them."""
        ...


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels, encoded by their place in `classes`.

    Args:
        classes: the different labels of y, sorted.
    """

    classes: Shaped[np.ndarray, " C"]
    task: Literal["classification", "regression"] = "classification"

    def encode(self, said: Answers) -> Answers:
        """Return the answers as numbers of classes; an answer that is no class of y is no usable answer."""
        answered = said.states == Cell.ANSWERED
        values, states = np.zeros(said.states.shape, dtype=np.int64), said.states.copy()
        if answered.any():
            known, cells = column(self.classes.tolist(), "y"), _plain(said.values[answered])
            _same_family(family(cells), family(known))
            place = np.minimum(np.searchsorted(known, cells), len(known) - 1)
            values[answered] = place
            states[answered] = np.where(known[place] == cells, np.int8(Cell.ANSWERED), np.int8(Cell.NO_ANSWER))
        return Answers(values, states)

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Return the labels of these numbers."""
        return self.classes[values]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers, as they are."""

    task: Literal["classification", "regression"] = "regression"

    def encode(self, said: Answers) -> Answers:
        """Return the answers as floats; an infinite one is no usable answer."""
        answered = said.states == Cell.ANSWERED
        values, states = np.zeros(said.states.shape), said.states.copy()
        if answered.any():
            cells = _plain(said.values[answered])
            _same_family(family(cells), "numbers")
            numbers = check.numeric(cells, "answers")
            usable = np.isfinite(numbers)
            values[answered] = np.where(usable, numbers, 0.0)
            states[answered] = np.where(usable, np.int8(Cell.ANSWERED), np.int8(Cell.NO_ANSWER))
        return Answers(values, states)

    def decode(self, values: np.ndarray) -> np.ndarray:
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

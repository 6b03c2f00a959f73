"""What the entities answered, and the three things a cell can be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from jaxtyping import Int, Shaped
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import States, Table
from askwho.exceptions import InvalidInputError
from askwho.panel import Panel

Nulls = Literal["not-asked", "no-answer"]

# Whole-number answers up to this span are their own codes: no sorting of millions of cells.
_SMALL_SPAN = 4096


class Cell(IntEnum):
    """The three things a cell of answers can be."""

    ANSWERED = 0
    """An answer: it votes, and its fee is paid."""
    NOT_ASKED = 1
    """No information: no vote, no fee, and nothing that includes it can be scored."""
    NO_ANSWER = 2
    """Asked, but nothing usable came: an error, its fee is paid, no vote."""


@runtime_checkable
class DataFrame(Protocol):
    """A table with named columns: pandas, polars, or anything else that has `columns` and takes their names."""

    @property
    def columns(self) -> Any: ...  # noqa: D102, ANN401

    def __getitem__(self, name: str, /) -> Any: ...  # noqa: ANN401


@dataclass(frozen=True, eq=False)
class Answers:
    """What each entity answered for each query: the paper's â_j(x), and whether it was asked at all.

    Args:
        values: shape (n, |A|), answers of one type; whatever stands where no answer is, is ignored.
        states: shape (n, |A|), `Cell` numbers.
    """

    values: Table
    states: States

    @classmethod
    def from_table(
        cls,
        given: ArrayLike | DataFrame | Mapping[str, ArrayLike],
        panel: Panel,
        *,
        nulls: Nulls | Mapping[str, Nulls] = "not-asked",
    ) -> "Answers":
        """Return the answers of a whole panel, from a table of what the base and the experts said.

        Label entities answer with their label and reject never answers: they need no column.

        Args:
            given: shape (n, base and experts), in the panel's order; named columns are checked by name. A panel of
                labels and reject alone takes an array of shape (n, 0).
            panel: who can be asked.
            nulls: what an empty cell (None, NaN, NaT) means, for all columns or by the entity's name.

        >>> panel = Panel.two_stage(["a", "b"])
        >>> answers = Answers.from_table([["cat", "dog", None], ["dog", "dog", "dog"]], panel)
        >>> answers.states
        array([[0, 0, 1],
               [0, 0, 0]], dtype=int8)
        """
        speaking = [entity.name for entity in panel.entities if entity.kind in ("base", "expert")]
        raw, n = _raw_columns(given, speaking, "answers")
        if n == 0:
            raise InvalidInputError("`answers` must not be empty: there is no query in it.")
        states = np.zeros((n, len(panel)), dtype=np.int8)
        cells: list[np.ndarray] = []
        for j, entity in enumerate(panel.entities):
            if entity.kind == "label":
                cells.append(np.full(n, entity.label))
            elif entity.kind == "reject":
                cells.append(np.zeros(n))
                states[:, j] = Cell.NO_ANSWER
            else:
                column = raw[speaking.index(entity.name)]
                states[is_null(column), j] = null_state(nulls, entity.name)
                cells.append(column)
        return cls(_one_type(cells, states), states)

    def __post_init__(self) -> None:
        check.same_shape(self.states, "states", self.values.shape, "one state for each answer")
        if not np.isin(self.states, [cell.value for cell in Cell]).all():
            raise InvalidInputError(f"`states` must hold 0, 1 or 2 (see `Cell`), got {np.unique(self.states)}.")

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def encoded(self) -> "tuple[Int[np.ndarray, 'n a'], Shaped[np.ndarray, ' C']]":
        """Codes (n, |A|), in the order of the sorted answers, and the answers (C,) they stand for.

        A cell without an answer has some code, to be ignored.
        """
        voted = self.states == Cell.ANSWERED
        if self.values.dtype.kind in "iub" and voted.any():
            low, high = int(self.values[voted].min()), int(self.values[voted].max())
            if high - low < _SMALL_SPAN:
                codes = np.where(voted, self.values.astype(np.int64) - low, 0)
                return codes, np.arange(low, high + 1).astype(self.values.dtype)
        codes = np.zeros(self.values.shape, dtype=np.int64)
        classes, codes[voted] = np.unique(self.values[voted], return_inverse=True)
        return codes, classes


def is_null(column: np.ndarray) -> np.ndarray:
    """Return which entries are None, NaN or NaT."""
    if column.dtype.kind == "O":
        # The only values that differ from themselves are NaN and its kin.
        return np.array([value is None or value != value for value in column], dtype=bool)  # noqa: PLR0124
    return np.isnan(column) if column.dtype.kind in "fM" else np.zeros(len(column), dtype=bool)


def null_state(nulls: Nulls | Mapping[str, Nulls], name: str) -> Cell:
    """Return what an empty cell of the entity called `name` means."""
    word = nulls.get(name, "not-asked") if isinstance(nulls, Mapping) else nulls
    check.one_of(word, "nulls", get_args(Nulls))
    return Cell.NOT_ASKED if word == "not-asked" else Cell.NO_ANSWER


def _raw_columns(given: Any, names: Sequence[str], what: str) -> tuple[list[np.ndarray], int]:  # noqa: ANN401
    """One array a column, object-typed where the column has no single type of its own, and how many rows."""
    if isinstance(given, np.ndarray) or not isinstance(given, DataFrame | Mapping):
        rows = given if isinstance(given, np.ndarray) else np.array(given, dtype=object)
        if rows.ndim != 2:
            raise InvalidInputError(f"`{what}` must have two axes (queries, entities), got shape {rows.shape}.")
        check.same_shape(rows, what, (len(rows), len(names)), f"one column for each of {list(names)}")
        return [_natural(rows[:, j]) for j in range(len(names))], len(rows)
    check.columns(list(given) if isinstance(given, Mapping) else list(given.columns), names, what)
    found = [_natural(np.asarray(given[name])) for name in names]
    if len({len(column) for column in found}) > 1:
        raise InvalidInputError(f"`{what}` must have columns of one length, got {[len(c) for c in found]}.")
    return found, len(found[0]) if found else 0


def _natural(column: np.ndarray) -> np.ndarray:
    """The column with a plain type where its entries have one; object columns with nulls stay as they are."""
    if column.dtype.kind != "O" or is_null(column).any():
        return column
    return np.array(column.tolist())


def _one_type(cells: list[np.ndarray], states: np.ndarray) -> np.ndarray:
    """All columns in one array; answers that are not of one type are refused, for they could never agree."""
    voted = states == Cell.ANSWERED
    families = {
        _family(value)
        for j, column in enumerate(cells)
        for value in (column[voted[:, j]].tolist() if column.dtype.kind == "O" else column[voted[:, j]][:1].tolist())
    }
    if len(families) > 1:
        raise InvalidInputError(
            f"`answers` must be of one type, got {' and '.join(sorted(families))}: "
            "1 and '1' would never agree. Convert them first."
        )
    values = np.zeros(states.shape, dtype=_common_dtype(cells, voted))
    for j, column in enumerate(cells):
        values[voted[:, j], j] = column[voted[:, j]]
    return values


def _family(value: Any) -> str:  # noqa: ANN401
    return "numbers" if isinstance(value, int | float | np.number) else type(value).__name__


def _common_dtype(cells: list[np.ndarray], voted: np.ndarray) -> np.dtype[Any]:
    answered = [np.array(column[voted[:, j]].tolist()) for j, column in enumerate(cells) if voted[:, j].any()]
    if not answered:
        return np.dtype(np.float64)
    return np.result_type(*answered)

"""What the entities answered, and the three things a cell can be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from functools import cached_property
from types import NoneType
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Int, Shaped

from askwho import _validation as check
from askwho._types import States, Table
from askwho.core._panel import Panel
from askwho.exceptions import InvalidInputError

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


# Plain numbers: to look through an enumeration takes longer than to check the answers to one query.
_FIRST_CELL, _LAST_CELL = int(min(Cell)), int(max(Cell))


@dataclass(frozen=True, eq=False)
class Answers:
    """What each entity answered for each query: the paper's â_j(x), and whether it was asked at all.

    Args:
        values: shape (n, |A|), answers of one type; whatever stands where no answer is, is ignored.
        states: shape (n, |A|), `Cell` numbers.
        spelled: shape (n, |A|), each answer as it was written, where the values are keys by which they are compared;
            None where they are what was written.
    """

    values: Table
    states: States
    spelled: Table | None = None

    @classmethod
    def from_table(
        cls,
        given: Any,  # noqa: ANN401 - an array, a mapping of columns, or a data frame of any library
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
        raw, n = _raw_columns(given, speaking)
        if n == 0:
            raise InvalidInputError("`answers` must not be empty: there is no query in it.")
        meaning = dict(zip(speaking, null_states(nulls, speaking), strict=True))
        states = np.zeros((n, len(panel)), dtype=np.int8)
        cells: list[np.ndarray] = []
        for j, entity in enumerate(panel.entities):
            if entity.kind == "label":
                cells.append(np.full(n, entity.label))
            elif entity.kind == "reject":
                cells.append(np.zeros(n))
                states[:, j] = Cell.NO_ANSWER
            else:
                said = raw[speaking.index(entity.name)]
                states[is_null(said), j] = meaning[entity.name]
                cells.append(said)
        return cls(_one_type(cells, states), states)

    def __post_init__(self) -> None:
        check.same_shape(self.states, "states", self.values.shape, "one state for each answer")
        if self.spelled is not None:
            check.same_shape(self.spelled, "spelled", self.values.shape, "one spelling for each answer")
        if self.states.size and (self.states.min() < _FIRST_CELL or self.states.max() > _LAST_CELL):
            raise InvalidInputError(f"`states` must hold 0, 1 or 2 (see `Cell`), got {np.unique(self.states)}.")

    def __len__(self) -> int:
        return len(self.values)

    def at(self, index: Any) -> "Answers":  # noqa: ANN401 - whatever takes rows, or rows and entities, of a table
        """Return the answers of some rows, or of some rows and entities."""
        spelled = None if self.spelled is None else self.spelled[index]
        return Answers(self.values[index], self.states[index], spelled)

    @cached_property
    def complete(self) -> bool:
        """Whether every entity gave a usable answer to every query."""
        return not self.states.any()

    @cached_property
    def family(self) -> str | None:
        """What kind of answers these are, "numbers", "text" or "dates"; None where nobody ever answered."""
        if not (self.states == Cell.ANSWERED).any():
            return None
        return family(self.values if self.values.dtype.kind != "O" else self.values[self.states == Cell.ANSWERED])

    @cached_property
    def encoded(self) -> "tuple[Int[np.ndarray, 'n a'], Shaped[np.ndarray, ' C']]":
        """Codes (n, |A|), in the order of the sorted answers, and the answers (C,) they stand for.

        A cell without an answer has some code, to be ignored.
        """
        answered = self.states == Cell.ANSWERED
        said = self.values if self.complete else self.values[answered]
        if said.dtype.kind in "iub" and said.size:
            low, high = int(said.min()), int(said.max())
            if high - low < _SMALL_SPAN and high <= np.iinfo(np.int64).max:
                codes = self.values.astype(np.int64) - low
                return codes if self.complete else np.where(answered, codes, 0), np.arange(low, high + 1).astype(
                    said.dtype
                )
        codes = np.zeros(self.values.shape, dtype=np.int64)
        classes, inverse = np.unique(said, return_inverse=True)
        codes[answered] = inverse.ravel()
        return codes, classes


def column(values: Any, name: str) -> np.ndarray:  # noqa: ANN401
    """Return one column as an array (n,), of a plain type where its entries have one, else of objects.

    A list is read entry by entry: NumPy alone would make the text 'nan' of a missing number among words.
    """
    array = np.asarray(values) if hasattr(values, "dtype") else np.array(values, dtype=object)
    if array.dtype.kind == "f" and "int" in str(getattr(values, "dtype", "")).lower():
        # Whole numbers beside a null: as floats the large ones would lose their last digits.
        array = np.array(list(values), dtype=object)
    if array.ndim != 1:
        raise InvalidInputError(f"`{name}` must be a column of single values, got shape {array.shape}.")
    if array.dtype.kind == "O" and len(array) and not is_null(array).any():
        plain = _words(array)
        if plain in ({"numbers"}, {"text"}, {"bytes"}):
            return np.array(array.tolist())
        if plain == {"dates"}:
            return array.astype("M8[D]" if all(type(value) is date for value in array) else "M8[us]")
    return array


def is_null(values: np.ndarray) -> np.ndarray:
    """Return which entries are None, NaN, NaT or pandas' NA, in the shape of the values."""
    if values.dtype.kind == "O":
        entries = values.tolist()
        kinds = set(map(type, entries))
        if kinds <= _NEVER_NULL:
            return np.zeros(values.shape, dtype=bool)
        if kinds <= _NEVER_NULL | {NoneType}:
            return np.array([value is None for value in entries], dtype=bool)
        return np.array([check.missing(value) for value in entries], dtype=bool)
    return np.isnan(values) if values.dtype.kind in "fmM" else np.zeros(values.shape, dtype=bool)


def family(values: np.ndarray) -> str:
    """Return what kind of answers these are: "numbers", "text", "dates", or several of them joined by "and"."""
    if values.dtype.kind != "O":
        return _FAMILIES.get(values.dtype.kind) or str(values.dtype)
    return " and ".join(sorted(_words(values)))


def null_states(nulls: Nulls | Mapping[str, Nulls], names: Sequence[str]) -> list[Cell]:
    """Return what an empty cell means, for each of the named entities; not asked, unless said."""
    words = dict(nulls) if isinstance(nulls, Mapping) else dict.fromkeys(names, nulls)
    unknown = [name for name in words if name not in names]
    if unknown:
        raise InvalidInputError(f"`nulls` must name entities of the panel ({list(names)}), got {unknown}.")
    for word in words.values():
        check.one_of(word, "nulls", get_args(Nulls))
    return [Cell.NO_ANSWER if words.get(name) == "no-answer" else Cell.NOT_ASKED for name in names]


# By NumPy's kind of a type: answers of one family can be equal, of two they never are.
_FAMILIES = {
    "b": "numbers",
    "i": "numbers",
    "u": "numbers",
    "f": "numbers",
    "U": "text",
    "S": "bytes",
    "M": "dates",
    "m": "dates",
}


# Types of which no value is a null: a column of them needs no look at its entries.
_NEVER_NULL = {str, int, bool}


def _words(values: np.ndarray) -> set[str]:
    """What kinds of answers there are among objects."""
    return {_word(kind) for kind in set(map(type, values.tolist()))}


def _word(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, date | np.datetime64):
        return "dates"
    return "numbers" if issubclass(kind, int | float | np.number | np.bool_) else kind.__name__


def _raw_columns(given: Any, names: Sequence[str]) -> tuple[list[np.ndarray], int]:  # noqa: ANN401
    """One array a column, and how many rows."""
    if isinstance(given, Mapping) or (hasattr(given, "columns") and not isinstance(given, np.ndarray)):
        check.columns(list(given if isinstance(given, Mapping) else given.columns), names, "answers")
        found = [column(given[name], f"answers of {name}") for name in names]
        if len({len(values) for values in found}) > 1:
            raise InvalidInputError(f"`answers` must have columns of one length, got {[len(c) for c in found]}.")
        return found, len(found[0]) if found else 0
    rows = given if isinstance(given, np.ndarray) else np.array(given, dtype=object)
    if rows.size == 0 and len(names) > 0:
        return [], 0
    if rows.ndim != 2:
        raise InvalidInputError(f"`answers` must have two axes (queries, entities), got shape {rows.shape}.")
    check.same_shape(rows, "answers", (len(rows), len(names)), f"one column for each of {list(names)}")
    return [column(rows[:, j], f"answers of {name}") for j, name in enumerate(names)], len(rows)


def _one_type(cells: list[np.ndarray], states: np.ndarray) -> np.ndarray:
    """All columns in one array; answers that are not of one type are refused, for they could never agree."""
    answered = [values[states[:, j] == Cell.ANSWERED] for j, values in enumerate(cells)]
    said = [
        column(values.tolist() if values.dtype.kind == "O" else values, "answers") for values in answered if len(values)
    ]
    families = sorted({family(values) for values in said})
    if len(families) > 1 or any(" and " in name for name in families):
        raise InvalidInputError(
            f"`answers` must be of one type, got {' and '.join(families)}: 1 and '1' would never agree. "
            "Convert them first."
        )
    dtype = np.result_type(*said) if said else np.dtype(np.float64)
    if said and dtype.kind == "f" and all(values.dtype.kind in "iub" for values in said):
        raise InvalidInputError(
            "`answers` must fit into 64 bits with their sign, got larger numbers: make text of them."
        )
    values = np.zeros(states.shape, dtype=dtype)
    for j, column_said in enumerate(answered):
        values[states[:, j] == Cell.ANSWERED, j] = column_said
    return values

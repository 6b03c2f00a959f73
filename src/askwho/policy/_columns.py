"""Columns of decisions: kept as arrays, written as lists for any table library, or as Arrow's arrays for many rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int, Shaped

# Numbers that Arrow takes as they are, and the type that it would find in a list of them.
_NUMBERS = {"i": np.int64, "f": np.float64, "b": np.bool_}
# So many names have codes of one byte.
_FEW = 128


@dataclass(frozen=True, eq=False)
class Names:
    """Some names a row, in their order.

    Args:
        names: of everybody.
        order: shape (n, K), indices into them.
        within: shape (n, K), which of the order are named.
    """

    names: tuple[str, ...]
    order: Int[np.ndarray, "n K"]
    within: Bool[np.ndarray, "n K"]

    def to_list(self) -> list[list[str]]:
        """Return a list a row."""
        flat = np.array(self.names, dtype=object)[self.order[self.within]].tolist()
        return [flat[start:end] for start, end in pairwise(self._ends().tolist())]

    def to_arrow(self, *, coded: bool = False) -> pa.Array:
        """Return the same as one array, of texts, or of their codes and all names once."""
        names = pa.array(self.names, pa.string())
        codes = pa.array(self.order.astype(np.int8 if len(names) <= _FEW else np.int32)[self.within])
        flat = pa.DictionaryArray.from_arrays(codes, names) if coded else names.take(codes)
        return pa.ListArray.from_arrays(pa.array(self._ends(), pa.int32()), flat)

    def _ends(self) -> Int[np.ndarray, " m"]:
        return np.concatenate([[0], self.within.sum(axis=1).cumsum()])


@dataclass(frozen=True, eq=False)
class Known:
    """Values that some rows have none of.

    Args:
        values: shape (n,); whatever stands where there is none is ignored.
        known: shape (n,), where there is one.
    """

    values: Shaped[np.ndarray, " n"]
    known: Bool[np.ndarray, " n"]

    def to_list(self) -> list[Any]:
        """Return the values, None where there is none."""
        return [value if known else None for value, known in zip(plain(self.values), self.known.tolist(), strict=True)]

    def to_arrow(self) -> pa.Array:
        """Return the same as one array; without a type, where no row has any."""
        if not self.known.any():
            return pa.nulls(len(self.known))
        number = _NUMBERS.get(self.values.dtype.kind)
        return pa.array(self.to_list()) if number is None else pa.array(self.values.astype(number), mask=~self.known)


Column = Names | Known | np.ndarray
"""One column: an array of shape (n,), or (n, d) where each row is a list of numbers; names; or values with gaps."""


def written(columns: Mapping[str, Column], *, arrow: bool, coded: bool = False) -> dict[str, Any]:
    """Return columns as plain lists, or as Arrow's arrays of the types that it finds in those lists.

    Args:
        columns: by name.
        arrow: whether as Arrow's arrays.
        coded: whether lists of names are codes there, as Parquet has them: to make texts of them takes several times
            as long as to write the codes.
    """
    return {name: _arrow(column, coded=coded) if arrow else _list(column) for name, column in columns.items()}


def plain(values: Shaped[np.ndarray, "..."]) -> list[Any]:
    """Return values as Python's own; NumPy would make whole numbers of moments in nanoseconds."""
    finer = values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as")
    return (values.astype("M8[us]") if finer else values).tolist()


def _list(column: Column) -> list[Any]:
    return plain(column) if isinstance(column, np.ndarray) else column.to_list()


def _arrow(column: Column, *, coded: bool) -> pa.Array:
    if isinstance(column, Names):
        return column.to_arrow(coded=coded)
    if not isinstance(column, np.ndarray):
        return column.to_arrow()
    number = _NUMBERS.get(column.dtype.kind)
    if number is None:
        return pa.array(plain(column))
    flat = pa.array(column.ravel().astype(number, copy=False))
    if column.ndim == 1:
        return flat
    ends = np.arange(len(column) + 1) * column.shape[1]
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat)

"""From what others call a column to one array: single values, or lists of numbers of one length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from askwho import _validation as check
from askwho.core import column
from askwho.exceptions import InvalidInputError

# Types whose lists NumPy reads as they are: a list of one of them needs no look at its entries.
_PLAIN = ({float}, {int}, {bool})
# What a cell of an embedding is; any other type in the column makes it one of single values.
_LISTS = (list, tuple, np.ndarray)


def cells(values: Any, name: str) -> np.ndarray:  # noqa: ANN401 - a list, an array, or a column of any library
    """Return a column as one array.

    Shape (n,), of a plain type where its entries have one, else of objects, with None where a cell is empty. Shape
    (n, d), floats, where all cells are lists of d numbers; a row of NaN where such a cell is empty.
    """
    if hasattr(values, "to_arrow"):
        values = values.to_arrow()
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return from_arrow(values)
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    if isinstance(values, Sequence):
        return from_list(list(values), name)
    array = np.asarray(values)
    if array.ndim == 0:
        got = "an array without an axis" if isinstance(values, np.ndarray) else type(values).__name__
        raise InvalidInputError(f"`{name}` must be a column or a single value, got {got}: take a list.")
    if array.dtype.kind == "f" and "int" in str(getattr(values, "dtype", "")).lower():
        # Whole numbers beside a null: as floats the large ones would lose their last digits.
        return from_list(list(values), name)
    return _from_array(array, name)


def _from_array(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.kind == "O":
        return from_list(array.tolist(), name)
    if array.ndim == 1:
        return array
    if array.ndim > 2 or array.dtype.kind not in "biuf" or not array.shape[1]:
        raise InvalidInputError(
            f"`{name}` must hold single values, or lists of numbers of one length, got an array of {array.dtype} with "
            f"shape {array.shape}."
        )
    return _floats(array)


def from_list(entries: list[Any], name: str) -> np.ndarray:
    """Return a column that is given entry by entry: NumPy alone would make the text 'nan' of a missing word."""
    kinds = set(map(type, entries))
    if kinds in _PLAIN:
        return np.array(entries)
    if kinds <= {str, type(None)}:
        return _objects(entries)
    if any(issubclass(kind, _LISTS) for kind in kinds):
        return _from_lists(entries)
    known = [None if check.missing(entry) else entry for entry in entries]
    return _objects(known) if {type(entry) for entry in known} <= {str, type(None)} else column(_objects(known), name)


def from_arrow(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return an Arrow column."""
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return _objects([None if entry is None else str(entry) for entry in values.to_pylist()])
        values, kind = values.cast(kind.storage_type), kind.storage_type
    if pa.types.is_dictionary(kind):
        values, kind = _decoded(values), kind.value_type
    if _is_list(kind):
        found = _vectors(values)
        return values.to_numpy() if found is None else found
    if values.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        # NumPy would make floats of them, and 3 would no longer be the answer 3.
        known = values.fill_null(False if pa.types.is_boolean(kind) else 0).to_numpy().astype(object)
        known[values.is_null().to_numpy()] = None
        return known
    return values.to_numpy()


def _decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """What a column of codes stands for."""
    kind = values.type.value_type
    # Arrow cannot look up views of text.
    kind = pa.string() if pa.types.is_string_view(kind) else kind
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in values.chunks], type=kind)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _vectors(values: pa.ChunkedArray) -> np.ndarray | None:
    """A column of lists as floats (n, d); None where they are not numbers, or not of one length."""
    inner = values.type.value_type
    if not (pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_boolean(inner)):
        return None
    bounds = pc.call_function("min_max", [pc.call_function("list_value_length", [values])]).as_py()
    if not bounds["min"] or bounds["min"] != bounds["max"]:
        return None
    flat = pc.call_function("list_flatten", [values])
    if pa.types.is_boolean(inner):
        flat = flat.cast(pa.uint8())
    known = _floats(flat.to_numpy().reshape(-1, bounds["min"]))
    if not values.null_count:
        return known
    rows = np.full((len(values), known.shape[1]), np.nan, dtype=known.dtype)
    rows[values.is_valid().to_numpy()] = known
    return rows


def _from_lists(entries: list[Any]) -> np.ndarray:
    try:
        rows = np.array(entries)
        if rows.ndim == 2 and rows.dtype.kind in "biuf" and rows.shape[1]:
            return _floats(rows)
    except ValueError:
        # Not of one length, or an empty cell among them.
        pass
    try:
        # Arrow tells a gap from whatever else NumPy makes an object of.
        found = from_arrow(pa.array([None if check.missing(entry) else entry for entry in entries]))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _objects(entries)
    return found if found.ndim == 2 else _objects(entries)


def _floats(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _objects(entries: list[Any]) -> np.ndarray:
    return np.fromiter(entries, dtype=object, count=len(entries))

"""Checks of what users hand in. Every message says what was expected, what came, and what to do."""

import math
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from askwho.exceptions import InvalidInputError

LARGEST = 1e30
"""No feature, fee or error may be larger: artefacts hold 32 bits, and sums and squares must stay finite."""


def one_of(value: object, name: str, options: Collection[str]) -> None:
    """Raise unless `value` is one of the words in `options`."""
    if not (isinstance(value, str) and value in options):
        words = ", ".join(repr(option) for option in options)
        raise InvalidInputError(f"`{name}` must be one of {words}, got {value!r}.")


def finite_number(value: float, name: str, *, minimum: float | None = None) -> float:
    """Return `value` as a float, raising unless it is finite and at least `minimum`."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"`{name}` must be a number, got {value!r}.") from None
    if not math.isfinite(number) or (minimum is not None and number < minimum):
        bound = "" if minimum is None else f" of at least {minimum:g}"
        raise InvalidInputError(f"`{name}` must be a finite number{bound}, got {value!r}.")
    return number


def numeric(values: Any, name: str) -> np.ndarray:  # noqa: ANN401
    """Return `values` as a float64 array, or say that they are not numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            flat = [np.nan if missing(v) else v for v in array.ravel().tolist()]
            if all(isinstance(v, int | float | np.number | np.bool_) for v in flat):
                return np.array(flat, dtype=np.float64).reshape(array.shape)
        elif array.dtype.kind in "biuf":
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInputError(
        f"`{name}` must hold numbers in rows of one length, got {_kind_of(values)}: encode text, dates and categories "
        "first."
    )


def finite_or_nan(values: Any, name: str) -> np.ndarray:  # noqa: ANN401
    """Return a column as a float64 array (n,) without infinity; NaN where there is nothing."""
    array = numeric(values, name)
    if array.ndim != 1:
        raise InvalidInputError(f"`{name}` must hold single numbers, got shape {array.shape}: make columns of lists.")
    if np.isinf(array).any():
        raise InvalidInputError(f"`{name}` must be finite or empty, got an infinite value: empty or mend that cell.")
    return array


def whole_number(value: int, name: str, *, minimum: int, maximum: int | None = None) -> int:
    """Return `value`, raising unless it is a whole number between `minimum` and `maximum`."""
    number: Any = value
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or value < minimum or (maximum is not None and value > maximum):
        bounds = f"of at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
        raise InvalidInputError(f"`{name}` must be a whole number {bounds}, got {value!r}.")
    return int(value)


def once(pairs: Sequence[tuple[str, Any]], name: str) -> dict[str, Any]:
    """Return the pairs by key, raising where a key occurs twice: one of its values would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInputError(f"`{name}` must name each once, got {twice!r} more than once.")
    return found


def table(
    values: Any,  # noqa: ANN401
    name: str,
    *,
    entities: Sequence[str] | None = None,
    allow_nan: bool = False,
) -> np.ndarray:
    """Return `values` as a float64 array (n, columns) without NaN or infinity.

    Args:
        values: numbers, one row a query; a data frame too.
        name: what the user calls them.
        entities: where given there must be one column for each; named columns must have these names, in this order.
        allow_nan: let NaN pass.
    """
    if entities is not None and hasattr(values, "columns"):
        columns(list(values.columns), entities, name)
    array = numeric(values, name)
    if array.size == 0:
        raise InvalidInputError(f"`{name}` must not be empty, got shape {array.shape}: it has no row or no column.")
    if array.ndim != 2:
        raise InvalidInputError(f"`{name}` must have two axes (queries, columns), got shape {array.shape}.")
    if entities is not None:
        same_shape(array, name, (len(array), len(entities)), "one column for each entity of the panel")
    # A finite sum of squares has finite terms alone: that is one step for what nearly always holds.
    if math.isfinite(np.vdot(array, array)):
        return array
    bad = np.isinf(array) if allow_nan else ~np.isfinite(array)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidInputError(
            f"`{name}` must be finite, got {array[row, column]} at row {row}, column {column} "
            f"({int(bad.sum())} such cells): fill or drop them first."
        )
    return array


def nonnegative(array: np.ndarray, name: str) -> np.ndarray:
    """Return `array`, raising where an entry is below zero."""
    if (array < 0).any():
        where = tuple(int(i) for i in np.argwhere(array < 0)[0])
        raise InvalidInputError(f"`{name}` must not be below zero, got {array[where]} at index {where}.")
    return array


def bounded(array: np.ndarray, name: str) -> np.ndarray:
    """Return `array`, raising where an entry is larger than `LARGEST`."""
    if (np.abs(array) > LARGEST).any():
        raise InvalidInputError(
            f"`{name}` must be of at most {LARGEST:g} in size, got {np.nanmax(np.abs(array)):g}: take another unit."
        )
    return array


def same_shape(array: np.ndarray, name: str, expected: tuple[int, ...], why: str) -> None:
    """Raise unless `array` has the shape that `why` explains."""
    if array.shape != expected:
        raise InvalidInputError(f"`{name}` must have shape {expected}, got {array.shape}: {why}.")


def cardinalities(k: ArrayLike, n: int, size: int, name: str = "k") -> np.ndarray:
    """Return k as an integer array (n,), every entry between 1 and `size`."""
    array = np.asarray(k, dtype=None if _is_regular(k) else object)
    if array.dtype.kind not in "iu":
        raise InvalidInputError(f"`{name}` must hold whole numbers, got {_kind_of(k)}.")
    if array.ndim == 0:
        array = np.broadcast_to(array, (n,))
    same_shape(array, name, (n,), "one number for all queries, or one for each")
    outside = (array < 1) | (array > size)
    if outside.any():
        raise InvalidInputError(
            f"`{name}` must be between 1 and {size}, got {array[outside][0]}: the panel has {size} entities."
        )
    return array.astype(np.intp)


def missing(value: Any) -> bool:  # noqa: ANN401
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(np.isnan(value))
    if isinstance(value, Decimal):
        # One kind of them raises where it is compared.
        return value.is_nan()
    # pandas' own nulls are told by name: comparing them raises, and pandas is optional.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def unique_names(names: Sequence[str], what: str) -> None:
    """Raise where a name is not a non-empty string or occurs twice."""
    for name in names:
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"{what} must be named by non-empty strings, got {name!r}.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidInputError(f"{what} must have different names, got {_listing(repeated)} more than once.")


def columns(given: Sequence[Any], expected: Sequence[str], name: str) -> None:
    """Raise unless a table's columns are exactly the expected ones, in their order."""
    if list(given) == list(expected):
        return
    unique_names([str(column) for column in given], f"Columns of `{name}`")
    missing = [column for column in expected if column not in given]
    extra = [str(column) for column in given if column not in expected]
    if missing:
        raise InvalidInputError(f"`{name}` must have a column for every entity, missing: {_listing(missing)}.")
    if extra:
        raise InvalidInputError(
            f"`{name}` must have one column an entity, got also: {_listing(extra)}. Select columns first."
        )
    raise InvalidInputError(
        f"`{name}` must have its columns in the panel's order ({_listing(expected)}), "
        f"got {_listing([str(column) for column in given])}. Reorder them first."
    )


def known_labels(labels: Iterable[Any], known: Sequence[Any], name: str) -> None:
    """Raise where a label is not among the known ones."""
    unseen = sorted({str(label) for label in set(labels) - set(known)})
    if unseen:
        raise InvalidInputError(
            f"`{name}` must hold only labels of the panel ({_listing(list(map(str, known)))}), "
            f"got {_listing(unseen)}: a label unseen in training cannot be scored."
        )


def two_classes(labels: Sequence[Any], name: str) -> None:
    """Raise unless there are two labels or more to tell apart."""
    if len(labels) < 2:
        raise InvalidInputError(
            f"`{name}` must hold at least two classes, got {list(labels)!r}: there is nothing to decide."
        )


def _listing(words: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(repr(word) for word in words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"


def _is_regular(values: Any) -> bool:  # noqa: ANN401
    try:
        np.asarray(values)
    except ValueError:
        return False
    return True


def _kind_of(values: Any) -> str:  # noqa: ANN401
    if not _is_regular(values):
        return "rows of different lengths"
    array = np.asarray(values)
    return f"an array of {array.dtype} with shape {array.shape}"

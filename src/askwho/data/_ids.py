"""What queries are called: one text each, never empty, never twice."""

from collections.abc import Iterable

import numpy as np

from askwho.core import is_null
from askwho.exceptions import InvalidInputError


def id_texts(values: np.ndarray) -> np.ndarray:
    """Return a column of ids as texts, shape (n,), None where a cell is empty.

    A whole number is the same id whether a file keeps it as 7 or, beside an empty cell, as 7.0.
    """
    empty = is_null(values)
    if values.dtype.kind == "f" and (values[~empty] == np.floor(values[~empty])).all():
        texts = [f"{value:.0f}" for value in values.tolist()]
    else:
        texts = list(map(str, (values.astype(str) if values.dtype.kind == "M" else values).tolist()))
    found = np.array(texts, dtype=object)
    if empty.any() or not all(map(str.strip, texts)):
        found[empty | np.array([not text.strip() for text in texts])] = None
    return found


def read_ids(values: np.ndarray, *, first: int = 0) -> np.ndarray:
    """Return the ids of some rows of a log as texts, shape (n,), or raise where one is empty or occurs twice.

    Args:
        values: the column of ids.
        first: which row of the log the first of them is.
    """
    ids = id_texts(values)
    empty = np.flatnonzero(is_null(ids))
    if len(empty):
        raise InvalidInputError(
            f"`id` must name every query, got {len(empty)} without a name, the first in row {first + empty[0]}."
        )
    seen: dict[str, int] = {}
    for row, name in enumerate(ids.tolist(), first):
        if seen.setdefault(name, row) != row:
            raise InvalidInputError(
                f"`id` must name each query once, got {name!r} in rows {seen[name]} and {row}: keep one of them."
            )
    return ids


def repeated(marks: Iterable[np.ndarray]) -> np.ndarray:
    """Return the rows that occur before, in their order; `marks` are fingerprints of all rows, batch by batch."""
    every = np.concatenate([*marks])
    again = np.ones(len(every), dtype=bool)
    again[np.unique(every, return_index=True)[1]] = False
    return np.flatnonzero(again)

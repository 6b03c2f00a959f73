"""What is in one column, counted batch by batch."""

from typing import Any

import numpy as np

from askwho import _validation as check
from askwho.core import family, is_null

SHOWN = 5
"""Rows of a problem that are named: enough to find it."""


def as_texts(values: np.ndarray) -> np.ndarray:
    """Return values as text: bytes, which need not be text of any kind, as Python writes them."""
    return np.array([str(value) for value in values.tolist()]) if values.dtype.kind == "S" else values.astype(str)


class Cells:
    """What was seen of one column, batch by batch."""

    def __init__(self) -> None:
        self.rows = self.empty = self.numbers = 0
        self.total = 0.0
        self.kinds: set[str] = set()
        self.same = True
        self.first: Any = None
        self.found: dict[str, tuple[int, tuple[int, ...]]] = {}

    def add(self, values: np.ndarray, start: int) -> np.ndarray:
        """Count the cells of a batch whose first row is row `start`; return those that are not empty."""
        missing = is_null(values) if values.ndim == 1 else _all(np.isnan(values))
        self.rows += len(values)
        self.empty += int(missing.sum())
        self._note("empty", missing, start)
        kept = values[~missing]
        if not len(kept):
            return kept
        if values.ndim > 1:
            self._add_lists(values, kept, start)
            return kept
        self.kinds |= set(family(kept).split(" and "))
        if family(kept) == "numbers":
            numbers = np.full(len(values), np.nan)
            numbers[~missing] = np.asarray(kept, dtype=np.float64)
            self.numbers, self.total = self.numbers + len(kept), self.total + float(numbers[~missing].sum())
            self._note("infinite", np.isinf(numbers), start)
            self._note("enormous", np.isfinite(numbers) & (np.abs(numbers) > check.LARGEST), start)
            self._note("below", numbers < 0, start)
            self._note("outside", (numbers < 0) | (numbers > 1), start)
        if self.same:
            self.first = kept[0] if self.first is None else self.first
            self.same = all(str(value) == str(self.first) for value in np.unique(as_texts(kept))[:2])
        return kept

    def _add_lists(self, values: np.ndarray, kept: np.ndarray, start: int) -> None:
        """Count cells that are lists of numbers: a list is what the worst of its numbers is."""
        self.kinds.add(f"lists of {values.shape[1]} numbers")
        self._note("infinite", ~_all(~np.isinf(values)), start)
        self._note("enormous", ~_all(np.isinf(values) | ~(np.abs(values) > check.LARGEST)), start)
        if self.same:
            self.first = kept[0] if self.first is None else self.first
            self.same = np.shape(self.first) == kept.shape[1:] and bool((kept == self.first).all())

    def _note(self, what: str, where: np.ndarray, start: int) -> None:
        count, rows = self.found.get(what, (0, ()))
        if len(rows) < SHOWN and where.any():
            rows = (*rows, *(start + int(row) for row in np.flatnonzero(where)[: SHOWN - len(rows)]))
        self.found[what] = (count + int(where.sum()), rows)

    def cells(self, what: str) -> tuple[int, tuple[int, ...]]:
        """How many cells are so, and the first rows that are."""
        return self.found.get(what, (0, ()))

    @property
    def kind(self) -> str:
        return " and ".join(sorted(self.kinds))


def _all(where: np.ndarray) -> np.ndarray:
    """Which rows are so in all their columns, shape (n,)."""
    return np.logical_and.reduce(where, axis=1)

"""Some rows of a log of any length: uniform, bounded, and the same however the log was cut into batches."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Int

from askwho._splitmix import mixed
from askwho.data._kinds import as_codes
from askwho.data._tables import Table

MOST = 20_000
"""Rows that are kept: enough that what is practically perfect is told from what is good, and few enough to sort."""


class Sample:
    """The rows whose hashed numbers are smallest: each row is as likely as any other, and no batch matters.

    Hashing is one to one, so there are no ties. It is Vitter's reservoir (1985) with keys in place of a generator.
    """

    def __init__(self, columns: Iterable[str], most: int = MOST) -> None:
        self.columns, self.most = list(columns), most
        self.keys = np.zeros(0, dtype=np.uint64)
        self.rows = np.zeros(0, dtype=np.int64)
        self.parts: dict[str, list[np.ndarray]] = {name: [] for name in self.columns}

    def add(self, table: Table, start: int) -> None:
        """Take what belongs into the sample from a batch whose first row is row `start`."""
        # Lists of numbers are not sampled: twenty thousand embeddings would be the memory that batches save.
        for name in [name for name in self.columns if table[name].ndim > 1]:
            self.columns.remove(name)
        rows = np.arange(start, start + len(next(iter(table.values()))))
        keys = mixed(rows.astype(np.uint64))
        new = np.flatnonzero(keys <= self._bound())
        self.keys, self.rows = np.concatenate([self.keys, keys[new]]), np.concatenate([self.rows, rows[new]])
        for name in self.columns:
            self.parts[name].append(table[name][new])
        if len(self.keys) > 2 * self.most:
            self._shrink()

    def table(self) -> Table:
        """Return the columns of the rows kept, each of shape (rows,), in the log's order."""
        self._shrink()
        return {name: self.parts[name][0] for name in self.columns if self.parts[name]}

    def halves(self, groups: np.ndarray | None) -> Bool[np.ndarray, " rows"]:
        """Return which rows are of the first of two halves at random; groups, one for each row, stay whole."""
        if groups is None:
            # The lowest bit of a key had no part in who is in the sample.
            return (self.keys & np.uint64(1)).astype(bool)
        return (mixed(as_codes(groups).astype(np.uint64)) & np.uint64(1)).astype(bool)

    def one_of_each(self, groups: np.ndarray | None) -> Int[np.ndarray, " few"]:
        """Return a row of each group at random, in order; every row where there are no groups."""
        if groups is None:
            return np.arange(len(self.keys))
        order = np.argsort(self.keys)
        return np.sort(order[np.unique(as_codes(groups)[order], return_index=True)[1]])

    def _bound(self) -> np.uint64:
        full = len(self.keys) >= self.most
        return np.partition(self.keys, self.most - 1)[self.most - 1] if full else np.uint64(2**64 - 1)

    def _shrink(self) -> None:
        kept = np.sort(np.argsort(self.keys)[: self.most])
        self.keys, self.rows = self.keys[kept], self.rows[kept]
        for name in self.columns:
            self.parts[name] = [joined(self.parts[name])[kept]]


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Return one array of several; of different types it is one of objects, for NumPy would make texts of numbers."""
    same = len({part.dtype.kind for part in parts}) == 1
    return np.concatenate(parts if same else [part.astype(object) for part in parts])

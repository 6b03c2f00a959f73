"""What was seen of the truth: its classes, what task it makes, and which features are nothing else."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from askwho._types import Task
from askwho.core import CostMatrix
from askwho.data._columns import Columns
from askwho.data._log import task_from
from askwho.data._problem import Problem, shown
from askwho.data._tables import Table
from askwho.data._tally import Cells, as_texts

# Classes that are counted: a truth of more distinct values is no list of classes.
_MOST_CLASSES = 1 << 20
# A mistake that costs so many times an ordinary one is dear; of a class of fewer rows than this, what dear mistakes
# cost is told too low. Of a made desk with 5% of fraud, a miss at 20: by a third of what came with 30 rows of fraud, by
# a seventh with 100.
_DEAR, _FEWEST_DEAR = 5.0, 100


class Truths:
    """What was seen of the column of the truth, batch by batch."""

    def __init__(self, columns: Columns, features: Sequence[str]) -> None:
        self.columns = columns
        self.cells = Cells()
        self.copies = set(features)
        self.classes: Counter[str] = Counter()
        self.whole, self.countable = True, True

    def add(self, table: Table, start: int) -> None:
        """Look at a batch whose first row is row `start`."""
        if self.columns.truth is None:
            return
        values = table[self.columns.truth]
        self._count(self.cells.add(values, start))
        if self.copies:
            truth = values.tolist()
            self.copies = {name for name in self.copies if _same(table[name].tolist(), truth)}

    def _count(self, kept: np.ndarray) -> None:
        if len(kept) and self.cells.kind == "numbers" and kept.dtype.kind not in "iub":
            numbers = np.asarray(kept, dtype=np.float64)
            self.whole = self.whole and bool((numbers == np.round(numbers)).all())
        task = self.columns.task
        self.countable = self.countable and task != "regression" and (self.whole or task == "classification")
        if self.countable:
            labels, counts = np.unique(as_texts(kept), return_counts=True)
            self.classes.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
            self.countable = len(self.classes) < _MOST_CLASSES

    @property
    def task(self) -> Task:
        """What the truth is, told from all of it."""
        if self.columns.truth is None:
            return "classification"
        rows = self.known
        distinct = len(self.classes) if self.countable else rows + 1
        return task_from(self.columns, self.cells.kind, whole=self.whole, distinct=distinct, rows=rows)

    @property
    def known(self) -> int:
        """Of how many rows the truth is known."""
        return self.cells.rows - self.cells.empty

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong with the truth."""
        name, cells = self.columns.truth, self.cells
        if name is None or not cells.rows:
            return
        count, rows = cells.cells("empty")
        if count == cells.rows:
            yield Problem("error", "every cell is empty: nothing tells right from wrong", name)
            return
        if count:
            yield Problem(
                "warning",
                f"{count} of {cells.rows} rows without a truth ({count / cells.rows:.0%}): what was answered there is "
                "not scored, and the others are weighed by how likely they were looked up",
                name,
                rows,
            )
        if len(cells.kinds) == 1 and self.task == "classification":
            if len(self.classes) < 2:
                only = shown(next(iter(self.classes)))
                yield Problem("error", f"one class only ({only}): there is nothing to decide", name)
            rare = sum(count < 5 for count in self.classes.values())
            if rare:
                yield Problem("warning", f"{rare} classes with fewer than five rows", name)
            yield from self._dear(name)

    def _dear(self, name: str) -> Iterator[Problem]:
        """Yield a problem for each class whose mistakes cost much and are told by few."""
        costs = self.columns.scoring
        if not isinstance(costs, CostMatrix):
            return
        for label, worst in zip(costs.classes, costs.table.max(axis=1).tolist(), strict=True):
            count = self.classes.get(label, 0)
            if worst >= _DEAR and 0 < count < _FEWEST_DEAR:
                yield Problem(
                    "warning",
                    f"{count} rows of {shown(label)}, about which a mistake costs up to {worst:g}: of so few, expected "
                    "costs are too low. Add such rows, or aim with `confidence`, on rows that are kept apart",
                    name,
                )


def _same(one: list[Any], other: list[Any]) -> bool:
    """Whether two columns hold the same; a decimal number that signals that it is none equals nothing, not itself."""
    try:
        return one == other
    except ArithmeticError:
        return False

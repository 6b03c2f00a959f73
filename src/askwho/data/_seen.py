"""What was seen of a log, batch by batch: its columns one by one, and a sample of its rows to compare them in."""

from collections.abc import Iterator

import numpy as np

from askwho import _validation as check
from askwho._types import Task
from askwho.core import Cell, is_null, null_states
from askwho.data._audits import audits
from askwho.data._charges import charges
from askwho.data._columns import Columns, Resolved
from askwho.data._holes import holes
from askwho.data._labels import Labels, other_types
from askwho.data._leaks import leaks
from askwho.data._problem import Problem
from askwho.data._repeats import Groups, Ids, Texts
from askwho.data._sample import Sample
from askwho.data._tables import Table
from askwho.data._tally import Cells
from askwho.data._truths import Truths


class Seen:
    """What was seen of a log, batch by batch, and what is wrong with it."""

    def __init__(self, columns: Columns, found: Resolved) -> None:
        self.columns, self.found, self.rows = columns, found, 0
        named = [*found.features, *found.entities.values(), *found.fees.values()]
        self.cells = {name: Cells() for name in [*named, *filter(None, [columns.propensity])]}
        self.truths = Truths(columns, found.features)
        self.labels = None if columns.truth is None else Labels(columns.truth, found.entities)
        self.ids, self.texts, self.groups = Ids(), Texts(), Groups()
        self.sample = Sample(dict.fromkeys([*named, *filter(None, [columns.truth, columns.groups])]))

    def add(self, table: Table) -> None:
        """Look at a batch."""
        start = self.rows
        for name, cells in self.cells.items():
            cells.add(table[name], start)
        self.truths.add(table, start)
        if self.labels is not None:
            texts = {name for name, cells in self.cells.items() if cells.kinds == {"text"}}
            truth = {self.labels.truth} if self.truths.cells.kinds == {"text"} else set[str]()
            self.labels.add(table, start, texts=texts | truth)
        if self.columns.text is not None:
            self.texts.add(table[self.columns.text], start)
        if self.columns.id is not None:
            self.ids.add(table[self.columns.id], start)
        if self.columns.groups is not None:
            self.groups.add(table[self.columns.groups])
        self.sample.add(table, start)
        self.rows += len(next(iter(table.values())))

    @property
    def task(self) -> Task:
        """What the truth is, told from all of it."""
        return self.truths.task

    def usual(self) -> dict[str, float]:
        """Each entity's mean fee, where fees are told by query."""
        each = {name: self.cells[column] for name, column in self.found.fees.items()}
        return {name: cells.total / cells.numbers if cells.numbers else 0.0 for name, cells in each.items()}

    def problems(self) -> list[Problem]:
        """Return what is wrong with single columns, or worth a look."""
        return [
            *self._ids(),
            *self._features(),
            *self.truths.problems(),
            *self._answers(),
            *self._fees(),
            *self._rest(),
        ]

    def faults(self) -> list[Problem]:
        """Return what shows only where columns are compared; of a log that can be read."""
        table, columns = self.sample.table(), self.columns
        features = [name for name in self.found.features if name in table]
        entities, truth = self.found.entities, columns.truth
        groups = None if columns.groups is None else table[columns.groups]
        found: list[Problem] = []
        known = np.ones(len(next(iter(table.values()))), dtype=bool) if truth is None else ~is_null(table[truth])
        if truth is not None:
            halves, copies = self.sample.halves(groups)[known], self.truths.copies
            told = {name: values[known] for name, values in table.items()}
            found += leaks(told, halves, truth=truth, features=features, task=self.task, copies=copies)
        # Rows of one group are no new evidence of what depends on what: each group speaks once.
        rows = self.sample.one_of_each(groups)
        if truth is not None and self.task == "classification" and columns.answers is not None:
            some = {name: values[rows] for name, values in table.items()}
            given = columns.propensity is not None
            found += audits(some, known[rows], truth=truth, answers=entities, features=features, told=given)
        told = {name: values[rows][known[rows]] for name, values in table.items()}
        found += charges(told, fees=self.found.fees, answers=entities, truth=truth, task=self.task)
        table = {name: values[rows] for name, values in table.items()}
        states = zip(entities.items(), null_states(columns.nulls, list(entities)), strict=True)
        holed = {name: column for (name, column), state in states if state is Cell.NOT_ASKED}
        return [*found, *holes(table, answers=holed, features=features)]

    def dropped(self) -> Iterator[Problem]:
        """Yield a problem where every row tells everything, and not for certain: others must have been left out."""
        name = self.columns.propensity
        if name is None or self.truths.cells.empty or any(self.cells[c].empty for c in self.found.entities.values()):
            return
        cells = self.cells[name]
        if cells.total < cells.numbers * (1 - 1e-9):
            yield Problem(
                "warning",
                "below 1, though everybody was asked about every row and every truth is known: rows that were not "
                "looked at must be in the log, too, their truth empty",
                name,
            )

    def _ids(self) -> Iterator[Problem]:
        return iter(()) if self.columns.id is None else self.ids.problems(self.columns.id)

    def _features(self) -> Iterator[Problem]:
        for name in self.found.features:
            cells = self.cells[name]
            count, rows = cells.cells("infinite")
            if cells.empty == cells.rows:
                yield Problem("error", "every cell is empty", name)
                continue
            if len(cells.kinds) > 1:
                yield Problem("error", f"holds {cells.kind}: make it one type", name)
            elif count:
                yield Problem("error", f"{count} infinite values", name, rows)
            elif cells.cells("enormous")[0]:
                count, rows = cells.cells("enormous")
                yield Problem("error", f"{count} values beyond {check.LARGEST:g}: take another unit", name, rows)
            if cells.same:
                yield Problem("warning", "the same value in every row: it tells nothing", name)

    def _answers(self) -> Iterator[Problem]:
        if self.columns.truth is not None:
            answers = {name: self.cells[column] for name, column in self.found.entities.items()}
            yield from other_types(self.truths.cells, self.columns.truth, answers)
        if self.labels is not None:
            yield from self.labels.problems()
        for name, column in self.found.entities.items():
            cells = self.cells[column]
            if cells.empty == cells.rows:
                yield Problem("error", f"{name} never answered: leave it out", column)
                continue
            if cells.empty > 0.5 * cells.rows:
                yield Problem("warning", f"{name} is empty in {cells.empty / cells.rows:.0%} of rows", column)
            if self.columns.grades is not None:
                count, rows = cells.cells("outside")
                if cells.kind != "numbers":
                    yield Problem("error", f"grades must be numbers, got {cells.kind}", column)
                elif count:
                    yield Problem("error", f"{count} grades outside 0 to 1", column, rows)

    def _fees(self) -> Iterator[Problem]:
        for name, column in self.found.fees.items():
            count, rows = self.cells[column].cells("below")
            if count:
                yield Problem("error", f"{count} fees of {name} below zero", column, rows)
            if self.cells[column].empty == self.rows:
                yield Problem("error", f"no fee of {name} in any row", column)

    def _rest(self) -> Iterator[Problem]:
        if self.columns.text is not None:
            yield from self.texts.problems(self.columns.text, self.columns.groups)
        if self.columns.groups is not None:
            yield from self.groups.problems(self.columns.groups)

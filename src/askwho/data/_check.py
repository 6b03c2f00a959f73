"""A look at a log before anything is trained: what is in it, and every problem, by row and column."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from askwho import _validation as check
from askwho._types import Task
from askwho.data._columns import Columns, Resolved, check_cells, resolve
from askwho.data._ids import id_texts, repeated
from askwho.data._log import Log, log_of, read_logs, task_from, whole_log
from askwho.data._tables import Table, read_batches, read_table
from askwho.data._tally import SHOWN, Cells
from askwho.data._text import fingerprints
from askwho.exceptions import InvalidInputError

# Classes that are counted: a truth of more distinct values is no list of classes.
_MOST_CLASSES = 1 << 20


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong (`"error"`: nothing can be trained) or worth a look (`"warning"`)."""

    severity: Literal["error", "warning"]
    message: str
    column: str | None = None
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Description:
    """What a log holds, and what is wrong with it."""

    rows: int
    summary: dict[str, Any]
    entities: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def usable(self) -> bool:
        """Whether a policy can be fitted."""
        return not any(problem.severity == "error" for problem in self.problems)


def describe(source: Any, columns: Columns) -> Description:  # noqa: ANN401 - as in read_log
    """Return what a log holds and every problem in it; a file that cannot be read at all is refused.

    A file is looked through a batch at a time, and may be larger than memory.
    """
    if not isinstance(source, str | Path):
        # It is looked through more than once, and a reader of record batches can be read but once.
        source = read_table(source)
    seen: _Seen | None = None
    for table in _tables(source, columns.texts):
        if seen is None:
            try:
                found = resolve(columns, list(table))
            except InvalidInputError as error:
                return Description(_rows(source), {"columns": list(table)}, problems=[Problem("error", str(error))])
            seen = _Seen(columns, found)
        try:
            check_cells(table, columns, seen.found)
        except InvalidInputError as error:
            return Description(_rows(source), {"columns": list(table)}, problems=[Problem("error", str(error))])
        seen.add(table)
    if seen is None:
        raise InvalidInputError("`log` must not be empty: there is no row in it.")
    problems = seen.problems()
    names = seen.found.entities
    summary: dict[str, Any] = {"features": len(seen.found.features), "text": columns.text, "entities": len(names)}
    entities: list[dict[str, Any]] = []
    if not any(problem.severity == "error" for problem in problems):
        task = seen.task()
        try:
            entities = _entities(_logs(source, replace(columns, task=task), seen.usual()))
        except InvalidInputError as error:
            problems.append(Problem("error", str(error)))
        else:
            summary["task"] = task
    return Description(seen.rows, summary, entities, problems)


def _tables(source: str | Path | Table, texts: tuple[str, ...] = ()) -> Iterator[Table]:
    if isinstance(source, str | Path):
        yield from read_batches(Path(source), texts=texts)
    else:
        yield source


def _rows(source: str | Path | Table) -> int:
    return sum(len(next(iter(table.values()))) for table in _tables(source))


def _logs(source: str | Path | Table, columns: Columns, usual: dict[str, float]) -> Iterator[Log]:
    if isinstance(source, str | Path):
        return read_logs(Path(source), columns, usual=usual)
    return whole_log([log_of(source, columns)])


def _entities(logs: Iterator[Log]) -> list[dict[str, Any]]:
    """Everybody's fee, share of queries, and error."""
    names: list[str] = []
    rows, regression = 0, False
    asked, losses, fees = np.zeros(0), np.zeros(0), np.zeros(0)
    constant: list[float] | None = None
    for log in logs:
        if not names:
            names, regression = list(log.panel.names), log.task == "regression"
            asked, losses, fees = (np.zeros(len(names)) for _ in range(3))
            constant = log.panel.fees.tolist()
        rows += len(log)
        asked += log.asked.sum(axis=0)
        losses += np.nansum(log.errors, axis=0)
        fees += log.fees.sum(axis=0)
        # A constant fee is itself: its mean over many rows would be off in the last digits.
        constant = constant if log.panel.fees.tolist() == constant else None
    means = np.sqrt(losses / asked) if regression else losses / asked
    each = constant if constant is not None else (fees / rows).tolist()
    return [
        {"name": name, "fee": float(fee), "asked": float(count) / rows, "error": float(mean)}
        for name, fee, count, mean in zip(names, each, asked, means, strict=True)
    ]


class _Seen:
    """What was seen of a log, batch by batch, and what is wrong with it."""

    def __init__(self, columns: Columns, found: Resolved) -> None:
        self.columns, self.found, self.rows = columns, found, 0
        named = [*found.features, *found.entities.values(), *found.fees.values()]
        self.cells = {name: Cells() for name in named}
        self.truth = Cells()
        self.copies = set(found.features) if columns.truth is not None else set[str]()
        self.classes: Counter[str] = Counter()
        self.whole, self.countable = True, True
        self.texts = _Texts()
        self.names = Cells()
        self.marks: list[np.ndarray] = []

    def add(self, table: Table) -> None:
        """Look at a batch."""
        start = self.rows
        for name, cells in self.cells.items():
            cells.add(table[name], start)
        if self.columns.truth is not None and self.columns.truth in table:
            self._add_truth(self.truth.add(table[self.columns.truth], start))
            truth = table[self.columns.truth].tolist()
            self.copies = {name for name in self.copies if table[name].tolist() == truth}
        if self.columns.text is not None:
            self.texts.add(table[self.columns.text], start)
        if self.columns.id is not None:
            named = id_texts(table[self.columns.id])
            self.names.add(named, start)
            self.marks.append(
                fingerprints([f"{start + i}" if text is None else f"={text}" for i, text in enumerate(named)])
            )
        self.rows += len(next(iter(table.values())))

    def _add_truth(self, kept: np.ndarray) -> None:
        if len(kept) and self.truth.kind == "numbers" and kept.dtype.kind not in "iub":
            numbers = np.asarray(kept, dtype=np.float64)
            self.whole = self.whole and bool((numbers == np.round(numbers)).all())
        task = self.columns.task
        self.countable = self.countable and task != "regression" and (self.whole or task == "classification")
        if self.countable:
            labels, counts = np.unique(kept.astype(str), return_counts=True)
            self.classes.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
            self.countable = len(self.classes) < _MOST_CLASSES

    def task(self) -> Task:
        """What the truth is, told from all of it."""
        if self.columns.grades is not None:
            return "classification"
        distinct = len(self.classes) if self.countable else self.rows + 1
        return task_from(self.columns, self.truth.kind, whole=self.whole, distinct=distinct, rows=self.rows)

    def usual(self) -> dict[str, float]:
        """Each entity's mean fee, where fees are told by query."""
        each = {name: self.cells[column] for name, column in self.found.fees.items()}
        return {name: cells.total / cells.numbers if cells.numbers else 0.0 for name, cells in each.items()}

    def problems(self) -> list[Problem]:
        """Return everything that is wrong, or worth a look."""
        return [*self._ids(), *self._features(), *self._truths(), *self._answers(), *self._fees(), *self._texts()]

    def _ids(self) -> Iterator[Problem]:
        name = self.columns.id
        if name is None:
            return
        count, rows = self.names.cells("empty")
        if count:
            yield Problem("error", f"{count} queries without an id", name, rows)
        again = repeated(self.marks)
        if len(again):
            shown = tuple(int(row) for row in again[:SHOWN])
            yield Problem("error", f"{len(again)} ids occur before: each must name one query", name, shown)

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
            if name in self.copies:
                yield Problem("warning", "the same as the truth in every row: is it known before asking?", name)
            if cells.same:
                yield Problem("warning", "the same value in every row: it tells nothing", name)

    def _truths(self) -> Iterator[Problem]:
        name, cells = self.columns.truth, self.truth
        if name is None or not cells.rows:
            return
        count, rows = cells.cells("empty")
        if count:
            yield Problem("error", f"{count} rows without a truth", name, rows)
        if len(cells.kinds) == 1 and self.task() == "classification":
            if len(self.classes) < 2:
                yield Problem(
                    "error", f"one class only ({next(iter(self.classes))!r}): there is nothing to decide", name
                )
            rare = sum(count < 5 for count in self.classes.values())
            if rare:
                yield Problem("warning", f"{rare} classes with fewer than five rows", name)

    def _answers(self) -> Iterator[Problem]:
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

    def _texts(self) -> Iterator[Problem]:
        return iter(()) if self.columns.text is None else self.texts.problems(self.columns.text, self.columns.groups)


class _Texts:
    """What was seen of the queries' texts."""

    def __init__(self) -> None:
        self.marks: list[np.ndarray] = []
        self.blank: list[int] = []
        self.blanks = 0
        self.other: str | None = None

    def add(self, values: np.ndarray, start: int) -> None:
        """Look at a batch, whose first row is `start` of the log."""
        if values.dtype.kind not in "OU":
            self.other = str(values.dtype)
            return
        texts = ["" if value is None else str(value) for value in values.tolist()]
        blank = [start + i for i, text in enumerate(texts) if not text.strip()]
        self.blanks += len(blank)
        self.blank += blank[: SHOWN - len(self.blank)]
        self.marks.append(fingerprints(texts))

    def problems(self, name: str, groups: str | None) -> Iterator[Problem]:
        """Yield what is wrong with the column of that name."""
        if self.other is not None:
            yield Problem("error", f"must be text, got {self.other}", name)
            return
        if self.blanks:
            yield Problem("warning", f"{self.blanks} empty texts", name, tuple(self.blank))
        again = len(repeated(self.marks))
        if again and groups is None:
            yield Problem(
                "warning", f"{again} texts occur before: name a column of groups to keep them on one side", name
            )

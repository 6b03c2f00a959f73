"""The log: queries, what everybody answered, what was right, and what was charged."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from askwho import _validation as check
from askwho._types import FloatTable, Task
from askwho._unit import Unit
from askwho.core import (
    Answers,
    CostMatrix,
    Entity,
    ErrorFunction,
    Panel,
    errors_from_grades,
    family,
    task_errors,
    truth_column,
    unit_of,
)
from askwho.data._charged import Charged
from askwho.data._columns import Columns, check_cells, resolve
from askwho.data._drawn import read_drawn, rows_drawn, strata_of
from askwho.data._ids import read_ids, repeated
from askwho.data._same import as_texts, keyed, truths_of
from askwho.data._sampling import Sampling
from askwho.data._tables import Table, read_batches
from askwho.data._text import fingerprints
from askwho.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class Log:
    """A log, read and checked: everything that is aligned with its n queries.

    Args:
        columns: which column is what.
        panel: the entities, with their fees; those of the mean query where fees differ by query.
        task: classification or regression.
        known: what is known before asking, by column: shape (n,), or (n, d) where cells are lists of d numbers.
        answers: what the entities said; None where the log holds grades.
        truth: shape (n,), one of its values where it is not known (`audited`); None where the log holds grades.
        errors: shape (n, |A|), zero-one, costs, squared, or 1 − grade; NaN where not asked, or the truth is not known.
        charged: what each charged, or would have.
        sampling: how the rows came to be there: which belong together, when, with what probability.
        info: shape (n, |A|), what came back with the answers; NaN where nothing did.
        ids: shape (n,), what each query is called, in text; None where no column says.
        error: how an answer is scored: a name in `ERRORS`, a `CostMatrix`, or a function; `"auto"` is zero-one, or
            squared for numbers.
    """

    columns: Columns
    panel: Panel
    task: Task
    known: Table
    answers: Answers | None
    truth: np.ndarray | None
    errors: FloatTable
    charged: Charged
    sampling: Sampling
    info: FloatTable
    ids: np.ndarray | None = None
    error: str | ErrorFunction = "auto"

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def scored_by(self) -> str | ErrorFunction:
        """How an answer is scored: what `"auto"` means is said."""
        return scored_by(self.error, self.task)

    @property
    def unit(self) -> Unit:
        """How errors are shown."""
        return unit_of(self.error, self.task)

    @property
    def weighed(self) -> bool:
        """Whether some mistakes are worse than others, and so what is likeliest need not be what to say."""
        return self.task == "classification" and not self.unit.share

    @property
    def fees(self) -> FloatTable:
        """What each charged, or would have, shape (n, |A|)."""
        return self.charged.fees

    @property
    def groups(self) -> np.ndarray:
        """What must stay on one side of a split, shape (n,)."""
        return self.sampling.groups

    @property
    def asked(self) -> np.ndarray:
        """Which entities were asked, shape (n, |A|); nobody where the truth is not known: nothing is learned there."""
        return ~np.isnan(self.errors)

    @property
    def audited(self) -> np.ndarray:
        """Of which rows the truth is known, shape (n,); of grades, all."""
        known = self.sampling.audited
        return np.ones(len(self), dtype=bool) if known is None else known

    def rows(self, index: np.ndarray) -> "Log":
        """Return the log of some of the rows."""
        return replace(
            self,
            known={name: values[index] for name, values in self.known.items()},
            answers=None if self.answers is None else self.answers.at(index),
            truth=None if self.truth is None else self.truth[index],
            errors=self.errors[index],
            charged=self.charged.rows(index),
            sampling=self.sampling.rows(index),
            info=self.info[index],
            ids=None if self.ids is None else self.ids[index],
        )

    def scored_as(self, columns: Columns) -> "Log":
        """Return the log with answers scored by the costs of other columns: of a policy, which may know more."""
        error = columns.scoring
        if self.answers is None or self.truth is None or self.task == "regression" or not isinstance(error, CostMatrix):
            return self
        if isinstance(self.error, CostMatrix) and self.error.to_json() == error.to_json():
            return self
        errors = _errors(self.answers, self.truth, self.panel, scored_by(error, self.task), self.sampling.audited)
        return replace(self, error=error, errors=errors)

    def alone(self, index: np.ndarray) -> "Log":
        """Return the log of some of the rows as if the others had never been read, or say why it cannot be.

        Fees that nobody told are the mean of those that these rows tell; and what only all rows show is looked at
        again: one class, somebody never asked, what the truth is.
        """
        (log,) = whole_log([self.rows(index)])
        log = log.charging(log.charged.alone())
        task = log.task if log.truth is None else task_of(log.truth[log.audited], log.columns)
        if task != log.task:
            raise InvalidInputError(
                f"`task` must be said where rows are kept apart, got 'auto': all rows tell of {log.task}, those that "
                f"are left of {task}."
            )
        return log

    def charging(self, charged: Charged) -> "Log":
        """Return the log with other fees, those of the mean query in its panel."""
        entities = (replace(each, fee=float(fee)) for each, fee in zip(self.panel.entities, charged.usual, strict=True))
        return replace(self, panel=Panel(tuple(entities)), charged=charged)

    def drawn(self, most: int) -> "Log":
        """Return a stratified sample of so many rows, alone; the log itself where it has no more, or `most` is 0."""
        if most == 0 or len(self) <= most:
            return self
        truth = None if self.truth is None else np.where(self.audited, strata_of(self.truth, len(self)), np.nan)
        strata = strata_of(truth, len(self))
        log = self.alone(rows_drawn(strata, None if self.columns.groups is None else self.groups, most))
        before = self.sampling.drawn_from
        return replace(log, sampling=replace(log.sampling, drawn_from=len(self) if before is None else before))

    def behind(self, panel: Panel, answers: Answers) -> "Log":
        """Return the log of a larger panel, some of whom answer for themselves and for nothing.

        Args:
            panel: the newcomers, then everybody of this one.
            answers: of the whole panel.
        """
        if self.truth is None:
            raise InvalidInputError("`log` must hold the truth: whoever answers for itself is scored by it.")
        more = len(panel) - len(self.panel)
        return replace(
            self,
            panel=panel,
            answers=answers,
            errors=_errors(answers, self.truth, panel, self.scored_by, self.sampling.audited),
            charged=self.charged.behind(more),
            info=np.hstack([np.full((len(self), more), np.nan), self.info]),
        )

    def seated(self, names: Sequence[str]) -> "Log":
        """Return the same log with its entities in the order of their names, all of them."""
        at = np.array([self.panel.index(name) for name in names])
        answers = self.answers
        return replace(
            self,
            panel=Panel(tuple(self.panel.entities[j] for j in at)),
            answers=None if answers is None else answers.at((slice(None), at)),
            errors=self.errors[:, at],
            charged=self.charged.seated(at),
            info=self.info[:, at],
        )


def read_log(
    source: Any,  # noqa: ANN401 - whatever is a table
    columns: Columns,
    *,
    base: str | None = None,
    optional: Collection[str] = (),
    max_rows: int = 0,
) -> Log:
    """Return the log in a file, a data frame, columns by name or a list of dicts.

    Args:
        source: whatever `table_of` reads.
        columns: which column is what.
        base: the entity that is the base predictor, if one is.
        optional: what need not be there, of the names of `columns`: `"propensity"` of a log that a policy's columns
            read, which then is learned.
        max_rows: of a longer log a stratified sample of so many rows is read, as `fit` would draw it, so that a file of
            any length fits into memory; 0 for all rows. Rows that are not drawn are not looked at, either.
    """
    table, n = read_drawn(source, columns, max_rows, optional=optional)
    (log,) = whole_log([log_of(table, columns, base=base, optional=optional)])
    return log if len(log) == n else replace(log, sampling=replace(log.sampling, drawn_from=n))


def read_logs(
    path: Path,
    columns: Columns,
    *,
    usual: Mapping[str, float],
    base: str | None = None,
    optional: Collection[str] = (),
    rows: int = 1 << 14,
) -> Iterator[Log]:
    """Yield the log in a file a batch at a time, so that any file fits into memory.

    Args:
        path: a file that `table_of` reads.
        columns: which column is what; its `task` must be said, for a few rows cannot tell.
        usual: each entity's fee where a query does not tell it, by name.
        base: the entity that is the base predictor, if one is.
        optional: as in `read_log`.
        rows: how many a batch has.
    """
    if columns.task == "auto" and columns.truth is not None:
        raise InvalidInputError("`task` must be said of a log in batches, got 'auto': a few rows cannot tell.")
    start = itertools.count(step=rows)
    return whole_log(
        log_of(table, columns, base=base, first=next(start), usual=usual, optional=optional)
        for table in read_batches(path, rows=rows, texts=columns.texts)
    )


def log_of(
    table: Table,
    columns: Columns,
    *,
    base: str | None = None,
    first: int = 0,
    usual: Mapping[str, float] | None = None,
    optional: Collection[str] = (),
) -> Log:
    """Return the log of a table, or of a batch of a longer one.

    Args:
        table: columns by name.
        columns: which column is what.
        base: the entity that is the base predictor, if one is.
        first: which row of the log the first of the table is.
        usual: each entity's fee where a query does not tell it; its mean in the table, unless said.
        optional: as in `read_log`.
    """
    found = resolve(columns, list(table), optional=optional)
    check_cells(table, columns, found)
    names = list(found.entities)
    n = len(next(iter(table.values())))
    charged = _charged(columns, found.fees, table, names, n, usual)
    panel = _panel(names, charged, base)
    known = {name: table[name] for name in found.features}
    if columns.text is not None:
        known[columns.text] = _texts(table[columns.text], columns.text)
    if columns.truth is not None:
        table = {**table, columns.truth: truths_of(table[columns.truth], columns.same)}
    sampling = Sampling.of(table, columns, first=first)
    given = {name: as_texts(table[column], columns.same) for name, column in found.entities.items()}
    answers, truth, task = None, None, "classification"
    if columns.grades is not None:
        errors = errors_from_grades(np.column_stack(list(given.values())), panel=panel, nulls=columns.nulls)
    else:
        answers = keyed(Answers.from_table(given, panel, nulls=columns.nulls), columns.same)
        audited = sampling.audited
        truth = _truth(table[str(columns.truth)], answers, panel, audited)
        task = task_of(truth if audited is None else truth[audited], columns)
        if task == "regression" and not isinstance(columns.error, str):
            raise InvalidInputError(
                "`error` must be a name where the truth is numbers, got costs of classes: say `task` classification if "
                "they are classes."
            )
        errors = _errors(answers, truth, panel, scored_by(columns.scoring, task), audited)
    check.bounded(errors, "errors")
    sampling.check_told(errors, columns, first=first)
    info = np.full(errors.shape, np.nan)
    for name, column in found.info.items():
        if name in names:
            info[:, names.index(name)] = check.finite_or_nan(table[column], column)
    ids = None if columns.id is None else read_ids(table[columns.id], first=first)
    return Log(columns, panel, task, known, answers, truth, errors, charged, sampling, info, ids, columns.scoring)


def whole_log(batches: Iterable[Log]) -> Iterator[Log]:
    """Yield the batches, and refuse what only all of them show: one class, somebody never asked, a name twice."""
    classes: set[Any] = set()
    asked: dict[str, bool] = {}
    task, last, marks, audited = None, None, list[np.ndarray](), False
    for batch in batches:
        task = batch.task
        if task == "classification" and batch.truth is not None and len(classes) < 2:
            classes.update(np.unique(batch.truth[batch.audited])[:2].tolist())
        audited = audited or bool(batch.audited.any())
        for j, name in enumerate(batch.panel.names):
            asked[name] = asked.get(name, False) or bool(batch.asked[:, j].any())
        # Names within a batch were compared as it was read: what was before is kept as fingerprints, for it is long.
        if last is not None:
            marks.append(fingerprints(last.tolist()))
        last = batch.ids
        yield batch
    if marks and last is not None:
        again = repeated([*marks, fingerprints(last.tolist())])
        if len(again):
            raise InvalidInputError(
                f"`id` must name each query once, got {len(again)} that occur before, the first in row {again[0]}."
            )
    if task is not None and not audited:
        raise InvalidInputError("`truth` must be known of some rows, got none: nothing tells right from wrong.")
    if classes:
        check.two_classes(sorted(classes), "truth")
    for name, ever in asked.items():
        if not ever:
            raise InvalidInputError(f"`answers` must hold something of everybody, got none of {name!r}.")


def task_of(truth: np.ndarray, columns: Columns) -> Task:
    """Return what the truth is: said, or told from its type (text and few whole numbers are classes)."""
    kind = family(truth)
    numbers = columns.task == "auto" and kind == "numbers"
    whole = numbers and (truth.dtype.kind in "iub" or bool((truth == np.round(truth)).all()))
    distinct = len(np.unique(truth)) if whole else 0
    return task_from(columns, kind, whole=whole, distinct=distinct, rows=len(truth))


def task_from(columns: Columns, kind: str, *, whole: bool, distinct: int, rows: int) -> Task:
    """Return what a truth of so many rows and distinct values of a kind is."""
    if columns.task != "auto":
        return columns.task
    if kind != "numbers":
        return "classification"
    return "classification" if whole and distinct <= max(20, rows // 20) else "regression"


def scored_by(error: str | ErrorFunction, task: Task) -> str | ErrorFunction:
    """Return how answers are scored: zero-one or squared, by the task, where it is left to us."""
    return ("zero-one" if task == "classification" else "squared") if error == "auto" else error


def _truth(values: np.ndarray, answers: Answers, panel: Panel, audited: np.ndarray | None) -> np.ndarray:
    """The truth, one of its values standing where it is not known."""
    if audited is None:
        return truth_column(values, answers, panel)
    if not audited.any():
        # A batch of a longer log: any value of the answers' type will do.
        return np.full(len(values), answers.values[0, 0])
    some = Answers(answers.values[audited], answers.states[audited])
    known = truth_column(values[audited].tolist() if values.dtype.kind == "O" else values[audited], some, panel)
    truth = np.full(len(values), known[0])
    truth[audited] = known
    return truth


def _errors(
    answers: Answers, truth: np.ndarray, panel: Panel, error: str | ErrorFunction, audited: np.ndarray | None
) -> FloatTable:
    """What each erred, NaN where not asked, and wherever the truth is not known."""
    if audited is None:
        return task_errors(answers, truth, panel=panel, error=error)
    errors = np.full(answers.states.shape, np.nan)
    some = Answers(answers.values[audited], answers.states[audited])
    errors[audited] = task_errors(some, truth[audited], panel=panel, error=error)
    return errors


def _charged(
    columns: Columns,
    by_query: Mapping[str, str],
    table: Table,
    names: list[str],
    n: int,
    usual: Mapping[str, float] | None,
) -> Charged:
    if isinstance(columns.fees, Mapping):
        unknown = [name for name in columns.fees if name not in names]
        missing = [name for name in names if name not in columns.fees]
        if unknown or missing:
            why = f", got {sorted(columns.fees)}"
            if unknown and not missing:
                absent = ", ".join(map(repr, unknown))
                why += f": there is no column of {absent}. A column of empty cells says that nobody asked"
            raise InvalidInputError(f"`fees` must name every entity ({names}){why}.")
        row = np.array([check.finite_number(columns.fees[name], f"fee of {name}", minimum=0.0) for name in names])
        return Charged(np.broadcast_to(check.bounded(row, "fees"), (n, len(names))))
    if by_query:
        fees = np.column_stack([check.numeric(table[by_query[name]], by_query[name]) for name in names])
        charged = Charged.of(fees, None if usual is None else np.array([usual[name] for name in names]))
        check.bounded(check.nonnegative(check.table(charged.fees, "fees"), "fees"), "fees")
        return charged
    return Charged(np.zeros((n, len(names))))


def _panel(names: list[str], charged: Charged, base: str | None) -> Panel:
    if base is not None and base not in names:
        raise InvalidInputError(f"`base` must be 'auto', 'none' or an entity of the log ({names}), got {base!r}.")
    return Panel(
        tuple(
            Entity(name, "base" if name == base else "expert", fee=float(fee))
            for name, fee in zip(names, charged.usual, strict=True)
        )
    )


def _texts(values: np.ndarray, name: str) -> np.ndarray:
    if values.dtype.kind not in "OU":
        raise InvalidInputError(f"`text` must be a column of text, got {values.dtype} in {name!r}.")
    return np.array(["" if value is None else str(value) for value in values.tolist()], dtype=object)

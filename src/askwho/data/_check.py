"""A look at a log before anything is trained: what is in it, and every problem, by row and column."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from askwho._unit import FEWEST_EFFECTIVE, Unit
from askwho.data._columns import Columns, Resolved, check_cells, resolve
from askwho.data._drift import OverTime
from askwho.data._holes import Together
from askwho.data._leaks import oracles
from askwho.data._log import Log, log_of, read_logs, whole_log
from askwho.data._problem import Description, Problem
from askwho.data._same import EXACT, keys_of, truths_of, without_empty
from askwho.data._seen import Seen
from askwho.data._tables import Table, read_batches, read_table
from askwho.exceptions import InvalidInputError


def describe(source: Any, columns: Columns) -> Description:  # noqa: ANN401 - as in read_log
    """Return what a log holds and every problem in it; a file that cannot be read at all is refused.

    A file is looked through a batch at a time, and may be larger than memory. What needs several columns at once is
    looked for in a sample of its rows.
    """
    if not isinstance(source, str | Path):
        # It is looked through more than once, and a reader of record batches can be read but once.
        source = read_table(source)
    seen: Seen | None = None
    for table in _tables(source, columns.texts):
        if seen is None:
            try:
                found = resolve(columns, list(table))
            except InvalidInputError as error:
                return Description(_rows(source), {"columns": list(table)}, problems=[Problem("error", str(error))])
            seen = Seen(columns, found)
        try:
            check_cells(table, columns, seen.found)
            compared = _compared(table, columns, seen.found)
        except InvalidInputError as error:
            return Description(_rows(source), {"columns": list(table)}, problems=[Problem("error", str(error))])
        seen.add(compared)
    if seen is None:
        raise InvalidInputError("`log` must not be empty: there is no row in it.")
    problems = seen.problems()
    names = seen.found.entities
    summary: dict[str, Any] = {"features": len(seen.found.features), "text": columns.text, "entities": len(names)}
    entities: list[dict[str, Any]] = []
    if not any(problem.severity == "error" for problem in problems):
        task = seen.task
        together, moving = Together(), OverTime()
        try:
            entities = _entities(_logs(source, replace(columns, task=task), seen.usual()), together, moving)
        except InvalidInputError as error:
            problems.append(Problem("error", str(error)))
        else:
            summary["task"] = task
            if columns.truth is not None:
                problems += oracles(
                    entities,
                    seen.truths.cells.rows - seen.truths.cells.empty,
                    task=task,
                    whole=seen.truths.whole,
                    columns=names,
                )
            problems += [*seen.faults(), *seen.dropped(), *together.problems(list(names)), *moving.problems()]
    told = [each if each["scored"] >= FEWEST_EFFECTIVE else {**each, "error": None} for each in entities]
    return Description(seen.rows, summary, told, problems)


def _tables(source: str | Path | Table, texts: tuple[str, ...] = ()) -> Iterator[Table]:
    if isinstance(source, str | Path):
        yield from read_batches(source, texts=texts)
    else:
        yield source


def _compared(table: Table, columns: Columns, found: Resolved) -> Table:
    """The table with truth and answers as they are compared."""
    if columns.same == EXACT:
        said = [*found.entities.values(), *([] if columns.truth is None else [columns.truth])]
        return {**table, **{column: without_empty(table[column]) for column in said}}
    if columns.truth is None:
        return table
    answers = {column: keys_of(table[column], columns.same) for column in found.entities.values()}
    return {**table, **answers, columns.truth: truths_of(table[columns.truth], columns.same)}


def _rows(source: str | Path | Table) -> int:
    return sum(len(next(iter(table.values()))) for table in _tables(source))


def _logs(source: str | Path | Table, columns: Columns, usual: dict[str, float]) -> Iterator[Log]:
    if isinstance(source, str | Path):
        return read_logs(Path(source), columns, usual=usual)
    return whole_log([log_of(source, columns)])


def _entities(logs: Iterator[Log], together: Together, moving: OverTime) -> list[dict[str, Any]]:
    """Everybody's fee, share of the queries that can be scored, and error; who was asked when and with whom beside."""
    names: list[str] = []
    rows, audited, unit = 0, 0, Unit()
    asked, losses, fees = np.zeros(0), np.zeros(0), np.zeros(0)
    constant: list[float] | None = None
    for log in logs:
        if not names:
            names, unit = list(log.panel.names), log.unit
            asked, losses, fees = (np.zeros(len(names)) for _ in range(3))
            constant = log.panel.fees.tolist()
        rows, audited = rows + len(log), audited + int(log.audited.sum())
        asked += log.asked.sum(axis=0)
        losses += np.nansum(log.errors, axis=0)
        fees += log.fees.sum(axis=0)
        together.add(log.asked[log.audited])
        moving.add(log)
        # A constant fee is itself: its mean over many rows would be off in the last digits.
        constant = constant if log.panel.fees.tolist() == constant else None
    means = unit.all_shown(losses / asked)
    each = constant if constant is not None else (fees / rows).tolist()
    return [
        {
            "name": name,
            "fee": float(fee),
            "asked": float(count) / audited,
            "scored": int(count),
            "error": float(mean),
        }
        for name, fee, count, mean in zip(names, each, asked, means, strict=True)
    ]

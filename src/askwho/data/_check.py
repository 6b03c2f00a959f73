"""A look at a log before anything is trained: what is in it, and every problem, by row and column."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from askwho.answers import family, is_null
from askwho.data._columns import Columns, Resolved, resolve
from askwho.data._log import read_log, task_of
from askwho.data._tables import Table, read_table
from askwho.exceptions import InvalidInputError


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
    """Return what a log holds and every problem in it; a file that cannot be read at all is refused."""
    table = read_table(source)
    n = len(next(iter(table.values())))
    try:
        found = resolve(columns, list(table))
    except InvalidInputError as error:
        return Description(n, {"columns": list(table)}, problems=[Problem("error", str(error))])
    problems = [
        *_features(table, found),
        *_truth(table, columns),
        *_answers(table, columns, found),
        *_text(table, columns),
    ]
    summary: dict[str, Any] = {"features": len(found.features), "text": columns.text, "entities": len(found.entities)}
    entities: list[dict[str, Any]] = []
    if not any(problem.severity == "error" for problem in problems):
        try:
            log = read_log(source, columns)
        except InvalidInputError as error:
            problems.append(Problem("error", str(error)))
        else:
            summary["task"] = log.task
            for j, entity in enumerate(log.panel.entities):
                errors = log.errors[log.asked[:, j], j]
                mean = float(errors.mean())
                entities.append(
                    {
                        "name": entity.name,
                        "fee": entity.fee,
                        "asked": float(log.asked[:, j].mean()),
                        "error": float(np.sqrt(mean)) if log.task == "regression" else mean,
                    }
                )
    return Description(n, summary, entities, problems)


def _features(table: Table, found: Resolved) -> list[Problem]:
    problems: list[Problem] = []
    for name in found.features:
        values = table[name]
        missing = is_null(values)
        if missing.all():
            problems.append(Problem("error", "every cell is empty", name))
            continue
        kept = values[~missing]
        if " and " in family(kept):
            problems.append(Problem("error", f"holds {family(kept)}: make it one type", name))
        elif family(kept) == "numbers":
            bad = np.flatnonzero(~missing)[~np.isfinite(np.asarray(kept, dtype=np.float64))]
            if len(bad):
                problems.append(Problem("error", f"{len(bad)} infinite values", name, _first(bad)))
        if len(np.unique(kept.astype(str) if kept.dtype.kind == "O" else kept)) == 1:
            problems.append(Problem("warning", "the same value in every row: it tells nothing", name))
    return problems


def _truth(table: Table, columns: Columns) -> list[Problem]:
    if columns.truth is None or columns.truth not in table:
        return []
    truth = table[columns.truth]
    problems: list[Problem] = []
    missing = is_null(truth)
    if missing.any():
        problems.append(
            Problem(
                "error", f"{int(missing.sum())} rows without a truth", columns.truth, _first(np.flatnonzero(missing))
            )
        )
    kept = truth[~missing]
    if len(kept) and " and " not in family(kept) and task_of(kept, columns) == "classification":
        classes, counts = np.unique(kept.astype(str), return_counts=True)
        if len(classes) < 2:
            problems.append(
                Problem("error", f"one class only ({classes[0]!r}): there is nothing to decide", columns.truth)
            )
        rare = classes[counts < 5]
        if len(rare):
            problems.append(Problem("warning", f"{len(rare)} classes with fewer than five rows", columns.truth))
    return problems


def _answers(table: Table, columns: Columns, found: Resolved) -> list[Problem]:
    problems: list[Problem] = []
    for name, column in found.entities.items():
        values = table[column]
        missing = is_null(values)
        if missing.all():
            problems.append(Problem("error", f"{name} never answered: leave it out", column))
            continue
        if missing.mean() > 0.5:
            problems.append(Problem("warning", f"{name} is empty in {missing.mean():.0%} of rows", column))
        kept = values[~missing]
        if columns.grades is not None:
            if family(kept) != "numbers":
                problems.append(Problem("error", f"grades must be numbers, got {family(kept)}", column))
                continue
            grades = np.asarray(kept, dtype=np.float64)
            bad = np.flatnonzero(~missing)[(grades < 0) | (grades > 1)]
            if len(bad):
                problems.append(Problem("error", f"{len(bad)} grades outside 0 to 1", column, _first(bad)))
    for name, column in found.fees.items():
        values = table[column]
        if family(values[~is_null(values)]) == "numbers":
            fees = np.asarray(values, dtype=np.float64)
            bad = np.flatnonzero(fees < 0)
            if len(bad):
                problems.append(Problem("error", f"{len(bad)} fees of {name} below zero", column, _first(bad)))
    return problems


def _text(table: Table, columns: Columns) -> list[Problem]:
    if columns.text is None or columns.text not in table:
        return []
    values = table[columns.text]
    if values.dtype.kind not in "OU":
        return [Problem("error", f"must be text, got {values.dtype}", columns.text)]
    problems: list[Problem] = []
    texts = ["" if value is None else str(value) for value in values.tolist()]
    empty = [i for i, text in enumerate(texts) if not text.strip()]
    if empty:
        problems.append(Problem("warning", f"{len(empty)} empty texts", columns.text, tuple(empty[:5])))
    repeated = len(texts) - len(set(texts))
    if repeated and columns.groups is None:
        problems.append(
            Problem(
                "warning",
                f"{repeated} texts occur before: name a column of groups to keep them on one side",
                columns.text,
            )
        )
    return problems


def _first(rows: np.ndarray, most: int = 5) -> tuple[int, ...]:
    return tuple(int(row) for row in rows[:most])

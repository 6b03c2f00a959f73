"""The command that makes a log: everybody is asked about past questions, once."""

import math
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from askwho._money import amount, nanos
from askwho.cli import _options as o
from askwho.cli._ask import rows_of
from askwho.cli._printing import err, print_summary
from askwho.data import table_of, write_table
from askwho.exceptions import InvalidInputError
from askwho.experts import Expert, read_experts
from askwho.live import Asked, Design, collect, grader, run_anywhere


def collect_log(
    questions: Annotated[
        Path, typer.Argument(help="Past questions: Parquet, CSV, JSON lines or Arrow.", show_default=False)
    ],
    experts: Annotated[Path, typer.Option(help="Who can be asked, and how: a TOML file.", show_default=False)],
    out_: Annotated[
        Path, typer.Option("--out", help="Where to write the log: .parquet, .csv, .jsonl.", show_default=False)
    ],
    id_: Annotated[str, typer.Option("--id", help="The column that names each question.")] = "id",
    truth: Annotated[str | None, typer.Option(help="The column of right answers, to grade by.")] = None,
    grade: Annotated[
        str | None,
        typer.Option(help="Grade answers: exact, numeric, regex, json:PATH, judge:EXPERT, or module:function."),
    ] = None,
    share: Annotated[float, typer.Option(help="The share of the experts to ask about each question, at random.")] = 1.0,
    spend: Annotated[float | None, typer.Option(help="Spend no more than this in all, whatever comes.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it can cost at the most, and ask nobody.")
    ] = False,
    at_a_time: Annotated[int, typer.Option(min=1, help="How many calls are under way at a time.")] = 64,
    seed: o.Seed = 0,
    json_: o.Json = False,
) -> None:
    """Ask everybody about past questions, once, and write a log; stopped, it goes on where it stopped."""
    known = read_experts(experts)
    judge = _judge(known, grade)
    rows = rows_of(table_of(questions, "questions", texts=(id_,)))
    judged = None if grade is None or judge is not None else grader(grade)
    if judged is not None and (truth is None or any(truth not in row for row in rows)):
        raise InvalidInputError("`--grade` must come with `--truth`, a column that is filled in each row.")
    if out_.suffix.lower() not in (".parquet", ".csv", ".jsonl"):
        raise InvalidInputError(f"`out` must end in .parquet, .csv or .jsonl, got {str(out_)!r}.")
    design = Design.draw(rows, known, id_column=id_, share=share, seed=seed)
    bill = {"questions": len(rows), "calls": len(design.calls), "at_most": amount(design.worst(design.calls))}
    if dry_run:
        print_summary({**bill, "propensity": design.propensity}, as_json=json_)
        return
    err.print(f"{bill['calls']} calls, {bill['at_most']:g} at the most", markup=False)
    limit = None if spend is None else nanos(spend)
    hidden = partial(collect, design, out_, spend=limit, at_a_time=at_a_time, progress=_Progress())
    done = run_anywhere(hidden)
    table, told = _log(design, rows, done.answers, id_, truth, judged), dict[str, Any]()
    if judge is not None:
        rest = None if limit is None else max(limit - done.booked, 0)
        told = _by_judge(judge, design, table, rows, id_, truth, out_, rest)
    write_table(out_, table)
    print_summary({**bill, "paid": done.paid, "left": done.left, **told, "out": str(out_)}, as_json=json_)


def _judge(known: dict[str, Expert], grade: str | None) -> Expert | None:
    """The expert who grades, taken out of those who are asked."""
    name = "" if grade is None else grade.partition("judge:")[2]
    if not name:
        return None
    if name not in known or len(known) == 1:
        raise InvalidInputError(f"`--grade` must name a judge among several experts, {list(known)}, got {name!r}.")
    return known.pop(name)


def _by_judge(
    judge: Expert,
    design: Design,
    table: dict[str, list[Any]],
    rows: list[dict[str, Any]],
    id_: str,
    truth: str | None,
    out_: Path,
    spend: int | None,
) -> dict[str, Any]:
    """Have every answer graded by an expert who is told the question and the `answer`; tell how well he agrees."""
    asked = [
        {**row, "answer": table[f"answer_{name}"][i], id_: f"{row[id_]}\n{name}"}
        for i, row in enumerate(rows)
        for name in design.experts
        if table[f"answer_{name}"][i] is not None
    ]
    if not asked:
        return {}
    grading = Design.draw(asked, {judge.name: judge}, id_column=id_)
    done = run_anywhere(partial(collect, grading, out_.with_name(f"{out_.name}.{judge.name}"), spend=spend))
    found: dict[str, float] = {}
    for (place, _), call in done.answers.items():
        if isinstance(call.answer, int | float) and 0.0 <= call.answer <= 1.0:
            found[place] = float(call.answer)
    for name in design.experts:
        table[f"grade_{name}"] = [
            found.get(f"{row[id_]}\n{name}") if answer is not None else None
            for row, answer in zip(rows, table[f"answer_{name}"], strict=True)
        ]
    told = {"graded": len(found), "judge_paid": done.paid}
    if truth is None:
        return told
    exact = grader("exact")
    agreed = [
        (found[str(each[id_])] >= 0.5) == bool(exact(each["answer"], each[truth], each))
        for each in asked
        if str(each[id_]) in found and each.get(truth) is not None
    ]
    return {**told, "judge_agrees": sum(agreed) / len(agreed) if agreed else None}


class _Progress:
    """A line each second: calls, money, and how long it will still take."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._told = self._began
        self._first: int | None = None

    def __call__(self, made: int, of: int, booked: int) -> None:
        """Say how far it is."""
        now = time.monotonic()
        self._first = made - 1 if self._first is None else self._first
        if now - self._told < 1.0 and made < of:
            return
        self._told = now
        left = (of - made) * (now - self._began) / max(made - self._first, 1)
        err.print(f"{made} of {of} calls, {amount(booked):g} spent, {math.ceil(left)} s left", markup=False)


def _log(
    design: Design,
    rows: list[dict[str, Any]],
    answers: Any,  # noqa: ANN401 - a mapping of calls
    id_: str,
    truth: str | None,
    judged: Any,  # noqa: ANN401 - a function
) -> dict[str, list[Any]]:
    """The columns of a log: what was known, then what everybody said, told, charged, and is worth."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in names}
    for name in design.experts:
        calls: list[Asked | None] = [answers.get((str(row[id_]), name)) for row in rows]
        columns[f"answer_{name}"] = [None if call is None else call.answer for call in calls]
        if any(call is not None and call.info is not None for call in calls):
            columns[f"info_{name}"] = [None if call is None else call.info for call in calls]
        columns[f"fee_{name}"] = [None if call is None else call.paid for call in calls]
        if judged is not None:
            columns[f"grade_{name}"] = [
                None if call is None else 0.0 if call.answer is None else judged(call.answer, row[str(truth)], row)
                for call, row in zip(calls, rows, strict=True)
            ]
    if design.propensity < 1.0:
        columns["propensity"] = [design.propensity] * len(rows)
    return columns

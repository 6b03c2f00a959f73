"""The commands: parse, call, print."""

import itertools
import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from askwho._validation import one_of
from askwho.cli import _options as o
from askwho.cli._demo import run_demo
from askwho.cli._terminal import visible
from askwho.data import (
    Log,
    Table,
    describe,
    read_batches,
    read_log,
    read_logs,
    read_table,
    write_batches,
)
from askwho.evaluation import evaluate as evaluate_policy
from askwho.exceptions import InvalidInputError
from askwho.learners import SURROGATE_NAMES, CompSum
from askwho.persistence import digest, load, room_for, save
from askwho.policy import Policy, fit_policy
from askwho.report import write_report
from askwho.reproduce.logs import run_logs
from askwho.reproduce.paper import EXPERIMENTS
from askwho.router import Mode
from askwho.routes import combine_routes, make_routes, make_steps

app = typer.Typer(
    help="Whom to ask about each query, how many of them, and how to combine what they say.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out = Console()
_err = Console(stderr=True)


@app.command()
def check(
    log: o.Log,
    truth: o.Truth = None,
    answers: o.AnswersGlob = None,
    grades: o.Grades = None,
    features: o.Features = None,
    text: o.Text = None,
    info: o.Info = None,
    groups: o.Groups = None,
    fees: o.Fees = None,
    task: o.TaskName = "auto",
    null: o.Null = "not-asked",
    json_: o.Json = False,
) -> None:
    """Describe a log and every problem in it, before anything is trained."""
    found = describe(log, o.columns_of(locals()))
    if json_:
        _print_json(asdict(found) | {"usable": found.usable})
    else:
        held = ", ".join(f"{k} {v}" for k, v in found.summary.items())
        _out.print(visible(f"{found.rows} rows; {held}"), markup=False)
        if found.entities:
            _table(
                ["entity", "fee", "asked", "error"],
                [[e["name"], f"{e['fee']:g}", f"{e['asked']:.1%}", f"{e['error']:.4f}"] for e in found.entities],
            )
        for problem in found.problems:
            where = f" in {problem.column!r}" if problem.column else ""
            rows = f" (rows {', '.join(map(str, problem.rows))}, ...)" if problem.rows else ""
            _out.print(visible(f"{problem.severity}{where}: {problem.message}{rows}"), markup=False)
        if not found.problems:
            _out.print("no problem found")
    if not found.usable:
        raise InvalidInputError(
            f"`log` must be free of errors, got {sum(p.severity == 'error' for p in found.problems)}."
        )


@app.command()
def fit(
    log: o.Log,
    out: Annotated[Path, typer.Option(help="The folder of the policy.", show_default=False)],
    truth: o.Truth = None,
    answers: o.AnswersGlob = None,
    grades: o.Grades = None,
    features: o.Features = None,
    text: o.Text = None,
    info: o.Info = None,
    groups: o.Groups = None,
    fees: o.Fees = None,
    task: o.TaskName = "auto",
    null: o.Null = "not-asked",
    base: o.Base = "auto",
    learner: Annotated[
        str, typer.Option(help="auto, forest, boosting, neighbours or linear; or the paper's policy: top-k.")
    ] = "auto",
    cardinality: Annotated[
        str, typer.Option(help="How many to ask: curve (learned once for every price), or the paper's: surrogate.")
    ] = "curve",
    fee_weight: Annotated[
        float, typer.Option(help="What one unit of money is worth in error, baked into the paper's policy.")
    ] = 1.0,
    encoder: o.Encoder = "hashing",
    cv: Annotated[int, typer.Option(help="How many folds to cross-fit in.")] = 5,
    seed: o.Seed = 0,
    json_: o.Json = False,
) -> None:
    """Learn a policy from a log."""
    room_for(out)
    named = None if base in ("auto", "none") else base
    read = read_log(log, o.columns_of(locals()), base=named)
    with _err.status("reading"):
        policy = fit_policy(
            read,
            base="none" if base == "none" else "auto",
            learner=CompSum(learner, fee_weight=fee_weight) if learner in SURROGATE_NAMES else learner,
            cardinality=cardinality,
            encoder=encoder,
            cv=cv,
            random_state=seed,
            progress=lambda line: _err.print(line, markup=False),
        )
    save(policy, out)
    router = policy.router
    report = {
        "rows": len(read),
        "task": read.task,
        "entities": list(policy.panel.names),
        "base": _base_of(policy) if policy.base is None else policy.base.name,
        "learner": router.learner_name_,
        "learners": router.trials_,
        "committee": router.committee_,
        "validated": router.validated_,
        "out": str(out),
    }
    if json_:
        _print_json(report)
        return
    rest = sorted((area, name) for name, area in router.trials_.items() if name != router.learner_name_)
    lead = f", {rest[0][0] - router.trials_[router.learner_name_]:.4f} ahead of {rest[0][1]}" if rest else ""
    _out.print(
        f"learner {router.learner_name_} (area {router.trials_[router.learner_name_]:.4f}{lead}), "
        f"committee {router.committee_ or 'the first'}, base {report['base'] or 'none'}",
        markup=False,
    )
    _frontier("held-out rows of the log", router.validated_)
    _out.print(visible(f"policy in {out}"), markup=False)


@app.command()
def evaluate(
    policy: Annotated[Path, typer.Argument(help="The folder of a policy.", show_default=False)],
    log: o.Log,
    seed: o.Seed = 0,
    json_: o.Json = False,
) -> None:
    """Show what a policy gets and pays on a log it has not seen, beside plain baselines."""
    loaded = load(policy)
    with _err.status("evaluating") as status:
        result = evaluate_policy(
            loaded,
            _batches(loaded, log),
            random_state=seed,
            progress=lambda rows: status.update(f"evaluating: {rows} rows"),
        )
    if json_:
        _print_json(result)
        return
    head = result["headline"]
    _out.print(f"{result['n']} rows, {result['task']}")
    rows = [
        [name, f"{row['error']:.4f}", f"{row['mean_fee']:g}"]
        for name, row in result["baselines"].items()
        if isinstance(row, dict) and row["error"] is not None
    ]
    _table(["baseline", "error", "mean fee"], rows)
    _frontier("policy with k(x)", result["adaptive"])
    if result["sequential"]:
        _frontier("policy asking in turn", result["sequential"])
    for key, value in head.items():
        if not key.endswith("_interval"):
            low, high = head[f"{key}_interval"]
            shown = "out of reach" if value is None else f"{value:.4g}"
            _out.print(
                f"{key.replace('_', ' ')}: {shown}" + ("" if low is None else f"  [{low:.4g}, {high:.4g}]"),
                markup=False,
            )


@app.command()
def report(
    policy: Annotated[Path, typer.Argument(help="The folder of a policy.", show_default=False)],
    log: o.Log,
    out: Annotated[Path, typer.Option(help="Where to write the report: .html.", show_default=False)],
    k: Annotated[int | None, typer.Option(help="Show asking exactly so many.")] = None,
    budget: Annotated[float | None, typer.Option(help="Show this mean fee; the best single's, unless said.")] = None,
    accuracy: Annotated[float | None, typer.Option(help="Show reaching this error.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Show --budget and --accuracy as promises.")] = None,
    fee_weight: Annotated[float | None, typer.Option(help="Show this price of an error.")] = None,
    by: Annotated[str | None, typer.Option(help="The column of the groups to tell apart.")] = None,
    seed: o.Seed = 0,
    json_: o.Json = False,
) -> None:
    """Write one HTML file that shows what a policy saves on a log it has not seen; its figures too, beside it."""
    target = o.target_of(k, budget, accuracy, confidence, fee_weight)
    loaded, table = load(policy), read_table(log)
    if by is not None and by not in table:
        raise InvalidInputError(f"`--by` must be a column of the log, got {by!r}: it has {', '.join(table)}.")
    with _err.status("evaluating"):
        made = write_report(
            loaded,
            _unseen(loaded, table),
            out,
            title=log.name,
            by=None if by is None else (by, table[by]),
            facts={"log": str(log), "policy folder": str(policy), "policy digest": digest(policy)},
            random_state=seed,
            **target,
        )
    said = {"headline": made.headline, "figures": str(made.figures[0].parent), "report": str(made.out)}
    _summary(said, as_json=json_)


@app.command()
def route(
    policy: Annotated[Path, typer.Argument(help="The folder of a policy.", show_default=False)],
    queries: Annotated[Path, typer.Argument(help="Queries: Parquet, CSV, JSON lines or Arrow.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Where to write the routes: .parquet, .csv, .jsonl.", show_default=False)],
    k: Annotated[int | None, typer.Option(help="Ask exactly so many.")] = None,
    budget: Annotated[float | None, typer.Option(help="Stay within this mean fee.")] = None,
    accuracy: Annotated[float | None, typer.Option(help="Reach this error.")] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Promise --budget and --accuracy with this probability, such as 0.95.")
    ] = None,
    fee_weight: Annotated[float | None, typer.Option(help="How much error one unit of money is worth.")] = None,
    mode: Annotated[
        str, typer.Option(help="at-once; or sequential: one question at a time, by the answers so far in QUERIES.")
    ] = "at-once",
    json_: o.Json = False,
) -> None:
    """Write for each query whom to ask, how many, the expected fee and the expected error."""
    loaded, target = load(policy), o.target_of(k, budget, accuracy, confidence, fee_weight)
    one_of(mode, "mode", get_args(Mode))
    if mode == "sequential":
        _steps(loaded, queries, out, target, as_json=json_)
        return
    total = dict.fromkeys(("queries", "k", "expected_fee", "expected_error"), 0.0)

    def routes() -> Iterator[dict[str, list[Any]]]:
        for batch in read_batches(queries):
            made = make_routes(loaded, batch, **target)
            total["queries"] += len(made["k"])
            for name in ("k", "expected_fee", "expected_error"):
                total[name] += sum(made[name])
            _err.print(f"{int(total['queries'])} queries", markup=False)
            yield made

    write_batches(out, routes())
    if not total["queries"]:
        raise InvalidInputError("`queries` must not be empty: there is no row in it.")
    means = {f"mean_{name}": value / total["queries"] for name, value in total.items() if name != "queries"}
    _summary({"queries": int(total["queries"]), **means, "out": str(out)}, as_json=json_)


def _steps(policy: Policy, queries: Path, out: Path, target: dict[str, Any], *, as_json: bool) -> None:
    """Write the next question of each query, or nobody where it is time to decide."""
    if "k" in target:
        raise InvalidInputError("`--mode sequential` takes --fee-weight, or --budget and --accuracy, got --k.")
    total = {"queries": 0, "to_ask": 0, "fee": 0.0}

    def steps() -> Iterator[dict[str, list[Any]]]:
        for batch in read_batches(queries):
            made = make_steps(policy, batch, **target)
            total["queries"] += len(made["ask"])
            total["to_ask"] += sum(bool(name) for name in made["ask"])
            total["fee"] += sum(made["fee"])
            _err.print(f"{total['queries']} queries", markup=False)
            yield made

    write_batches(out, steps())
    if not total["queries"]:
        raise InvalidInputError("`queries` must not be empty: there is no row in it.")
    _summary({**total, "out": str(out)}, as_json=as_json)


@app.command()
def explain(
    policy: Annotated[Path, typer.Argument(help="The folder of a policy.", show_default=False)],
    queries: Annotated[Path, typer.Argument(help="Queries: Parquet, CSV, JSON lines or Arrow.", show_default=False)],
    row: Annotated[int, typer.Option(help="Which query, from 0.")] = 0,
    k: Annotated[int | None, typer.Option(help="Ask exactly so many.")] = None,
    budget: Annotated[float | None, typer.Option(help="Stay within this mean fee.")] = None,
    accuracy: Annotated[float | None, typer.Option(help="Reach this error.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Promise --budget and --accuracy.")] = None,
    fee_weight: Annotated[float | None, typer.Option(help="How much error one unit of money is worth.")] = None,
    json_: o.Json = False,
) -> None:
    """Say why a query goes to whom it goes to: expected errors, fees, past queries like it, and one more."""
    loaded, target = load(policy), o.target_of(k, budget, accuracy, confidence, fee_weight)
    table = read_table(queries)
    n = len(next(iter(table.values())))
    if not 0 <= row < n:
        raise InvalidInputError(f"`--row` must be between 0 and {n - 1}, got {row}.")
    why = loaded.explain({name: values[row : row + 1] for name, values in table.items()}, **target)
    if json_:
        _print_json({**asdict(why), "query": row, "gain_of_one_more": why.gain_of_one_more})
        return
    _out.print(visible(str(replace(why, query=row)), keep="\n"), markup=False, soft_wrap=True)


@app.command()
def combine(
    policy: Annotated[Path, typer.Argument(help="The folder of a policy.", show_default=False)],
    routes: Annotated[Path, typer.Argument(help="What `askwho route` wrote.", show_default=False)],
    answers: Annotated[Path, typer.Argument(help="What came back, row by row with the routes.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="Where to write the decisions: .parquet, .csv, .jsonl.", show_default=False)
    ],
    json_: o.Json = False,
) -> None:
    """Make one decision of what came back, and say whom to ask next where an answer did not come."""
    loaded = load(policy)
    total: dict[str, Any] = {"queries": 0, "decided": 0, "mean_fee": 0.0, "wait_for_more": 0}

    def decisions() -> Iterator[dict[str, list[Any]]]:
        for routed, answered in itertools.zip_longest(read_batches(routes), read_batches(answers)):
            _same_rows(routed, answered, total["queries"])
            made = combine_routes(loaded, routed, answered)
            total["queries"] += len(made["fee"])
            total["decided"] += sum(p is not None for p in made["prediction"])
            total["mean_fee"] += sum(made["fee"])
            total["wait_for_more"] += sum(bool(a) for a in made["ask_next"])
            _err.print(f"{total['queries']} queries", markup=False)
            yield made

    write_batches(out, decisions())
    if not total["queries"]:
        raise InvalidInputError("`routes` must not be empty: there is no row in it.")
    _summary({**total, "mean_fee": total["mean_fee"] / total["queries"], "out": str(out)}, as_json=json_)


def _same_rows(routes: Table | None, answers: Table | None, before: int) -> None:
    n, m = (0 if table is None else len(next(iter(table.values()))) for table in (routes, answers))
    if n != m:
        raise InvalidInputError(f"`answers` must have a row for each route, got {before + m} for {before + n}.")


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="logs: every recorded log, askwho beside plain rivals. Or experiments of the paper: "
            f"{', '.join(EXPERIMENTS)}, or all.",
            show_default=False,
        ),
    ],
    data: Annotated[Path | None, typer.Option(envvar="ASKWHO_DATA", help="Where the data lies.")] = None,
    out: Annotated[Path, typer.Option(help="A folder for the JSON, the table and the figure.")] = Path(
        "askwho-results"
    ),
    only: Annotated[str | None, typer.Option(help="Some of the logs, separated by commas.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many splits: 3 of logs, 4 as in the paper.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A little of everything, to see that it runs.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="How many logs or seeds at a time.")] = 2,
) -> None:
    """Run a study and write its JSON, its tables and its figure: recorded logs, or an experiment of the paper."""
    one_of(name, "name", ["logs", *EXPERIMENTS, "all"])
    if data is None:
        raise InvalidInputError("`data` must say where the data lies, got nothing: set ASKWHO_DATA or --data.")
    if name != "logs":
        for each in EXPERIMENTS if name == "all" else [name]:
            EXPERIMENTS[each](data, out=out, seeds=seeds, quick=quick, workers=workers, progress=_say)
        return
    if not (data / "logs").is_dir():
        raise InvalidInputError(f"`data` must hold a folder of logs, got {str(data)!r}: set ASKWHO_DATA or --data.")
    out.mkdir(parents=True, exist_ok=True)
    run_logs(
        data,
        names=only.split(",") if only else None,
        seeds=range(1) if quick else range(seeds or 3),
        rows=1000 if quick else None,
        out=out,
        workers=workers,
        progress=_say,
    )
    _out.print(f"logs.json, logs.md and logs.png in {out}", markup=False)


def _say(line: str) -> None:
    _err.print(line, markup=False)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="A folder for the log, the policy and the report.")] = Path("askwho-demo"),
    seed: o.Seed = 0,
) -> None:
    """Run the main job on scikit-learn's digits: make a log, then check, fit, evaluate, route, combine and report."""
    for words in run_demo(out, seed):
        _err.print(f"$ askwho {shlex.join(words)}", markup=False, style="bold", soft_wrap=True)
        run(words)


def run(arguments: list[str]) -> None:
    """Run one command as if it had been typed."""
    app(arguments, standalone_mode=False)


def _unseen(policy: Policy, log: Path | Table) -> Log:
    """Read a log as the policy's own was read."""
    return read_log(log, policy.columns, base=_base_of(policy))


def _batches(policy: Policy, log: Path) -> Iterator[Log]:
    """Read a log as the policy's own was read, a batch at a time."""
    columns = replace(policy.columns, task=policy.router.task_)
    usual = dict(zip(policy.panel.names, policy.router.fees_.tolist(), strict=True))
    return read_logs(log, columns, usual=usual, base=_base_of(policy))


def _base_of(policy: Policy) -> str | None:
    """The entity of the log that is the base, where one is."""
    named = (entity.name for entity in policy.panel.entities if entity.kind == "base")
    return None if policy.base is not None else next(named, None)


def _frontier(title: str, points: list[dict[str, Any]]) -> None:
    _table(
        [title + ": fee weight", "error", "mean fee", "mean k"],
        [
            [f"{p['fee_weight']:.4g}", f"{p['error']:.4f}", f"{p['mean_fee']:.4g}", f"{p['mean_k']:.2f}"]
            for p in points[::3]
            if p["error"] is not None
        ],
    )


def _summary(summary: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        _print_json(summary)
    else:
        for key, value in summary.items():
            shown = f"{value:.4g}" if isinstance(value, float) else value
            _out.print(visible(f"{key.replace('_', ' ')}: {shown}"), markup=False)


def _table(head: list[str], rows: list[list[str]]) -> None:
    table = RichTable(box=None, pad_edge=False)
    for i, name in enumerate(head):
        table.add_column(escape(name), justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in row))
    _out.print(table)


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str))

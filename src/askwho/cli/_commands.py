"""The commands: parse, call, print."""

import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from askwho._unit import COST
from askwho.cli import _options as o
from askwho.cli._ask import ask_live
from askwho.cli._assign import assign_batch
from askwho.cli._collect import collect_log
from askwho.cli._data import data_app
from askwho.cli._demo import run_demo
from askwho.cli._ledger import set_budgets, write_log
from askwho.cli._matching import matched
from askwho.cli._printing import (
    err,
    out,
    print_frontier,
    print_json,
    print_line,
    print_summary,
    print_table,
    print_validated,
)
from askwho.cli._route import route_queries
from askwho.cli._studies import studies
from askwho.cli._terminal import visible
from askwho.data import MAX_ROWS, describe, read_log, read_table, write_batches
from askwho.engines import decision_types
from askwho.evaluation import evaluate as evaluate_policy
from askwho.evaluation import unseen, unseen_batches
from askwho.exceptions import InvalidInputError
from askwho.fitting import calibrate as calibrate_policy
from askwho.fitting import fit as fit_policy
from askwho.fitting import priced, with_expert
from askwho.persistence import digest, load, room_for, save
from askwho.policy import told_there
from askwho.report import write_report

app = typer.Typer(
    help="Whom to ask about each query, how many of them, and how to combine what they say.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=o.print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Whom to ask about each query, how many of them, and how to combine what they say."""


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
    id_: o.Id = None,
    time: o.Time = None,
    propensity: o.Propensity = None,
    fees: o.Fees = None,
    task: o.TaskName = "auto",
    error: o.Error = "auto",
    error_costs: o.ErrorCosts = None,
    null: o.Null = "not-asked",
    same: o.Same = "exact",
    json_: o.Json = False,
) -> None:
    """Describe a log and every problem in it, before anything is trained."""
    found = describe(log, o.columns_of(locals()))
    if json_:
        print_json(asdict(found) | {"usable": found.usable})
    else:
        held = ", ".join(f"{k} {'none' if v is None else v}" for k, v in found.summary.items())
        print_line(f"{found.rows} rows; {held}")
        if found.entities:
            print_table(
                ["entity", "fee", "asked", "error" if error_costs is None else COST],
                [
                    [
                        e["name"],
                        f"{e['fee']:g}",
                        f"{e['asked']:.1%}",
                        "too few rows" if e["error"] is None else f"{e['error']:.4f}",
                    ]
                    for e in found.entities
                ],
            )
        for problem in found.problems:
            where = f" in {problem.column!r}" if problem.column else ""
            rows = f" (rows {', '.join(map(str, problem.rows))}, ...)" if problem.rows else ""
            print_line(f"{problem.severity}{where}: {problem.message}{rows}")
        if not found.problems:
            print_line("no problem found")
    if not found.usable:
        raise InvalidInputError(
            f"`log` must be free of errors, got {sum(p.severity == 'error' for p in found.problems)}."
        )


@app.command()
def fit(
    log: o.Log,
    out_: Annotated[Path, typer.Option("--out", help="The folder of the policy.", show_default=False)],
    truth: o.Truth = None,
    answers: o.AnswersGlob = None,
    grades: o.Grades = None,
    features: o.Features = None,
    text: o.Text = None,
    info: o.Info = None,
    groups: o.Groups = None,
    id_: o.Id = None,
    time: o.Time = None,
    propensity: o.Propensity = None,
    fees: o.Fees = None,
    task: o.TaskName = "auto",
    error: o.Error = "auto",
    error_costs: o.ErrorCosts = None,
    null: o.Null = "not-asked",
    same: o.Same = "exact",
    base: o.Base = "auto",
    learner: Annotated[
        str, typer.Option(help="auto, forest, boosting, neighbours or linear; or the paper's policy: top-k.")
    ] = "auto",
    committee: Annotated[
        str, typer.Option(help="How answers are combined: auto, posterior, majority, mean, ...")
    ] = "auto",
    cardinality: Annotated[
        str, typer.Option(help="How many to ask: curve (learned once for every price), or the paper's: surrogate.")
    ] = "curve",
    fee_weight: Annotated[
        float, typer.Option(help="What one unit of money is worth in error, baked into the paper's policy.")
    ] = 1.0,
    encoder: o.Encoder = "hashing",
    cv: Annotated[int, typer.Option(help="How many folds to cross-fit in.")] = 5,
    max_rows: Annotated[
        int, typer.Option(help="Learn from a stratified sample of so many rows of a longer log; 0: from all.")
    ] = MAX_ROWS,
    promise: Annotated[
        float, typer.Option(help="The share of the log to keep for promises (--confidence), such as 0.3.")
    ] = 0.0,
    seed: o.Seed = 0,
    json_: o.Json = False,
) -> None:
    """Learn a policy from a log."""
    room_for(out_)
    named = None if base in ("auto", "none") else base
    read = read_log(log, o.columns_of(locals()), base=named, max_rows=max_rows)
    with err.status("reading"):
        policy = fit_policy(
            read,
            base="none" if base == "none" else "auto",
            learner=priced(learner, fee_weight),
            committee=committee,
            cardinality=cardinality,
            encoder=encoder,
            cv=cv,
            max_rows=max_rows,
            promise=promise,
            random_state=seed,
            progress=lambda line: err.print(line, markup=False),
        )
    save(policy, out_)
    validated = policy.tried.told(policy.unit)
    name, trials, committee_name = policy.judge.name, policy.facts.learners, policy.combiner.name
    report = {
        "rows": len(read),
        "drawn_from": read.sampling.drawn_from or len(read),
        "kept_rows": 0 if policy.tried.kept is None else policy.tried.kept.fees.shape[1],
        "task": read.task,
        "entities": list(policy.panel.names),
        "base": policy.facts.base or named,
        "learner": name,
        "learners": trials,
        "committee": committee_name,
        "validated": validated,
        "out": str(out_),
    }
    if json_:
        print_json(report)
        return
    rest = sorted((area, other) for other, area in trials.items() if other != name)
    lead = f", {rest[0][0] - trials[name]:.4f} ahead of {rest[0][1]}" if rest else ""
    print_line(
        f"learner {name} (area {trials[name]:.4f}{lead}), "
        f"committee {committee_name or 'the first'}, base {report['base'] or 'none'}"
    )
    print_validated("held-out rows of the log", validated, policy.unit.name)
    if policy.facts.sample is not None:
        print_line(f"learned from {policy.facts.sample}")
    if report["kept_rows"]:
        print_line(f"rows kept for promises: {report['kept_rows']} of {report['rows']}")
    print_line(f"policy in {out_}")


@app.command()
def calibrate(
    policy: o.PolicyFolder,
    log: o.Log,
    out_: Annotated[Path, typer.Option("--out", help="The folder of the calibrated policy.", show_default=False)],
    allow: o.Allow = None,
    json_: o.Json = False,
) -> None:
    """Take targets from rows that a policy has not seen, so that --confidence can be promised by them."""
    room_for(out_)
    loaded = load(policy, allow=o.words(allow))
    fresh = unseen(loaded, log)
    done = calibrate_policy(loaded, fresh)
    save(done, out_)
    validated = done.tried.told(done.unit)
    rows = done.tried.fees.shape[1]
    if json_:
        print_json({"rows": rows, "left_out": len(fresh) - rows, "validated": validated, "out": str(out_)})
        return
    print_validated("fresh rows", validated, done.unit.name)
    if len(fresh) > rows:
        print_line(loaded.facts.left_out(len(fresh) - rows))
    print_line(f"policy in {out_}")


@app.command("add-expert")
def add_expert(
    policy: o.PolicyFolder,
    log: o.Log,
    name: Annotated[str, typer.Option(help="Whose answers these are.", show_default=False)],
    out_: Annotated[Path, typer.Option("--out", help="The folder of the policy with him.", show_default=False)],
    fee: Annotated[
        float | None, typer.Option(help="What he charges; what he charged, or what the log tells, unless said.")
    ] = None,
    allow: o.Allow = None,
    json_: o.Json = False,
) -> None:
    """Add somebody by a few answers, without a refit; or tell a policy what somebody of its panel answered lately."""
    room_for(out_)
    loaded = load(policy, allow=o.words(allow))
    done = with_expert(loaded, name, log, fee=fee)
    save(done, out_)
    j = done.panel.index(name)
    past = done.past.queries
    uncertain = float(np.sqrt(np.square(done.judge.deviations(past)[:, j]).mean()))
    found = {"expert": name, "expected_error": done.facts.entity_errors[j], "uncertainty": uncertain}
    found |= (
        {"mean_of_the_others": float(np.mean(np.delete(done.facts.entity_errors, j)))} if len(done.panel) > 1 else {}
    )
    shown = {**found, "fee": done.panel.entities[j].fee, "out": str(out_)}
    print_summary(shown, as_json=json_, figure=done.unit.word)


@app.command("drop-expert")
def drop_expert(
    policy: o.PolicyFolder,
    name: Annotated[str, typer.Option(help="Who left.", show_default=False)],
    out_: Annotated[Path, typer.Option("--out", help="The folder of the policy without him.", show_default=False)],
    allow: o.Allow = None,
    json_: o.Json = False,
) -> None:
    """Go on without somebody, without a refit."""
    room_for(out_)
    done = load(policy, allow=o.words(allow)).without(name)
    save(done, out_)
    print_summary({"entities": ", ".join(done.panel.names), "out": str(out_)}, as_json=json_)


@app.command()
def evaluate(
    policy: o.PolicyFolder,
    log: o.Log,
    allow: o.Allow = None,
    seed: o.Seed = 0,
    json_: o.Json = False,
) -> None:
    """Show what a policy gets and pays on a log it has not seen, beside plain baselines."""
    loaded = load(policy, allow=o.words(allow))
    with err.status("evaluating") as status:
        result = evaluate_policy(
            loaded,
            unseen_batches(loaded, log),
            random_state=seed,
            progress=lambda rows: status.update(f"evaluating: {rows} rows"),
        )
    if json_:
        print_json(result)
        return
    head = result["headline"]
    print_line(f"{result['n']} rows, {result['task']}")
    if result["left_out"]:
        print_line(loaded.facts.left_out(result["left_out"]))
    rows = [
        [name, f"{row['error']:.4f}", f"{row['mean_fee']:g}"]
        for name, row in result["baselines"].items()
        if isinstance(row, dict) and row["error"] is not None
    ]
    figure = result["unit"]["name"]
    print_table(["baseline", figure, "mean fee"], rows)
    print_frontier("policy with k(x)", result["adaptive"], figure)
    if result["sequential"]:
        print_frontier("policy asking in turn", result["sequential"], figure)
    for key, value in head.items():
        if f"{key}_interval" in head:
            ends = head[f"{key}_interval"]
            missing = "not told: too few rows" if key in head["untold"] else "out of reach"
            shown = missing if value is None else f"{value:.4g}"
            # An end that is missing beside one that is there: some resamples never match the best single entity.
            low, high = ("out of reach" if end is None else f"{end:.4g}" for end in ends)
            bounds = "" if ends == [None, None] else f"  [{low}, {high}]"
            print_line(f"{key.replace('_', ' ').replace('error', figure)}: {shown}{bounds}")


@app.command()
def report(
    policy: o.PolicyFolder,
    log: o.Log,
    out_: Annotated[Path, typer.Option("--out", help="Where to write the report: .html.", show_default=False)],
    k: Annotated[int | None, typer.Option(help="Show asking exactly so many.")] = None,
    budget: Annotated[float | None, typer.Option(help="Show this mean fee; the best single's, unless said.")] = None,
    max_error: Annotated[float | None, typer.Option(help="Show staying within this error, or cost.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Show --budget and --max-error as promises.")] = None,
    max_fee: o.MaxFee = None,
    max_loss: o.MaxLoss = None,
    max_group: o.MaxGroup = None,
    fee_weight: Annotated[float | None, typer.Option(help="Show this price of an error.")] = None,
    by: Annotated[str | None, typer.Option(help="The column of the groups to tell apart.")] = None,
    allow: o.Allow = None,
    seed: o.Seed = 0,
    json_: o.Json = False,
) -> None:
    """Write one HTML file that shows what a policy saves on a log it has not seen; its figures too, beside it."""
    target = o.target_of(k, fee_weight, budget, max_error, confidence, max_fee, max_loss, max_group, optional=True)
    loaded, table = load(policy, allow=o.words(allow)), read_table(log)
    if by is not None and by not in table:
        raise InvalidInputError(f"`--by` must be a column of the log, got {by!r}: it has {', '.join(table)}.")
    with err.status("evaluating"):
        made = write_report(
            loaded,
            unseen(loaded, table),
            out_,
            title=log.name,
            by=None if by is None else (by, table[by]),
            facts={"log": str(log), "policy folder": str(policy), "policy digest": digest(policy)},
            random_state=seed,
            target=target,
        )
    figures = str(made.figures[0].parent) if made.figures else "none: pip install 'askwho[plot]' draws them"
    print_summary({"headline": made.headline, "figures": figures, "report": str(made.out)}, as_json=json_)


app.command("route")(route_queries)
app.command("assign")(assign_batch)
app.command("ask")(ask_live)
app.command("collect")(collect_log)
app.command("log")(write_log)
app.command("budget")(set_budgets)


@app.command()
def explain(
    policy: o.PolicyFolder,
    queries: o.QueriesFile,
    row: Annotated[int, typer.Option(help="Which query, from 0.")] = 0,
    k: o.K = None,
    budget: o.Budget = None,
    max_error: o.MaxError = None,
    confidence: o.Confidence = None,
    max_fee: o.MaxFee = None,
    max_loss: o.MaxLoss = None,
    max_group: o.MaxGroup = None,
    fee_weight: o.FeeWeight = None,
    available: o.Available = None,
    allow: o.Allow = None,
    json_: o.Json = False,
) -> None:
    """Say why a query goes to whom it goes to: expected errors, fees, past queries like it, and one more."""
    loaded = load(policy, allow=o.words(allow))
    target = o.target_of(k, fee_weight, budget, max_error, confidence, max_fee, max_loss, max_group)
    table = read_table(queries)
    n = len(next(iter(table.values())))
    if not 0 <= row < n:
        raise InvalidInputError(f"`--row` must be between 0 and {n - 1}, got {row}.")
    query = {name: values[row : row + 1] for name, values in table.items()}
    why = loaded.explain(query, target, available=told_there(loaded, available, query, somebody=True))
    if json_:
        print_json({**asdict(why), "query": row, "gain_of_one_more": why.gain_of_one_more})
        return
    out.print(visible(str(replace(why, query=row)), keep="\n"), markup=False, soft_wrap=True)


@app.command()
def combine(
    policy: o.PolicyFolder,
    routes: Annotated[Path, typer.Argument(help="What `askwho route` wrote.", show_default=False)],
    answers: Annotated[Path, typer.Argument(help="What came back, matched by id.", show_default=False)],
    out_: Annotated[
        Path, typer.Option("--out", help="Where to write the decisions: .parquet, .csv, .jsonl.", show_default=False)
    ],
    by_position: Annotated[
        bool, typer.Option("--by-position", help="Answers have no ids: match them row by row with the routes.")
    ] = False,
    coverage: o.Coverage = None,
    allow: o.Allow = None,
    json_: o.Json = False,
) -> None:
    """Make one decision of what came back, and say whom to ask next where an answer did not come."""
    loaded = load(policy, allow=o.words(allow))
    loaded.check_combines()
    total: dict[str, Any] = {"queries": 0, "decided": 0, "mean_fee": 0.0, "wait_for_more": 0}

    def decisions() -> Iterator[dict[str, Any]]:
        for routed, came in matched(loaded, routes, answers, by_position=by_position):
            done = loaded.combine(routed, came, by_position=by_position, coverage=coverage)
            made = done.outcome_columns(arrow=True)
            total["queries"] += len(done)
            total["decided"] += len(done) - made["prediction"].null_count
            total["mean_fee"] += float(done.outcome.paid.sum()) if done.outcome is not None else 0.0
            total["wait_for_more"] += int((made["ask_next"].value_lengths().to_numpy() > 0).sum())
            err.print(f"{total['queries']} queries", markup=False)
            yield made

    write_batches(out_, decisions(), types=decision_types(loaded))
    if not total["queries"]:
        raise InvalidInputError("`routes` must not be empty: there is no row in it.")
    print_summary({**total, "mean_fee": total["mean_fee"] / total["queries"], "out": str(out_)}, as_json=json_)


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="logs: every recorded log, askwho beside plain rivals. Or an experiment of the paper, such as "
            "california or cifar10, or all; or methods, every published one on these; any other name lists them.",
            show_default=False,
        ),
    ],
    data: o.Data = None,
    out: Annotated[Path, typer.Option(help="A folder for the JSON, the table and the figure.")] = Path(
        "askwho-results"
    ),
    only: Annotated[
        str | None, typer.Option(help="Some of the logs, or of the experiments of methods, separated by commas.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many splits: 3 of logs, 4 as in the paper.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A little of everything, to see that it runs.")] = False,
    final: Annotated[
        bool, typer.Option("--final", help="Of the logs: seeds that nothing was chosen on, appended to final.jsonl.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="How many splits or seeds at a time.")] = 2,
    keep: Annotated[
        Path | None, typer.Option(help="Of the logs: a folder from which a run that was cut short goes on.")
    ] = None,
) -> None:
    """Run a study of the package askwho-studies, recorded logs or an experiment of the paper; write its files."""
    studies().run(
        name,
        data=data,
        out=out,
        only=only,
        seeds=seeds,
        quick=quick,
        final=final,
        workers=workers,
        keep=keep,
        progress=_say,
    )


app.add_typer(data_app, name="data")


def _say(line: str) -> None:
    err.print(line, markup=False)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="A folder for the log, the policy and the report.")] = Path("askwho-demo"),
    seed: o.Seed = 0,
) -> None:
    """Run the main job on scikit-learn's digits: make a log, then check, fit, evaluate, route, combine and report."""
    for words in run_demo(out, seed):
        err.print(f"$ askwho {shlex.join(words)}", markup=False, style="bold", soft_wrap=True)
        run(words)


def run(arguments: list[str]) -> None:
    """Run one command as if it had been typed."""
    app(arguments, standalone_mode=False)

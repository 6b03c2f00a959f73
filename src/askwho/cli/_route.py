"""`askwho route`: whom to ask about each query of a table, in one file or in parts."""

import importlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from askwho._fast import installed
from askwho._threads import in_order, processors
from askwho._validation import one_of
from askwho.cli import _options as o
from askwho.cli._printing import err, print_summary
from askwho.data import Table, count_rows, read_batches, whole, write_batches
from askwho.engines import Artefact, Made, Next, Parts, Route, Shards, facts_of, plan_of
from askwho.exceptions import InvalidInputError

# By what a table is routed in parts: processes of this machine, or an engine that is installed.
_ENGINES = ("local", "ray", "spark")
# Rows of one file that compiled code routes at a time: what is made of them stays in a processor's caches, and in
# memory that was in use before. Of four times as many a row took a quarter longer; without compiled code, as long.
_TOGETHER = 1 << 14


def route_queries(
    policy: o.PolicyFolder,
    queries: o.QueriesFile,
    out_: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Where to write the routes: .parquet, .csv, .jsonl; with --shard-rows a folder.",
            show_default=False,
        ),
    ],
    k: o.K = None,
    budget: o.Budget = None,
    max_error: o.MaxError = None,
    confidence: o.Confidence = None,
    max_fee: o.MaxFee = None,
    max_loss: o.MaxLoss = None,
    max_group: o.MaxGroup = None,
    fee_weight: o.FeeWeight = None,
    mode: Annotated[
        str, typer.Option(help="at-once; or sequential: one question at a time, by the answers so far in QUERIES.")
    ] = "at-once",
    explore: Annotated[
        float, typer.Option(help="The share of queries that ask somebody else at random, such as 0.05; written down.")
    ] = 0.0,
    coverage: o.Coverage = None,
    available: o.Available = None,
    shard_rows: Annotated[
        int | None,
        typer.Option(min=1, help="Write parts of so many rows; the same command goes on after it was killed."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Who makes the parts: local (this process), ray or spark; the same bytes.")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many at a time; as many as there are processors, unless said.")
    ] = None,
    allow: o.Allow = None,
    seed: Annotated[int | None, typer.Option(help="The seed of exploring.")] = None,
    json_: o.Json = False,
) -> None:
    """Write for each query whom to ask, how many, the expected fee and the expected error (or cost)."""
    target = o.target_of(k, fee_weight, budget, max_error, confidence, max_fee, max_loss, max_group)
    one_of(mode, "mode", ["at-once", "sequential"])
    one_of(engine, "engine", list(_ENGINES))
    sequential = mode == "sequential"
    if sequential and target.k is not None:
        raise InvalidInputError("`--mode sequential` takes --fee-weight, or --budget and --max-error, got --k.")
    if coverage is not None and not sequential:
        raise InvalidInputError("`--coverage` must go with `--mode sequential` or `combine`: nothing is decided yet.")
    if shard_rows is None and engine != "local":
        raise InvalidInputError(f"`--shard-rows` must be given with --engine {engine}: its workers write parts.")
    if shard_rows is not None and explore and seed is None:
        raise InvalidInputError("`--seed` must be given to explore with --shard-rows: it must draw the same again.")
    artefact = Artefact.at(policy, allow=o.words(allow))
    aims = (artefact, target, explore, seed, available)
    work = Next(*aims, coverage) if sequential else Route(*aims)
    work.load()
    # Who explores in one file draws by lot, one batch after the other: the same seed must draw the same. And a user's
    # own parts need not know of threads.
    threads = 1 if allow or (explore and shard_rows is None) else workers or processors()
    if shard_rows is None:
        total = _one_file(out_, work, queries, threads)
    else:
        run = {
            "policy": artefact.digest,
            "queries": facts_of(queries, "queries"),
            "target": {name: value for name, value in vars(target).items() if value is not None},
            "mode": mode,
            "explore": explore,
            "coverage": coverage,
            "available": available,
            "shard_rows": shard_rows,
            "seed": seed,
        }
        parts = Parts(work, whole(queries), whole(out_), shard_rows)
        if engine == "local":
            total = _in_parts(Shards(out_, run), parts, threads)
        else:
            total = _elsewhere(engine, out_, run, parts, workers or processors())
    n = int(total.pop("queries", 0))
    if not n:
        raise InvalidInputError("`queries` must not be empty: there is no row in it.")
    means = {name: value / n if name.startswith("mean_") else value for name, value in total.items()}
    print_summary({"queries": n, **means, "out": str(out_)}, as_json=json_, figure=work.load().unit.word)


def _one_file(path: Path, work: Route | Next, queries: Path, threads: int) -> dict[str, float]:
    """Write routes to one file, batch by batch; return the sums of all."""
    total: dict[str, float] = {}
    rng = np.random.default_rng(work.seed)
    # The lots of exploring fall batch by batch: those of a seed are of batches as they ever were.
    rows = _TOGETHER if installed() and not work.explore else None
    batches = read_batches(queries, rows=rows, name="queries", texts=work.load().texts, only=work.columns)

    def columns() -> Iterator[dict[str, Any]]:
        for made, sums in in_order(lambda batch: work.made(batch, rng), batches, workers=threads):
            for name, value in sums.items():
                total[name] = total.get(name, 0) + value
            err.print(f"{total['queries']} queries", markup=False)
            yield made

    write_batches(path, columns(), types=work.types)
    return total


def _in_parts(shards: Shards, parts: Parts, threads: int) -> dict[str, float]:
    """Write the parts that are not there yet; return the sums of all."""
    before = _told_before(shards)
    done = int(sum(sums["queries"] for sums in before.values()))
    first = next(number for number in range(len(before) + 1) if number not in before)

    def made(given: tuple[int, Table]) -> tuple[int, Made]:
        return given[0], parts.made(*given)

    last = max(before, default=-1)
    left = ((number, table) for number, table in parts.batches(first) if number not in before)
    for number, (columns, sums) in in_order(made, left, workers=threads):
        parts.write(number, (columns, sums))
        last = max(last, number)
        done += int(sums["queries"])
        err.print(f"{done} queries", markup=False)
    return shards.finish(last + 1)


def _elsewhere(engine: str, folder: Path, run: Mapping[str, Any], parts: Parts, workers: int) -> dict[str, float]:
    """Have an engine's workers write the parts that are not there yet; return the sums of all."""
    adapter = importlib.import_module(f"askwho.engines.{engine}")
    adapter.check_installed()
    count = math.ceil(count_rows(parts.queries) / parts.rows)
    shards = Shards(folder, run)
    before = _told_before(shards)
    done = int(sum(sums["queries"] for sums in before.values()))
    plan = plan_of(count, before, rows=parts.rows, workers=workers)
    if plan.num_rows:
        for found in adapter.run(parts, plan, workers=workers):
            done += sum(found.column("queries").to_pylist())
            err.print(f"{done} queries", markup=False)
    return shards.finish(count)


def _told_before(shards: Shards) -> dict[int, dict[str, float]]:
    """The sums of the parts that are there."""
    before = shards.done()
    if before:
        err.print(f"{int(sum(sums['queries'] for sums in before.values()))} queries were routed before", markup=False)
    return before

"""`askwho route`: whom to ask about each query of a table, in one file or in parts."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from askwho._threads import in_order, processors
from askwho._validation import one_of
from askwho.cli import _options as o
from askwho.cli._columns import route_types, step_types
from askwho.cli._printing import err, print_summary
from askwho.cli._shards import Shards, facts_of
from askwho.data import Table, read_batches, write_batches
from askwho.exceptions import InvalidInputError
from askwho.persistence import digest, load

Routed = tuple[dict[str, Any], dict[str, float]]
"""The columns of some routes, and the sums over them that are told in the end."""


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
    shard_rows: Annotated[
        int | None,
        typer.Option(min=1, help="Write parts of so many rows; the same command goes on after it was killed."),
    ] = None,
    allow: o.Allow = None,
    seed: Annotated[int | None, typer.Option(help="The seed of exploring.")] = None,
    json_: o.Json = False,
) -> None:
    """Write for each query whom to ask, how many, the expected fee and the expected error."""
    loaded = load(policy, allow=o.words(allow))
    target = o.target_of(k, fee_weight, budget, max_error, confidence, max_fee, max_loss, max_group)
    one_of(mode, "mode", ["at-once", "sequential"])
    rng = np.random.default_rng(seed)
    sequential = mode == "sequential"
    if sequential and target.k is not None:
        raise InvalidInputError("`--mode sequential` takes --fee-weight, or --budget and --max-error, got --k.")
    if coverage is not None and not sequential:
        raise InvalidInputError("`--coverage` must go with `--mode sequential` or `combine`: nothing is decided yet.")
    if shard_rows is not None and explore and seed is None:
        raise InvalidInputError("`--seed` must be given to explore with --shard-rows: it must draw the same again.")

    def routed(given: tuple[int, Table]) -> Routed:
        number, batch = given
        ids, chance = None, rng
        if shard_rows is not None:
            # A part is made of its rows, its number and the seed alone, so that it can be made again.
            n, first = len(next(iter(batch.values()))), number * shard_rows
            ids = None if loaded.id_column in batch else [str(first + i) for i in range(n)]
            chance = np.random.default_rng(None if seed is None else [seed, number])
        if sequential:
            steps = loaded.next(batch, target=target, explore=explore, random_state=chance, ids=ids, coverage=coverage)
            sums = {"queries": len(steps), "to_ask": int(steps.k.sum()), "fee": float(steps.fee.sum())}
            return steps.next_columns(arrow=True), sums
        decided = loaded.decide(batch, target, explore=explore, random_state=chance, ids=ids)
        return decided.to_columns(arrow=True), {
            "queries": len(decided),
            "mean_k": float(decided.k.sum()),
            "mean_expected_fee": float(decided.fee.sum()),
            "mean_expected_error": float(decided.expected_error.sum()),
        }

    # Who explores in one file draws by lot, one batch after the other: the same seed must draw the same. And a user's
    # own parts need not know of threads.
    workers = 1 if allow or (explore and shard_rows is None) else processors()
    batches = enumerate(read_batches(queries, rows=shard_rows, name="queries", texts=loaded.texts))
    types = step_types(loaded) if sequential else route_types(loaded)
    if shard_rows is None:
        total = _one_file(out_, in_order(routed, batches, workers=workers), types)
    else:
        run = {
            "policy": digest(policy),
            "queries": facts_of(queries, "queries"),
            "target": {name: value for name, value in vars(target).items() if value is not None},
            "mode": mode,
            "explore": explore,
            "coverage": coverage,
            "shard_rows": shard_rows,
            "seed": seed,
        }
        shards = Shards(out_, run)
        total = _in_parts(shards, lambda: in_order(routed, shards.skip(batches), workers=workers), types)
    n = int(total.pop("queries", 0))
    if not n:
        raise InvalidInputError("`queries` must not be empty: there is no row in it.")
    means = {name: value / n if name.startswith("mean_") else value for name, value in total.items()}
    print_summary({"queries": n, **means, "out": str(out_)}, as_json=json_)


def _one_file(path: Path, routes: Iterator[Routed], types: Mapping[str, type]) -> dict[str, float]:
    """Write routes to one file, batch by batch; return the sums of all."""
    total: dict[str, float] = {}

    def columns() -> Iterator[dict[str, Any]]:
        for made, sums in routes:
            for name, value in sums.items():
                total[name] = total.get(name, 0) + value
            err.print(f"{total['queries']} queries", markup=False)
            yield made

    write_batches(path, columns(), types=types)
    return total


def _in_parts(shards: Shards, routes: Callable[[], Iterator[Routed]], types: Mapping[str, type]) -> dict[str, float]:
    """Write the parts that are not there yet; return the sums of all."""
    done = int(sum(sums["queries"] for sums in shards.sums))
    if done:
        err.print(f"{done} queries were routed before", markup=False)
    for made, sums in routes():
        shards.write(made, sums, types=types)
        done += int(sums["queries"])
        err.print(f"{done} queries", markup=False)
    return shards.finish()

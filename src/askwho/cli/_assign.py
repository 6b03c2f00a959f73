"""The command that gives out a batch, and the file of its limits."""

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from askwho._validation import missing, once
from askwho.cli import _options as o
from askwho.cli._printing import print_json, print_line, print_summary, print_table
from askwho.data import table_of, write_batches
from askwho.engines import route_types
from askwho.exceptions import InvalidInputError
from askwho.persistence import load
from askwho.policy import Given, Target, assign, told_there

# The columns of a CSV file of limits.
_COLUMNS = ("entity", "group", "at_most", "at_least")


def assign_batch(
    policy: o.PolicyFolder,
    queries: o.QueriesFile,
    out_: Annotated[
        Path, typer.Option("--out", help="Where to write the routes: .parquet, .csv, .jsonl.", show_default=False)
    ],
    capacity: Annotated[
        Path | None,
        typer.Option(help="How many queries each can be given: JSON from name to number, or CSV: entity, at_most, ..."),
    ] = None,
    by: Annotated[str | None, typer.Option(help="The column of the queries that tells the groups: day, shift.")] = None,
    sizes: Annotated[
        str | None, typer.Option(help="How many queries may ask so many, such as 2=100,3=20; 0 asks nobody.")
    ] = None,
    k: o.K = None,
    budget: Annotated[float | None, typer.Option(help="Stay within this mean fee in this batch.")] = None,
    total: Annotated[float | None, typer.Option(help="Stay within this fee of the whole batch.")] = None,
    fee_weight: o.FeeWeight = None,
    available: o.Available = None,
    allow: o.Allow = None,
    json_: o.Json = False,
) -> None:
    """Give out a batch of queries under limits, at the least expected cost; write for each query whom to ask."""
    loaded = load(policy, allow=o.words(allow))
    alone = total is not None and (k, fee_weight, budget) == (None, None, None)
    target = Target(fee_weight=0.0) if alone else Target(k=k, fee_weight=fee_weight, budget=budget)
    limits = None if capacity is None else read_capacity(capacity)
    table = table_of(queries, "queries", texts=loaded.texts)
    there = told_there(loaded, available, table, somebody=True)
    done = assign(loaded, table, target, capacity=limits, sizes=_sizes(sizes), by=by, total=total, available=there)
    write_batches(out_, [done.decisions.to_columns(arrow=True)], types=route_types(loaded))
    means: dict[str, Any] = {
        "queries": len(done.decisions),
        "mean_k": float(done.decisions.k.mean()),
        "mean_expected_fee": float(done.decisions.fee.mean()),
        "mean_expected_error": float(done.decisions.expected_error.mean()),
        "mean_expected_cost": done.cost,
        "gap": done.gap,
        "every_committee_looked_at": done.everything,
        "out": str(out_),
    }
    if json_:
        print_json({**means, "limits": [_plain(each) for each in done.given]})
        return
    if done.given:
        print_table(
            ["limit", "given", "at least", "at most", "worth of one more"],
            [_row(each) for each in done.given],
        )
    # Where mistakes have costs, an expected error is one: what the batch costs with its fees has a longer name.
    longer = {"mean_expected_cost": "mean_expected_cost_with_fees"}
    lines = {longer.get(name, name): value for name, value in means.items() if name != "gap"}
    print_summary(lines, as_json=False, figure=loaded.unit.word)
    print_line(f"at most {done.gap:.2%} above the least cost")


def read_capacity(path: Path) -> dict[str, Any]:
    """Return the limits of a file: one JSON object, or a table with a row for each limit."""
    if path.suffix.lower() != ".json":
        return _of_rows(table_of(path, "capacity", texts=("entity", "group")), path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=partial(once, name="capacity"))
    except InvalidInputError:
        raise
    except (OSError, RecursionError, ValueError):
        raise InvalidInputError(
            f"`capacity` must be a JSON file from name to number, got {str(path)!r}, which cannot be read."
        ) from None
    if not isinstance(found, dict):
        raise InvalidInputError(f"`capacity` must be a JSON object from name to number, got {str(path)!r}.")
    return found


def _of_rows(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    absent = [name for name in ("entity", "at_most") if name not in table]
    unknown = [name for name in table if name not in _COLUMNS]
    if absent or unknown:
        raise InvalidInputError(
            f"`capacity` must have the columns entity and at_most, and may have group and at_least, got "
            f"{', '.join(table)} in {str(path)!r}."
        )
    found: dict[str, Any] = {}
    for i, name in enumerate(table["entity"].tolist()):
        cells = {column: table[column].tolist()[i] for column in table if column != "entity"}
        bounds = {key: cells[key] for key in ("at_most", "at_least") if key in cells and not missing(cells[key])}
        group = cells.get("group")
        held = found.setdefault(str(name), {})
        place = held if missing(group) else held.setdefault(str(group), {})
        if any(key in place for key in bounds) or not bounds:
            where = f"{name!r}" if missing(group) else f"{name!r} in {str(group)!r}"
            raise InvalidInputError(
                f"`capacity` must say once how many {where} can be given, got it twice or not at all."
            )
        place.update(bounds)
    return found


def _sizes(given: str | None) -> Any:  # noqa: ANN401 - as `assign` takes it
    if given is None:
        return None
    pairs = [o.pair(part, "sizes") for part in given.split(",")]
    return {_number(size): _number(most) for size, most in once(pairs, "sizes").items()}


def _number(text: str) -> Any:  # noqa: ANN401 - what is no number is refused where limits are checked
    return int(text) if text.isdecimal() else text


def _row(each: Given) -> list[str]:
    limit = each.limit
    name = limit.name if limit.group is None else f"{limit.name}, {limit.group}"
    most = "" if math.isinf(limit.at_most) else f"{limit.at_most:g}"
    return [name, f"{each.count:g}", f"{limit.at_least:g}" if limit.at_least else "", most, f"{each.worth:.4f}"]


def _plain(each: Given) -> dict[str, Any]:
    limit = each.limit
    return {
        "kind": limit.kind,
        "name": limit.name,
        "group": limit.group,
        "given": each.count,
        "at_least": limit.at_least,
        "at_most": None if math.isinf(limit.at_most) else limit.at_most,
        "worth_of_one_more": each.worth,
    }

"""The command that asks: decide, ask, fall back, combine; one file of decisions."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from askwho._money import amount, nanos
from askwho.cli import _options as o
from askwho.cli._columns import decision_types
from askwho.cli._printing import err, print_summary
from askwho.data import Table, read_batches, write_batches
from askwho.exceptions import InvalidInputError
from askwho.experts import read_experts
from askwho.ledger import Ledger, open_ledger
from askwho.live import AT_A_TIME, DEADLINE, Answered, ask_all, run_anywhere
from askwho.persistence import digest, load
from askwho.policy import Policy

# Queries that are asked about before their decisions are written: some seconds' work.
_BATCH = 1024
# The budget of one run; a name that nobody gives to one of his own.
_SPEND = "askwho ask --spend"


def ask_live(
    policy: o.PolicyFolder,
    queries: o.QueriesFile,
    experts: Annotated[Path, typer.Option(help="Who can be asked, and how: a TOML file.", show_default=False)],
    out_: Annotated[
        Path, typer.Option("--out", help="Where to write the decisions: .parquet, .csv, .jsonl.", show_default=False)
    ],
    k: o.K = None,
    budget: o.Budget = None,
    max_error: o.MaxError = None,
    confidence: o.Confidence = None,
    max_fee: o.MaxFee = None,
    max_loss: o.MaxLoss = None,
    max_group: o.MaxGroup = None,
    fee_weight: o.FeeWeight = None,
    mode: Annotated[str, typer.Option(help="at-once, or sequential: one question after another.")] = "at-once",
    deadline: Annotated[float, typer.Option(help="Seconds for each query, whoever fails.")] = DEADLINE,
    at_a_time: Annotated[int, typer.Option(min=1, help="How many queries are under way at a time.")] = AT_A_TIME,
    ledger: Annotated[
        str | None, typer.Option(help="Where everything is written: a SQLite file, or postgresql://...")
    ] = None,
    budgets: Annotated[str | None, typer.Option(help="Budgets of the ledger that must cover every call.")] = None,
    spend: Annotated[float | None, typer.Option(help="Spend no more than this in this run, whatever comes.")] = None,
    explore: Annotated[float, typer.Option(help="The share of queries that ask somebody else, at random.")] = 0.0,
    hedge: Annotated[
        float | None, typer.Option(help="Ask another beside whoever is silent for this share of the time.")
    ] = None,
    allow: o.Allow = None,
    seed: o.Seed = 0,
    json_: o.Json = False,
) -> None:
    """Ask about each query whom the policy says, within a deadline, and write what is decided."""
    loaded = load(policy, allow=o.words(allow))
    target = o.target_of(k, fee_weight, budget, max_error, confidence, max_fee, max_loss, max_group)
    known = read_experts(experts)
    if ledger is None and budgets is not None:
        raise InvalidInputError("`--budgets` must come with `--ledger`, got none: nobody else keeps them.")
    books = None if ledger is None and spend is None else open_ledger(":memory:" if ledger is None else ledger)
    names = [*o.words(budgets), *([] if spend is None else [_SPEND])]
    try:
        if books is not None and spend is not None:
            run_anywhere(partial(_limit, books, spend))
        ask = partial(
            ask_all,
            loaded,
            known,
            target=target,
            deadline=deadline,
            at_a_time=at_a_time,
            ledger=books,
            budgets=names,
            mode=mode,
            explore=explore,
            hedge=hedge,
            random_state=seed,
            digest=digest(policy),
        )
        total = _write(loaded, ask, queries, out_)
    finally:
        if books is not None:
            run_anywhere(books.close)
    print_summary({**total, "out": str(out_)}, as_json=json_)


def _write(policy: Policy, ask: Any, queries: Path, out_: Path) -> dict[str, Any]:  # noqa: ANN401 - a function
    """Ask about a file of queries, batch by batch, and write what was decided."""
    total: dict[str, Any] = {"queries": 0, "decided": 0, "paid": 0, "calls": 0, "fallbacks": 0, "late": 0}

    def tell(done: Answered) -> None:
        total["queries"] += 1
        total["decided"] += done.decision.verdict is not None
        total["paid"] += done.booked
        total["calls"] += sum(call.came != "not asked" for call in done.calls)
        total["fallbacks"] += any(call.came != "answered" for call in done.calls)
        total["late"] += bool(done.late)

    def decisions() -> Iterator[dict[str, Any]]:
        for batch in read_batches(queries, rows=_BATCH, name="queries", texts=policy.texts):
            yield columns_of(ask(queries=rows_of(batch), progress=tell), grades=policy.columns.answers is None)
            err.print(f"{total['queries']} queries, {amount(total['paid']):g} paid", markup=False)

    types: dict[str, type] = {"ask": list, "late": list, **decision_types(policy)}
    write_batches(out_, decisions(), types=types | ({"answer": str} if policy.columns.answers is None else {}))
    if not total["queries"]:
        raise InvalidInputError("`queries` must not be empty: there is no row in it.")
    paid = amount(total.pop("paid"))
    return {**total, "mean_fee": paid / total["queries"], "paid": paid}


async def _limit(books: Ledger, spend: float) -> None:
    """Let this run spend so much beyond what earlier ones did."""
    try:
        before = (await books.balance(_SPEND)).spent
    except InvalidInputError:
        before = 0
    await books.set_budget(_SPEND, before + nanos(spend), "total")


def rows_of(table: Table) -> list[dict[str, Any]]:
    """Return the rows of columns, cells as Python has them."""
    n = len(next(iter(table.values())))
    cells = {name: values.tolist() if values.ndim == 1 else list(values) for name, values in table.items()}
    return [{name: values[i] for name, values in cells.items() if not _empty(values[i])} for i in range(n)]


def _empty(cell: Any) -> bool:  # noqa: ANN401 - any cell
    return cell is None or (isinstance(cell, float) and bool(np.isnan(cell)))


def columns_of(done: list[Answered], *, grades: bool) -> dict[str, list[Any]]:
    """Return what came of queries as `askwho combine` writes it, whom was asked, who was late, and how long it took.

    Args:
        done: one for each query.
        grades: whether a verdict is the name of whoever is believed: then what he said is beside it.
    """
    made = [each.decision for each in done]
    columns: dict[str, list[Any]] = {
        "id": [each.id for each in made],
        "prediction": [each.verdict for each in made],
        "probability": [each.probability for each in made],
        "fee": [each.paid for each in done],
        "heard": [list(each.heard) for each in made],
        "ask_next": [list(each.ask_next) for each in made],
        "propensity": [each.propensity for each in made],
        "ask": [list(each.ask) for each in made],
        "late": [list(each.late) for each in done],
        "seconds": [each.seconds for each in done],
    }
    if grades:
        columns["answer"] = [None if each.answer is None else str(each.answer) for each in done]
    return columns

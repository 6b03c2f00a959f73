"""The command that asks: decide, ask, fall back, combine; one file of decisions."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from askwho._money import amount, nanos
from askwho.cli import _options as o
from askwho.cli._kept import Kept
from askwho.cli._printing import err, print_summary
from askwho.data import Table, read_batches, write_batches
from askwho.engines import decision_types
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
    """Ask about each query whom the policy says, within a deadline; stopped, it goes on where it stopped."""
    loaded = load(policy, allow=o.words(allow))
    target = o.target_of(k, fee_weight, budget, max_error, confidence, max_fee, max_loss, max_group)
    known = read_experts(experts)
    if ledger is None and budgets is not None:
        raise InvalidInputError("`--budgets` must come with `--ledger`, got none: nobody else keeps them.")
    books = None if ledger is None and spend is None else open_ledger(":memory:" if ledger is None else ledger)
    names = [*o.words(budgets), *([] if spend is None else [_SPEND])]
    try:
        spent = run_anywhere(partial(_spent, books)) if books is not None and spend is not None else 0
        run = {"policy": digest(policy), "experts": list(known), "target": str(target), "mode": mode}
        kept = Kept(out_, {**run, "explore": explore, "hedge": hedge, "seed": seed}, {"spent": spent})
        if books is not None and spend is not None:
            # A run that goes on spends no more than it might have at its first start; a ledger knows what it did.
            begun = kept.head["spent"] if ledger is not None else -kept.booked
            run_anywhere(partial(books.set_budget, _SPEND, max(begun + nanos(spend), 0), "total"))
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
            digest=run["policy"],
            again=kept.resumed,
        )
        total = _write(loaded, ask, queries, out_, kept)
    finally:
        if books is not None:
            run_anywhere(books.close)
    print_summary({**total, "out": str(out_)}, as_json=json_)


def _write(
    policy: Policy,
    ask: Any,  # noqa: ANN401 - a function
    queries: Path,
    out_: Path,
    kept: Kept,
) -> dict[str, Any]:
    """Ask about a file of queries, batch by batch, those that are done already apart; write what was decided."""
    total: Counter[str] = Counter(dict.fromkeys(("queries", "decided", "paid", "calls", "fallbacks", "late"), 0))
    grades = policy.columns.answers is None

    def decisions() -> Iterator[dict[str, Any]]:
        for batch in read_batches(queries, rows=_BATCH, name="queries", texts=policy.texts):
            rows, first = rows_of(batch), total["queries"]
            left = [i for i, row in enumerate(rows) if not kept.holds(first + i, row)]

            def tell(n: int, done: Answered, rows: Any = rows, first: int = first, left: Any = left) -> None:  # noqa: ANN401
                kept.add(first + left[n], rows[left[n]], _cells(done, grades=grades), _told(done))

            ask(queries=[rows[i] for i in left], progress=tell)
            done = [kept.take(first + i) for i in range(len(rows))]
            for _, told in done:
                total.update(told)
            yield {name: [cells[name] for cells, _ in done] for name in done[0][0]}
            err.print(f"{total['queries']} queries, {amount(total['paid']):g} paid", markup=False)

    types: dict[str, type] = {"ask": list, "late": list, **decision_types(policy)}
    written = False
    try:
        write_batches(out_, decisions(), types=types | ({"answer": str} if grades else {}))
        written = True
    finally:
        kept.close(done=written)
    if not total["queries"]:
        raise InvalidInputError("`queries` must not be empty: there is no row in it.")
    paid = amount(total.pop("paid"))
    return {**total, "mean_fee": paid / total["queries"], "paid": paid}


async def _spent(books: Ledger) -> int:
    """What earlier runs spent, in nanos."""
    try:
        return (await books.balance(_SPEND)).spent
    except InvalidInputError:
        return 0


def rows_of(table: Table) -> list[dict[str, Any]]:
    """Return the rows of columns, cells as Python has them."""
    n = len(next(iter(table.values())))
    cells = {name: values.tolist() if values.ndim == 1 else list(values) for name, values in table.items()}
    return [{name: values[i] for name, values in cells.items() if not _empty(values[i])} for i in range(n)]


def _empty(cell: Any) -> bool:  # noqa: ANN401 - any cell
    return cell is None or (isinstance(cell, float) and bool(np.isnan(cell)))


def _cells(done: Answered, *, grades: bool) -> dict[str, Any]:
    """What came of a query as `askwho combine` writes it, whom was asked, who was late, and how long it took.

    Args:
        done: what came.
        grades: whether a verdict is the name of whoever is believed: then what he said is beside it.
    """
    made = done.decision
    cells: dict[str, Any] = {
        "id": made.id,
        "prediction": made.verdict,
        "probability": made.probability,
        "fee": done.paid,
        "heard": list(made.heard),
        "ask_next": list(made.ask_next),
        "propensity": made.propensity,
        "ask": list(made.ask),
        "late": list(done.late),
        "seconds": done.seconds,
    }
    return cells | ({"answer": None if done.answer is None else str(done.answer)} if grades else {})


def _told(done: Answered) -> dict[str, int]:
    """What a query adds to the counts of the run."""
    return {
        "queries": 1,
        "decided": int(done.decision.verdict is not None),
        "paid": done.booked,
        "calls": sum(call.came != "not asked" for call in done.calls),
        "fallbacks": int(any(call.came != "answered" for call in done.calls)),
        "late": int(bool(done.late)),
    }

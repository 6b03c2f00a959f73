"""The commands of the ledger: as a log to learn from, and its budgets."""

import asyncio
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from askwho._money import amount, nanos
from askwho._validation import once, one_of
from askwho.cli import _options as o
from askwho.cli._printing import print_json, print_summary, print_table
from askwho.data import write_table
from askwho.exceptions import InvalidInputError
from askwho.ledger import Balance, Period, open_ledger, read_ledger

_Ledger = Annotated[
    str, typer.Option("--ledger", help="A SQLite file, sqlite:///path, or postgresql://...", show_default=False)
]


def write_log(
    ledger: _Ledger,
    out_: Annotated[
        Path, typer.Option("--out", help="Where to write the log: .parquet, .csv, .jsonl.", show_default=False)
    ],
    no_propensity: Annotated[
        bool,
        typer.Option(
            "--no-propensity",
            help="Tell all truths, and no probabilities: else rows tell none of which it is not known how likely just "
            "those were asked who answered.",
        ),
    ] = False,
    json_: o.Json = False,
) -> None:
    """Write the ledger as a log, ready for `askwho fit`: one row a decision."""
    columns = read_ledger(ledger, propensity=not no_propensity)
    if not columns["id"]:
        raise InvalidInputError(f"`ledger` must hold decisions, got none in {Path(ledger).name!r}.")
    write_table(out_, columns)
    told = {name: sum(cell is not None for cell in cells) for name, cells in columns.items()}
    summary: dict[str, Any] = {"rows": len(columns["id"]), "truths": told["truth"]}
    if "propensity" in columns:
        summary["propensities"] = told["propensity"]
    experts = [name.removeprefix("answer_") for name in columns if name.startswith("answer_")]
    summary["experts"] = experts if json_ else ", ".join(experts)
    print_summary({**summary, "out": str(out_)}, as_json=json_)


def set_budgets(
    ledger: _Ledger,
    budgets: Annotated[
        list[str],
        typer.Argument(help="name=limit/hour, name=limit/day, name=limit, name=none; or a name.", show_default=False),
    ],
    json_: o.Json = False,
) -> None:
    """Set budgets of the ledger, in your unit of money, remove them, and show how those that are named stand."""
    pairs = [o.pair(each, "budgets") if "=" in each else (each, "") for each in budgets]
    wanted = {name: _budget(text) if text else () for name, text in once(pairs, "budgets").items()}
    found = asyncio.run(_balances(ledger, wanted))
    figures = ("limit", "spent", "held", "left")
    rows = {name: {figure: amount(getattr(each, figure)) for figure in figures} for name, each in found.items()}
    if json_:
        print_json(rows)
    elif rows:
        print_table(
            ["budget", *figures], [[name, *(f"{value:g}" for value in row.values())] for name, row in rows.items()]
        )


async def _balances(ledger: str, wanted: dict[str, Any]) -> dict[str, Balance]:
    async with open_ledger(ledger) as books:
        for name, budget in wanted.items():
            if budget:
                await books.set_budget(name, *budget)
        shown = [name for name, budget in wanted.items() if not budget or budget[0] is not None]
        return {name: await books.balance(name) for name in shown}


def _budget(text: str) -> tuple[int | None, Any]:
    """The limit and the period of `5/day`; no limit of `none`."""
    limit, sign, period = text.partition("/")
    if sign:
        one_of(period, "period", get_args(Period))
    return None if text == "none" else nanos(limit), period or "total"

"""The ledger as a log: one row a decision, with what everybody answered and charged, and how likely that was."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askwho._money import amount
from askwho.exceptions import InvalidInputError
from askwho.ledger._booking import Booked, Call, Status
from askwho.ledger._database import Database

# The columns that every exported log has; what a query calls so is given another name.
_OWN = ("id", "time", "truth", "propensity")
# What the columns of each expert begin with, likewise.
_OF_EXPERTS = ("answer_", "info_", "fee_")
# In front of what a query calls like one of ours.
_QUERY = "query_"


@dataclass
class _Row:
    """What the calls of one decision brought: by expert."""

    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    info: dict[str, float | None] = field(default_factory=dict[str, float | None])
    charged: dict[str, int] = field(default_factory=dict[str, int])


def booked_calls(database: Database, statuses: Sequence[Status]) -> list[Booked]:
    """Return the calls in these states, or in any, the earliest first."""
    among = f"WHERE status IN ({', '.join('?' * len(statuses))})" if statuses else ""
    sql = (
        "SELECT id, decision, expert, idempotency, worst, expires, status, charged, why, at "
        f"FROM askwho_calls {among} ORDER BY at, id"
    )
    found = database.rows(sql, statuses)
    return [Booked(Call(*row[:6]), row[6], row[7], row[8], row[9]) for row in found]


def columns_of(database: Database, *, propensity: bool) -> dict[str, list[Any]]:
    """Return the columns of the log; `read_ledger` says what they hold."""
    decisions = database.rows("SELECT id, at, query, decision, truth FROM askwho_decisions ORDER BY at, id")
    came = _calls_of(database)
    experts = sorted({name for row in came.values() for name in row.answers})
    queries = [json.loads(row[2]) for row in decisions]
    rows = [came.get(row[0], _Row()) for row in decisions]
    ids, times, _, decided, truths = ([list(column) for column in zip(*decisions, strict=True)]) or [[]] * 5
    truth = [None if each is None else json.loads(each) for each in truths]
    columns: dict[str, list[Any]] = {"id": ids, "time": times, **_known(queries, ids)}
    for name in experts:
        columns[f"answer_{name}"] = [row.answers.get(name) for row in rows]
        columns[f"info_{name}"] = [row.info.get(name) for row in rows]
        columns[f"fee_{name}"] = [amount(row.charged[name]) if name in row.charged else None for row in rows]
    if propensity:
        chances = [_chance(json.loads(each), row) for each, row in zip(decided, rows, strict=True)]
        if decisions and all(chance is None for chance in chances):
            raise InvalidInputError(
                "`propensity` must be known of some decisions, got none: questions were put in turn, or nobody answered"
                " as decided. Export without it."
            )
        truth = [None if chance is None else each for each, chance in zip(truth, chances, strict=True)]
        columns["propensity"] = chances
    return {**columns, "truth": truth}


def _calls_of(database: Database) -> dict[str, _Row]:
    """What the calls of each decision brought. An attempt that failed and one that did not add up to one fee."""
    found: dict[str, _Row] = {}
    sql = "SELECT decision, expert, status, charged, answer, info FROM askwho_calls WHERE status <> 'held' "
    sql += "ORDER BY at, id"
    for decision, expert, status, charged, answer, info in database.rows(sql):
        row = found.setdefault(decision, _Row())
        if status != "freed":
            row.charged[expert] = row.charged.get(expert, 0) + charged
        if answer is not None and expert not in row.answers:
            row.answers[expert], row.info[expert] = json.loads(answer), info
    return found


def _known(queries: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> dict[str, list[Any]]:
    """What was known of the queries, column by column; an id that is the decision's own is there already."""
    names = list(dict.fromkeys(name for query in queries for name in query))
    columns = {name: [query.get(name) for query in queries] for name in names}
    if columns.get("id") == list(ids):
        del columns["id"]
    taken = [name for name in columns if name in _OWN or name.startswith(_OF_EXPERTS)]
    return {f"{_QUERY}{name}" if name in taken else name: cells for name, cells in columns.items()}


def _chance(decision: Mapping[str, Any], row: _Row) -> float | None:
    """The probability that those were asked who answered: told where these are just those who were to be asked."""
    chance, asked = decision.get("propensity"), decision.get("ask")
    if chance is None or asked is None or set(asked) != set(row.answers):
        return None
    return float(chance)

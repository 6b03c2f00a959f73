"""The desk: what one transaction has before it. Rows are laid out, changed by plain Python, and put back together."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from askwho._money import LARGEST
from askwho.exceptions import InvalidInputError
from askwho.ledger._booking import Booking, Status, booking_of, row_of
from askwho.ledger._budgets import Budget, Spend, spans_of
from askwho.ledger._database import Database, Query, Write
from askwho.ledger._schema import check_version

# The columns of a call in the order of `row_of`.
_CALL = "id, decision, expert, idempotency, worst, expires, status, charged, answer, info, why, at, ended"
# The columns of a decision.
_DECISION = "id, at, query, decision, verdict, probability, paid, truth"
# Calls that nobody settled in time.
_EXPIRED = f"SELECT {_CALL}, pledged FROM askwho_calls WHERE status = 'held' AND expires <= ?"
# What is looked up by its keys, which follow: calls,
_CALLS = f"SELECT {_CALL}, pledged FROM askwho_calls WHERE id "
# decisions,
_DECISIONS = f"SELECT {_DECISION} FROM askwho_decisions WHERE id "
# budgets,
_BUDGETS = "SELECT name, cap, period FROM askwho_budgets WHERE name "
# and what was spent of them, by budget and span.
_SPENDS = "SELECT budget, span, spent, held, excess FROM askwho_spend WHERE"
EXPIRED = "the hold expired: nobody told what came of the call"
"""Why a call is unknown that nobody settled, freed or gave up in time."""


@dataclass(frozen=True)
class Needs:
    """What a request must find on the desk.

    Args:
        calls: ids of calls.
        decisions: ids of decisions.
        budgets: names of budgets.
    """

    calls: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()


@dataclass
class Desk:
    """What one transaction has before it, and may change. Whoever is not there does not exist.

    Args:
        now: the moment of the transaction, in seconds since 1970.
        calls: by id.
        decisions: by id, each a row of its table.
        budgets: by name; None where one is removed.
        spends: by budget and span; laid out as they are needed, zero where there was none.
        changed: what is to be put back, by table and key.
    """

    now: float
    calls: dict[str, Booking] = field(default_factory=dict[str, Booking])
    decisions: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    budgets: dict[str, Budget | None] = field(default_factory=dict[str, Budget | None])
    spends: dict[tuple[str, str], Spend] = field(default_factory=dict[tuple[str, str], Spend])
    changed: dict[tuple[str, Any], None] = field(default_factory=dict[tuple[str, Any], None])

    @classmethod
    def lay(cls, database: Database, needs: Iterable[Needs], now: float, *, durable: bool, wait: bool = True) -> "Desk":
        """Begin a transaction, and return the desk with all that some requests need.

        Holds that have expired become unknown there and then.

        Args:
            database: which is not within a transaction.
            needs: of each request.
            now: the moment.
            durable: whether what is committed must outlast the loss of power.
            wait: whether to wait for other processes; if not, `BusyError` where one writes.
        """
        desk = cls(now)
        calls: list[str] = []
        decisions: list[str] = []
        names: list[str] = []
        for need in needs:
            calls += need.calls
            decisions += need.decisions
            names += need.budgets
        wanted: list[Query] = [(_EXPIRED, (now,))]
        for sql, keys in ((_CALLS, calls), (_DECISIONS, decisions), (_BUDGETS, names)):
            if keys:
                among, values = database.among(keys)
                wanted.append((sql + among, values))
        version, answers = database.begin(wanted, durable=durable, wait=wait)
        check_version(version)
        found = iter(answers)
        expired = next(found)
        for row in (*(next(found) if calls else ()), *expired):
            desk.calls[row[0]] = booking_of(row[:-1], _pledges(row[-1]))
        if decisions:
            desk.decisions = {row[0]: list(row) for row in next(found)}
        if names:
            desk.budgets = {name: Budget(cap, period) for name, cap, period in next(found)}
        desk._lay_spends(database, names)
        for row in expired:
            desk.book(desk.calls[row[0]], "unknown", desk.calls[row[0]].call.worst, why=EXPIRED)
        return desk

    def _lay_spends(self, database: Database, names: Sequence[str]) -> None:
        """Lay out the sums of some budgets, now, and of those that the calls are booked on, then."""
        pledged = {pledge for booking in self.calls.values() for pledge in booking.pledged}
        budgets = {*names, *(name for name, _ in pledged)}
        if budgets:
            spans = {*spans_of(self.now), *(span for _, span in pledged)}
            named, names_ = database.among(sorted(budgets))
            when, spans_ = database.among(sorted(spans))
            for name, span, spent, held, over in database.rows(
                f"{_SPENDS} budget {named} AND span {when}", (*names_, *spans_)
            ):
                self.spends[name, span] = Spend(spent, held, over)

    def spend(self, name: str, span: str) -> Spend:
        """Return what is spent and held on a budget in a span of time."""
        return self.spends.setdefault((name, span), Spend())

    def book(self, booking: Booking, status: Status, charged: int, *, why: str = "") -> None:
        """Move a call to another state, and its money with it, in every budget that it is booked on."""
        spends = [self.spend(*pledge) for pledge in booking.pledged]
        for sign in (-1, 1):
            if sign == 1:
                booking.status, booking.charged, booking.why, booking.ended = status, charged, why, self.now
            for spend in spends:
                spend.spent += sign * booking.charged
                spend.held += sign * booking.held
                spend.over += sign * booking.over
        self.touch(booking)

    def check_sums(self, booking: Booking, charged: int) -> None:
        """Raise where a charge would make a sum that no database holds, what is held beside it included."""
        if any(self.spend(*pledge).spent + charged > LARGEST for pledge in booking.pledged):
            raise InvalidInputError(f"`charged` must leave the sum within {LARGEST:,}, got {charged:,} more.")

    def hold(self, booking: Booking) -> None:
        """Lay down a new call, and hold its worst case on its budgets."""
        self.calls[booking.call.id] = booking
        for pledge in booking.pledged:
            self.spend(*pledge).held += booking.held
        self.touch(booking)

    def touch(self, booking: Booking) -> None:
        """Have a call written, and the sums of its budgets."""
        self.changed["call", booking.call.id] = None
        for pledge in booking.pledged:
            self.changed["spend", pledge] = None

    def writes(self) -> list[Write]:
        """Return all that was changed, to be written."""
        marked: dict[str, list[Any]] = {}
        for table, key in self.changed:
            marked.setdefault(table, []).append(key)
        calls = [self.calls[key] for key in marked.get("call", [])]
        spends = [(*key, self.spends[key]) for key in marked.get("spend", [])]
        budgets = [(name, self.budgets[name]) for name in marked.get("budget", [])]
        kept = [(name, budget.limit, budget.period) for name, budget in budgets if budget is not None]
        gone = [(name,) for name, budget in budgets if budget is None]
        all_of_it: list[Write] = [
            (_WRITE_DECISION, [self.decisions[key] for key in marked.get("decision", [])]),
            (_WRITE_CALL, [(*row_of(each), _written(each.pledged)) for each in calls]),
            (_WRITE_SPEND, [(name, span, each.spent, each.held, each.over) for name, span, each in spends]),
            (_WRITE_BUDGET, kept),
            ("DELETE FROM askwho_budgets WHERE name = ?", gone),
        ]
        return [(sql, rows) for sql, rows in all_of_it if rows]


# The same few budgets, hour after hour.
@lru_cache(maxsize=256)
def _pledges(written: str) -> tuple[tuple[str, str], ...]:
    """The budgets that a call is booked on, and their spans, as its row has them."""
    return tuple((name, span) for name, span in json.loads(written))


@lru_cache(maxsize=256)
def _written(pledged: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(pledged)


def _upsert(table: str, columns: str, key: str, changing: Sequence[str]) -> str:
    """The statement that writes rows, new or changed."""
    taken = ", ".join(f"{name} = excluded.{name}" for name in changing)
    signs = ", ".join("?" * len(columns.split(", ")))
    return f"INSERT INTO {table} ({columns}) VALUES ({signs}) ON CONFLICT ({key}) DO UPDATE SET {taken}"


# How each table is written.
_WRITE_DECISION = _upsert("askwho_decisions", _DECISION, "id", tuple(_DECISION.split(", ")[1:]))
# A call changes after it was held for, but what it was held for does not.
_WRITE_CALL = _upsert(
    "askwho_calls", f"{_CALL}, pledged", "id", ("status", "charged", "answer", "info", "why", "ended")
)
# Sums are written whole: nobody else has changed them since they were read.
_WRITE_SPEND = _upsert("askwho_spend", "budget, span, spent, held, excess", "budget, span", ("spent", "held", "excess"))
# A budget that is set again is another.
_WRITE_BUDGET = _upsert("askwho_budgets", "name, cap, period", "name", ("cap", "period"))

"""The desk: what one transaction has before it. Rows are laid out, changed by plain Python, and put back together."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from askwho._money import LARGEST
from askwho.exceptions import InvalidInputError
from askwho.ledger._booking import Booking, Status, booking_of, row_of
from askwho.ledger._budgets import Budget, Spend
from askwho.ledger._database import Database

# How many rows are looked up by one statement: SQLite takes 32,766 values in one.
_AT_ONCE = 4096
# The columns of a call in the order of `row_of`.
_CALL = "id, decision, expert, idempotency, worst, expires, status, charged, answer, info, why, at, ended"
# Those of them that change after it was held for.
_CHANGING = ("status", "charged", "answer", "info", "why", "ended")
# The columns of a decision.
_DECISION = "id, at, query, decision, verdict, probability, paid, truth"
# Those of them that are filled in later.
_LATER = ("verdict", "probability", "paid", "truth")
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
    def lay(cls, database: Database, needs: Iterable[Needs], now: float, spans: Iterable[str]) -> "Desk":
        """Return the desk with all that some requests need; holds that have expired become unknown at once.

        Args:
            database: within a transaction.
            needs: of each request.
            now: the moment.
            spans: of the present time, one for each period: what holds may be booked on.
        """
        desk, wanted = cls(now), list(needs)
        expired = database.rows(
            f"SELECT {_CALL}, pledged FROM askwho_calls WHERE status = 'held' AND expires <= ?", (now,)
        )
        known = _by_key(
            database, f"SELECT {_CALL}, pledged FROM askwho_calls WHERE id", [i for n in wanted for i in n.calls]
        )
        for *row, pledged in (*known, *expired):
            desk.calls[row[0]] = booking_of(tuple(row), tuple((name, span) for name, span in json.loads(pledged)))
        found = _by_key(
            database, f"SELECT {_DECISION} FROM askwho_decisions WHERE id", [i for n in wanted for i in n.decisions]
        )
        desk.decisions = {row[0]: list(row) for row in found}
        names = [name for need in wanted for name in need.budgets]
        for name, cap, period in _by_key(database, "SELECT name, cap, period FROM askwho_budgets WHERE name", names):
            desk.budgets[name] = Budget(cap, period)
        spent_on = {name for booking in desk.calls.values() for name, _ in booking.pledged} | set(names)
        all_spans = {span for booking in desk.calls.values() for _, span in booking.pledged} | set(spans)
        if spent_on:
            desk._lay_spends(database, sorted(spent_on), sorted(all_spans))
        for row in expired:
            desk.book(desk.calls[row[0]], "unknown", desk.calls[row[0]].call.worst, why=EXPIRED)
        return desk

    def _lay_spends(self, database: Database, names: Sequence[str], spans: Sequence[str]) -> None:
        among = _signs(len(spans))
        sql = f"SELECT budget, span, spent, held, excess FROM askwho_spend WHERE span IN ({among}) AND budget"
        for name, span, *sums in _by_key(database, sql, names, before=_padded(spans)):
            self.spends[name, span] = Spend(*sums)

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

    def put_back(self, database: Database) -> None:
        """Write all that was changed."""
        marked: dict[str, list[Any]] = {}
        for table, key in self.changed:
            marked.setdefault(table, []).append(key)
        if "decision" in marked:
            rows = [self.decisions[key] for key in marked["decision"]]
            database.write(_upsert("askwho_decisions", _DECISION, "id", _LATER), rows)
        if "call" in marked:
            calls = [self.calls[key] for key in marked["call"]]
            rows = [(*row_of(each), json.dumps(each.pledged)) for each in calls]
            database.write(_upsert("askwho_calls", f"{_CALL}, pledged", "id", _CHANGING), rows)
        if "spend" in marked:
            spends = [(*key, self.spends[key]) for key in marked["spend"]]
            rows = [(name, span, each.spent, each.held, each.over) for name, span, each in spends]
            columns, sums = "budget, span, spent, held, excess", ("spent", "held", "excess")
            database.write(_upsert("askwho_spend", columns, "budget, span", sums), rows)
        self._put_back_budgets(database, marked.get("budget", []))

    def _put_back_budgets(self, database: Database, names: Sequence[str]) -> None:
        kept = [(name, budget.limit, budget.period) for name in names if (budget := self.budgets[name]) is not None]
        gone = [(name,) for name in names if self.budgets[name] is None]
        if kept:
            database.write(_upsert("askwho_budgets", "name, cap, period", "name", ("cap", "period")), kept)
        if gone:
            database.write("DELETE FROM askwho_budgets WHERE name = ?", gone)


def _by_key(database: Database, sql: str, keys: Sequence[str], before: Sequence[str] = ()) -> list[tuple[Any, ...]]:
    """What a query finds whose last word is the column of some keys."""
    found: list[tuple[Any, ...]] = []
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _AT_ONCE):
        some = _padded(wanted[start : start + _AT_ONCE])
        found += database.rows(f"{sql} IN ({_signs(len(some))})", (*before, *some))
    return found


def _padded(keys: Sequence[str]) -> list[str]:
    """The keys, the last one repeated up to a power of two: so that few statements differ, and their plans are kept."""
    return [*keys, *[keys[-1]] * ((1 << (len(keys) - 1).bit_length()) - len(keys))]


def _signs(n: int) -> str:
    return ", ".join(["?"] * (1 << (n - 1).bit_length()))


def _upsert(table: str, columns: str, key: str, changing: Sequence[str]) -> str:
    """The statement that writes rows, new or changed."""
    taken = ", ".join(f"{name} = excluded.{name}" for name in changing)
    signs = ", ".join("?" * len(columns.split(", ")))
    return f"INSERT INTO {table} ({columns}) VALUES ({signs}) ON CONFLICT ({key}) DO UPDATE SET {taken}"

"""The ledger as it is used: what is held before anybody is asked, what was charged, and what came of it."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, get_args
from urllib.parse import unquote

from askwho import _validation as check
from askwho._money import LARGEST
from askwho.exceptions import InvalidInputError
from askwho.ledger import _requests as ask
from askwho.ledger._booking import Booked, Call, Status
from askwho.ledger._budgets import Balance, Budget, Period
from askwho.ledger._database import Place
from askwho.ledger._export import booked_calls, columns_of
from askwho.ledger._postgres import PostgresPlace
from askwho.ledger._schema import migrate, version_of
from askwho.ledger._sqlite import SqlitePlace
from askwho.ledger._text import name_of, object_to_json, reason, to_json
from askwho.ledger._writer import Writer

# Where the cells stand in a decision's row that are filled in later.
_VERDICT, _PROBABILITY, _PAID, _TRUTH = 4, 5, 6, 7


class Ledger:
    """Books of what was asked, held, charged and answered, with budgets that no holds can overspend.

    All money is in billionths of the user's unit (`askwho._money`). A call is held for at its worst case before it is
    made, and settled at what it charged. What is told of a call or a decision is in the queue once it is told, and is
    booked even if nobody waits for it, or whoever does is cancelled; a hold whose asker is cancelled before it learned
    the answer is freed, for it cannot have asked. A process that dies leaves its calls held: they expire, and are then
    spent at their worst case until they are reconciled.

    Use `open_ledger`, and close it or use it in `async with`. Any number of processes may have it open.
    """

    def __init__(self, place: Place, *, durable: bool, clock: Callable[[], float]) -> None:
        self._place = place
        database = place.connect()
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        self._writer = Writer(place, database, durable=durable, clock=clock)

    async def __aenter__(self) -> "Ledger":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self._place)!r})"

    def decided(
        self,
        decision_id: str,
        *,
        query: Mapping[str, Any],
        decision: Mapping[str, Any],
        at: float | None = None,
        again: bool = False,
    ) -> asyncio.Future[None]:
        """Write down a query and what was decided about it; return what to await.

        It is in the queue when this returns: who awaits it behind his first `hold` pays for one transaction, not two.
        (Do not `gather` the two: who is cancelled then may miss that something was held.)

        Args:
            decision_id: the id of the decision; no other has it.
            query: what was known of it, as JSON can hold it.
            decision: what was decided: `ask` (the names of those to be asked), `propensity` and whatever else.
            at: when, in seconds since 1970; now, unless said.
            again: whether it may stand in the place of a decision of that id: of a run that was stopped. What was
                charged for that one stands, and is told in the same row of the log.
        """
        at = None if at is None else check.finite_number(at, "at")
        query_, decision_ = object_to_json(query, "query"), object_to_json(decision, "decision")
        return self._writer.send(ask.Decide(name_of(decision_id, "decision_id"), at, query_, decision_, again))

    async def hold(self, calls: Sequence[Call], *, budgets: Sequence[str] = ()) -> list[bool]:
        """Hold the worst case of some calls, in one transaction; return for which of them, in their order.

        A call is refused where one of the budgets has less left than its worst case; and only there.

        Args:
            calls: to be held for, with ids that no other call has.
            budgets: the names of those that must cover each call, and that its charge is booked on.
        """
        check.unique_names([call.id for call in calls], "Calls")
        check.unique_names(list(budgets), "Budgets")
        held: list[bool] = await self._writer.do(ask.Hold(tuple(calls), tuple(budgets)))
        return held

    def settle(
        self,
        call_id: str,
        *,
        charged: int,
        answer: Any = None,  # noqa: ANN401 - whatever JSON knows
        info: float | None = None,
        why: str = "",
    ) -> asyncio.Future[int]:
        """Book what a call charged, and what it answered; await what was charged above its hold, 0 as a rule.

        A charge above the hold is booked as it is, may take the budgets above their limits, and is told as `over`. A
        call that has become unknown meanwhile is settled likewise; one that was reconciled keeps that charge.

        Args:
            call_id: of the call.
            charged: in billionths.
            answer: what was answered, as JSON can hold it; None where there is no usable answer.
            info: what came with the answer, such as a confidence.
            why: where there is no usable answer, the reason.
        """
        request = ask.Settle(
            name_of(call_id, "call_id"),
            check.whole_number(charged, "charged", minimum=0, maximum=LARGEST),
            None if answer is None else to_json(answer, "answer"),
            None if info is None else check.finite_number(info, "info"),
            reason(why),
        )
        return self._writer.send(request)

    def free(self, call_id: str, why: str) -> asyncio.Future[None]:
        """Give a hold back: the call was certainly not charged."""
        return self._writer.send(ask.End(name_of(call_id, "call_id"), free=True, why=reason(why)))

    def unknown(self, call_id: str, why: str) -> asyncio.Future[None]:
        """Book a call at its worst case: it may have been charged, and nobody knows until it is reconciled."""
        return self._writer.send(ask.End(name_of(call_id, "call_id"), free=False, why=reason(why)))

    def closed(
        self,
        decision_id: str,
        *,
        verdict: Any = None,  # noqa: ANN401 - whatever JSON knows
        probability: float | None = None,
        paid: int | None = None,
    ) -> asyncio.Future[None]:
        """Write down what came of a decision; said twice, the last one stands.

        Args:
            decision_id: of the decision.
            verdict: as JSON can hold it.
            probability: that it is right; None for numbers.
            paid: what was charged in all, in billionths.
        """
        cells = {
            _VERDICT: None if verdict is None else to_json(verdict, "verdict"),
            _PROBABILITY: None if probability is None else check.finite_number(probability, "probability"),
            _PAID: None if paid is None else check.whole_number(paid, "paid", minimum=0, maximum=LARGEST),
        }
        return self._writer.send(ask.Fill(name_of(decision_id, "decision_id"), cells))

    async def outcome(self, decision_id: str, truth: Any) -> None:  # noqa: ANN401 - whatever JSON knows
        """Write down what was right, once it is known; said twice, the last one stands."""
        cells = {_TRUTH: to_json(truth, "truth")}
        await self._writer.do(ask.Outcome(name_of(decision_id, "decision_id"), cells))

    async def reconcile(self, call_id: str, charged: int) -> int:
        """Book what the provider's own books say of a call, whatever stands here; return what is above its hold."""
        amount = check.whole_number(charged, "charged", minimum=0, maximum=LARGEST)
        over: int = await self._writer.do(ask.Reconcile(name_of(call_id, "call_id"), amount))
        return over

    async def set_budget(self, name: str, limit: int | None, period: Period = "total") -> None:
        """Set how much may be spent, from now on; what is spent and held stands.

        A call belongs to the hour or the day in which it was held for, by UTC, whenever it is settled.

        Args:
            name: of the budget: of a day, of a key, of a customer.
            limit: in billionths; None removes the budget, and holds on it are then refused with an error.
            period: within which time: an hour, a day, or ever.
        """
        check.one_of(period, "period", get_args(Period))
        most = None if limit is None else check.whole_number(limit, "limit", minimum=0, maximum=LARGEST)
        budget = None if most is None else Budget(most, period)
        await self._writer.do(ask.SetBudget(name_of(name, "name"), budget))

    async def balance(self, name: str) -> Balance:
        """Return how a budget stands, in the present hour or day of its period."""
        found: Balance = await self._writer.do(ask.Look(name_of(name, "name")))
        return found

    def booked(self, *statuses: Status) -> list[Booked]:
        """Return the calls in these states, or in any, the earliest first: `"unknown"` are those to reconcile.

        Reads beside whoever writes, and blocks until it has: within an event loop use `asyncio.to_thread`. A hold that
        has expired is told as `"held"` until somebody holds, settles or asks for a balance.
        """
        for status in statuses:
            check.one_of(status, "status", get_args(Status))
        database = self._place.reader()
        try:
            return booked_calls(database, statuses)
        finally:
            database.close()

    def export(self, *, propensity: bool = True) -> dict[str, list[Any]]:
        """Return the ledger as the columns of a log; see `read_ledger`. Blocks likewise."""
        return _exported(self._place, propensity=propensity)

    async def close(self) -> None:
        """Carry out what waits, and leave the database. Calls that are still in flight stay held, and expire."""
        await asyncio.to_thread(self._writer.close)
        self._place.remove()


def open_ledger(url: str | Path, *, durable: bool = False, clock: Callable[[], float] = time.time) -> Ledger:
    """Return the ledger at an address; what is not there is created, and tables of an earlier version brought up.

    Args:
        url: a path or `sqlite:///path` of a SQLite file; `postgresql://...` (needs psycopg); `":memory:"` for tests.
        durable: whether holds, truths, budgets and reconciled charges wait until they are on the disk, for some
            milliseconds each. If not, the loss of power may undo about the last second.
        clock: what tells the time, in seconds since 1970.
    """
    return Ledger(_place_of(url), durable=durable, clock=clock)


def read_ledger(url: str | Path, *, propensity: bool = True) -> dict[str, list[Any]]:
    """Return the ledger at an address as the columns of a log that `read_log` reads; nothing is created or changed.

    One row a decision, in the order of time: `id`, whatever was known of the query, `answer_*`, `info_*` and `fee_*` of
    everybody who ever answered, `truth`, `time` (seconds since 1970), and `propensity`. A fee is what was charged for
    that query, usable answer or not, in the user's unit.

    Args:
        url: as in `open_ledger`.
        propensity: whether with the probability that those were asked who answered. It is known of rows where just
            those answered who were to be asked at once; of all others (a fallback, a failure, questions in turn) it is
            not, and their truth is left empty, so that they count among the queries and teach nothing. Without it the
            truth is told of all, and how likely asking was is learned.
    """
    return _exported(_place_of(url), propensity=propensity)


def _exported(place: Place, *, propensity: bool) -> dict[str, list[Any]]:
    database = place.reader()
    try:
        version_of(database)
        return columns_of(database, propensity=propensity)
    finally:
        database.close()


def _place_of(url: str | Path) -> Place:
    text = str(url)
    scheme, sign, rest = text.partition("://")
    if text == ":memory:":
        return SqlitePlace.in_memory()
    if not sign:
        return SqlitePlace(Path(text))
    if scheme in ("postgresql", "postgres"):
        return PostgresPlace(text)
    # By the usual rule three slashes begin a relative path, and four an absolute one.
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SqlitePlace(Path(unquote(rest[1:])))
    raise InvalidInputError(
        f"`ledger` must be a path, sqlite:///path or postgresql://..., got an address of {scheme!r}."
    )

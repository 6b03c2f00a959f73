"""One query: who is asked about it, by when, who stands in for whom, and what is left to book."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from askwho._money import amount
from askwho.experts import worst_of
from askwho.ledger import Call
from askwho.live._answered import Asked
from askwho.live._call import Calling
from askwho.live._office import Office

GRACE = 0.02
"""Seconds after the deadline for what is ending already: whoever does not end then is left behind."""
SETTLING = 30.0
"""Seconds after the deadline until a hold expires: what nobody settled by then, nobody is going to."""

Task = asyncio.Task[Asked]
"""A call that is under way."""


class Round:
    """The calls about one query.

    Args:
        office: what all queries share.
        query: its id.
        known: what is known of it.
        until: the deadline, by the loop's clock.
    """

    def __init__(self, office: Office, query: str, known: Mapping[str, Any], until: float) -> None:
        self.office = office
        self.query = query
        self.known = known
        self.until = until
        self.calls: dict[str, Asked] = {}
        self.running: dict[Task, Calling] = {}
        self.first: Any = None
        self._bookings: list[asyncio.Task[Any]] = []
        # What came of the last call under way: None once nothing else is going to be written that it could wait for.
        self._kept: list[Any] | None = []

    @property
    def now(self) -> float:
        """Seconds of the loop's clock."""
        return asyncio.get_running_loop().time()

    @property
    def booked(self) -> int:
        """What all calls were booked at, in nanos."""
        return sum(call.booked for call in self.calls.values())

    def refuses(self, name: str) -> bool:
        """Whether somebody cannot be asked now; why is written down."""
        why = self.office.desks[name].refuses(self.now, self.until)
        if why:
            self.calls[name] = Asked(name, "not asked", why=why)
        return bool(why)

    async def begin(self, names: Sequence[str]) -> list[str]:
        """Hold the worst case for each, ask those whom the budgets cover, and return their names."""
        office, left = self.office, self.until - self.now
        holds = [
            Call(
                id=(key := uuid.uuid4().hex),
                decision=self.query,
                expert=name,
                key=key,
                worst=worst_of(office.desks[name].expert, self.known),
                until=office.wall() + left + SETTLING,
            )
            for name in names
        ]
        granted = await self._held(holds)
        asked: list[str] = []
        for hold, covered in zip(holds, granted, strict=True):
            if not covered:
                why = f"no budget covers {amount(hold.worst):g}"
                self.calls[hold.expert] = Asked(hold.expert, "not asked", why=why)
                continue
            asked.append(hold.expert)
            call = Calling(
                office.desks[hold.expert],
                hold,
                self.known,
                self.query,
                office.books,
                self._ended,
                office.sense,
                office.rng.random,
            )
            self.running[asyncio.get_running_loop().create_task(call.run(self.until))] = call
        return asked

    async def _held(self, holds: Sequence[Call]) -> Sequence[bool]:
        """Whether the budgets cover each hold; where the answer is too late, what was held is given back."""
        office = self.office
        first, self.first = self.first, None
        self._book_kept()

        async def ask() -> Sequence[bool]:
            # The decision is written with the first hold, told in the same turn: they are one transaction.
            telling = None if first is None else asyncio.ensure_future(first())
            try:
                found = await office.books.hold(holds, budgets=office.budgets)
            finally:
                written = await asyncio.gather(*([] if telling is None else [telling]), return_exceptions=True)
            for error in written:
                if isinstance(error, BaseException):
                    await self._freed(holds, found, "its decision could not be written")
                    raise error
            return found

        task = asyncio.get_running_loop().create_task(ask())
        try:
            done, _ = await asyncio.wait([task], timeout=max(self.until - self.now, 0.0))
        except asyncio.CancelledError:
            self.book(self._given_back(task, holds))
            raise
        if done:
            return task.result()
        self.book(self._given_back(task, holds))
        return [False] * len(holds)

    async def _given_back(self, task: "asyncio.Task[Sequence[bool]]", holds: Sequence[Call]) -> None:
        await self._freed(holds, await task, "nobody waited for the hold")

    async def _freed(self, holds: Sequence[Call], granted: Sequence[bool], why: str) -> None:
        held = [hold for hold, covered in zip(holds, granted, strict=True) if covered]
        await asyncio.gather(*(self.office.books.free(hold.id, why) for hold in held))

    async def wait(self, until: float) -> None:
        """Wait for the next call to end, or until then; what ended is written down."""
        if not self.running:
            return
        timeout = max(until - self.now, 0.0)
        done, _ = await asyncio.wait(self.running, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            call = self.running.pop(task)
            self.calls[call.hold.expert] = task.result()

    def leave(self, why: str) -> None:
        """Give up whatever is still under way; it is booked."""
        self._book_kept(last=True)
        for task, call in self.running.items():
            task.cancel()
            if not call.begun:
                # Cancelled before its first step a task never runs, and cannot book itself.
                self.book(self.office.books.free(call.hold.id, why))
            self._bookings.append(self.office.behind.keep(task))
            self.calls[call.hold.expert] = call.told("withdrawn" if self.now < self.until else "late", why)
        self.running.clear()

    def _ended(self, coroutine: Any) -> None:  # noqa: ANN401 - a coroutine
        """Have it written what came of a call. The last one's is written with what follows: one transaction, not two.

        What follows comes within the same millisecond: the next hold, or the verdict. Whoever is killed in between
        leaves a hold, which expires at its worst case, as he would have a moment before.
        """
        if self._kept is None or len(self.running) > 1:
            self.book(coroutine)
        else:
            self._kept.append(coroutine)

    def _book_kept(self, *, last: bool = False) -> None:
        kept, self._kept = self._kept or [], None if last or self._kept is None else []
        for coroutine in kept:
            self.book(coroutine)

    def book(self, coroutine: Any) -> object:  # noqa: ANN401 - a coroutine
        """Have something written, and remember to wait for it."""
        task = self.office.behind.run(coroutine)
        self._bookings.append(task)
        return task

    async def settled(self) -> None:
        """Wait until everything is in the books, but not past the deadline and its grace; raise what went wrong."""
        self._book_kept(last=True)
        last = max(self.until, self.now) + GRACE
        # Whoever is given up books himself as he ends: there may be more to wait for than at first.
        while (open_ := [task for task in self._bookings if not task.done()]) and self.now < last:
            await asyncio.wait(open_, timeout=last - self.now)
        for task in self._bookings:
            if task.done() and not task.cancelled():
                task.result()

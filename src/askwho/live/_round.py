"""One query: who is asked about it, by when, who stands in for whom, and what is left to book."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
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
        self.first: Callable[[], Awaitable[Any]] | None = None
        self._bookings: list[asyncio.Future[Any]] = []
        # What came of the last call under way: None once nothing else is going to be written that it could wait for.
        self._kept: list[Callable[[], Awaitable[Any]]] | None = []
        # Who waits for the next call to end.
        self._waiter: asyncio.Future[None] | None = None

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
        office, wall = self.office, self.office.wall()
        until = wall + self.until - self.now + SETTLING
        # Ids that begin with the moment lie side by side in the books, and are written together.
        moment = f"{int(wall * 1e6):016x}"
        holds = [
            Call(
                id=(key := moment + os.urandom(8).hex()),
                decision=self.query,
                expert=name,
                key=key,
                worst=worst_of(office.desks[name].expert, self.known),
                until=until,
            )
            for name in names
        ]
        granted = await self._held(holds)
        asked: list[str] = []
        # Whoever takes longest is sent to first: the others have answered by the time that he does.
        by_time = sorted(zip(holds, granted, strict=True), key=lambda each: -office.desks[each[0].expert].least)
        for hold, covered in by_time:
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
            task = asyncio.get_running_loop().create_task(call.run(self.until))
            task.add_done_callback(lambda _: _wake(self._waiter))
            self.running[task] = call
        return asked

    async def _held(self, holds: Sequence[Call]) -> Sequence[bool]:
        """Whether the budgets cover each hold; where the answer is too late, what was held is given back."""
        office = self.office
        first, self.first = self.first, None
        self._book_kept()
        # The decision is written with the first hold, told in the same turn: they are one transaction.
        telling = None if first is None else office.behind.run(first)
        found: Sequence[bool] = [False] * len(holds)
        scope = asyncio.timeout_at(self.until)
        try:
            async with scope:
                found = await office.books.hold(holds, budgets=office.budgets)
                if telling is not None:
                    await telling
        except asyncio.CancelledError:
            self.book(partial(self._freed, holds, found, "nobody waited for the hold"))
            raise
        except Exception as error:
            if not (isinstance(error, TimeoutError) and scope.expired()):
                await self._freed(holds, found, "its decision could not be written")
                raise
        if self.now < self.until and not scope.expired():
            return found
        self.book(partial(self._freed, holds, found, "nobody waited for the hold"))
        return [False] * len(holds)

    async def _freed(self, holds: Sequence[Call], granted: Sequence[bool], why: str) -> None:
        held = [hold for hold, covered in zip(holds, granted, strict=True) if covered]
        await asyncio.gather(*(self.office.books.free(hold.id, why) for hold in held))

    async def wait(self, until: float) -> None:
        """Wait for the next call to end, or until then; what ended is written down."""
        if not self.running:
            return
        if not (ended := self._over()):
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_at(until, _wake, self._waiter)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
            ended = self._over()
        for task in ended:
            call = self.running.pop(task)
            self.calls[call.hold.expert] = task.result()

    def _over(self) -> list[Task]:
        return [task for task in self.running if task.done()]

    def leave(self, why: str) -> None:
        """Give up whatever is still under way; it is booked."""
        self._book_kept(last=True)
        for task, call in self.running.items():
            task.cancel()
            if not call.begun:
                # Cancelled before its first step a task never runs, and cannot book itself.
                self.book(partial(self.office.books.free, call.hold.id, why))
            self._bookings.append(self.office.behind.keep(task))
            self.calls[call.hold.expert] = call.told("withdrawn" if self.now < self.until else "late", why)
        self.running.clear()

    def _ended(self, start: Callable[[], Awaitable[Any]]) -> None:
        """Have it written what came of a call. The last one's is written with what follows: one transaction, not two.

        What follows comes within the same millisecond: the next hold, or the verdict. Whoever is killed in between
        leaves a hold, which expires at its worst case, as he would have a moment before.
        """
        if self._kept is None or len(self.running) > 1:
            self.book(start)
        else:
            self._kept.append(start)

    def _book_kept(self, *, last: bool = False) -> None:
        kept, self._kept = self._kept or [], None if last or self._kept is None else []
        for start in kept:
            self.book(start)

    def book(self, start: Callable[[], Awaitable[Any]]) -> None:
        """Have something written, and remember to wait for it."""
        self._bookings.append(self.office.behind.run(start))

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


def _wake(waiter: "asyncio.Future[None] | None") -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)

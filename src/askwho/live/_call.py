"""One call to one expert: through his gate, within the deadline, tried again where that is safe, and booked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from askwho.experts import ExpertError, Question, Reply
from askwho.ledger import Call
from askwho.live._answered import Asked, Came
from askwho.live._books import Books
from askwho.live._desk import Desk

FIRST_WAIT = 0.05
"""Seconds, the longest wait before the first retry; each later one may wait twice as long as the one before."""
LONGEST_WAIT = 2.0
"""Seconds that no retry waits longer than, unless the expert asks for it."""

Later = Callable[[Callable[[], Awaitable[Any]]], object]
"""What has something written on its own, now or in a moment, whatever becomes of who told it."""
Sense = Callable[[Any], str]
"""From an answer to why the policy cannot use it; nothing where it can."""


@dataclass(eq=False)
class Calling:
    """A call that is under way. Money for it is held already.

    Args:
        desk: whose.
        hold: what was put aside.
        known: what is known of the query.
        query: its id.
        books: where it is booked.
        later: who writes into the books, so that no answer waits for them.
        sense: whether the policy can use an answer.
        jitter: a number in [0, 1), so that many who failed together do not come back together.
    """

    desk: Desk
    hold: Call
    known: Mapping[str, Any]
    query: str
    books: Books
    later: Later
    sense: Sense
    jitter: Callable[[], float]
    # Whether something may have been charged, how often it was sent, and when it began.
    _risky: bool = field(default=False, init=False)
    _attempts: int = field(default=0, init=False)
    _begun: float = field(default=0.0, init=False)

    async def run(self, until: float) -> Asked:
        """Return what came, at `until` by the loop's clock at the latest; cancelled, it is booked all the same."""
        self._begun = asyncio.get_running_loop().time()
        try:
            return await self._run(until)
        except asyncio.CancelledError:
            self.desk.breaker.withdrawn()
            self._nothing("withdrawn", "nobody waited for him any longer")
            raise

    @property
    def begun(self) -> bool:
        """Whether it has run at all."""
        return self._begun > 0.0

    def told(self, came: Came, why: str) -> Asked:
        """Return what is known of a call that is given up: it books itself as it ends."""
        return self._asked(came, booked=self.hold.worst if self._risky else 0, certain=not self._risky, why=why)

    async def _run(self, until: float) -> Asked:
        desk, loop = self.desk, asyncio.get_running_loop()
        while True:
            if not await desk.gate.enter(until):
                return self._nothing("late" if self._risky else "not asked", "his queue was too long for the deadline")
            started, error = loop.time(), None
            try:
                if not desk.breaker.allows():
                    return self._nothing("failed" if self._attempts else "not asked", "his circuit breaker is open")
                reply = await self._attempt(min(desk.limits.timeout, until - started))
            except ExpertError as failure:
                error, reply = failure, None
            finally:
                desk.gate.leave()
            if reply is not None:
                return self._came(reply, loop.time() - started)
            assert error is not None  # noqa: S101 - one of the two
            self._risky |= error.charged == "unknown"
            desk.breaker.failed()
            if error.after:
                desk.gate.pause(error.after)
            wait = self._wait(error)
            if wait is None or loop.time() + wait + desk.least >= until:
                return self._nothing("late" if isinstance(error, _LateError) else "failed", str(error))
            await asyncio.sleep(wait)

    async def _attempt(self, seconds: float) -> Reply:
        """One attempt; whatever goes wrong is an `ExpertError`."""
        self.desk.breaker.begin()
        self._attempts += 1
        # Whoever is cancelled while the call is out cannot tell whether it was charged.
        before, self._risky = self._risky, True
        try:
            async with asyncio.timeout(seconds):
                reply = await self.desk.expert.ask(Question(self.query, self.known, self.hold.key, seconds))
        except ExpertError:
            self._risky = before
            raise
        except TimeoutError:
            self._risky = before
            raise _LateError(f"he did not answer within {seconds:.3g} s", charged="unknown", retry=True) from None
        except Exception as error:
            # A kind of the user's own may raise anything: the query goes on without him.
            self._risky = before
            raise ExpertError(f"he failed: {type(error).__name__}: {error}", charged="unknown") from error
        if not isinstance(reply, Reply):  # pyright: ignore[reportUnnecessaryIsInstance] - a stranger's code
            raise ExpertError(f"he returned {type(reply).__name__} in place of a `Reply`", charged="unknown")
        return reply

    def _wait(self, error: ExpertError) -> float | None:
        """Seconds before the next attempt; None where there must be none."""
        limits, made = self.desk.limits, self._attempts
        safe = limits.idempotent or not self._risky
        if not (error.retry and safe and made <= limits.retries and self.desk.breaker.allows()):
            return None
        return max(self.jitter() * min(LONGEST_WAIT, FIRST_WAIT * 2 ** (made - 1)), error.after or 0.0)

    def _came(self, reply: Reply, seconds: float) -> Asked:
        """Book a reply, and return what it is worth to the policy."""
        hold, breaker = self.hold, self.desk.breaker
        charged = hold.worst if reply.charged is None else reply.charged
        senseless = "he gave no answer" if reply.answer is None else self.sense(reply.answer)
        why = reply.why or senseless
        usable = not senseless and (not why or reply.guessed)
        if usable:
            breaker.succeeded()
            self.desk.took(seconds)
        else:
            breaker.failed()
        over = charged > hold.worst
        if over:
            breaker.open()
        answer, info = (reply.answer, reply.info) if usable else (None, None)
        self.later(partial(self.books.settle, hold.id, charged=charged, answer=answer, info=info, why=why))
        return self._asked(
            "answered" if usable else "unusable",
            answer=answer,
            info=info,
            booked=charged,
            certain=not reply.guessed,
            why=why,
            over=over,
        )

    def _nothing(self, came: Came, why: str) -> Asked:
        """Book a call that brought nothing: at its worst, unless certainly nothing was charged."""
        book = self.books.unknown if self._risky else self.books.free
        self.later(partial(book, self.hold.id, why))
        return self.told(came, why)

    def _asked(self, came: Came, **told: Any) -> Asked:  # noqa: ANN401 - fields of `Asked`
        took = asyncio.get_running_loop().time() - self._begun if self.begun else 0.0
        return Asked(self.hold.expert, came, attempts=self._attempts, seconds=took, **told)


class _LateError(ExpertError):
    """Nothing came in time."""

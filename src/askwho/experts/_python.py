"""A function of the user's own: sync in a thread, or async; of one query, or of a batch of them."""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from askwho._parts import imported
from askwho.exceptions import InvalidInputError
from askwho.experts._expert import ExpertError, Limits, Question, Reply


@dataclass(eq=False)
class Python:
    """An expert who is a function.

    The function takes what is known of a query, as a dict, and returns the answer, or a `Reply`. With a batch it takes
    a list of dicts and returns a list of as many. A function that is not async runs in threads of its own: one that is
    given up runs on to its end, for nobody can stop a thread.

    Args:
        name: who it is in the policy's panel.
        function: what is called.
        worst: what a call charges, in nanos.
        limits: what it can bear.
        batch: how many queries it takes at a time; None for one, as itself.
        wait: seconds that a batch waits for others to join it.
    """

    name: str
    function: Callable[..., Any]
    worst: int = 0
    limits: Limits = field(default_factory=Limits)
    batch: int | None = None
    wait: float = 0.005

    def __post_init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._waiting: list[tuple[Question, asyncio.Future[Any]]] = []
        self._running: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.TimerHandle | None = None

    async def ask(self, question: Question) -> Reply:
        """Return what the function says."""
        if self.batch is None:
            return self._reply(await self._call(dict(question.known)))
        loop = asyncio.get_running_loop()
        place: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((question, place))
        if len(self._waiting) >= self.batch:
            self._go()
        elif self._alarm is None:
            self._alarm = loop.call_later(self.wait, self._go)
        return self._reply(await place)

    async def close(self) -> None:
        """Let the threads go."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _go(self) -> None:
        """Call the function with those who wait."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        # Whoever was given up meanwhile is not asked about.
        joined = [(question, place) for question, place in self._waiting if not place.done()]
        self._waiting = []
        if joined:
            task = asyncio.get_running_loop().create_task(self._all(joined))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _all(self, joined: "Sequence[tuple[Question, asyncio.Future[Any]]]") -> None:
        try:
            came = _as_many(await self._call([dict(question.known) for question, _ in joined]), len(joined))
        except Exception as error:  # noqa: BLE001 - told to each of those who wait
            came = list[Any]([error]) * len(joined)
        for (_, place), each in zip(joined, came, strict=True):
            if place.done():
                continue
            if isinstance(each, Exception):
                place.set_exception(each)
            else:
                place.set_result(each)

    async def _call(self, given: Any) -> Any:  # noqa: ANN401 - what is known of one query, or of several
        if inspect.iscoroutinefunction(self.function):
            return await self.function(given)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.limits.concurrency, thread_name_prefix=f"askwho-{self.name}")
        return await asyncio.wrap_future(self._threads.submit(self.function, given))

    def _reply(self, said: Any) -> Reply:  # noqa: ANN401 - an answer or a reply
        if isinstance(said, Reply):
            return said if said.charged is not None else Reply(said.answer, said.info, self.worst, said.why)
        if said is not None and hasattr(said, "item") and getattr(said, "shape", None) == ():
            # NumPy's numbers are numbers.
            said = said.item()
        return Reply(said, charged=self.worst)


def _as_many(said: Any, count: int) -> list[Any]:  # noqa: ANN401 - whatever it returned
    """The answers of a batch, one for each query."""
    if isinstance(said, str) or not hasattr(said, "__len__") or len(said) != count:
        raise ExpertError(f"it must return a list of {count} answers, one for each query")
    return list(said)


def function_of(place: str) -> Callable[..., Any]:
    """Return the function that `module:function` names."""
    try:
        found = imported(place) if ":" in place else None
    except InvalidInputError:
        found = None
    if not callable(found):
        raise InvalidInputError(
            f"`function` must be module:function that can be imported here, got {place!r}: is its module installed, or "
            "on the path?"
        )
    return found

"""The door for whoever has no event loop: notebooks, scripts, the command line."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from askwho import _validation as check
from askwho.experts import Expert
from askwho.live._answered import Answered
from askwho.live._asker import DEADLINE, Asker
from askwho.policy import Policy, Target

AT_A_TIME = 32
"""Queries under way at a time, unless said: enough to hide a second's wait, few enough for most providers."""


def ask_all(
    policy: Policy,
    experts: Mapping[str, Expert] | Iterable[Expert],
    queries: Iterable[Mapping[str, Any]],
    target: Target,
    *,
    deadline: float = DEADLINE,
    at_a_time: int = AT_A_TIME,
    progress: Callable[[int, Answered], None] | None = None,
    **options: Any,  # noqa: ANN401 - as in `Asker`
) -> list[Answered]:
    """Return what is decided about each query, in their order: `Asker.ask` for whoever has no event loop.

    Args:
        policy: who is to be asked about what.
        experts: as in `Asker`.
        queries: one mapping each.
        target: how much an error is worth, or what must be met.
        deadline: seconds for each query, from when its turn has come.
        at_a_time: how many queries are under way at a time.
        progress: called with the place of each query and what came, as it is done.
        options: as in `Asker`; a ledger must not be open in another event loop.
    """
    check.whole_number(at_a_time, "at_a_time", minimum=1)

    async def everything() -> list[Answered]:
        places = asyncio.Semaphore(at_a_time)

        async def one(asker: Asker, place: int, query: Mapping[str, Any]) -> Answered:
            async with places:
                done = await asker.ask(query, target, deadline=deadline)
            if progress is not None:
                progress(place, done)
            return done

        async with Asker(policy, experts, **options) as asker, asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(asker, place, query)) for place, query in enumerate(queries)]
        return [task.result() for task in tasks]

    return run_anywhere(everything)


def run_anywhere(everything: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the coroutine returns
    """Run a coroutine function to its end, in a thread of its own where an event loop runs here already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(everything)
    came: list[Any] = []
    wrong: list[BaseException] = []

    def apart() -> None:
        try:
            came.append(_run(everything))
        except BaseException as error:  # noqa: BLE001 - raised again where it was called
            wrong.append(error)

    thread = threading.Thread(target=apart, name="askwho")
    thread.start()
    thread.join()
    if wrong:
        raise wrong[0]
    return came[0]


def _run(everything: Callable[[], Any]) -> Any:  # noqa: ANN401
    try:
        return asyncio.run(everything())
    except BaseExceptionGroup as group:
        # Of several that failed the first tells enough, as it would have without a group.
        raise group.exceptions[0] from None

"""What is written into the books while nobody waits for it, and is waited for before anybody leaves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

# What goes wrong behind the back of whoever asked is told here: nobody is left to raise it to.
_LOG = logging.getLogger("askwho.live")


class Behind:
    """What goes on on its own; nothing of it is lost, and nothing that failed is silent."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def run(self, start: Callable[[], Awaitable[Any]]) -> asyncio.Future[Any]:
        """Start something, and return what will come of it."""
        return self.keep(asyncio.ensure_future(start()))

    def keep(self, task: asyncio.Future[Any]) -> asyncio.Future[Any]:
        """Hold on to something until it is done."""
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("what was to be booked could not be: %s", task.exception())

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until everything is written, or as long as is said."""
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + timeout
        while self._tasks:
            left = None if until is None else until - loop.time()
            if left is not None and left <= 0:
                _LOG.warning("%d calls or bookings do not end, and are left behind", len(self._tasks))
                return
            # Whoever is done may have started another.
            await asyncio.wait(set(self._tasks), timeout=left)

"""A gate before an expert: so many calls at a time, so many a second; nobody waits who cannot be in time."""

import asyncio
import math
from collections import deque

LONGEST_PAUSE = 600.0
"""Seconds: whoever asks to be left alone for longer is tried again after these, for his clock may be wrong."""


class Gate:
    """How many calls go to an expert at a time and in a second.

    Args:
        concurrency: calls at a time.
        rate: calls a second; None for as many as there are.
    """

    def __init__(self, concurrency: int, rate: float | None = None) -> None:
        self._places = asyncio.Semaphore(concurrency)
        # In any stretch of so many seconds there start as many calls as the deque holds, and no more.
        count = 0 if rate is None else max(1, math.floor(rate))
        self._stretch = 0.0 if rate is None else count / rate
        self._starts: deque[float] = deque(maxlen=count)
        self._began: deque[float] = deque(maxlen=count)
        self._paused = 0.0

    def opens(self, now: float) -> float:
        """Return when the next call may start, as far as the rate and pauses tell."""
        return max(now, self._paused, self._after(self._starts))

    def pause(self, seconds: float) -> None:
        """Let nobody through for a while: he asked for it."""
        now = asyncio.get_running_loop().time()
        self._paused = max(self._paused, now + min(seconds, LONGEST_PAUSE))

    async def enter(self, until: float) -> bool:
        """Wait for a place; return whether there was one before `until`. Whoever came in must `leave`."""
        loop = asyncio.get_running_loop()
        if self._places.locked():
            try:
                async with asyncio.timeout_at(until):
                    await self._places.acquire()
            except TimeoutError:
                return False
        else:
            await self._places.acquire()
        try:
            now = loop.time()
            start = self.opens(now)
            if start >= until:
                self._places.release()
                return False
            if self._starts.maxlen:
                # Taken before waiting: whoever comes meanwhile goes behind.
                self._starts.append(start)
            # A loop that is late starts somebody late: whoever comes behind him counts from when he really did.
            while (first := max(start, self._after(self._began))) > (now := loop.time()):
                if first >= until:
                    self._places.release()
                    return False
                await asyncio.sleep(first - now)
            if self._began.maxlen:
                self._began.append(now)
        except asyncio.CancelledError:
            self._places.release()
            raise
        return True

    def _after(self, starts: "deque[float]") -> float:
        """When the stretch that some calls fill is over; long ago where they do not fill it."""
        full = starts.maxlen and len(starts) == starts.maxlen
        return starts[0] + self._stretch if full else 0.0

    def leave(self) -> None:
        """Make room for the next."""
        self._places.release()

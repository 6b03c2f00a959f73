"""A desk for each expert: his breaker, his gate, and how fast he was of late."""

from collections import deque

from askwho.experts import Expert, Limits, limits_of
from askwho.live._breaker import Breaker
from askwho.live._gate import Gate

# Answers that tell how fast he can be: enough to see his best, few enough to forget last week's.
_REMEMBERED = 64
# Before so many answers nobody knows how fast he can be.
_FEWEST = 8


class Desk:
    """What is remembered of an expert between queries.

    Args:
        expert: who sits there.
        breaker: whether he is asked at all; a new one unless given.
    """

    def __init__(self, expert: Expert, breaker: Breaker | None = None) -> None:
        self.expert = expert
        self.limits: Limits = limits_of(expert)
        self.breaker = Breaker() if breaker is None else breaker
        self.gate = Gate(self.limits.concurrency, self.limits.rate)
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)

    @property
    def least(self) -> float:
        """Seconds that he needs at the least, by his best of late: with less left he would be paid for nothing."""
        return min(self._seconds) if len(self._seconds) >= _FEWEST else 0.0

    def took(self, seconds: float) -> None:
        """Remember how long an answer took."""
        self._seconds.append(seconds)

    def refuses(self, now: float, until: float) -> str:
        """Return why he cannot be asked now, or nothing where he can."""
        if not self.breaker.allows():
            return "his circuit breaker is open"
        if max(self.gate.opens(now), now) + self.least >= until:
            return "he could not answer in time"
        return ""

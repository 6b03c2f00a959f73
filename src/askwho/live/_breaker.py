"""A circuit breaker: whoever fails again and again is left alone for a while, then tried once."""

import time
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half-open"]
"""Closed lets calls through, open none, half-open one, to see."""

FAILURES = 5
"""So many failures in a row open a breaker: fewer happen to a good expert, and each one more may be paid for."""
COOLDOWN = 30.0
"""Seconds before an open breaker lets one call through: a provider that restarts needs about so long."""


class Breaker:
    """Whether an expert is asked at all.

    Args:
        failures: so many in a row open it.
        cooldown: seconds that it stays open.
        clock: seconds that never go back.
    """

    def __init__(
        self, *, failures: int = FAILURES, cooldown: float = COOLDOWN, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._cooldown = cooldown
        self._clock = clock
        self._failed = 0
        self._until: float | None = None
        self._trying = False

    @property
    def state(self) -> State:
        """What it lets through now."""
        if self._until is None:
            return "closed"
        return "open" if self._clock() < self._until else "half-open"

    def allows(self) -> bool:
        """Whether a call may be made now."""
        state = self.state
        return state == "closed" or (state == "half-open" and not self._trying)

    def begin(self) -> None:
        """A call is made: half open, it is the one that tells."""
        self._trying = self.state == "half-open"

    def succeeded(self) -> None:
        """A call brought what it should: it closes."""
        self._failed, self._until, self._trying = 0, None, False

    def failed(self) -> None:
        """A call failed: after so many in a row, and whenever half open, it opens."""
        self._failed += 1
        if self._failed >= self._most or self._until is not None:
            self.open()
        self._trying = False

    def withdrawn(self) -> None:
        """A call was given up before it could tell anything."""
        self._trying = False

    def open(self) -> None:
        """Open it now, whatever was before: he charged more than he said."""
        self._until, self._trying = self._clock() + self._cooldown, False

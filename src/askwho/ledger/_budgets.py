"""Budgets: how much may be spent within an hour, a day, or ever; and what of it is spent and held."""

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Period = Literal["hour", "day", "total"]
"""What a budget is for: an hour or a day of UTC, or all time."""

# How the span of time that a moment lies in is written.
_SPANS: dict[Period, str] = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "total": "total"}


def span_of(period: Period, now: float) -> str:
    """Return the hour, or the day, that a moment is in, by UTC.

    >>> span_of("hour", 0.0), span_of("day", 86400.0), span_of("total", 0.0)
    ('1970-01-01T00', '1970-01-02', 'total')
    """
    return _span(period, int(now // 3600))


def spans_of(now: float) -> tuple[str, ...]:
    """Return all spans of time that a moment is in, one for each period."""
    return _all_spans(int(now // 3600))


@lru_cache(maxsize=4)
def _all_spans(hour: int) -> tuple[str, ...]:
    return tuple(_span(period, hour) for period in _SPANS)


@lru_cache(maxsize=64)
def _span(period: Period, hour: int) -> str:
    return time.strftime(_SPANS[period], time.gmtime(3600 * hour))


@dataclass(frozen=True)
class Budget:
    """How much may be spent.

    Args:
        limit: in billionths of the user's unit.
        period: within which time.
    """

    limit: int
    period: Period


@dataclass(frozen=True)
class Balance:
    """How a budget stands now, in billionths of the user's unit.

    Args:
        limit: how much may be spent.
        spent: what was charged, or may have been, in the present span of time.
        held: the worst case of the calls in flight.
        over: what of `spent` was charged above its holds: nothing that is asked for can take `spent` above the limit
            but this, and a limit that was lowered.
    """

    limit: int
    spent: int
    held: int
    over: int = 0

    @property
    def left(self) -> int:
        """What can still be held; below zero where charges came above their holds, or the limit was lowered."""
        return self.limit - self.spent - self.held


@dataclass
class Spend:
    """What is spent and held on a budget in one span of time: a row, within a transaction.

    Args:
        spent: what was charged, or may have been.
        held: the worst case of the calls in flight.
        over: what of `spent` was charged above its holds.
    """

    spent: int = 0
    held: int = 0
    over: int = 0

"""How far truths lie from verdicts that are numbers, on logged rows: what intervals are made of."""

import numpy as np
from jaxtyping import Bool, Float

from askwho.core import Cell
from askwho.policy import Asking, Intervals, NumberCase, Numbers, Outcomes, grouped
from askwho.replay._replay import Replay
from askwho.replay._taken import members_of

# Every so many prices are looked at: neighbours choose nearly the same committees.
_STEP = 3


def intervals_at_once(replay: Replay, tried: Outcomes, width: int) -> Intervals | None:
    """Return how far truths lay from the verdicts of committees that were asked at once.

    Args:
        replay: rows that taught nothing, or out of fold.
        tried: what was done on them, and maybe on others behind them: how many were asked at each price.
        width: the largest committee.
    """
    log, count = replay.log, len(replay.log.panel)
    assert log.answers is not None  # noqa: S101 - numbers are answers
    places = np.arange(0, len(tried.prices), _STEP)
    values: list[np.ndarray] = []
    asked: list[np.ndarray] = []
    for order, size in zip(replay.orders(tried.prices[places].tolist(), width), tried.sizes[places], strict=True):
        own = size[: len(log)]
        members = replay.combiner.committee(log.panel, order, replay.seen, log.answers)
        said, decided = replay.combiner.prefixes(members, replay.case).at(own)
        values.append(np.where(decided, said.astype(np.float64), np.nan))
        asked.append(members_of(order, own, count))
    return _intervals(replay, values, asked)


def intervals_in_turn(replay: Replay, asking: Asking, prices: Float[np.ndarray, " p"]) -> Intervals | None:
    """Return how far truths lay from what was decided after asking in turn, at some prices."""
    values: list[np.ndarray] = []
    asked: list[np.ndarray] = []
    for price in prices[::_STEP].tolist():
        taken = replay.in_turn(asking, price)
        values.append(np.where(np.isnan(taken.errors), np.nan, taken.values.astype(np.float64)))
        asked.append(members_of(taken.order, taken.sizes, len(replay.log.panel)))
    return _intervals(replay, values, asked)


def _intervals(
    replay: Replay, values: list[Float[np.ndarray, " n"]], asked: list[Bool[np.ndarray, "n a"]]
) -> Intervals | None:
    """The intervals of verdicts, NaN where there is none, each of those who were asked."""
    log, numbers, case = replay.log, replay.combiner.beliefs, replay.case
    if not isinstance(numbers, Numbers) or not isinstance(case, NumberCase) or log.truth is None or log.answers is None:
        return None
    spoke = log.answers.states == Cell.ANSWERED
    groups = grouped(log.groups)
    rows = np.arange(len(log)) if groups is None else groups
    scores: list[np.ndarray] = []
    scales = [numbers.scales(case, members & spoke) for members in asked]
    for said, members, scale in zip(values, asked, scales, strict=True):
        # Of a committee that the log does not know whole nothing is told.
        known = log.audited & ~(members & ~replay.asked).any(axis=1)
        left = (log.truth.astype(np.float64) - said) / scale
        scores.append(np.where(known, left, np.nan))
    weights = None
    if replay.chances is not None:
        weights = np.concatenate([replay.chances.weights(members) for members in asked])
    sizes = np.concatenate([(members & spoke).sum(axis=1) for members in asked])
    return Intervals.of(np.concatenate(scores), np.concatenate(scales), sizes, np.tile(rows, len(scores)), weights)

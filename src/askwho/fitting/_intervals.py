"""Intervals around verdicts, learned from rows that taught nothing of them."""

from dataclasses import replace

from askwho.policy import Combiner, InTurn, Numbers, Outcomes
from askwho.replay import Replay, intervals_at_once, intervals_in_turn


def with_intervals(replay: Replay, combiner: Combiner, tried: Outcomes, width: int, turns: InTurn | None) -> Combiner:
    """Return the combiner with intervals around its verdicts, where these are numbers.

    Args:
        replay: rows with the answers that are there: fresh, or out of fold.
        combiner: how answers are combined.
        tried: what asking at once did on them.
        width: the largest committee.
        turns: asking in turn, where it was learned.
    """
    if not isinstance(combiner.beliefs, Numbers) or combiner.rule is None:
        return combiner
    replay = replace(replay, combiner=combiner)
    one_by_one = None if turns is None else intervals_in_turn(replay, turns.asking, turns.tried.prices)
    return replace(
        combiner,
        beliefs=replace(combiner.beliefs, at_once=intervals_at_once(replay, tried, width), in_turn=one_by_one),
    )

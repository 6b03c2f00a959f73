"""How likely verdicts are to be right, learned from rows that taught nothing of them."""

from dataclasses import replace

from askwho.policy import Beliefs, Combiner
from askwho.replay import Replay, sureness_at_once


def with_sureness(replay: Replay, combiner: Combiner, width: int) -> Combiner:
    """Return the combiner whose probabilities of verdicts are what such verdicts came to, where these are classes.

    Args:
        replay: rows with the answers that are there: out of fold.
        combiner: how answers are combined.
        width: the largest committee.
    """
    if not isinstance(combiner.beliefs, Beliefs):
        return combiner
    sureness = sureness_at_once(replace(replay, combiner=combiner), width)
    return replace(combiner, beliefs=replace(combiner.beliefs, sureness=sureness))

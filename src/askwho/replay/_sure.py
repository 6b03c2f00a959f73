"""How likely verdicts are to be right, of committees that logged rows would have been given."""

import numpy as np

from askwho.core import Cell
from askwho.policy import Beliefs, Case, Said, Sureness
from askwho.replay._replay import Replay
from askwho.replay._taken import members_of

# Rankings at so many prices, and every size of committee up to the largest that is a band of its own.
_PRICES, _SIZES = 4, 9
# Two numbers a band are told to a hundredth by fewer rows than these.
_MOST_ROWS = 4_000


def sureness_at_once(replay: Replay, width: int) -> Sureness | None:
    """Return how often verdicts of committees that were asked at once were right; None where nothing is believed.

    Args:
        replay: rows that taught nothing, or out of fold.
        width: the largest committee.
    """
    if not isinstance(replay.combiner.beliefs, Beliefs) or not isinstance(replay.case, Case):
        return None
    if len(replay.log) > _MOST_ROWS:
        replay = replay.rows(np.linspace(0, len(replay.log) - 1, _MOST_ROWS).astype(np.intp))
    beliefs, case, answers, truth = replay.believed()
    assert isinstance(beliefs, Beliefs) and isinstance(case, Case)  # noqa: S101, PT018 - they are those of above
    said: list[Said] = []
    right: list[np.ndarray] = []
    for order in replay.orders(replay.prices(_PRICES).tolist(), width):
        for size in range(1, min(width, _SIZES) + 1):
            asked = members_of(order, np.full(len(order), size), answers.values.shape[1])
            spoke = (asked & (answers.states == Cell.ANSWERED)).any(axis=1)
            verdicts, told = beliefs.told(case, beliefs.after(case, asked), answers, asked)
            rows = np.flatnonzero(spoke & (told.own > 0))
            said.append(Said(told.own[rows], told.other[rows], told.answers[rows]))
            right.append(verdicts[rows] == truth[rows])
    merged = Said(*(np.concatenate([getattr(each, name) for each in said]) for name in ("own", "other", "answers")))
    return Sureness.fit(merged, np.concatenate(right), copies=float(_PRICES))

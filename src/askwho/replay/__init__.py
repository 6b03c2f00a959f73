"""A policy, or its parts, on logged rows: the one way for fitting, calibrating, evaluating and reporting."""

from askwho.replay._alike import Judges, alike, constant_committees
from askwho.replay._chances import chances_of, looked_up, with_fees
from askwho.replay._joined import checked_scores, joined
from askwho.replay._later import later, none_later
from askwho.replay._prices import price_grid
from askwho.replay._ranked import Ranked
from askwho.replay._replay import Replay
from askwho.replay._residuals import intervals_at_once, intervals_in_turn
from askwho.replay._robust import corrected, like_at_once, pooled_ratio
from askwho.replay._sure import sureness_at_once
from askwho.replay._taken import Taken, at_size, members_of
from askwho.replay._walked import Walked

__all__ = [
    "Judges",
    "Ranked",
    "Replay",
    "Taken",
    "Walked",
    "alike",
    "at_size",
    "chances_of",
    "checked_scores",
    "constant_committees",
    "corrected",
    "intervals_at_once",
    "intervals_in_turn",
    "joined",
    "later",
    "like_at_once",
    "looked_up",
    "members_of",
    "none_later",
    "pooled_ratio",
    "price_grid",
    "sureness_at_once",
    "with_fees",
]

"""A policy, or its parts, on logged rows: the one way for fitting, calibrating, evaluating and reporting."""

from askwho.replay._alike import alike, constant_committees
from askwho.replay._later import later, none_later
from askwho.replay._replay import Replay, Taken, at_size, chances_of, checked_scores, joined, members_of, price_grid
from askwho.replay._robust import corrected, pooled_ratio

__all__ = [
    "Replay",
    "Taken",
    "alike",
    "at_size",
    "chances_of",
    "checked_scores",
    "constant_committees",
    "corrected",
    "joined",
    "later",
    "members_of",
    "none_later",
    "pooled_ratio",
    "price_grid",
]

"""A policy, or its parts, on logged rows: the one way for fitting, calibrating, evaluating and reporting."""

from askwho.replay._replay import Replay, Taken, at_size, checked_scores, joined, price_grid

__all__ = ["Replay", "Taken", "at_size", "checked_scores", "joined", "price_grid"]

"""What is believed where hours are limited, learned from the doubts of a base that had not seen its rows."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from askwho._parts import at_work
from askwho.core import each_fold
from askwho.policy import Calibration, Cardinality, Curve, Past, Rationing, doubts
from askwho.replay import Replay

# Prices whose rankings teach the curve, each with everybody and with some absent: as many as teach that of routing.
_PRICES = 4


def learn_rationing(
    replay: Replay, fold: Int[np.ndarray, " n"], cardinality: Cardinality, past: Past, *, random_state: int
) -> Rationing | None:
    """Return what is believed where some are absent; None where a price is baked into the ranking.

    Args:
        replay: rows of the log, out of fold, with an answer of everybody.
        fold: shape (n,).
        cardinality: how many are asked in routing.
        past: the queries that the policy keeps.
        random_state: the seed.
    """
    seen, width = replay.seen, cardinality.width
    if seen.judged.scores is not None:
        return None
    doubt, said, own = _doubt(replay, fold)
    judged = seen.judged
    if doubt is not None:
        judged = replace(judged, expected=np.column_stack([own, seen.expected[:, 1:]]))
    rng = np.random.default_rng(random_state)
    orders: list[np.ndarray] = []
    for price in replay.prices(_PRICES):
        # Whoever has no hours left is absent: of few queries nearly everybody is there, of others hardly anybody.
        there = rng.random((len(said), 1)) < rng.random(judged.expected.shape)
        orders += [judged.order(seen.fees, float(price), width, each) for each in (None, there)]
    # What is expected of the base moves the order alone: committees decide as they do in routing.
    came = [replay.errors(order) for order in orders]
    curve = Curve.fit(seen.X, judged.expected, orders, came, weighed=replay.log.weighed, random_state=random_state)
    # Where answers were imagined, real ones say of this curve what they said of that of routing.
    curve = at_work(replace(curve, scale=cardinality.curve.scale))
    return Rationing(doubt, curve, said[past.rows] if doubt is not None else said[:0])


def _doubt(
    replay: Replay, fold: Int[np.ndarray, " n"]
) -> tuple[Calibration | None, Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """From a base's doubts to its errors, the doubts, and what they come to out of fold, each of shape (n,).

    None where no base of our own tells its errors better than the features do; and where mistakes cost unequally, for a
    doubt does not tell what it costs.
    """
    seen = replay.seen
    nothing = np.zeros(len(replay.log))
    if seen.shares is None or replay.combiner.mistake is not None:
        return None, nothing, nothing
    # Our own base stands first.
    said, errors = doubts(seen.shares), replay.log.errors[:, 0]
    own = np.empty(len(said))
    # As of learners: a rising map follows the very rows that it is learned from.
    for rows, held in each_fold(fold):
        own[held] = _calibrated(said[rows], errors[rows]).apply(said[held, None])[:, 0]
    if np.nanmean(np.square(own - errors)) >= np.nanmean(np.square(seen.expected[:, 0] - errors)):
        return None, said, own
    return _calibrated(said, errors), said, own


def _calibrated(said: Float[np.ndarray, " n"], errors: Float[np.ndarray, " n"]) -> Calibration:
    """From doubts to expected errors: a line, and half-way from it to what rises with them."""
    known = ~np.isnan(errors)
    centred = said[known] - said[known].mean()
    # Trees doubt too much, and rows that are learned by heart too little: the line takes that away.
    slope = max(float(centred @ errors[known]), 0.0) / max(float(centred @ centred), 1e-12)
    level = float(errors[known].mean() - slope * said[known].mean())
    slope = max(slope, 1e-6)
    found = Calibration.fit((level + slope * said)[:, None], errors[:, None])
    return Calibration((found.raw - level) / slope, found.calibrated)

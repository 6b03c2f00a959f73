"""Committees that are the same for every query, on logged rows."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from askwho._types import Order
from askwho.core import in_order
from askwho.policy import Asking, Fixed, Judgement, grouped, in_front
from askwho.replay._replay import Replay
from askwho.replay._robust import corrected

Judges = Sequence[tuple[Int[np.ndarray, " _"], Asking]]
"""Rules of asking in turn, and which rows each of them judges."""
# Constant rankings are made at so many prices: from whoever errs least to whoever charges least.
_PRICES = 9


def constant_committees(replay: Replay, width: int) -> Int[np.ndarray, "c K"]:
    """Return the committees of constant rankings that none is both cheaper and better than, shape (c, width).

    Each best first, then −1.

    Args:
        replay: rows with an answer of everybody.
        width: the largest committee.
    """
    log, judged = replay.log, replay.seen.judged
    alike = Judgement(log.errors.mean(axis=0, keepdims=True), judged.error_weights, overlap=judged.overlap)
    orders = {tuple(alike.order(log.panel.fees[None], float(price), width)[0]) for price in replay.prices(_PRICES)}
    found: dict[frozenset[int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for order in sorted(orders):
        every = np.tile(np.array(order), (len(log), 1))
        errors, fees = replay.errors(every), replay.paid(every)
        for k in range(errors.shape[1]):
            members = np.where(np.arange(width) <= k, np.array(order), -1)
            found.setdefault(frozenset(order[: k + 1]), (members, errors[:, k], fees[:, k]))
    members, errors, fees = (np.stack(each) for each in zip(*found.values(), strict=True))
    return Fixed(members, errors, fees).front(log.unit).members


def alike(replay: Replay, members: Int[np.ndarray, "c K"], anew: Sequence[Replay] = (), judges: Judges = ()) -> Fixed:
    """Return what committees that are the same for every query get on these rows, asked as a policy would ask them.

    Args:
        replay: the rows.
        members: who is in them, best first, then −1.
        anew: the same rows with answers imagined anew, several times over, where there are holes: what is expected.
        judges: where questions are asked in turn, the rules whose beliefs decide, and of which rows.
    """
    judged, some = replay.seen.judged, [tuple(each[each >= 0].tolist()) for each in members]
    orders = [in_front(judged, each)[:, : len(each)] for each in some]
    got = np.stack([_errors(replay, order, judges) for order in orders])
    paid = np.stack([in_order(replay.log.charged.in_means, order).sum(axis=1) for order in orders])
    if replay.chances is not None:
        weights = np.stack([replay.chances.weights(_inside(order, judged.expected.shape)) for order in orders])
        expected = np.mean([alike(rows, members, judges=judges).errors for rows in anew], axis=0)
        got = corrected(expected, got, weights, grouped(replay.log.groups))
    return Fixed(members, got, paid)


def _inside(order: Order, shape: tuple[int, ...]) -> Bool[np.ndarray, "n a"]:
    inside = np.zeros(shape, dtype=bool)
    np.put_along_axis(inside, order, values=True, axis=1)
    return inside


def _errors(replay: Replay, order: Order, judges: Judges) -> np.ndarray:
    """The errors of one committee, by query; NaN where a member was not asked."""
    if not judges or replay.log.answers is None:
        # Of grades a committee is one entity, and whoever is alone is kept.
        return replay.errors(order)[:, -1]
    errors = np.empty(len(replay.log))
    for rows, asking in judges:
        some = replay.rows(rows)
        beliefs, case, _, _ = some.believed()
        asked = _inside(order[rows], some.log.errors.shape) | some.log.panel.own
        _, came = some.settled(asking.believe(beliefs.pool, case, asked), asked)
        errors[rows] = np.where((asked & ~some.asked).any(axis=1), np.nan, came)
    return errors

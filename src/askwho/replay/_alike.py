"""Committees that are the same for every query, on logged rows."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from askwho.policy import Asking, Fixed, Judgement, grouped
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
    """Return what committees that are the same for every query get on these rows.

    Args:
        replay: the rows.
        members: who is in them, best first, then −1.
        anew: the same rows with answers imagined anew, several times over, where there are holes: what is expected.
        judges: where questions are asked in turn, the rules whose beliefs decide, and of which rows.
    """
    n, count = len(replay.log), len(replay.log.panel)
    got = np.stack([_errors(replay, each[each >= 0], judges) for each in members])
    paid = np.stack([replay.log.fees[:, each[each >= 0]].sum(axis=1) for each in members])
    if replay.chances is not None:
        inside = np.zeros((len(members), count), dtype=bool)
        for committee, each in zip(inside, members, strict=True):
            committee[each[each >= 0]] = True
        weights = np.stack([replay.chances.weights(np.tile(each, (n, 1))) for each in inside])
        expected = np.mean([alike(rows, members, judges=judges).errors for rows in anew], axis=0)
        got = corrected(expected, got, weights, grouped(replay.log.groups))
    return Fixed(members, got, paid)


def _errors(replay: Replay, members: Int[np.ndarray, " k"], judges: Judges) -> np.ndarray:
    """The errors of one committee, NaN where a member was not asked."""
    if not judges or replay.log.answers is None:
        # Of grades a committee is one entity, and whoever is alone is kept.
        return replay.errors(np.tile(members, (len(replay.log), 1)))[:, -1]
    errors = np.empty(len(replay.log))
    for rows, asking in judges:
        some = replay.rows(rows)
        beliefs, case, _, _ = some.believed()
        asked = np.tile(some.log.panel.own, (len(rows), 1))
        asked[:, members] = True
        _, came = some.settled(asking.believe(beliefs.pool, case, asked), asked)
        errors[rows] = np.where((asked & ~some.asked).any(axis=1), np.nan, came)
    return errors

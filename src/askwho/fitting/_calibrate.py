"""Targets from rows that a policy has not seen, and promises by rows that were kept for them."""

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from askwho.data import Log
from askwho.exceptions import InvalidInputError
from askwho.fitting._intervals import with_intervals
from askwho.policy import Fixed, InTurn, Outcomes, Policy
from askwho.replay import Replay, alike, later, none_later


def calibrate(policy: Policy, log: Log) -> Policy:
    """Return the same policy with its targets taken from fresh rows, which may carry a promise.

    The rows that `fit` leaves are of policies that each left a fold out; these are of this very policy, and nothing of
    it was learned from them: so `confidence` can be promised by them, and no longer by rows that `fit` kept.

    Where both say when their rows were, only those count that came after all that the policy comes from.

    Args:
        policy: fitted, or loaded.
        log: rows that it has not seen, read by the policy's columns.
    """
    if log.columns.fees is None and policy.panel.fees.any() and not log.fees.any():
        raise InvalidInputError(
            "`log` must tell what everybody charges, as the policy's own did, got no fees: budgets would be of nothing."
        )
    rows = later(policy, log)
    if len(log) and not len(rows):
        raise none_later(policy, len(log))
    log = log if len(rows) == len(log) else log.rows(rows)
    tried, turns = done(policy, log, policy)
    if policy.facts.until is not None:
        policy = until(policy, log)
    in_turn = None if policy.turns is None or turns is None else InTurn(policy.turns.asking, turns)
    combiner = with_intervals(Replay.of(policy, log), policy.combiner, tried, policy.cardinality.width, in_turn)
    if in_turn is None:
        return replace(policy, tried=tried, combiner=combiner)
    return replace(policy, tried=tried, combiner=combiner, turns=in_turn)


def until(policy: Policy, log: Log) -> Policy:
    """Return the same policy, which comes from these rows, too, and says so where they say when they were."""
    time = log.sampling.time
    if time is None:
        return policy
    return replace(policy, facts=replace(policy.facts, until=float(time.max()), dated=log.sampling.dated))


def promised(policy: Policy, log: Log) -> Policy:
    """Return the same policy with rows that may carry a promise; everything else stays as it is, to the last bit.

    Args:
        policy: fitted.
        log: rows that it has not seen, and that nothing was learned from.
    """
    tried, turns = done(policy, log, policy)
    # A promise is of the path of prices alone: the best of several committees would be promised by its luck.
    kept = replace(policy, tried=replace(policy.tried, kept=replace(tried, fixed=None)))
    if policy.turns is None or turns is None:
        return kept
    return replace(
        kept, turns=InTurn(policy.turns.asking, replace(policy.turns.tried, kept=replace(turns, fixed=None)))
    )


def done(policy: Policy, log: Log, like: Policy) -> tuple[Outcomes, Outcomes | None]:
    """Return what a policy does on fresh rows, at once and in turn.

    Args:
        policy: fitted on other rows.
        log: the rows.
        like: at whose prices, and with whose committees that are the same for every query; itself, or one of its kind.
    """
    replay = Replay.of(policy, log)
    anew = replay.anew(0)
    tried = replace(replay.at_once(policy.cardinality, like.tried.prices, anew), easiest=_easiest(like.tried))
    # What a committee gets where no truth is known is only imagined: of such rows none is compared.
    fixed = like.tried.fixed if log.audited.all() else None
    constant = None if fixed is None else _here(fixed, like, policy)
    if constant is not None:
        tried = replace(tried, fixed=alike(replay, constant, anew))
    if policy.turns is None or like.turns is None:
        return tried, None
    asking, rates = policy.turns.asking, like.turns.tried.prices
    turns = replay.outcomes(rates, *replay.taken(asking, rates, anew, tried), in_turn=True, fresh=True)
    turns = replace(turns, easiest=_easiest(like.turns.tried))
    if constant is not None:
        turns = replace(turns, fixed=alike(replay, constant, anew, [(np.arange(len(replay.log)), asking)]))
    return tried, turns


def _easiest(before: Outcomes) -> int:
    """Where a promise of an error begins: as rows say that taught, since one may calibrate twice by the same rows."""
    return before.easiest if before.fresh else before.least()


def _here(fixed: Fixed, there: Policy, policy: Policy) -> Int[np.ndarray, "c K"] | None:
    """The same committees among a policy's own entities; None where one would be empty."""
    place = {name: j for j, name in enumerate(policy.panel.names)}
    # A base that only the one has leaves its committees.
    index = np.array([*(place.get(name, -1) for name in there.panel.names), -1])
    members = index[fixed.members]
    members = np.take_along_axis(members, np.argsort(members < 0, axis=1, kind="stable"), axis=1)
    return members if (members[:, 0] >= 0).all() else None

"""Targets from rows that a policy has not seen, and promises by rows that were kept for them."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from askwho.data import Log
from askwho.exceptions import InvalidInputError
from askwho.policy import InTurn, Outcomes, Policy
from askwho.replay import Replay, later, none_later


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
    tried, turns = done(policy, log, policy.tried.prices, policy.turns)
    if policy.facts.until is not None:
        policy = until(policy, log)
    if policy.turns is None or turns is None:
        return replace(policy, tried=tried)
    return replace(policy, tried=tried, turns=InTurn(policy.turns.asking, turns))


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
    tried, turns = done(policy, log, policy.tried.prices, policy.turns)
    kept = replace(policy, tried=replace(policy.tried, kept=tried))
    if policy.turns is None or turns is None:
        return kept
    return replace(kept, turns=InTurn(policy.turns.asking, replace(policy.turns.tried, kept=turns)))


def done(
    policy: Policy, log: Log, prices: Float[np.ndarray, " p"], turns: InTurn | None
) -> tuple[Outcomes, Outcomes | None]:
    """Return what a policy does on fresh rows, at once and in turn.

    Args:
        policy: fitted on other rows.
        log: the rows.
        prices: to ask at once at, shape (p,).
        turns: whose prices to ask in turn at; None where nobody asks in turn, as the policy itself may not.
    """
    replay = Replay.of(policy, log)
    tried = replay.at_once(policy.cardinality, prices)
    if policy.turns is None or turns is None:
        return tried, None
    rates = turns.tried.prices
    taken = replay.taken(policy.turns.asking, rates, replay.anew(0))
    return tried, replay.outcomes(rates, *taken, in_turn=True, fresh=True)

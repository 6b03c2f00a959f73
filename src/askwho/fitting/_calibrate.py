"""Targets from rows that a policy has not seen, and promises by rows that were kept for them."""

from dataclasses import replace

from askwho.data import Log
from askwho.exceptions import InvalidInputError
from askwho.policy import InTurn, Outcomes, Policy
from askwho.replay import Replay


def calibrate(policy: Policy, log: Log) -> Policy:
    """Return the same policy with its targets taken from fresh rows, which may carry a promise.

    The rows that `fit` leaves are of policies that each left a fold out; these are of this very policy, and nothing of
    it was learned from them: so `confidence` can be promised by them, and no longer by rows that `fit` kept.

    Args:
        policy: fitted, or loaded.
        log: rows that it has not seen, read by the policy's columns.
    """
    if log.columns.fees is None and policy.panel.fees.any() and not log.fees.any():
        raise InvalidInputError(
            "`log` must tell what everybody charges, as the policy's own did, got no fees: budgets would be of nothing."
        )
    tried, turns = _done(policy, log)
    if policy.turns is None or turns is None:
        return replace(policy, tried=tried)
    return replace(policy, tried=tried, turns=InTurn(policy.turns.asking, turns))


def promised(policy: Policy, log: Log) -> Policy:
    """Return the same policy with rows that may carry a promise; everything else stays as it is, to the last bit.

    Args:
        policy: fitted.
        log: rows that it has not seen, and that nothing was learned from.
    """
    tried, turns = _done(policy, log)
    kept = replace(policy, tried=replace(policy.tried, kept=tried))
    if policy.turns is None or turns is None:
        return kept
    return replace(kept, turns=InTurn(policy.turns.asking, replace(policy.turns.tried, kept=turns)))


def _done(policy: Policy, log: Log) -> tuple[Outcomes, Outcomes | None]:
    """What a policy does on fresh rows, at once and in turn."""
    replay = Replay.of(policy, log)
    tried = replay.at_once(policy.cardinality, policy.tried.prices)
    if policy.turns is None:
        return tried, None
    prices = policy.turns.tried.prices
    done = replay.taken(policy.turns.asking, prices, replay.anew(0), tried)
    return tried, replay.outcomes(prices, *done, in_turn=True, fresh=True)

"""Targets from rows that a policy has not seen: what `confidence` promises of it is then exact."""

from dataclasses import replace

from askwho.data import Log
from askwho.policy import InTurn, Policy
from askwho.replay import Replay


def calibrate(policy: Policy, log: Log) -> Policy:
    """Return the same policy with its targets taken from fresh rows.

    The rows that `fit` leaves are of policies that each left a fold out; these are of this very policy, so that what
    `confidence` promises is exact. Nothing else is learned from them.

    Args:
        policy: fitted, or loaded.
        log: rows that it has not seen, read by the policy's columns.
    """
    replay = Replay.of(policy, log)
    tried = replay.at_once(policy.cardinality, policy.tried.prices)
    if policy.turns is None:
        return replace(policy, tried=tried)
    prices = policy.turns.tried.prices
    done = replay.outcomes(prices, *replay.taken(policy.turns.asking, prices, replay.anew(0)))
    return replace(policy, tried=tried, turns=InTurn(policy.turns.asking, done))

"""Targets from the past to the future: each fold is decided by a policy that knows nothing but what was before it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from askwho.core import each_fold, folds_in_time
from askwho.data import Log
from askwho.fitting._calibrate import done
from askwho.policy import Fixed, InTurn, Outcomes, Policy

Learn = Callable[[Log], Policy]
"""From rows to a policy, everything else being settled."""


def later_folds(log: Log, count: int, *, least: int, random_state: int) -> Int[np.ndarray, " n"] | None:
    """Return the folds of a log in time, shape (n,), −1 where nothing was before; None where it has none.

    Args:
        log: of any length.
        count: how many folds there should be.
        least: how many rows must be before the first of them.
        random_state: the seed.
    """
    if log.sampling.time is None:
        return None
    fold = folds_in_time(log.sampling.time, log.groups, count, least=least, random_state=random_state)
    for each in range(int(fold.max()) + 1):
        if len(np.unique(log.groups[fold < each])) >= 2:
            return fold
        # Of a past that is one group nothing can be learned.
        fold = np.where(fold == each, -1, fold)
    return None


def judged_by_the_future(policy: Policy, log: Log, fold: Int[np.ndarray, " n"], learn: Learn) -> Policy:
    """Return the same policy, its targets taken from what policies of its kind did about what came after their rows.

    What is decided of a fold is decided by all that is ever learned, encoder and committee and all, from earlier rows.
    That is what a deployed policy does: where the world moves it errs more than folds at random say. What is paid is
    what this policy pays, for fees need no future; an error beside it is what those before it got for about as much: at
    one price a policy that knows less may ask others, and fewer.

    Args:
        policy: learned from the whole log.
        log: the rows.
        fold: shape (n,), as `later_folds` returns them.
        learn: from rows to a policy of the same kind.
    """
    tried: list[Outcomes] = []
    turns: list[Outcomes] = []
    for past, rows in each_fold(fold):
        at_once, in_turn = done(learn(log.rows(past)), log.rows(rows), policy)
        tried.append(_for_as_much(at_once, policy.tried.take(rows)))
        if in_turn is not None and policy.turns is not None:
            turns.append(_for_as_much(in_turn, policy.turns.tried.take(rows)))
    policy = replace(policy, tried=_joined(tried, policy.tried.fixed))
    if policy.turns is None or not turns:
        return policy
    return replace(policy, turns=InTurn(policy.turns.asking, _joined(turns, policy.turns.tried.fixed)))


def _for_as_much(before: Outcomes, own: Outcomes) -> Outcomes:
    """What was got before for about as much as is paid now, at each price, and what is paid now.

    Args:
        before: what another policy did about some rows.
        own: what this one did about them.
    """
    paid, pays = (np.nanmean(each.fees, axis=1) for each in (before, own))
    nearest = np.abs(paid[None] - pays[:, None]).argmin(axis=1)
    return replace(before, errors=before.errors[nearest], fees=own.fees, sizes=own.sizes)


def _joined(parts: Sequence[Outcomes], fixed: Fixed | None) -> Outcomes:
    """What was done about several folds, as one; other policies did it, and so it carries no promise of this one."""
    first = parts[0]
    members = None if fixed is None else fixed.members
    errors, fees, sizes = (
        np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("errors", "fees", "sizes")
    )
    coins = [part.coins for part in parts if part.coins is not None]
    return Outcomes(
        first.prices,
        errors,
        fees,
        sizes,
        _numbered(parts),
        np.concatenate(coins) if len(coins) == len(parts) else None,
        fresh=False,
        estimated=tuple(dict.fromkeys(what for part in parts for what in part.estimated)),
        fixed=_alike([part.fixed for part in parts], members),
    )


def _alike(parts: Sequence[Fixed | None], members: Int[np.ndarray, "c K"] | None) -> Fixed | None:
    """What committees that are the same for every query got about several folds; None where some could not be had."""
    there = [part for part in parts if part is not None]
    if members is None or len(there) < len(parts):
        return None
    return Fixed(members, *(np.concatenate([getattr(part, n) for part in there], axis=1) for n in ("errors", "fees")))


def _numbered(parts: Sequence[Outcomes]) -> Int[np.ndarray, " n"] | None:
    """The group of each row; None where every row is alone. No group is in two parts."""
    if all(part.groups is None for part in parts):
        return None
    found: list[np.ndarray] = []
    start = 0
    for part in parts:
        own = np.arange(part.fees.shape[1]) if part.groups is None else part.groups
        found.append(own + start)
        start += int(own.max()) + 1
    return np.concatenate(found).astype(np.intp)

"""A policy without somebody: nothing is learned anew, and nobody else moves."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from askwho.beliefs import asking_without, without_member
from askwho.core import Panel
from askwho.data import without_entity
from askwho.exceptions import InvalidInputError
from askwho.policy._outcomes import Outcomes
from askwho.policy._seats import Seats
from askwho.policy._turns import InTurn

if TYPE_CHECKING:
    from askwho.policy._policy import Policy


def without(policy: "Policy", name: str) -> "Policy":
    """Return the policy of everybody but one.

    He is taken out, not hidden: routes, panel and columns no longer name him, and a log that still has his column is
    read without it. What is expected of the others stays as it was learned beside him; committees are believed by a
    curve that has seen them with some absent, and where it asks for him, whoever is expected most alike stands in.
    Budgets are met as on the rows of the whole panel, and nothing is promised any more until fresh rows calibrate it.
    """
    panel = policy.panel
    j = panel.index(name)
    if panel.own[j]:
        raise InvalidInputError(
            f"`name` must be somebody who is asked, got {name!r}, who answers for itself: say who is `available`."
        )
    if len(panel) < 2:
        raise InvalidInputError(f"`name` must leave somebody to ask, got {name!r}, who is all of the panel.")
    kept = np.delete(np.arange(len(panel)), j)
    cardinality, combiner, turns = policy.cardinality, policy.combiner, policy.turns
    seats = cardinality.curve.seats or Seats.all(len(panel), cardinality.width)
    seats = seats.without(j, most_alike(policy, j))
    beliefs = combiner.beliefs
    asking = None if turns is None else asking_without(turns.asking, j)
    return replace(
        policy,
        columns=without_entity(policy.columns, name),
        panel=Panel(tuple(panel.entities[i] for i in kept)),
        judge=policy.judge.only(kept, most=policy.unit.most),
        cardinality=replace(cardinality.left(seats), width=min(cardinality.width, len(kept))),
        combiner=replace(combiner, beliefs=None if beliefs is None else without_member(beliefs, j)),
        tried=unpromised(policy.tried, kept),
        turns=None if turns is None or asking is None else InTurn(asking, unpromised(turns.tried, kept)),
        past=policy.past.only(kept),
        facts=replace(policy.facts, entity_errors=tuple(policy.facts.entity_errors[i] for i in kept)),
    )


def unpromised(tried: Outcomes, kept: Int[np.ndarray, " b"]) -> Outcomes:
    """Return what was done before the panel changed: no promise stands on it, and nobody is in it who left.

    Args:
        tried: what was done.
        kept: shape (b,), who of the panel is still there.
    """
    fixed = None if tried.fixed is None else tried.fixed.only(kept)
    return replace(tried, fresh=False, kept=None, fixed=fixed)


def most_alike(policy: "Policy", j: int) -> int:
    """Return who of the others is expected to err most like entity j."""
    expected = policy.judge.judge(policy.past.queries).expected
    away = np.abs(expected - expected[:, [j]]).mean(axis=0)
    away[j] = np.inf
    return int(away.argmin())

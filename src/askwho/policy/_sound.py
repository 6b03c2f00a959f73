"""Whether what was read is a policy that can decide: checksums say who wrote the parts, not that they fit together."""

from typing import TYPE_CHECKING

import numpy as np

from askwho import _validation as check
from askwho.beliefs import Kept
from askwho.core import Answers, Cell
from askwho.exceptions import InvalidInputError
from askwho.policy._target import Target

if TYPE_CHECKING:
    from askwho.policy._policy import Policy


def check_sound(policy: "Policy") -> None:
    """Raise where the parts do not fit each other, after a query of zeros was decided, explained and combined."""
    size, blank = len(policy.panel), policy.encoder.blank()
    check.whole_number(policy.cardinality.width, "width", minimum=1, maximum=size)
    one_each = {"error_weights": policy.judge.error_weights, "entity_errors": np.array(policy.facts.entity_errors)}
    beliefs = policy.combiner.beliefs
    if beliefs is not None:
        one_each["evidence"] = beliefs.silent
    for name, array in one_each.items():
        check.same_shape(array, name, (size,), "one for each entity")
    check.same_shape(policy.past.features[:1], "past", blank.shape, "one number for each feature")
    for table in (policy.past.errors, policy.past.expected):
        check.same_shape(table[:1], "past", (1, size), "one error for each entity")
    asking = None if policy.turns is None else policy.turns.asking
    rules = () if asking is None else (asking,) if asking.cascade is None else (asking, asking.cascade)
    if not all(np.isin(rule.entities, np.arange(size)).all() for rule in rules):
        raise InvalidInputError("`turns` must ask entities of the panel, got others: the artefact is damaged.")
    pool = None if policy.turns is None else policy.turns.asking.pool
    if isinstance(pool, Kept) and pool.links.shape[1] > size:
        raise InvalidInputError(f"`links` must be of {size} entities at most, got more: the artefact is damaged.")
    rationing = policy.cardinality.rationing
    doubts = 0 if rationing is None or rationing.doubt is None else len(policy.past.features)
    if rationing is not None and rationing.past.shape != (doubts,):
        raise InvalidInputError(
            "`rationing` must have a doubt of each past query, got others: the artefact is damaged."
        )
    own = any(entity.own for entity in policy.panel.entities)
    if own != (policy.base is not None):
        raise InvalidInputError("`base` must be there where the panel has one of its own, and nowhere else.")
    with np.errstate(all="ignore"):
        seen = policy.see_encoded(blank, [""])
        decisions = policy.decide(seen, Target(k=1))
        policy.why(decisions)
        if rationing is not None:
            rationing.predict(seen, decisions.order)
        nobody = Answers(np.zeros((1, size)), np.full((1, size), Cell.NOT_ASKED, dtype=np.int8))
        if policy.columns.answers is not None:
            policy.combine(decisions, nobody)
        if policy.turns is not None:
            policy.next(seen, nobody, Target(fee_weight=0.0))

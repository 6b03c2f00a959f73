"""Asking in turn: the rule, what it did on held-out rows, and the next question of a query."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho._parts import State, part
from askwho.beliefs import NEVER, Asking, Beliefs, Cascade, Case, Grades, Numbers, World
from askwho.core import in_order
from askwho.policy._outcomes import Outcomes


@part("turns")
@dataclass(frozen=True, eq=False)
class InTurn:
    """How questions are asked one after another.

    Args:
        asking: the rule.
        tried: what it did on held-out rows, at each price.
    """

    asking: Asking
    tried: Outcomes

    def next(
        self,
        beliefs: Beliefs | Numbers | Grades,
        case: World,
        *,
        asked: Bool[np.ndarray, "n a"],
        fees: Float[np.ndarray, "n a"],
        fee_weights: Float[np.ndarray, " n"],
        alike: Int[np.ndarray, "n K"] | None = None,
    ) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, "n c"]]:
        """Return whom to ask next, −1 where it is time to decide, shape (n,), and what is believed so far, (n, C).

        Stateless: the same answers give the same next step.

        Args:
            beliefs: of the policy.
            case: what was heard.
            asked: shape (n, |A|), who was asked.
            fees: shape (n, |A|).
            fee_weights: λ of each query.
            alike: who is asked about each query, one after another, whatever they say; None where answers tell.
        """
        asking = self.asking
        if alike is not None:
            free = ~asked if case.there is None else ~asked & case.there
            left = in_order(free, alike)
            first = in_order(alike, left.argmax(axis=1)[:, None])[:, 0]
            return np.where(left.any(axis=1), first, -1), asking.believe(beliefs.pool, case, asked)
        entity, believed = np.full(len(case), -1), asking.believe(beliefs.pool, case, asked)
        nobody = np.logical_not(np.any(asked & ~beliefs.silent, axis=1))
        for rate in np.unique(fee_weights).tolist() if len(asking.entities) else ():
            rows, rule = np.flatnonzero(fee_weights == rate), asking.at(rate)
            some, inside = case.rows(rows), asked[rows]
            small: Any = some.only(rule.entities)
            heard = rule.pool.hear_all(small, inside[:, rule.entities])
            change, _ = rule.changes(small, heard, fees[rows[:, None], rule.entities], rate)
            best = change.argmin(axis=1)
            least = change[np.arange(len(rows)), best]
            go = (least < 0) | (np.take(nobody, rows) & (not rule.free_start) & (least < NEVER))
            entity[rows[go]] = rule.entities[best[go]]
            if isinstance(rule, Cascade) and isinstance(some, Case):
                believed[rows] = rule.believe(beliefs.pool, some, inside)
        return entity, believed

    def to_state(self) -> State:
        """Return the rule, and what it did."""
        return State().hold(asking=self.asking, tried=self.tried)

    @classmethod
    def from_state(cls, state: State) -> "InTurn":
        """Return what `to_state` wrote."""
        return cls(state.need("asking"), state.need("tried"))

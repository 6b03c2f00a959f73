"""Whether the queries still to come can be given out with what is left of the limits."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from askwho.exceptions import InvalidInputError
from askwho.policy._assign._limits import Limit

# Money within this part of its limit is within it: sums of fees are exact to fifteen digits.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Rest:
    """The queries still to come, each of which is to be asked of so many; whoever is there today is taken to stay.

    A transportation problem from groups of queries to entities, whose feasible bounds have whole solutions.

    Args:
        own: shape (|A|,), who is not asked.
        fees: shape (|A|,), what each usually charges.
        limits: what must be kept.
        coming: how many of each group will come; of one without a name, where there are no groups.
        k: how many are asked about each.
    """

    own: Bool[np.ndarray, " a"]
    fees: Float[np.ndarray, " a"]
    limits: tuple[Limit, ...]
    coming: Mapping[str, int]
    k: int

    def without(self, group: str) -> "Rest":
        """Return what comes after a query of a group; of a group that has come to its end, nothing more."""
        return Rest(self.own, self.fees, self.limits, {**self.coming, group: max(0, self.coming[group] - 1)}, self.k)

    def count(self, group: str | None) -> int:
        """Return how many will come of a group, or of all."""
        return sum(self.coming.values()) if group is None else self.coming.get(group, 0)

    def check(self) -> None:
        """Raise where not even all of it could be given out."""
        for limit in self.limits:
            if limit.kind == "size" and (limit.at_least > 0 or self.k > 1):
                raise InvalidInputError(
                    f"`sizes` must be of the form 'at_most', and not beside `k`, one query at a time, got {limit}."
                )
        if not self.enough(np.zeros(len(self.limits))):
            raise InvalidInputError(
                f"`capacity` must leave a way to give out {self.count(None)} queries, each asked of {self.k}, got "
                f"{', '.join(map(str, self.limits))}."
            )

    def enough(self, used: Float[np.ndarray, " r"]) -> bool:
        """Return whether all that is to come can be given out, so much of each limit being used already."""
        money = min(
            (
                limit.at_most - spent
                for limit, spent in zip(self.limits, used.tolist(), strict=True)
                if limit.kind == "budget"
            ),
            default=math.inf,
        )
        slack = _ROUNDING * (1.0 + max((each.at_most for each in self.limits if each.kind == "budget"), default=0.0))
        if self.k == 1 and self._unbound.any() and not self._owed(used):
            spare = self.count(None) * float(self.fees[self._unbound].min())
            if spare <= money + slack:
                return True
        least = self._least_fee(used)
        return least is not None and least <= money + slack

    @cached_property
    def _unbound(self) -> Bool[np.ndarray, " a"]:
        """Who can be given any number of queries alone, shape (|A|,)."""
        bound = np.zeros(len(self.own), dtype=bool)
        for limit in self.limits:
            if limit.at_most < math.inf and limit.kind == "entity":
                bound[limit.which] = True
            elif limit.at_most < math.inf and limit.kind == "size" and limit.which < 2:
                bound |= self.own if limit.which == 0 else ~self.own
        return ~bound

    def _owed(self, used: np.ndarray) -> bool:
        return any(limit.at_least > spent for limit, spent in zip(self.limits, used.tolist(), strict=True))

    def _least_fee(self, used: np.ndarray) -> float | None:
        """What all that is to come charges at the least; None where it cannot be given out."""
        from scipy.optimize import linprog  # noqa: PLC0415 - it takes long to import, and few limits need it

        groups, a = list(self.coming), len(self.own)
        each = np.array(list(self.coming.values()), dtype=np.float64)
        sides: list[np.ndarray] = []
        bounds: list[float] = []
        for limit, spent in zip(self.limits, used.tolist(), strict=True):
            row = np.zeros((len(groups), a))
            places = slice(None) if limit.group is None else [i for i, g in enumerate(groups) if g == limit.group]
            if limit.kind == "entity":
                row[places, limit.which] = 1.0
            elif limit.kind == "size" and limit.which < 2:
                row[:, self.own if limit.which == 0 else ~self.own] = 1.0
            else:
                continue
            if limit.at_most < math.inf:
                sides.append(row.ravel())
                bounds.append(limit.at_most - spent)
            if limit.at_least > spent:
                sides.append(-row.ravel())
                bounds.append(spent - limit.at_least)
        found: Any = linprog(
            np.tile(self.fees, len(groups)),
            A_ub=np.array(sides) if sides else None,
            b_ub=np.array(bounds) if sides else None,
            A_eq=np.kron(np.eye(len(groups)), np.ones((1, a))),
            b_eq=self.k * each,
            bounds=np.column_stack([np.zeros(len(groups) * a), np.repeat(each, a)]),
            method="highs-ds",
        )
        return float(found.fun) if found.x is not None else None

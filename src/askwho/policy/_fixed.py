"""Committees that are the same for every query: what a policy that tells queries apart must beat."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho._parts import State, part
from askwho._unit import Unit
from askwho.exceptions import InvalidInputError
from askwho.policy._errors import as_small, from_small, mean_error
from askwho.policy._seen import FAR, Judgement


def in_front(
    judged: Judgement, members: tuple[int, ...], there: Bool[np.ndarray, "n a"] | None = None
) -> Int[np.ndarray, "n a"]:
    """Return everybody, shape (n, |A|), these in front, then by expected error; who cannot be asked stays behind.

    So whoever errs least stands in for a member that the log does not know on such queries, at every price alike: what
    a committee charges is the same wherever it is counted.

    Args:
        judged: what is thought of each.
        members: who comes first, in this order.
        there: who can be asked.
    """
    costs = judged.costs(np.zeros(judged.expected.shape), 0.0)
    costs = costs if there is None else np.where(there, costs, 2 * FAR)
    first = costs.copy()
    for place, j in enumerate(members):
        first[:, j] = np.where(costs[:, j] < FAR / 2, -FAR + place, costs[:, j])
    return first.argsort(axis=1, kind="stable")


@part("fixed")
@dataclass(frozen=True, eq=False)
class Fixed:
    """Committees that are asked about every query alike, and what they got on held-out rows.

    Where nothing can be learned of whom to ask about which query, the best of them is the best there is.

    Args:
        members: shape (c, K), who is in each, best first, then −1.
        errors: shape (c, n), zero-one or squared; NaN where one cannot be scored.
        fees: shape (c, n), what each charges.
    """

    members: Int[np.ndarray, "c K"]
    errors: Float[np.ndarray, "c n"]
    fees: Float[np.ndarray, "c n"]

    def front(self, unit: Unit) -> "Fixed":
        """Return those that no other is both cheaper and better than."""
        fees, errors = self.means(unit)
        order = np.lexsort((fees, errors))
        cheaper = fees[order] < np.minimum.accumulate(np.concatenate([[np.inf], fees[order][:-1]]))
        return self.some(order[cheaper & np.isfinite(errors[order])])

    def some(self, chosen: Int[np.ndarray, " m"]) -> "Fixed":
        """Return some of the committees."""
        return Fixed(self.members[chosen], self.errors[chosen], self.fees[chosen])

    def only(self, kept: Int[np.ndarray, " b"]) -> "Fixed | None":
        """Return those of which everybody is still in the panel, as it is numbered now; None where none is left."""
        now = np.full(max(int(self.members.max(initial=-1)), int(kept.max())) + 2, -1)
        now[kept] = np.arange(len(kept))
        whole = np.flatnonzero(((now[self.members] >= 0) | (self.members < 0)).all(axis=1))
        left = self.some(whole)
        return replace(left, members=now[left.members]) if len(whole) else None

    def take(self, rows: np.ndarray) -> "Fixed":
        """Return the same on some of the rows."""
        return Fixed(self.members, self.errors[:, rows], self.fees[:, rows])

    def within(self, unit: Unit, budget: float) -> int | None:
        """Return which of those within a mean fee errs least; None where none is."""
        fees, errors = self.means(unit)
        able = np.flatnonzero((fees <= budget) & np.isfinite(errors))
        if not able.size:
            return None
        return int(able[np.lexsort((fees[able], errors[able]))[0]])

    def who(self, committee: int) -> tuple[int, ...]:
        """Return who is in a committee."""
        members = self.members[committee]
        return tuple(members[members >= 0].tolist())

    def means(self, unit: Unit) -> tuple[Float[np.ndarray, " c"], Float[np.ndarray, " c"]]:
        """Return mean fee and error of each, both of shape (c,), over the rows that could be scored; else NaN."""
        known = ~np.isnan(self.errors)
        count = known.sum(axis=1)
        fees = np.divide(self.fees.sum(axis=1, where=known), count, out=np.full(len(count), np.nan), where=count > 0)
        return fees, np.array([mean_error(each, unit) for each in self.errors])

    def to_state(self) -> State:
        """Return them as arrays."""
        return State(
            arrays={"members": self.members.astype(np.int32), "errors": as_small(self.errors), "fees": self.fees}
        )

    @classmethod
    def from_state(cls, state: State) -> "Fixed":
        """Return what `to_state` wrote."""
        members, errors, fees = state.pick(members="c K", errors="c n", fees="c n", gaps=("errors", "fees"))
        if members.dtype.kind != "i" or (members < -1).any() or (members[:, :1] < 0).any():
            raise InvalidInputError("`fixed` must hold somebody in every committee: the artefact is damaged.")
        return cls(members.astype(np.intp), from_small(errors), fees)

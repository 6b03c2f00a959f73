"""Who sits where in what a curve was learned by, once the panel is another."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import Order
from askwho.exceptions import InvalidInputError


@part("seats")
@dataclass(frozen=True, eq=False)
class Seats:
    """From today's panel to the entities that a curve was learned with.

    Args:
        first: shape (|A|,), who of the learned stands for each where it is said who comes first; −1 for a newcomer,
            for whom he does who is expected to err most like him on the query.
        block: shape (L,), whose expected error stands in the column of each who was learned.
        width: how many the largest committee had.
    """

    first: Int[np.ndarray, " a"]
    block: Int[np.ndarray, " l"]
    width: int

    @classmethod
    def all(cls, size: int, width: int) -> "Seats":
        """Return the seats of a panel that is as it was learned."""
        return cls(np.arange(size), np.arange(size), width)

    def joined(self) -> "Seats":
        """Return the seats with a newcomer behind the others."""
        return replace(self, first=np.append(self.first, -1))

    def without(self, j: int, like: int) -> "Seats":
        """Return the seats without entity j, for whom another of the panel stands in."""
        block = np.where(self.block == j, like, self.block)
        return replace(self, first=np.delete(self.first, j), block=block - (block > j))

    def padded(self, order: Order) -> Order:
        """Return an order of so many as were learned with: the last stands in for whoever is missing."""
        missing = self.width - order.shape[1]
        return np.pad(order, ((0, 0), (0, missing)), mode="edge") if missing > 0 else order

    def names(self, expected: Float[np.ndarray, "n a"], order: Int[np.ndarray, "n f"]) -> Int[np.ndarray, "n f"]:
        """Return who of the learned stands for each in an order, shape (n, f)."""
        named, block = self.first[order], expected[:, self.block]
        for place in range(order.shape[1]):
            new = np.flatnonzero(named[:, place] < 0)
            if new.size:
                his = expected[new, order[new, place]]
                named[new, place] = np.abs(block[new] - his[:, None]).argmin(axis=1)
        return named

    def to_state(self) -> State:
        """Return the seats as arrays."""
        return State(plain={"width": self.width}, arrays={"first": self.first, "block": self.block})

    @classmethod
    def from_state(cls, state: State) -> "Seats":
        """Return the seats that `to_state` wrote."""
        first, block = state.pick(first="a", block="l")
        width = check.whole_number(state.plain["width"], "width", minimum=1)
        fits = first.dtype.kind == block.dtype.kind == "i" and len(first) > 0 and len(block) > 0
        if not fits or first.min() < -1 or block.min() < 0 or first.max() >= len(block) or block.max() >= len(first):
            raise InvalidInputError("`seats` must be of one panel, got others: the artefact is damaged.")
        return cls(first.astype(np.intp), block.astype(np.intp), width)

"""Who sits where in what a curve was learned by, once the panel is another; and what committees with newcomers get."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import Order
from askwho.exceptions import InvalidInputError

# Of what one more brought the others, beyond the better of them, this part is what a newcomer brings, by hand: nobody
# knows his habits as well as theirs.
_OF_HIS = 0.5


@part("seats")
@dataclass(frozen=True, eq=False)
class Seats:
    """From today's panel to the entities that a curve was learned with.

    Args:
        first: shape (|A|,), who of the learned each is; −1 for who came or changed since.
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

    def moved(self, j: int, like: int) -> "Seats":
        """Return the seats with entity j as another than he was, for whom somebody of the panel stands in."""
        first = self.first.copy()
        first[j] = -1
        return replace(self, first=first, block=np.where(self.block == j, like, self.block))

    @property
    def new(self) -> Bool[np.ndarray, " a"]:
        """Who came or changed since, shape (|A|,)."""
        return self.first < 0

    def old(self, expected: Float[np.ndarray, "n a"], order: Order) -> Int[np.ndarray, "n w"]:
        """Return an order of so many of the learned as the curve knows, shape (n, width), those of another in front.

        Whoever is not in that order follows by what is expected of him; where nobody is left the last stands in.
        """
        behind = order.shape[1] + expected.argsort(axis=1).argsort(axis=1)
        np.put_along_axis(behind, order, np.arange(order.shape[1])[None], axis=1)
        behind[:, self.new] = behind.max() + 1
        kept = min(self.width, int((~self.new).sum()))
        found = behind.argsort(axis=1, kind="stable")[:, :kept]
        return np.pad(found, ((0, 0), (0, self.width - kept)), mode="edge")

    def walked(
        self,
        curve: Float[np.ndarray, "n c"],
        expected: Float[np.ndarray, "n a"],
        order: Int[np.ndarray, "n k"],
        old: Int[np.ndarray, "n w"],
    ) -> Float[np.ndarray, "n s"]:
        """Return D_x(k) of committees with newcomers among them, shape (n, K), from that of committees without.

        A committee that knows its members does no worse than the better of a newcomer and the others; how much better
        than that is half of what one more brought the others at that size, beyond the better of him and those before
        him. A forest cannot tell it: it has never seen a committee with somebody like him.

        Args:
            curve: D_x(k) of `old`.
            expected: shape (n, |A|), expected errors.
            order: whom to ask, best first.
            old: the same without newcomers, from `old`.
        """
        sizes = min(order.shape[1], curve.shape[1])
        new, alone = self.new[order], np.take_along_axis(expected, order, axis=1)
        found = curve[:, :sizes].copy()
        came, count = np.zeros(len(order), dtype=bool), np.zeros(len(order), dtype=np.intp)
        rows = np.arange(len(order))
        for k in range(sizes):
            here = new[:, k]
            count += ~here
            came |= here
            others = curve[rows, np.maximum(count - 1, 0)]
            if k == 0:
                found[:, 0] = np.where(here, alone[:, 0], curve[:, 0])
                continue
            together = np.minimum(curve[:, k - 1], expected[rows, old[:, k]])
            more = np.divide(curve[:, k], together, out=np.ones(len(rows)), where=together > 0)
            best = np.minimum(found[:, k - 1], np.where(here, alone[:, k], others))
            found[:, k] = np.where(came, (1.0 - _OF_HIS * (1.0 - np.clip(more, 0.0, 1.0))) * best, curve[:, k])
        return found

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

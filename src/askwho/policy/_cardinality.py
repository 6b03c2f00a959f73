"""How many to ask: by the curve of committees and the fees, or by the paper's networks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho import _validation as check
from askwho._fast import loops
from askwho._parts import State, part
from askwho._types import Order
from askwho.core import distinct_orders, in_order, running
from askwho.exceptions import InvalidInputError
from askwho.learners import Scorer
from askwho.policy._curve import Curve
from askwho.policy._rationing import Rationing
from askwho.policy._seats import Seats
from askwho.policy._seen import Seen

# So many rows and up to twice as many go through the curve together: a rest of fewer would take each tree row by row.
_TOGETHER = 1 << 14


@part("cardinality-networks")
@dataclass(frozen=True, eq=False)
class CardinalityNetworks:
    """The paper's k(x) (Algorithm 2) at the prices it was trained for.

    Args:
        fee_weights: λ, shape (p,).
        networks: one member a price, whose scores are of k = 1, 2, ...
    """

    fee_weights: Float[np.ndarray, " p"]
    networks: Scorer

    def scores(self, X: Float[np.ndarray, "n d"], fee_weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n K"]:
        """Return the scores of every k at each query's own price, shape (n, K), higher is better."""
        rates, which = np.unique(fee_weights, return_inverse=True)
        near = np.isclose(self.fee_weights, rates[:, None], rtol=1e-6, atol=1e-12)
        if not near.any(axis=1).all():
            raise InvalidInputError(
                f"`fee_weight` must be one that k(x) was trained at ({', '.join(f'{p:g}' for p in self.fee_weights)}), "
                f"got {rates[~near.any(axis=1)][0]:g}: fit with it, or with cardinality='curve', which answers for "
                "every price."
            )
        return self.networks.scores(X)[near.argmax(axis=1)[which.reshape(-1)], np.arange(len(X))]

    def to_state(self) -> State:
        """Return the networks, and the prices they were trained for."""
        return State(arrays={"fee_weights": self.fee_weights}).hold(networks=self.networks)

    @classmethod
    def from_state(cls, state: State) -> "CardinalityNetworks":
        """Return the networks that `to_state` wrote."""
        (fee_weights,) = state.pick(fee_weights="p")
        return cls(fee_weights, state.need("networks"))


@part("cardinality")
@dataclass(frozen=True, eq=False)
class Cardinality:
    """How many to ask, and what the committees of every size are expected to get.

    Args:
        width: the largest committee.
        curve: D_x(k).
        networks: the paper's k(x), where that was trained; else D_x(k) and the fees decide.
        rationing: what is believed where some are absent, or have few hours; None where that is the same.
    """

    width: int
    curve: Curve
    networks: CardinalityNetworks | None = None
    rationing: Rationing | None = None

    def seated(self, seats: Seats | None) -> "Cardinality":
        """Return the same for another panel."""
        rationing = None if self.rationing is None else self.rationing.seated(seats)
        return replace(self, curve=replace(self.curve, seats=seats), rationing=rationing)

    @property
    def by_doubts(self) -> Rationing | None:
        """What is believed where hours are limited; None where no base's doubts tell more than routing's curve."""
        return self.rationing if self.rationing is not None and self.rationing.doubt is not None else None

    def without_some(
        self, seen: Seen, order: Order, there: Bool[np.ndarray, "n a"]
    ) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, "m _"]]:
        """Return which queries, shape (m,), miss somebody whom the curve knows, and D_x(k) of their committees."""
        known = slice(None) if self.curve.seats is None else ~self.curve.seats.new
        rows = np.flatnonzero(~there[:, known].all(axis=1))
        return rows, self.of_others(seen.rows(rows), order[rows])

    def of_others(self, seen: Seen, order: Order) -> Float[np.ndarray, "n _"]:
        """Return D_x(k) of committees that others might have been better for, shape (n, K)."""
        if not len(order):
            return np.empty((0, 1))
        if self.rationing is None:
            return self.curve.predict(seen.X, seen.expected, order)
        return self.rationing.predict(seen, order)

    def left(self, seats: Seats) -> "Cardinality":
        """Return the same for a panel that somebody left: by the curve that has seen committees without him."""
        curve = self.curve if self.rationing is None else replace(self.rationing.curve, anchored=True)
        return replace(self, curve=curve).seated(seats)

    def sizes(
        self,
        X: Float[np.ndarray, "n d"],
        curve: Float[np.ndarray, "n _"],
        paid: Float[np.ndarray, "n K"],
        fee_weights: Float[np.ndarray, " n"],
        most: Int[np.ndarray, " n"] | int,
    ) -> Int[np.ndarray, " n"]:
        """Return argmin_k D_x(k) + λ S_k over k up to `most`, ties to the smaller, shape (n,); or what networks say.

        Args:
            X: shape (n, d).
            curve: D_x(k), from `curve`; not looked at where there are networks.
            paid: S_k, the fees of the first k.
            fee_weights: λ of each query.
            most: the largest committee of each query.
        """
        if self.networks is None:
            fast = loops(len(curve))
            if fast is not None:
                found = np.empty(len(curve), dtype=np.intp)
                fast.cheapest(curve, paid, fee_weights, np.full(len(curve), most, dtype=np.intp), found)
                return found
            costs = curve + fee_weights[:, None] * paid[:, : curve.shape[1]]
        else:
            costs = -self.networks.scores(X, fee_weights)
        beyond = np.arange(costs.shape[1]) >= np.reshape(most, (-1, 1))
        return np.where(beyond, np.inf, costs).argmin(axis=1) + 1

    def sizes_at(
        self,
        X: Float[np.ndarray, "n d"],
        expected: Float[np.ndarray, "n a"],
        orders: Sequence[Order],
        fees: Float[np.ndarray, "n a"],
        prices: Sequence[float],
    ) -> Int[np.ndarray, "p n"]:
        """Return k(x) at several prices, each with the order that it gives, shape (p, n)."""
        rows, order, place = distinct_orders(orders)
        return self.sizes_of(X, self.curves(X, expected, rows, order), in_order(fees, order, rows), place, prices)

    def curves(
        self,
        X: Float[np.ndarray, "n d"],
        expected: Float[np.ndarray, "n a"],
        rows: Int[np.ndarray, " m"],
        order: Int[np.ndarray, "m K"],
    ) -> Float[np.ndarray, "m _"]:
        """Return D_x(k) of orders of queries, which may be there more than once, shape (m, K); nothing by networks."""
        if self.networks is not None:
            return np.empty((len(rows), 0))
        parts = np.array_split(np.arange(len(rows)), max(1, len(rows) // _TOGETHER))
        return np.concatenate([self.curve.predict(X[rows[part]], expected[rows[part]], order[part]) for part in parts])

    def sizes_of(
        self,
        X: Float[np.ndarray, "n d"],
        curves: Float[np.ndarray, "m _"],
        fees: Float[np.ndarray, "m K"],
        place: Int[np.ndarray, "p n"],
        prices: Sequence[float],
    ) -> Int[np.ndarray, "p n"]:
        """Return k(x) at several prices, shape (p, n), by orders that are each there once.

        Args:
            X: shape (n, d).
            curves: D_x(k) of each order, from `curves`.
            fees: of its members.
            place: which order each query has at each price.
            prices: λ.
        """
        paid, fast = running(fees), loops(len(curves))
        if fast is not None and self.networks is None:
            found, most = np.empty(place.shape, dtype=np.intp), min(self.width, curves.shape[1])
            fast.sizes(curves[:, :most], paid, place, np.array(prices, dtype=np.float64), found)
            return found
        rates = (np.full(place.shape[1], float(price)) for price in prices)
        each = zip(place, rates, strict=True)
        return np.stack([self.sizes(X, curves[ends], paid[ends], rate, self.width) for ends, rate in each])

    def to_state(self) -> State:
        """Return the width, the curve, and what else there is."""
        return State(plain={"width": self.width}).hold(
            curve=self.curve, networks=self.networks, rationing=self.rationing
        )

    @classmethod
    def from_state(cls, state: State) -> "Cardinality":
        """Return what `to_state` wrote."""
        width = check.whole_number(state.plain["width"], "width", minimum=1)
        return cls(width, state.need("curve"), state.read("networks"), state.read("rationing"))

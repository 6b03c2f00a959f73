"""Committees at many prices: whoever is asked in the same order is looked up once, and not at every price."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from askwho.core import in_order
from askwho.policy import Policy
from askwho.replay._replay import Replay


@dataclass(frozen=True, eq=False)
class Ranked:
    """The orders in which a policy asks about logged rows, and what their committees of every size come to.

    Tables are turned, (K, m), so that one size of all orders lies together.

    Args:
        policy: whose orders.
        held: the rows.
        rows: shape (m,), which row each order is of.
        order: shape (m, K).
        place: shape (p, n), which order each row has at each price.
    """

    policy: Policy
    held: Replay
    rows: Int[np.ndarray, " m"]
    order: Int[np.ndarray, "m K"]
    place: Int[np.ndarray, "p n"]

    @classmethod
    def of(cls, policy: Policy, held: Replay, prices: Sequence[float]) -> "Ranked":
        """Return the orders at some prices."""
        return cls(policy, held, *held.seen.judged.orders(held.seen.fees, prices, policy.cardinality.width))

    @cached_property
    def errors(self) -> Float[np.ndarray, "K m"]:
        """What committees of every size err."""
        return _turned(self.held.errors(self.order, rows=self.rows))

    @cached_property
    def paid(self) -> Float[np.ndarray, "K m"]:
        """What they charge."""
        return _turned(self.held.paid(self.order, self.rows))

    @cached_property
    def outside(self) -> Float[np.ndarray, "K m"]:
        """How many of them somebody must ask."""
        return _turned(self.held.outside(self.order).astype(np.float64))

    @cached_property
    def best(self) -> Float[np.ndarray, "K m"]:
        """The least error among their members: it needs the truth."""
        return _turned(self.held.best_of(self.order, self.rows))

    @cached_property
    def curves(self) -> Float[np.ndarray, "m _"]:
        """D_x(k), what they are expected to err."""
        seen = self.held.seen
        return self.policy.cardinality.curves(seen.X, seen.expected, self.rows, self.order)

    def sizes(self, prices: Sequence[float]) -> Int[np.ndarray, "p n"]:
        """Return k(x) at the prices, shape (p, n)."""
        seen = self.held.seen
        fees = in_order(seen.fees, self.order, self.rows)
        return self.policy.cardinality.sizes_of(seen.X, self.curves, fees, self.place, prices)

    def robust(self, p: int) -> dict[str, Float[np.ndarray, "n K"]]:
        """Return weights, expected errors and doubts of committees of every size at a price, each of shape (n, K).

        By the names that a point has for them; nothing without holes.
        """
        held, ends = self.held, self.place[p]
        if held.chances is None:
            return {}
        order = self.order[ends]
        curve = self._expected[ends]
        doubt = {"doubt": held.others.prefixes(curve, order)} if not held.log.unit.most < np.inf else {}
        return {"weights": held.chances.prefixes(order), "expected": curve, **doubt}

    @cached_property
    def _expected(self) -> Float[np.ndarray, "m K"]:
        """The same whoever says how many are asked."""
        if self.policy.cardinality.networks is None:
            return self.curves
        seen = self.held.seen
        return self.policy.cardinality.curve.predict(seen.X[self.rows], seen.expected[self.rows], self.order)


def _turned(table: Float[np.ndarray, "m K"]) -> Float[np.ndarray, "K m"]:
    return np.ascontiguousarray(table.T)

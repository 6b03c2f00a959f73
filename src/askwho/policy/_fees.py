"""What a query will be charged: what everybody charges, or what the features foretell where fees differ by query."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import FloatTable
from askwho.data import Charged
from askwho.learners import Linear, cross_fit


@part("fees")
@dataclass(frozen=True, eq=False)
class Fees:
    """What everybody is expected to charge.

    Args:
        usual: shape (|A|,), what each charges in the mean.
        model: of every entity's fee by the features, where fees differ by query; else None.
        bounds: shape (2, |A|), the least and the most that each has charged: a query unlike all before it must not be
            foretold a fee unlike all before.
    """

    usual: Float[np.ndarray, " a"]
    model: Linear | None
    bounds: Float[np.ndarray, "2 a"]

    @classmethod
    def fit(
        cls, X: Float[np.ndarray, "n d"], charged: Charged, fold: Int[np.ndarray, " n"]
    ) -> tuple["Fees", FloatTable]:
        """Return what is charged, and what is foretold of each row without having seen it, shape (n, |A|).

        Where nobody told a fee nothing is learned of it: what stands in is no more than was foretold.
        """
        fees, told = charged.fees, charged.told
        bounds = np.stack([np.nanmin(told, axis=0), np.nanmax(told, axis=0)])
        if (bounds[0] == bounds[1]).all():
            return cls(bounds[0], None, bounds), np.broadcast_to(bounds[0], fees.shape)
        made = cls(charged.usual, Linear().fit(X, told), bounds)
        return made, np.clip(cross_fit(Linear, X, told, fold), *bounds)

    def of(self, X: Float[np.ndarray, "n d"]) -> FloatTable:
        """Return expected fees, shape (n, |A|)."""
        if self.model is not None:
            return np.clip(self.model.predict(X), *self.bounds)
        return self.usual[None] if len(X) == 1 else np.broadcast_to(self.usual, (len(X), len(self.usual)))

    @cached_property
    def free(self) -> Bool[np.ndarray, " a"]:
        """Who has never charged anything, shape (|A|,)."""
        return self.bounds[1] == 0

    def only(self, kept: Int[np.ndarray, " b"]) -> "Fees":
        """Return what some of them charge."""
        model = None if self.model is None else self.model.only(kept)
        return Fees(self.usual[kept], model, self.bounds[:, kept])

    def put(self, j: int, fee: float) -> "Fees":
        """Return the same with what entity j charges, whatever the query; the first after the last is a newcomer."""
        model = None if self.model is None else self.model.put(j, fee)
        usual, bounds = self.usual.copy(), self.bounds.copy()
        if j == len(usual):
            usual, bounds = np.append(usual, fee), np.hstack([bounds, np.full((2, 1), fee)])
        usual[j], bounds[:, j] = fee, fee
        return Fees(usual, model, bounds)

    def to_state(self) -> State:
        """Return the fees as arrays, and their model where there is one."""
        return State(arrays={"usual": self.usual, "bounds": self.bounds}).hold(model=self.model)

    @classmethod
    def from_state(cls, state: State) -> "Fees":
        """Return the fees that `to_state` wrote."""
        usual, bounds = state.pick(usual="a", bounds="2 a")
        return cls(check.nonnegative(usual, "fees"), state.read("model"), check.nonnegative(bounds, "fees"))

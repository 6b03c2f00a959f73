"""What a query will be charged, where fees differ by query and are known only after the call."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from askwho._types import FloatTable
from askwho.learners import Linear, cross_fit


@dataclass(frozen=True, eq=False)
class Foresight:
    """Fees foretold by the features.

    Args:
        model: of every entity's fee.
        bounds: shape (2, |A|), the least and the most that each has charged: a query unlike all before it must not be
            foretold a fee unlike all before.
    """

    model: Linear
    bounds: Float[np.ndarray, "2 a"]

    @classmethod
    def fit(
        cls, X: Float[np.ndarray, "n d"], charged: Float[np.ndarray, "n a"], fold: Int[np.ndarray, " n"]
    ) -> tuple["Foresight", FloatTable]:
        """Return the foresight, and what it foretells of each row without having seen it, shape (n, |A|)."""
        made = cls(Linear().fit(X, charged), np.stack([charged.min(axis=0), charged.max(axis=0)]))
        return made, made.within(cross_fit(Linear, X, charged, fold))

    def fees(self, X: Float[np.ndarray, "n d"]) -> FloatTable:
        """Return expected fees, shape (n, |A|)."""
        return self.within(self.model.predict(X))

    def within(self, fees: Float[np.ndarray, "n a"]) -> FloatTable:
        """Return fees kept to what each has charged, shape (n, |A|)."""
        return np.clip(fees, self.bounds[0], self.bounds[1])

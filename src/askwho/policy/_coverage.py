"""Where a log says nothing of an entity: queries of a kind that it was hardly ever asked about."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho._parts import State, part
from askwho.learners import Linear, cross_fit

# Somebody who was asked about nearly everything is known everywhere.
_NEARLY_ALL = 0.99
# Below this part of its usual share, an entity is not known on queries of that kind.
_LEAST_PART = 0.5


@part("coverage")
@dataclass(frozen=True, eq=False)
class Coverage:
    """How often each entity was asked about queries like one.

    Nobody can tell what an entity would have said where it was never asked: decisions keep to what the log supports. A
    linear model of being asked, as a propensity score is (Rosenbaum and Rubin 1983): where it is far below an entity's
    usual share there is no overlap.

    Args:
        shares: from features to how often each was asked.
        usual: shape (|A|,), how often each was asked in all; 0 for those known everywhere.
    """

    shares: Linear
    usual: Float[np.ndarray, " a"]

    @classmethod
    def fit(
        cls, X: Float[np.ndarray, "n d"], asked: Bool[np.ndarray, "n a"], fold: Int[np.ndarray, " n"]
    ) -> "tuple[Coverage | None, Bool[np.ndarray, 'n a'] | None]":
        """Return what a log supports, and where it does so among its own rows, out of fold; None where everywhere."""
        usual = asked.mean(axis=0)
        usual = np.where(usual >= _NEARLY_ALL, 0.0, usual)
        if not usual.any():
            return None, None
        shares = np.where(usual > 0, asked, 1.0).astype(np.float64)
        held = cross_fit(Linear, X, shares, fold)
        if (held >= _LEAST_PART * usual).all():
            return None, None
        return cls(Linear().fit(X, shares), usual), _supported(held, usual)

    def of(self, X: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, "n a"]:
        """Return whom the log knows on queries like these, shape (n, |A|)."""
        return _supported(self.shares.predict(X), self.usual)

    def to_state(self) -> State:
        """Return the coverage as its model and an array."""
        return State(arrays={"usual": self.usual}).hold(shares=self.shares)

    @classmethod
    def from_state(cls, state: State) -> "Coverage":
        """Return the coverage that `to_state` wrote."""
        (usual,) = state.pick(usual="a")
        return cls(state.need("shares"), usual)


def _supported(shares: np.ndarray, usual: np.ndarray) -> Bool[np.ndarray, "n a"]:
    known = shares >= _LEAST_PART * usual
    # Somebody must be asked: where nobody is known, everybody may be.
    return known | ~known.any(axis=1, keepdims=True)

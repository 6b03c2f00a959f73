"""What a fitted policy of the paper is: scores that rank."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from askwho._parts import State, part
from askwho.learners._log_shares import log_shares


@runtime_checkable
class Scorer(Protocol):
    """A fitted policy: higher scores are asked earlier, at the price it was trained with."""

    def scores(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "members n a"]:
        """Return log-shares, shape (members, n, |A|)."""
        ...


@part("shares")
@dataclass(frozen=True, eq=False)
class Shares:
    """A policy trained by the asymmetric softmax: beyond the first entity its shares rank, not its scores.

    Args:
        scorer: the trained network.
        n_labels: how many of the entities are labels.
    """

    scorer: Scorer
    n_labels: int

    def scores(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "members n a"]:
        """Return the logarithm of `losses.asymmetric_softmax_shares`, less a constant a row.

        The shape is (members, n, |A|).
        """
        raw = self.scorer.scores(X)
        labels, experts = raw[..., : self.n_labels], raw[..., self.n_labels :]
        rest = labels.copy()
        np.put_along_axis(rest, labels.argmax(axis=-1)[..., None], -np.inf, axis=-1)
        margin = experts - np.logaddexp.reduce(rest, axis=-1, keepdims=True)
        return log_shares(np.concatenate([log_shares(labels), -np.logaddexp(0.0, -margin)], axis=-1))

    def to_state(self) -> State:
        """Return what is written: the network, and how many labels there are."""
        return State(plain={"n_labels": self.n_labels}).hold(scorer=self.scorer)

    @classmethod
    def from_state(cls, state: State) -> "Shares":
        """Return the policy that was written."""
        return cls(state.need("scorer"), int(state.plain["n_labels"]))

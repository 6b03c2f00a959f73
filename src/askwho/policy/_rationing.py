"""What is believed where some are absent: of committees without them, and of a base of our own by its own doubts."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import Order
from askwho.policy._calibration import Calibration
from askwho.policy._curve import Curve
from askwho.policy._seats import Seats
from askwho.policy._seen import Seen


@part("rationing")
@dataclass(frozen=True, eq=False)
class Rationing:
    """What is expected of our own base and of committees where some cannot be asked.

    The curve of routing has never seen a committee whose best are absent: it takes whoever is first for as good as who
    mostly is. Whoever has few hours goes where the base, which has as many as one likes, is most in doubt. Its own
    probabilities tell that better than a learner of errors does from the features. Routing stays with the learner: its
    curve and prices were found with that, and it was no better with doubts.

    Args:
        doubt: from the base's doubt, which is the probability that it leaves to all other classes, to its expected
            error; None where there is none that tells more than the features.
        curve: D_x(k), learned beside these expected errors, with some absent.
        past: shape (m,), its doubts about the policy's past queries, out of fold: of a query that it learned from it is
            far too sure; empty without a doubt.
    """

    doubt: Calibration | None
    curve: Curve
    past: Float[np.ndarray, " m"]

    def predict(self, seen: Seen, order: Order) -> Float[np.ndarray, "n _"]:
        """Return D_x(k) of committees in whose place others might stand, were they there, shape (n, K)."""
        believed = self.believed(seen)
        return replace(self.curve, anchored=True).predict(believed.X, believed.expected, order)

    def believed(self, seen: Seen) -> Seen:
        """Return queries with what is expected of the base by its doubts; as they are, where those are not known."""
        return seen if self.doubt is None or seen.shares is None else self._with(seen, doubts(seen.shares))

    def believed_past(self, seen: Seen, some: Int[np.ndarray, " n"]) -> Seen:
        """Return some of the past queries likewise.

        Args:
            seen: the queries.
            some: shape (n,), which of the past ones they are.
        """
        return seen if self.doubt is None else self._with(seen, self.past[some])

    def seated(self, seats: Seats | None) -> "Rationing":
        """Return the same for another panel."""
        return replace(self, curve=replace(self.curve, seats=seats))

    def _with(self, seen: Seen, doubt: np.ndarray) -> Seen:
        assert self.doubt is not None  # noqa: S101 - or nobody asks
        # Our own base stands first in the panel.
        expected = np.column_stack([self.doubt.apply(doubt[:, None]), seen.expected[:, 1:]])
        return replace(seen, judged=replace(seen.judged, expected=expected))

    def to_state(self) -> State:
        """Return the curve, and what tells a base's doubts, where anything does."""
        arrays = {} if self.doubt is None else {"past": self.past}
        return State(arrays=arrays).hold(doubt=self.doubt, curve=self.curve)

    @classmethod
    def from_state(cls, state: State) -> "Rationing":
        """Return what `to_state` wrote."""
        doubt = state.read("doubt")
        if doubt is None:
            return cls(None, state.need("curve"), np.empty(0))
        (past,) = state.pick(past="m")
        check.same_shape(doubt.raw[:, 0], "doubt", (1,), "of the base alone")
        return cls(doubt, state.need("curve"), past)


def doubts(shares: Float[np.ndarray, "n t"]) -> Float[np.ndarray, " n"]:
    """Return the probability that a base leaves to all classes but the likeliest, shape (n,)."""
    return 1.0 - shares.max(axis=1)

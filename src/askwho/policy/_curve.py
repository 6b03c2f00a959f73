"""D_x(k), the expected error of the committee of the k best, learned once for every price."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from askwho._parts import State, part
from askwho._types import Order
from askwho.core import in_order
from askwho.exceptions import InvalidInputError
from askwho.learners import TreeModel, graph_of_forest, grow
from askwho.policy._seats import Seats

# Trees of the curve: its error out of fold no longer falls with more of them.
_TREES = 48
# Rows that teach it: a committee's error is a smooth function of what is expected, and more rows take long.
_MOST_ROWS = 24_000
# With fewer whole committees than this a forest has no leaf to stand on.
_FEWEST_ROWS = 50
# Of many features, as text has, so many are tried at a split: half of them would take long and find the same.
_MOST_TRIED = 64
# Queries a leaf: a share of wrong answers is only worth its name over a score of them, and what mistakes cost varies
# more still; numbers vary less.
_LEAF_OF_SHARES, _LEAF = 20, 5
# The indices of the first so many in the order: who they are, beside what is expected of them.
_FIRST = 3


@part("curve")
@dataclass(frozen=True, eq=False)
class Curve:
    """From a query's ranking and expected errors to the expected error of each of its committees.

    Extremely randomised trees (Geurts, Ernst and Wehenkel 2006) with one output for each k.

    Args:
        forest: from `layout` to D_x(k) of every k; None where too few rows taught it.
        means: shape (K,), the mean error of each size, where there is no forest; infinite where no row could score it.
        scale: what all of it is multiplied by: where the log has holes it is learned from imagined answers, and
            this is what real ones say of them.
        seats: who of those it was learned with stands for whom, where the panel is another by now; else None.
        anchored: whether it tells what part of the error that is expected of the first alone each further member
            leaves, and not what the committee gets: of a first who seldom was, trees know those who mostly were.
    """

    forest: Any
    means: Float[np.ndarray, " K"] | None = None
    scale: float = 1.0
    seats: Seats | None = None
    anchored: bool = False

    @classmethod
    def fit(
        cls,
        X: Float[np.ndarray, "n d"],
        expected: Float[np.ndarray, "n a"],
        orders: list[Order],
        prefix_errors: list[Float[np.ndarray, "n K"]],
        *,
        weighed: bool = False,
        weights: Float[np.ndarray, " n"] | None = None,
        random_state: int = 0,
    ) -> "Curve":
        """Return the curve that the rankings of several prices teach, and the errors of their committees.

        A committee that cannot be scored, because a member was not asked, takes no part: its row is left out.

        Args:
            X: shape (n, d).
            expected: shape (n, |A|).
            orders: one a price, each of shape (n, K).
            prefix_errors: what their committees of every size got, likewise.
            weighed: whether the errors are what mistakes cost, some more than others.
            weights: shape (n,), how many queries each row stands for; one, unless said.
            random_state: the seed.
        """
        from sklearn.ensemble import ExtraTreesRegressor  # noqa: PLC0415 - to learn alone: it takes long to import

        inputs = np.concatenate([_layout(in_order(expected, o), o[:, :_FIRST], expected, X) for o in orders])
        targets = np.concatenate(prefix_errors)
        known = np.flatnonzero(~np.isnan(targets).any(axis=1))
        if len(known) > _MOST_ROWS:
            known = np.random.default_rng(random_state).choice(known, _MOST_ROWS, replace=False)
        if len(known) < _FEWEST_ROWS:
            # Too few whole committees to learn from: their means, and never a size that no row could score.
            scored = (~np.isnan(targets)).sum(axis=0)
            total = np.where(np.isnan(targets), 0.0, targets).sum(axis=0)
            return cls(None, np.divide(total, scored, out=np.full(len(total), np.inf), where=scored > 0))
        wanted = _LEAF_OF_SHARES if weighed or np.isin(targets[known], (0.0, 1.0)).all() else _LEAF
        # A query is there once for each price, with much the same errors: its copies are no further evidence.
        copies = len(known) / len(X)
        forest: Any = ExtraTreesRegressor(
            _TREES,
            min_samples_leaf=max(1, round(min(wanted, max(_LEAF, len(X) // 50)) * copies)),
            max_features=max(1, min(inputs.shape[1] // 2, _MOST_TRIED)),
            random_state=random_state,
        )
        stands = None if weights is None else np.tile(weights, len(orders))[known]
        return cls(grow(forest, inputs[known], targets[known] if targets.shape[1] > 1 else targets[known, 0], stands))

    def predict(
        self, X: Float[np.ndarray, "n d"], expected: Float[np.ndarray, "n a"], order: Order
    ) -> Float[np.ndarray, "n K"]:
        """Return D_x(k) for every k, shape (n, K)."""
        if self.seats is None:
            return self._predict(X, expected, order)
        if self.seats.new.all():
            # Nobody is left of whom it was learned: a committee is then as good as its best.
            return np.minimum.accumulate(in_order(expected, order), axis=1)
        old = self.seats.old(expected, order)
        return self.seats.walked(self._predict(X, expected, old), expected, order, old)

    def _predict(
        self, X: Float[np.ndarray, "n d"], expected: Float[np.ndarray, "n a"], order: Order
    ) -> Float[np.ndarray, "n K"]:
        """The same of those it was learned with."""
        alone = in_order(expected, order)
        if self.means is not None:
            found = np.tile(self.scale * self.means, (len(X), 1))
        else:
            first, everybody = order[:, :_FIRST], expected
            if self.seats is not None:
                first, everybody = self.seats.first[first], expected[:, self.seats.block]
            inputs = _layout(alone, first, everybody, X)
            found = self.scale * self.forest.predict(inputs).reshape(len(X), -1)
        if not self.anchored:
            return found
        begin = found[:, :1]
        return alone[:, :1] * np.divide(found, begin, out=np.ones_like(found), where=np.isfinite(begin) & (begin > 0))

    def of_one(self, x: Float[np.ndarray, " d"], expected: list[float], order: list[int]) -> list[float]:
        """Return the same for one query, in plain numbers."""
        if self.seats is not None or self.anchored:
            return self.predict(x[None], np.array([expected]), np.array([order]))[0].tolist()
        if self.means is not None:
            return (self.scale * self.means).tolist()
        inputs = _layout([expected[j] for j in order], order[:_FIRST], expected, x)
        return (self.scale * self.forest.predict(inputs[None])[0]).tolist()

    def to_state(self) -> State:
        """Return the curve as a graph, or as means."""
        plain = {"scale": self.scale, "anchored": self.anchored}
        if self.means is not None:
            return State(plain=plain, arrays={"means": self.means}).hold(seats=self.seats)
        return State(plain=plain, graphs={"curve": graph_of_forest(self.forest)}).hold(seats=self.seats)

    @classmethod
    def from_state(cls, state: State) -> "Curve":
        """Return the curve that `to_state` wrote."""
        scale, seats = float(state.plain["scale"]), state.read("seats")
        # Policies of before say nothing of it.
        anchored = bool(state.plain.get("anchored", False))
        if "means" in state.arrays:
            means = state.arrays["means"]
            if means.ndim != 1 or not means.size or np.isnan(means).any():
                raise InvalidInputError(f"`means` must hold a number for each size, got shape {means.shape}.")
            return cls(None, means, scale, seats, anchored)
        return cls(TreeModel(state.graphs["curve"]), None, scale, seats, anchored)


def _layout(ranked: ArrayLike, first: ArrayLike, expected: ArrayLike, X: ArrayLike) -> np.ndarray:
    """What the curve is learned from: expected errors in the order, who comes first, everybody's, and the features."""
    parts: Any = [ranked, first, expected, X]
    return np.concatenate(parts, axis=-1, dtype=np.float32)

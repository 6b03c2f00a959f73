"""How many to ask: D_x(k), the expected error of the committee of the k best, learned once for every price."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.ensemble import ExtraTreesRegressor

from askwho._types import Order
from askwho.selection import in_order

_MOST_ROWS = 24_000
# Of many features, as text has, so many are tried at a split: half of them would take long and find the same.
_MOST_TRIED = 64
# Queries a leaf: a share of wrong answers is only worth its name over a score of them; numbers vary less.
_LEAF_OF_SHARES, _LEAF = 20, 5
# So many rows go through the forest together.
_TOGETHER = 1 << 15


class Curve:
    """From a query's ranking and expected errors to the expected error of each of its committees.

    Args:
        trees: how many.
        leaf: the fewest queries in a leaf, a fiftieth of a small log; by the kind of errors, unless said.
        random_state: the seed.
    """

    def __init__(self, *, trees: int = 48, leaf: int | None = None, random_state: int = 0) -> None:
        self.trees = trees
        self.leaf = leaf
        self.random_state = random_state

    fallback_: np.ndarray | None

    def fit(
        self,
        X: Float[np.ndarray, "n d"],
        expected: Float[np.ndarray, "n a"],
        orders: list[Order],
        prefix_errors: list[Float[np.ndarray, "n K"]],
    ) -> "Curve":
        """Learn from the rankings that several prices give, and the errors of their committees.

        A committee that cannot be scored, because a member was not asked, takes no part: its row is left out.
        """
        inputs = np.concatenate([_inputs(X, expected, order) for order in orders])
        targets = np.concatenate(prefix_errors)
        # The first entity's own expected error is the best guess at k = 1; the forest learns what is added to it.
        known = np.flatnonzero(~np.isnan(targets).any(axis=1))
        if len(known) > _MOST_ROWS:
            known = np.random.default_rng(self.random_state).choice(known, _MOST_ROWS, replace=False)
        self.fallback_ = None
        if len(known) < 50:
            # Too few whole committees to learn from: their means, and never a size that no row could score.
            scored = (~np.isnan(targets)).sum(axis=0)
            total = np.where(np.isnan(targets), 0.0, targets).sum(axis=0)
            self.fallback_ = np.divide(total, scored, out=np.full(len(total), np.inf), where=scored > 0)
        if self.fallback_ is None:
            wanted = self.leaf or (_LEAF_OF_SHARES if np.isin(targets[known], (0.0, 1.0)).all() else _LEAF)
            # A query is there once for each price, with much the same errors: its copies are no further evidence.
            copies = len(known) / len(X)
            self.forest_: Any = ExtraTreesRegressor(
                self.trees,
                min_samples_leaf=max(1, round(min(wanted, max(_LEAF, len(X) // 50)) * copies)),
                max_features=max(1, min(inputs.shape[1] // 2, _MOST_TRIED)),
                random_state=self.random_state,
                n_jobs=2,
            ).fit(inputs[known], targets[known] if targets.shape[1] > 1 else targets[known, 0])
            # Threads add the trees up in any order, and sums of floats depend on it: one thread repeats itself.
            self.forest_.set_params(n_jobs=1)
        return self

    def predict(
        self, X: Float[np.ndarray, "n d"], expected: Float[np.ndarray, "n a"], order: Order
    ) -> Float[np.ndarray, "n K"]:
        """Return D_x(k) for every k, shape (n, K)."""
        if self.fallback_ is not None:
            return np.broadcast_to(self.fallback_, order.shape).copy()
        return self.forest_.predict(_inputs(X, expected, order)).reshape(len(X), -1)

    def sizes(
        self,
        X: Float[np.ndarray, "n d"],
        expected: Float[np.ndarray, "n a"],
        order: Order,
        fees: Float[np.ndarray, "n a"],
        fee_weight: float,
        *,
        width: int,
    ) -> Int[np.ndarray, " n"]:
        """Return argmin_k D_x(k) + λ S_k over k up to `width`, shape (n,)."""
        return _within(self.predict(X, expected, order), width, order, fees, fee_weight)

    def size_of_one(
        self,
        x: Float[np.ndarray, " d"],
        expected: list[float],
        order: list[int],
        fees: list[float],
        fee_weight: float,
    ) -> int:
        """Return the same for one query, in plain numbers."""
        if self.fallback_ is not None:
            curve = self.fallback_.tolist()
        else:
            about = [expected[j] for j in order] + order[:3] + expected
            curve = self.forest_.predict(np.concatenate([about, x], dtype=np.float32)[None]).ravel().tolist()
        paid, best, size = 0.0, np.inf, 1
        for k, j in enumerate(order):
            paid += fees[j]
            cost = curve[k] + fee_weight * paid
            if cost < best:
                best, size = cost, k + 1
        return size

    def sizes_at(
        self,
        X: Float[np.ndarray, "n d"],
        expected: Float[np.ndarray, "n a"],
        orders: Sequence[Order],
        fees: Float[np.ndarray, "n a"],
        fee_weights: Sequence[float],
        *,
        width: int,
    ) -> Int[np.ndarray, "p n"]:
        """Return the same at several prices, each with its own order, shape (p, n)."""
        found: list[np.ndarray] = []
        step = max(1, _TOGETHER // len(X))
        for start in range(0, len(orders), step):
            block = orders[start : start + step]
            many = len(block)
            curves = self.predict(np.tile(X, (many, 1)), np.tile(expected, (many, 1)), np.concatenate(block))
            rates = fee_weights[start : start + step]
            each = zip(np.split(curves, many), block, rates, strict=True)
            found += [_within(curve, width, order, fees, rate) for curve, order, rate in each]
        return np.stack(found)


def _within(
    curve: Float[np.ndarray, "n K"], width: int, order: Order, fees: Float[np.ndarray, "n a"], fee_weight: float
) -> Int[np.ndarray, " n"]:
    """The best size up to `width`."""
    if width < curve.shape[1]:
        curve[:, width:] = np.inf
    return best_k(curve, in_order(fees, order).cumsum(axis=1), fee_weight)


def best_k(
    expected_errors: Float[np.ndarray, "n K"], fees: Float[np.ndarray, "n K"], fee_weight: float
) -> Int[np.ndarray, " n"]:
    """Return argmin_k D_x(k) + λ S_k, shape (n,), ties to the smaller k."""
    return (expected_errors + fee_weight * fees).argmin(axis=1) + 1


def _inputs(X: np.ndarray, expected: np.ndarray, order: np.ndarray) -> np.ndarray:
    return np.concatenate([in_order(expected, order), order[:, :3], expected, X], axis=1, dtype=np.float32)

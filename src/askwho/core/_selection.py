"""Whom to ask: rankings, and the top k of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._fast import loops
from askwho._types import FloatTable, Order
from askwho.core._panel import Panel
from askwho.exceptions import InvalidInputError, missing_dependency

if TYPE_CHECKING:
    import pandas as pd

# Rows are ranked in blocks of about this many cells, so that the work stays in the processor's cache.
_BLOCK_CELLS = 1 << 18
# The kinds of cells that compiled loops know: truths, whole numbers, floating ones.
_PLAIN = "biuf"
# Instead of which rows: one after the other.
_ONE_BY_ONE = np.empty(0, dtype=np.intp)
# Of more entities sorting by insertion, as compiled loops do, takes longer than NumPy's own.
_FEW = 24
# So many numbers, and more, NumPy adds in pairs, and not one after the other.
_PAIRED = 8


def rank(scores: ArrayLike) -> Order:
    """Return the full order of the entities, best first, shape (n, |A|): the paper's [i]↓π.

    Ties go to the smaller index (paper, Appendix A.13).

    >>> rank([[0.1, 0.7, 0.7]])
    array([[1, 2, 0]])
    """
    return np.argsort(-check.table(scores, "scores"), axis=1, kind="stable")


@dataclass(frozen=True, eq=False)
class Selection:
    """The entities to ask for each query, best first, and how many of them: the paper's Π_k(x).

    Args:
        panel: who can be asked.
        order: shape (n, k_max), indices into the panel, best first.
        k: shape (n,), how many of the order to ask; between 1 and k_max.
        scores: shape (n, |A|), the scores that ranked them.
        fees: shape (n, |A|), what each charges for each query.
    """

    panel: Panel
    order: Order
    k: Int[np.ndarray, " n"]
    scores: FloatTable
    fees: FloatTable

    def __post_init__(self) -> None:
        for array in (self.order, self.k, self.scores, self.fees):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def within(self) -> Bool[np.ndarray, "n K"]:
        """Which ranks are asked, shape (n, k_max)."""
        return np.arange(self.order.shape[1]) < self.k[:, None]

    @property
    def members(self) -> Bool[np.ndarray, "n a"]:
        """Which entities are asked, shape (n, |A|): 1{j ∈ Π_k(x)}."""
        asked = np.zeros(self.scores.shape, dtype=bool)
        np.put_along_axis(asked, self.order, self.within, axis=1)
        return asked

    @property
    def fee(self) -> Float[np.ndarray, " n"]:
        """What each query's committee charges, shape (n,)."""
        return np.where(self.members, self.fees, 0.0).sum(axis=1)

    def names(self, i: int) -> tuple[str, ...]:
        """Return the names of the entities to ask for query i, best first.

        >>> panel = Panel.two_stage({"a": 0.5, "b": 2.0})
        >>> select_top_k([[0.1, 0.9, 0.3]], 2, panel=panel).names(0)
        ('a', 'b')
        """
        self._check_query(i)
        return tuple(self.panel.names[j] for j in self.order[i, : self.k[i]])

    def _check_query(self, i: int) -> None:
        if not -len(self) <= i < len(self):
            raise InvalidInputError(f"`i` must be a query between 0 and {len(self) - 1}, got {i}.")

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return query, rank (from 1), entity, kind, score and fee of each entity asked, each of shape (asked,).

        Any table library takes it: `polars.DataFrame(selection.to_columns())`.
        """
        query, ranks = np.nonzero(self.within)
        entity = self.order[query, ranks]
        return {
            "query": query,
            "rank": ranks + 1,
            "entity": np.array(self.panel.names)[entity],
            "kind": np.array([member.kind for member in self.panel.entities])[entity],
            "score": self.scores[query, entity],
            "fee": self.fees[query, entity],
        }

    def to_frame(self) -> "pd.DataFrame":
        """Return `to_columns` as a pandas DataFrame."""
        try:
            import pandas as pd  # noqa: PLC0415 - the one seam to this optional dependency
        except ImportError:
            raise missing_dependency("Selection.to_frame", "pandas", "pandas") from None
        return pd.DataFrame(self.to_columns())


def select_top_k(scores: ArrayLike, k: int, *, panel: Panel, fees: ArrayLike | None = None) -> Selection:
    """Return the k best entities of every query: the top-k selection set (paper, Definition 4.1).

    Only the k best are ever sorted.

    Args:
        scores: shape (n, |A|), higher is asked earlier; ties to the smaller index.
        k: how many to ask, between 1 and |A|.
        panel: who can be asked.
        fees: shape (|A|,) or (n, |A|) where they differ from the panel's.
    """
    table = _scores_of(scores, panel)
    if not isinstance(k, int | np.integer | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"`k` must be one number, got {k!r}: `select_adaptive` takes one for each query.")
    size = int(check.cardinalities(k, 1, len(panel))[0])
    return Selection(
        panel=panel,
        order=_best(table, size),
        k=np.full(len(table), size, dtype=np.intp),
        scores=table,
        fees=fees_table(fees, panel, len(table)),
    )


def select_adaptive(
    scores: ArrayLike, k_per_row: ArrayLike, *, panel: Panel, fees: ArrayLike | None = None
) -> Selection:
    """Return the k(x) best entities of each query: the top-k(x) selection set (paper, Section 5).

    Args:
        scores: shape (n, |A|), higher is asked earlier; ties to the smaller index.
        k_per_row: shape (n,), how many to ask for each query.
        panel: who can be asked.
        fees: shape (|A|,) or (n, |A|) where they differ from the panel's.
    """
    table = _scores_of(scores, panel)
    k = check.cardinalities(k_per_row, len(table), len(panel))
    return Selection(
        panel=panel,
        order=_best(table, int(k.max())),
        k=k,
        scores=table,
        fees=fees_table(fees, panel, len(table)),
    )


def fees_table(fees: ArrayLike | None, panel: Panel, n: int) -> FloatTable:
    """Return fees of shape (n, |A|): the panel's, one for each entity, or one for each query and entity."""
    if fees is None:
        return np.broadcast_to(panel.fees, (n, len(panel)))
    names = getattr(fees, "index", None)
    if isinstance(names, Iterable) and not hasattr(fees, "columns"):
        check.columns(list(names), panel.names, "fees")
    # A copy: a selection freezes its arrays, and the caller's must stay free.
    array = np.array(check.numeric(fees, "fees"))
    if array.ndim == 1:
        array = check.table(array[None], "fees", entities=panel.names)
    else:
        check.table(fees, "fees", entities=panel.names)
        check.same_shape(array, "fees", (n, len(panel)), "one row for each query")
    if (array[:, panel.is_kind("reject")] > 0).any():
        raise InvalidInputError(
            f"`fees` must be 0 for a reject entity, got {array[:, panel.is_kind('reject')].max():g}: abstaining costs "
            "error, not money."
        )
    return np.broadcast_to(check.nonnegative(array, "fees"), (n, len(panel)))


def in_order(table: np.ndarray, order: Order, rows: Int[np.ndarray, " m"] | None = None) -> np.ndarray:
    """Return a table (n, |A|) with its columns in rank order, shape (n, k_max); of some rows (m,), where given."""
    fast = loops(len(order))
    if fast is not None and table.dtype.kind in _PLAIN:
        found = np.empty(order.shape, dtype=table.dtype)
        fast.gathered(np.ascontiguousarray(table), _ONE_BY_ONE if rows is None else rows, order, found)
        return found
    if rows is not None:
        return table[rows[:, None], order]
    if len(table) == 1:
        return table[0].take(order)  # one decision at a time is timed in microseconds
    return table[np.arange(len(table))[:, None], order]


def running(table: np.ndarray) -> np.ndarray:
    """Return the sums of the first k columns, for every k, of the same shape: by columns, as few rows are long."""
    found = table.astype(np.result_type(table, np.intp) if table.dtype.kind == "b" else table.dtype)
    for k in range(1, found.shape[1]):
        found[:, k] += found[:, k - 1]
    return found


def summed(table: Float[np.ndarray, "n a"]) -> Float[np.ndarray, " n"]:
    """Return the sum of each row, shape (n,): of few numbers by columns, in the order in which NumPy adds them, too."""
    if not 0 < table.shape[1] < _PAIRED:
        return table.sum(axis=1)
    found = table[:, 0].copy()
    for k in range(1, table.shape[1]):
        found += table[:, k]
    return found


def argsorted(table: Float[np.ndarray, "n a"]) -> Int[np.ndarray, "n a"]:
    """Return the columns of each row from the smallest cell up, shape (n, |A|), ties to the smaller index."""
    fast = loops(len(table))
    if fast is None or table.shape[1] > _FEW:
        return table.argsort(axis=1, kind="stable")
    order = np.empty(table.shape, dtype=np.intp)
    fast.argsorted(table, order)
    return order


def orders_by_price(
    worth: Float[np.ndarray, "n a"],
    fees: Float[np.ndarray, "n a"],
    absent: Float[np.ndarray, "n a"] | None,
    prices: Sequence[float],
    width: int,
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m K"], Int[np.ndarray, "p n"]]:
    """Return `distinct_orders` of the first `width` at several prices, from the least cost up.

    Args:
        worth: what each entity costs without its fee.
        fees: what each charges.
        absent: what is added to the cost of who comes last.
        prices: λ, shape (p,).
        width: how many of an order are told.
    """
    n, size = worth.shape
    fast = loops(n)
    if fast is None or size > _FEW:
        costs = (worth + price * fees for price in prices)
        return distinct_orders([argsorted(each if absent is None else each + absent)[:, :width] for each in costs])
    # So many at the most; memory that nothing is written to is not taken.
    rows, order = np.empty(n * len(prices), dtype=np.intp), np.empty((n * len(prices), width), dtype=np.intp)
    place, rest = np.empty((len(prices), n), dtype=np.intp), np.empty((0, size)) if absent is None else absent
    tables = (np.ascontiguousarray(each) for each in (worth, fees, rest))
    count = fast.orders(*tables, np.array(prices, dtype=np.float64), rows, order, place)
    return rows[:count].copy(), order[:count].copy(), place


def distinct_orders(
    orders: Sequence[Order],
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m K"], Int[np.ndarray, "p n"]]:
    """Return the orders of queries at several prices, each once for as long as it stays the same.

    As fees weigh more a query's order changes a few times, and not at every price.

    Args:
        orders: at each of p prices, shape (n, K).

    Returns:
        which query each is of, shape (m,); the orders, shape (m, K); and where each query's is at each price, (p, n).
    """
    first = orders[0]
    place = np.arange(len(first))
    rows, found, places, count = [place], [first], [place], len(first)
    for before, order in pairwise(orders):
        if order is not before:
            moved = np.flatnonzero((order != before).any(axis=1))
            place = place.copy()
            place[moved] = count + np.arange(len(moved))
            rows.append(moved)
            found.append(order[moved])
            count += len(moved)
        places.append(place)
    return np.concatenate(rows), np.concatenate(found), np.stack(places)


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """The first k columns of `rank`, block by block, sorting no more than k cells of a row."""
    n, size = scores.shape
    rows = max(1, _BLOCK_CELLS // size)
    order = np.empty((n, k), dtype=np.intp)
    for start in range(0, n, rows):
        block = scores[start : start + rows]
        order[start : start + rows] = rank(block) if k == size else _best_of_block(block, k)
    return order


def _best_of_block(scores: np.ndarray, k: int) -> np.ndarray:
    threshold = np.partition(scores, -k, axis=1)[:, -k, None]
    above, level = scores > threshold, scores == threshold
    # Of the entities level with the k-th best, those with the smallest indices fill the places left.
    places = k - above.sum(axis=1, keepdims=True)
    best = above | (level & (np.cumsum(level, axis=1) <= places))
    chosen = np.flatnonzero(best).reshape(-1, k) % scores.shape[1]
    best_first = np.argsort(-in_order(scores, chosen), axis=1, kind="stable")
    return in_order(chosen, best_first)


def _scores_of(scores: ArrayLike, panel: Panel) -> np.ndarray:
    # A copy: a selection freezes its arrays, and the caller's must stay free.
    return np.array(check.table(scores, "scores", entities=panel.names))

"""What asking came to, query by query, and how it is read from tables with a column for each size."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from askwho.core import in_order


@dataclass(frozen=True, eq=False)
class Taken:
    """What asking in turn came to at one price, query by query.

    Args:
        errors: shape (n,); NaN where somebody was to be asked whose answer the log does not have.
        fees: shape (n,), what was charged; NaN likewise.
        order: shape (n, depth), who was asked, −1 after the last.
        values: shape (n,), what was decided; whatever stands where errors are not known is to be ignored.
    """

    errors: Float[np.ndarray, " n"]
    fees: Float[np.ndarray, " n"]
    order: Int[np.ndarray, "n d"]
    values: Shaped[np.ndarray, " n"]

    @property
    def sizes(self) -> Int[np.ndarray, " n"]:
        """How many were asked, shape (n,)."""
        return (self.order >= 0).sum(axis=1)

    def at(self, chosen: Int[np.ndarray, " m"]) -> "Taken":
        """Return the same of some."""
        return Taken(self.errors[chosen], self.fees[chosen], self.order[chosen], self.values[chosen])

    @classmethod
    def together(cls, parts: "Sequence[Taken]") -> "Taken":
        """Return what came of one part of the queries after the other."""
        columns = ([each.errors, each.fees, each.order, each.values] for each in parts)
        return cls(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def members_of(order: Int[np.ndarray, "n K"], sizes: Int[np.ndarray, " n"], count: int) -> Bool[np.ndarray, "n a"]:
    """Return who is among the first of each query's order, shape (n, |A|); −1 is nobody."""
    inside = (np.arange(order.shape[1]) < sizes[:, None]) & (order >= 0)
    found = np.zeros((len(order), count + 1), dtype=bool)
    np.put_along_axis(found, np.where(inside, order, count), values=True, axis=1)
    return found[:, :count]


def at_size(per_k: Shaped[np.ndarray, "n K"], sizes: Int[np.ndarray, " n"]) -> Shaped[np.ndarray, " n"]:
    """Return each query's entry at its own size, shape (n,), out of a table with one column for each k."""
    return in_order(per_k, sizes[:, None] - 1)[:, 0]

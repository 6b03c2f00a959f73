"""How far off others were on the same query: what is not known of a committee that was not asked."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho.core import in_order


@dataclass(frozen=True, eq=False)
class Others:
    """Squares of what came beyond what was expected, of everybody who was asked, in parts of what is expected of all.

    Of numbers a few queries may decide the mean, and a committee that was asked about none of them knows nothing of
    it: its own rows vary little. But who else was asked about such a query shows that it is one.

    Args:
        squares: shape (n, |A|), 0 where an error is not known.
        known: shape (n, |A|), where it is.
    """

    squares: Float[np.ndarray, "n a"]
    known: Bool[np.ndarray, "n a"]

    @classmethod
    def of(cls, errors: Float[np.ndarray, "n a"], expected: Float[np.ndarray, "n a"]) -> "Others":
        """Return them.

        Args:
            errors: shape (n, |A|), NaN where they are not known.
            expected: shape (n, |A|), of models that did not see the row.
        """
        known = ~np.isnan(errors)
        return cls(np.square(np.where(known, errors - expected, 0.0) / max(float(expected.mean()), 1e-12)), known)

    def beyond(self, expected: Float[np.ndarray, " n"], members: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, " n"]:
        """Return the square of what may come beyond what is expected of some, by those who are not among them."""
        outside = self.known & ~members
        return self._beyond(expected, np.where(outside, self.squares, 0.0).sum(axis=1), outside.sum(axis=1))

    def prefixes(self, expected: Float[np.ndarray, "n K"], order: Int[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
        """Return the same of the first k of an order, for every k, shape (n, K)."""
        known = self.known.astype(np.float64)
        total, count = (
            each.sum(axis=1, keepdims=True) - np.cumsum(in_order(each, order), axis=1) for each in (self.squares, known)
        )
        return self._beyond(expected, total, count)

    def _beyond(self, expected: np.ndarray, total: np.ndarray, count: np.ndarray) -> np.ndarray:
        # Where nobody else was asked, as everywhere in the mean.
        usual = float(self.squares.sum()) / max(1, int(self.known.sum()))
        found = np.where(count > 0, np.maximum(total, 0.0) / np.maximum(count, 1), usual)
        return np.square(expected.mean(axis=0)) * found

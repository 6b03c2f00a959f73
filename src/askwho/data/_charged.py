"""What everybody charges, query by query, and where nobody told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho._types import FloatTable
from askwho.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class Charged:
    """What each entity charges for each query.

    Args:
        fees: shape (n, |A|), what each charged, or would have.
        untold: shape (n, |A|), where no cell told it, so that the mean of the told ones stands in, or what was foretold
            of the query; None where all did.
        robust: shape (n, |A|), what stands for `fees` in a mean over queries, whoever is asked before anything is
            heard; None where every fee was told, or nothing is known of who was.
    """

    fees: FloatTable
    untold: Bool[np.ndarray, "n a"] | None = None
    robust: FloatTable | None = None

    @classmethod
    def of(cls, told: FloatTable, usual: Float[np.ndarray, " a"] | None = None) -> "Charged":
        """Return what is charged where some cells are empty: who was not asked charged nothing.

        Args:
            told: shape (n, |A|), NaN where a cell is empty.
            usual: shape (|A|,), what stands in; the mean of the told ones, unless said.
        """
        untold = np.isnan(told)
        if usual is None and untold.all(axis=0).any():
            raise InvalidInputError("`fees` must hold a fee of every entity at least once, got an empty column.")
        mean = np.nanmean(told, axis=0) if usual is None else usual
        return cls(np.where(untold, mean, told), untold if untold.any() else None)

    @property
    def usual(self) -> Float[np.ndarray, " a"]:
        """What each charges in the mean; a constant fee is itself: its mean over rows is off in the last digits."""
        if self.robust is not None:
            return np.maximum(self.robust.mean(axis=0), 0.0)
        return self.fees[0] if (self.fees == self.fees[0]).all() else self.fees.mean(axis=0)

    @property
    def told(self) -> FloatTable:
        """What was charged, shape (n, |A|), NaN where no cell told it."""
        return self.fees if self.untold is None else np.where(self.untold, np.nan, self.fees)

    @property
    def in_means(self) -> FloatTable:
        """What stands for fees in a mean over queries, whoever is asked before anything is heard, shape (n, |A|)."""
        return self.fees if self.robust is None else self.robust

    def foretold(self, expected: FloatTable, weights: FloatTable) -> "Charged":
        """Return the same with what the queries foretell where nobody told: of dear queries more, where they are dear.

        In a mean each fee is what was expected and the weighed rest of what was charged, so that it is right where
        either the model or the weights are (Robins, Rotnitzky and Zhao 1994).

        Args:
            expected: shape (n, |A|), of models that did not see the row.
            weights: shape (n, |A|), one by the probability that a fee is told; 0 where none is.
        """
        if self.untold is None:
            return self
        # Truncated at √n (Ionides 2008): no single row stands for more.
        weights = np.minimum(weights, np.sqrt(len(weights)))
        robust = expected + np.where(self.untold, 0.0, weights * (self.fees - expected))
        # Those that are foretold come to what is left of the whole in the mean.
        left = robust.sum(axis=0) - np.where(self.untold, 0.0, self.fees).sum(axis=0)
        thought = np.where(self.untold, expected, 0.0).sum(axis=0)
        scale = np.divide(np.maximum(left, 0.0), thought, out=np.ones(len(left)), where=thought > 0)
        return Charged(np.where(self.untold, expected * scale, self.fees), self.untold, robust)

    @property
    def guessed(self) -> bool:
        """Whether some of it was never told."""
        return self.untold is not None and bool(self.untold.any())

    def rows(self, index: Any) -> "Charged":  # noqa: ANN401 - whatever picks rows of an array
        """Return what is charged for some of the queries."""
        return self._each(lambda table: table[index])

    def seated(self, at: Int[np.ndarray, " a"]) -> "Charged":
        """Return the same with the entities in another order."""
        return self._each(lambda table: table[:, at])

    def alone(self) -> "Charged":
        """Return the same with what these rows alone tell where nobody did."""
        return self if self.untold is None else Charged.of(self.told)

    def behind(self, more: int) -> "Charged":
        """Return the same behind newcomers who charge nothing."""
        return self._each(lambda table: np.hstack([np.zeros((len(table), more), dtype=table.dtype), table]))

    def _each(self, change: Callable[[np.ndarray], np.ndarray]) -> "Charged":
        robust, untold = (None if table is None else change(table) for table in (self.robust, self.untold))
        return Charged(change(self.fees), untold, robust)

"""What everybody charges, query by query, and where nobody told."""

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
        untold: shape (n, |A|), where no cell told it, so that the mean of the told ones stands in; None where all did.
    """

    fees: FloatTable
    untold: Bool[np.ndarray, "n a"] | None = None

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
        return self.fees[0] if (self.fees == self.fees[0]).all() else self.fees.mean(axis=0)

    @property
    def guessed(self) -> bool:
        """Whether some of it was never told."""
        return self.untold is not None and bool(self.untold.any())

    def rows(self, index: Any) -> "Charged":  # noqa: ANN401 - whatever picks rows of an array
        """Return what is charged for some of the queries."""
        return Charged(self.fees[index], None if self.untold is None else self.untold[index])

    def seated(self, at: Int[np.ndarray, " a"]) -> "Charged":
        """Return the same with the entities in another order."""
        return Charged(self.fees[:, at], None if self.untold is None else self.untold[:, at])

    def alone(self) -> "Charged":
        """Return the same with what these rows alone tell where nobody did."""
        return self if self.untold is None else Charged.of(np.where(self.untold, np.nan, self.fees))

    def behind(self, more: int) -> "Charged":
        """Return the same behind newcomers who charge nothing."""
        n = len(self.fees)
        untold = None if self.untold is None else np.hstack([np.zeros((n, more), dtype=bool), self.untold])
        return Charged(np.hstack([np.zeros((n, more)), self.fees]), untold)

"""What asking in turn came to at many prices, and what it would have, where the log had nobody left to hear."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho.replay._taken import Taken


@dataclass(frozen=True, eq=False)
class Walked:
    """What asking in turn came to, query by query, at each of p prices; each of shape (p, n).

    Args:
        errors: NaN where an answer is missing, or the truth.
        fees: what was charged, or is imagined to be; NaN where neither is known.
        sizes: how many were asked; of what is imagined the mean.
        outside: how many of them were experts, whom somebody must ask; likewise.
        weights: what a row weighs; 1 where everybody was asked.
        seen: where the end was seen, and neither imagined nor missed.
        variance: of an error that is imagined; 0 elsewhere.
        spread: how far a fee that is imagined differs by what is imagined (standard deviation); 0 elsewhere.
    """

    errors: Float[np.ndarray, "p n"]
    fees: Float[np.ndarray, "p n"]
    sizes: Float[np.ndarray, "p n"]
    outside: Float[np.ndarray, "p n"]
    weights: Float[np.ndarray, "p n"]
    seen: Bool[np.ndarray, "p n"]
    variance: Float[np.ndarray, "p n"]
    spread: Float[np.ndarray, "p n"]

    @classmethod
    def of(cls, taken: Taken, place: Int[np.ndarray, "p n"], experts: Bool[np.ndarray, " a"]) -> "Walked":
        """Return the ends as each price comes to them.

        Args:
            taken: each end once.
            place: shape (p, n), which of them a query has at a price.
            experts: shape (|A|,), whom somebody must ask.
        """
        outside = ((taken.order >= 0) & experts[np.maximum(taken.order, 0)]).sum(axis=1)
        return cls(
            errors=taken.errors[place],
            fees=taken.fees[place],
            sizes=taken.sizes.astype(np.float64)[place],
            outside=outside.astype(np.float64)[place],
            weights=np.ones(place.shape),
            seen=~np.isnan(taken.fees)[place],
            variance=np.zeros(place.shape),
            spread=np.zeros(place.shape),
        )

    def beyond(
        self,
        draws: "Sequence[Walked]",
        rows: Int[np.ndarray, " m"],
        missing: Bool[np.ndarray, "p n"],
        ended: Bool[np.ndarray, "p n"],
    ) -> "Walked":
        """Return the same with what was imagined of some ends.

        Args:
            draws: what asking comes to with imagined answers, of m rows.
            rows: shape (m,), which they are.
            missing: shape (p, n), of which ends it is imagined who is asked, and what is paid.
            ended: shape (p, n), of which of them what is got, too.
        """

        def filled(table: np.ndarray, drawn: np.ndarray, where: np.ndarray = missing) -> np.ndarray:
            found = table.copy()
            found[:, rows] = np.where(where[:, rows], drawn, table[:, rows])
            return found

        errors = np.stack([each.errors for each in draws])
        fees, sizes, outside = (
            np.stack([getattr(each, name) for each in draws]) for name in ("fees", "sizes", "outside")
        )
        return replace(
            self,
            errors=filled(self.errors, errors.mean(axis=0), ended),
            fees=filled(self.fees, fees.mean(axis=0)),
            sizes=filled(self.sizes, sizes.mean(axis=0)),
            outside=filled(self.outside, outside.mean(axis=0)),
            variance=filled(self.variance, errors.var(axis=0, ddof=1), ended),
            spread=filled(self.spread, fees.std(axis=0, ddof=1)),
        )

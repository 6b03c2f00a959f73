"""Points of fee and error: their lower hull, what it costs to reach an error, what a budget buys."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho.exceptions import InvalidInputError

# Sums of as many floats as a log has rows are right to this part of themselves.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Frontier:
    """The lower convex hull of settings: mixing two of them at random reaches every point between.

    As the hull of ROC curves is (Provost and Fawcett 2001); found by a monotone chain (Andrew 1979).

    Args:
        fees: shape (h,), rising.
        errors: shape (h,), falling.
        settings: shape (h,), which of the given points each is.
    """

    fees: Float[np.ndarray, " h"]
    errors: Float[np.ndarray, " h"]
    settings: Int[np.ndarray, " h"]

    @classmethod
    def of(cls, fees: ArrayLike, errors: ArrayLike) -> "Frontier":
        """Return the hull of points given by mean fee and error.

        >>> Frontier.of([0.0, 1.0, 2.0, 3.0], [0.5, 0.4, 0.1, 0.2]).fees
        array([0., 2.])
        """
        x, y = check.numeric(fees, "fees"), check.numeric(errors, "errors")
        check.same_shape(y, "errors", x.shape, "one error for each fee")
        if x.size == 0 or not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InvalidInputError("`fees` and `errors` must be finite, one point at least.")
        hull: list[int] = []
        for i in np.lexsort((y, x)):
            if hull and y[i] >= y[hull[-1]]:
                continue
            while len(hull) > 1 and _above(x, y, hull[-2], hull[-1], int(i)):
                hull.pop()
            hull.append(int(i))
        chosen = np.array(hull)
        return cls(x[chosen], y[chosen], chosen)

    def error_at(self, budget: float) -> float:
        """Return the least error that a mean fee of `budget` buys; NaN below the cheapest setting."""
        if budget < self.fees[0]:
            return float("nan")
        return float(np.interp(budget, self.fees, self.errors))

    def fee_for(self, error: float) -> float:
        """Return the least mean fee that reaches `error`, but for rounding; NaN where nothing does."""
        if error < self.errors[-1] * (1 - _ROUNDING):
            return float("nan")
        return float(np.interp(-error, -self.errors, self.fees))


def stated_budgets(fees: ArrayLike, best_single_fee: float, count: int = 10) -> Float[np.ndarray, " b"]:
    """Return budgets in equal ratios between the cheapest entity and asking everyone, shape (count,).

    Free entities cost nothing and would make the first ratio infinite: the range starts no lower than a fiftieth of the
    best single entity's fee.
    """
    table = check.numeric(fees, "fees")
    low = max(float(table.min()), best_single_fee / 50)
    low = low if low > 0 else float(table[table > 0].min()) / 50 if (table > 0).any() else 1.0
    return np.geomspace(low, max(float(table.sum()), 2 * low), count)


def area(frontier: Frontier, budgets: Float[np.ndarray, " b"]) -> float:
    """Return the mean error over budgets, a budget below the cheapest setting counting as its error."""
    return float(np.mean([frontier.error_at(max(budget, frontier.fees[0])) for budget in budgets]))


def _above(x: np.ndarray, y: np.ndarray, a: int, b: int, c: int) -> bool:
    """Whether point b lies on or above the line from a to c."""
    return bool((y[b] - y[a]) * (x[c] - x[a]) >= (y[c] - y[a]) * (x[b] - x[a]))

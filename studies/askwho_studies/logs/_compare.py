"""Who is better at the same money: hull mixtures row by row, and a paired bootstrap by group."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho.evaluation import Point, table_of
from askwho.metrics import Frontier

SCORED = 0.5
"""A setting that can be scored on a smaller share of rows is left out."""


@dataclass(frozen=True, eq=False)
class Priced:
    """A method on the test rows of one split: its settings, and the hull of their mean fees and errors.

    Errors stay as they are added up: zero-one, or squared for regression. Mixing two settings at random mixes mean
    squared errors linearly, and not their roots.

    Args:
        errors: shape (n, settings), NaN where a decision cannot be scored.
        fees: shape (n, settings).
        means: mean fee and mean error of every setting, each (settings,).
        frontier: the hull.
    """

    errors: Float[np.ndarray, "n s"]
    fees: Float[np.ndarray, "n s"]
    means: tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]
    frontier: Frontier

    @classmethod
    def of(
        cls, points: Sequence[Point], *, fallback: Point | None = None, rows: Bool[np.ndarray, " n"] | None = None
    ) -> "Priced":
        """Return the settings that can be scored, with the hull of all rows or of some.

        Args:
            points: the settings.
            fallback: stands in, with its error and fee, where a decision cannot be scored. Else a method would gain by
                asking those who were not asked about hard queries.
            rows: shape (n,), the rows to take means over; all, unless said.
        """
        errors, fees = table_of(points)
        share = (~np.isnan(errors)).mean(axis=0)
        keep = share >= min(SCORED, float(share.max()))
        errors, fees = errors[:, keep], fees[:, keep]
        chosen = np.ones(len(errors), dtype=bool) if rows is None else rows
        missing, filled, paid = np.isnan(errors), errors, fees
        if fallback is not None:
            filled = np.where(missing, fallback.errors[:, None], errors)
            paid = np.where(missing, fallback.fees[:, None], fees)
        means = _means(filled[chosen], paid[chosen])
        return cls(errors, fees, means, Frontier.of(*means))

    def rows_at(self, budget: float) -> Float[np.ndarray, " n"] | None:
        """Return each row's expected error of the mixture that a mean fee of `budget` buys; None below the cheapest."""
        hull = self.frontier
        # Fees are sums of floats: a budget that equals the cheapest fee must not miss it by the last digit.
        if budget < hull.fees[0] * (1 - 1e-9):
            return None
        right = int(np.searchsorted(hull.fees, budget, side="right"))
        left = max(right - 1, 0)
        first = self.errors[:, hull.settings[left]]
        if right in (left, len(hull.fees)) or budget <= hull.fees[left]:
            return first
        share = (budget - hull.fees[left]) / (hull.fees[right] - hull.fees[left])
        return (1 - share) * first + share * self.errors[:, hull.settings[right]]


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Resamples of a log's groups, the same for every comparison.

    Args:
        group: for each split, the group of each test row, numbered over all splits together.
        weights: shape (draws, groups), how often each group is drawn.
    """

    group: list[Int[np.ndarray, " n"]]
    weights: Float[np.ndarray, "b g"]

    @classmethod
    def of(cls, groups: Sequence[np.ndarray], *, draws: int = 400, seed: int = 0) -> "Bootstrap":
        """Return resamples of the groups that occur on the test side of any split: splits share rows."""
        names, inverse = np.unique(np.concatenate(groups), return_inverse=True)
        rng, count = np.random.default_rng(seed), len(names)
        weights = np.stack([np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(draws)])
        ends = np.cumsum([len(each) for each in groups])[:-1]
        return cls(np.split(inverse.ravel(), ends), weights.astype(np.float32))

    def interval(self, differences: Sequence[np.ndarray]) -> tuple[float, float, float]:
        """Return the mean difference over all splits' rows, and its 95% interval; rows that are NaN do not count."""
        mean, draws = self._drawn(differences)
        low, high = np.quantile(draws, [0.025, 0.975])
        return mean, float(low), float(high)

    def mean(self, differences: Sequence[np.ndarray]) -> tuple[float, float]:
        """Return the same mean, and its standard error."""
        mean, draws = self._drawn(differences)
        return mean, float(draws.std())

    def _drawn(self, differences: Sequence[np.ndarray]) -> tuple[float, np.ndarray]:
        """The mean difference, and that of each resample."""
        total, count = np.zeros(self.weights.shape[1]), np.zeros(self.weights.shape[1])
        for group, difference in zip(self.group, differences, strict=True):
            known = ~np.isnan(difference)
            total += np.bincount(group[known], difference[known], minlength=len(total))
            count += np.bincount(group[known], minlength=len(count))
        # Doubles: a method against itself must come out as exactly nothing.
        draws = (self.weights @ total) / np.maximum(self.weights @ count, 1e-12)
        return float(total.sum() / max(count.sum(), 1e-12)), draws


@dataclass(frozen=True)
class Apart:
    """How far one method is from another in the mean over budgets: the area between them.

    Args:
        mean: our error less theirs.
        error: its standard error, by bootstrap.
        budgets: how many budgets both reach in every split.
    """

    mean: float
    error: float
    budgets: int

    @property
    def p(self) -> float:
        """How likely a difference as large would be, two-sided, were there none."""
        if self.error <= 0:
            return 1.0 if self.mean == 0 else 0.0
        return math.erfc(abs(self.mean) / self.error / math.sqrt(2.0))


@dataclass
class Tally:
    """One method against a rival, budget by budget.

    Args:
        wins: budgets where the interval of (our error − theirs) lies below zero.
        ties: where it holds zero.
        losses: where it lies above zero.
        not_reached: budgets that buy no setting of the rival, in some split.
        missed: budgets that buy no setting of ours, but one of the rival's.
        rows: budget, difference and interval, or None where one of the two has no setting.
    """

    wins: int = 0
    ties: int = 0
    losses: int = 0
    not_reached: int = 0
    missed: int = 0
    rows: list[tuple[float, float, float] | None] = field(default_factory=list[tuple[float, float, float] | None])


def compare(
    mine: Sequence[Sequence[np.ndarray | None]], rival: Sequence[Sequence[np.ndarray | None]], bootstrap: Bootstrap
) -> Tally:
    """Return how a method stands against a rival at each budget, pooled over splits.

    Args:
        mine: for each split and each budget, errors by row, or None where that budget buys nothing.
        rival: likewise.
        bootstrap: of the same splits.
    """
    tally = Tally()
    for ours, theirs in zip(zip(*mine, strict=True), zip(*rival, strict=True), strict=True):
        differences = [a - b for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
        if len(differences) < len(ours):
            if any(each is None for each in theirs):
                tally.not_reached += 1
            else:
                tally.missed += 1
            tally.rows.append(None)
            continue
        mean, low, high = bootstrap.interval(differences)
        tally.rows.append((mean, low, high))
        tally.wins += high < 0
        tally.losses += low > 0
        tally.ties += low <= 0 <= high
    return tally


def apart(
    mine: Sequence[Sequence[np.ndarray | None]], rival: Sequence[Sequence[np.ndarray | None]], bootstrap: Bootstrap
) -> Apart | None:
    """Return how far a method is from a rival over the budgets that both reach, pooled over splits; None where none is.

    Args:
        mine: for each split and each budget, errors by row, or None where that budget buys nothing.
        rival: likewise.
        bootstrap: of the same splits.
    """
    pairs = [
        [None if a is None or b is None else a - b for a, b in zip(ours, theirs, strict=True)]
        for ours, theirs in zip(mine, rival, strict=True)
    ]
    # By budget, those that both reach in every split.
    both = [each for each in zip(*pairs, strict=True) if all(one is not None for one in each)]
    if not both:
        return None
    differences = [np.mean([each[i] for each in both], axis=0) for i in range(len(mine))]
    return Apart(*bootstrap.mean(differences), len(both))


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected for how many there are (Holm 1979), in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=lambda i: p[i])
    found, least = [0.0] * len(p), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(p) - place) * p[i]))
        found[i] = least
    return found


def at_budgets(priced: Priced, budgets: Float[np.ndarray, " b"]) -> list[np.ndarray | None]:
    """Return each row's error at each budget, None where a budget buys nothing."""
    return [priced.rows_at(float(budget)) for budget in budgets]


def at_budgets_blind(
    points: Sequence[Point], fallback: Point, budgets: Float[np.ndarray, " b"], half: Bool[np.ndarray, " n"]
) -> list[np.ndarray | None]:
    """Return the same with settings chosen on the other half of the rows: many settings are no advantage.

    Args:
        points: the method's settings.
        fallback: as in `Priced.of`.
        budgets: shape (b,).
        half: shape (n,), true for one half; groups stay whole.
    """
    first = Priced.of(points, fallback=fallback, rows=~half)
    second = Priced.of(points, fallback=fallback, rows=half)
    out: list[np.ndarray | None] = []
    for budget in budgets:
        here, there = first.rows_at(float(budget)), second.rows_at(float(budget))
        out.append(None if here is None or there is None else np.where(half, here, there))
    return out


def _means(errors: np.ndarray, fees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scored = ~np.isnan(errors)
    count = np.maximum(scored.sum(axis=0), 1)
    return np.where(scored, fees, 0.0).sum(axis=0) / count, np.where(scored, errors, 0.0).sum(axis=0) / count

"""Settings of a policy or a rival as points: what each query's decision got, and what it paid; and their sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Shaped, UInt64

from askwho._splitmix import mixed, step, uniform
from askwho._types import Task
from askwho.data import fingerprints
from askwho.metrics import Frontier

# A group occurs so often or more in a resample with these probabilities, as Poisson's law of mean 1 has it.
_OFTEN = 1 - np.cumsum(np.exp(-1.0) / np.cumprod([1.0, *range(1, 15)]))


@dataclass(frozen=True, eq=False)
class Point:
    """One setting, query by query.

    Args:
        errors: shape (n,), zero-one or squared; NaN where the decision cannot be scored.
        fees: shape (n,), what was paid.
        labels: what to call it: fee weight, k, and the like.
        means: what else is told of it in the mean, each of shape (n,), by name; NaN where a row does not count.
    """

    errors: Float[np.ndarray, " n"]
    fees: Float[np.ndarray, " n"]
    labels: Mapping[str, float] = field(default_factory=dict[str, float])
    means: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict[str, np.ndarray])


@dataclass(frozen=True, eq=False)
class Tally:
    """One setting over any number of rows: the sums that its means are made of. Those of two batches add up.

    Args:
        task: regression takes the root of mean squared errors.
        losses: shape (draws + 1,), sum of errors in the sample and in each resample, over scorable rows.
        scored: shape (draws + 1,), how many rows can be scored.
        fees: shape (draws + 1,), what was paid on those: else a setting could look cheap by rows nobody can judge.
        labels: what to call it.
        means: sum and count of what else is told of it, by name.
    """

    task: Task
    losses: Float[np.ndarray, " b"]
    scored: Float[np.ndarray, " b"]
    fees: Float[np.ndarray, " b"]
    labels: Mapping[str, float]
    means: Mapping[str, tuple[float, int]]

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.task,
            self.losses + other.losses,
            self.scored + other.scored,
            self.fees + other.fees,
            self.labels,
            {name: (total + other.means[name][0], n + other.means[name][1]) for name, (total, n) in self.means.items()},
        )

    @property
    def loss(self) -> Float[np.ndarray, " b"]:
        """Mean errors, shape (draws + 1,); NaN where no row can be scored."""
        return ratio(self.losses, self.scored)

    @property
    def fee(self) -> Float[np.ndarray, " b"]:
        """Mean fees, shape (draws + 1,)."""
        return ratio(self.fees, self.scored)

    def shown(self, loss: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return a mean loss as it is shown, of the same shape: its root for regression."""
        return _shown(loss, self.task)


@dataclass(frozen=True, eq=False)
class Resamples:
    """Bootstrap weights by group, and the means they give.

    Args:
        weights: shape (draws + 1, n); the first row is the sample itself.
        task: regression takes the root of mean squared errors.
    """

    weights: Float[np.ndarray, "b n"]
    task: Task

    @classmethod
    def of(
        cls, groups: Shaped[np.ndarray, " n"], task: Task, *, draws: int = 200, random_state: int = 0
    ) -> "Resamples":
        """Return the sample and `draws` resamples of its groups: the Poisson bootstrap (Chamandy et al. 2012).

        How often a group occurs is Poisson with mean 1 and depends on the group and the seed alone: batches of a log
        that does not fit into memory are resampled as the whole would be.
        """
        key = mixed(_keys(groups) + mixed(np.array([random_state]).astype(np.uint64)))
        weights = np.ones((draws + 1, len(groups)))
        for draw in range(1, draws + 1):
            drawn = uniform(mixed(step(key, draw)))
            weights[draw] = len(_OFTEN) - np.searchsorted(_OFTEN[::-1], drawn, side="right")
        return cls(weights, task)

    def tally(self, points: Sequence[Point]) -> list[Tally]:
        """Return the sums of each setting."""
        errors, fees = table_of(points)
        scored = ~np.isnan(errors)
        losses = self.weights @ np.where(scored, errors, 0.0)
        paid, count = self.weights @ np.where(scored, fees, 0.0), self.weights @ scored
        return [
            Tally(
                self.task,
                losses[:, s],
                count[:, s],
                paid[:, s],
                point.labels,
                {name: (float(np.nansum(v)), int((~np.isnan(v)).sum())) for name, v in point.means.items()},
            )
            for s, point in enumerate(points)
        ]

    def error(self, errors: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "b s"]:
        """Return the error of each setting in each resample, shape (draws + 1, settings), over scorable rows."""
        scored = ~np.isnan(errors)
        return self.shown(ratio(self.weights @ np.where(scored, errors, 0.0), self.weights @ scored))

    def shown(self, loss: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return a mean loss as it is shown, of the same shape: its root for regression."""
        return _shown(loss, self.task)


def table_of(points: Sequence[Point]) -> tuple[np.ndarray, np.ndarray]:
    """Return errors and fees of many settings, each (n, settings)."""
    return np.column_stack([point.errors for point in points]), np.column_stack([point.fees for point in points])


def hulls(tallies: Sequence[Tally]) -> list[Frontier]:
    """Return the frontier of mean losses of the sample, then that of each resample.

    Mixing two settings mixes their losses: for regression the hull is one of squared errors, and roots come after.
    """
    losses, fees = np.column_stack([t.loss for t in tallies]), np.column_stack([t.fee for t in tallies])
    # Of a handful of groups a resample may hold none: the sample stands in for it.
    empty = np.isnan(losses).all(axis=1)
    losses[empty], fees[empty] = losses[0], fees[0]
    keep = ~np.isnan(losses).any(axis=0)
    return [Frontier.of(x[keep], y[keep]) for x, y in zip(fees, losses, strict=True)]


def interval(values: np.ndarray) -> list[float]:
    """Return the middle 95% of resamples, NaN left out: the percentile interval (Efron and Tibshirani 1993)."""
    known = values[~np.isnan(values)]
    return [float(q) for q in np.quantile(known, [0.025, 0.975])] if known.size else [float("nan")] * 2


def _shown(loss: np.ndarray, task: Task) -> np.ndarray:
    return np.sqrt(loss) if task == "regression" else loss


def ratio(above: Float[np.ndarray, "..."], below: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return one by the other, of the same shape; NaN where there is nothing to divide by."""
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _keys(groups: np.ndarray) -> UInt64[np.ndarray, " n"]:
    """A number for each group that does not depend on the others."""
    if groups.dtype.kind in "iu":
        return groups.astype(np.uint64)
    names, place = np.unique(groups.astype(str), return_inverse=True)
    return fingerprints(names.tolist())[place.reshape(-1)]

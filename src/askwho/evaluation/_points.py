"""Settings of a policy or a rival as points: what each query's decision got, and what it paid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from askwho.frontier import Frontier


@dataclass(frozen=True, eq=False)
class Point:
    """One setting, query by query.

    Args:
        errors: shape (n,), zero-one or squared; NaN where the decision cannot be scored.
        fees: shape (n,), what was paid.
        labels: what to call it: fee weight, k, and the like.
    """

    errors: Float[np.ndarray, " n"]
    fees: Float[np.ndarray, " n"]
    labels: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, eq=False)
class Resamples:
    """Bootstrap weights by group, and the means they give.

    Args:
        weights: shape (draws + 1, n); the first row is the sample itself.
        task: regression takes the root of mean squared errors.
    """

    weights: Float[np.ndarray, "b n"]
    task: Literal["classification", "regression"]

    @classmethod
    def of(
        cls,
        groups: np.ndarray,
        task: Literal["classification", "regression"],
        *,
        draws: int = 200,
        random_state: int = 0,
    ) -> "Resamples":
        """Return the sample and `draws` resamples of its groups."""
        _, group = np.unique(groups, return_inverse=True)
        count = int(group.max()) + 1
        rng = np.random.default_rng(random_state)
        times = rng.multinomial(count, np.full(count, 1 / count), size=draws)
        return cls(np.vstack([np.ones(len(group)), times[:, group]]).astype(np.float64), task)

    def error(self, errors: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "b s"]:
        """Return the error of each setting in each resample, shape (draws + 1, settings), over scorable rows."""
        return self.shown(self.loss(errors))

    def shown(self, loss: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return a mean loss as it is shown, of the same shape: its root for regression."""
        return np.sqrt(loss) if self.task == "regression" else loss

    def loss(self, errors: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "b s"]:
        """Return the mean loss of each setting in each resample, shape (draws + 1, settings), over scorable rows."""
        scored = ~np.isnan(errors)
        total, count = self.weights @ np.where(scored, errors, 0.0), self.weights @ scored
        return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)

    def mean(self, values: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "b s"]:
        """Return the mean of each column in each resample, shape (draws + 1, columns)."""
        return self.weights @ values / self.weights.sum(axis=1, keepdims=True)


def table_of(points: Sequence[Point]) -> tuple[np.ndarray, np.ndarray]:
    """Return errors and fees of many settings, each (n, settings)."""
    return np.column_stack([point.errors for point in points]), np.column_stack([point.fees for point in points])


def hulls(points: Sequence[Point], resamples: Resamples) -> list[Frontier]:
    """Return the frontier of mean losses of the sample, then that of each resample.

    Mixing two settings mixes their losses: for regression the hull is one of squared errors, and roots come after.
    """
    errors, fees = table_of(points)
    scored = ~np.isnan(errors)
    # A fee counts on the rows that can be scored: else a setting could look cheap by rows nobody can judge.
    paid = (resamples.weights @ np.where(scored, fees, 0.0)) / np.maximum(resamples.weights @ scored, 1e-12)
    means = resamples.loss(errors)
    keep = ~np.isnan(means).any(axis=0)
    return [Frontier.of(x[keep], y[keep]) for x, y in zip(paid, means, strict=True)]


def interval(values: np.ndarray) -> list[float]:
    """Return the middle 95% of resamples, NaN left out."""
    known = values[~np.isnan(values)]
    return [float(q) for q in np.quantile(known, [0.025, 0.975])] if known.size else [float("nan")] * 2

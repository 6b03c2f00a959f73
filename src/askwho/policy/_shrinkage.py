"""Expected errors drawn to what the entity errs in the mean, and that to the panel's: as far as their variances say."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from askwho._parts import State, part
from askwho.core import summed

# What is borne out is drawn down by two standard errors' square: to follow noise costs more than to miss a little.
_ERRORS = 2.0
# A signal within so many standard errors of nothing is noise: several learners are tried, each in several parts, and
# the best of them is taken: two standard errors are found somewhere in many a log of nothing but noise.
_FEWEST_ERRORS = 3.0
# Rows that the panel's variance counts as beside an entity's own: a variance of twenty is known to a third of itself.
_PRIOR_ROWS = 20.0


@part("shrinkage")
@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Empirical Bayes (Efron and Morris 1973) for errors by query.

    What a learner says of an entity on a query is taken apart: the entity's mean, how much harder than others the query
    is for everybody, and how much harder it is for this entity than for the others. Each part is kept as far as errors
    out of fold bear it out. Where a learner only ever followed noise nothing is left but the means: the same ranking
    for every query. Nothing is ever stretched.

    Args:
        centre: shape (|A|,), the mean of what was said of each entity.
        level: shape (|A|,), what it errs in the mean, drawn to the panel's.
        shared: how much is kept of what is said of everybody alike.
        own: shape (|A|,), how much of what is said of the entity alone.
    """

    centre: Float[np.ndarray, " a"]
    level: Float[np.ndarray, " a"]
    shared: float
    own: Float[np.ndarray, " a"]

    @classmethod
    def fit(
        cls,
        expected: Float[np.ndarray, "n a"],
        errors: Float[np.ndarray, "n a"],
        weights: Float[np.ndarray, "n a"] | None = None,
        *,
        beside: Float[np.ndarray, "n a"] | None = None,
        squared: bool = False,
    ) -> "Shrinkage":
        """Return what errors bear out of what was expected of them out of fold.

        Args:
            expected: shape (n, |A|), out of fold.
            errors: shape (n, |A|), NaN where an entity was not asked.
            weights: shape (n, |A|), what each cell weighs of all queries, where not everybody was asked: for levels.
            beside: shape (n, |A|), what it weighs beside its row's features: for what is told by those; as `weights`,
                unless said.
            squared: whether errors are squares, a few of which are most of their sum: what is borne out is then told
                by their roots, in which no single query decides.
        """
        known = ~np.isnan(errors)
        share = np.where(known, 1.0 if weights is None else weights, 0.0)
        count = np.maximum(share.sum(axis=0), 1e-12)
        # Of all queries, also of those that he was not asked about; what came beyond is weighed (doubly robust).
        centre = expected.mean(axis=0)
        gap = np.where(known, errors - expected, 0.0)
        mean = centre + (share * gap).sum(axis=0) / count
        beyond = np.where(known, errors - mean, 0.0)
        # Entities that answered the same queries differ by less than chance over queries would have it; who was asked
        # about other queries than the others is judged as if he had been asked about all.
        harder = _row_effects(beyond, known)
        mean = mean - ((share * harder).sum(axis=0) / count - float((share * harder).sum() / count.sum()))
        apart = beyond - harder
        asked = known.sum(axis=0)
        own_variance = np.square(np.where(known, apart, 0.0)).sum(axis=0)
        usual = float(own_variance.sum()) / max(1, int(asked.sum()))
        # Ten answers that were all right have no variance of their own: the panel's stands in for part of it.
        variance = (own_variance + _PRIOR_ROWS * usual) / (asked + _PRIOR_ROWS)
        noise = variance * np.square(share).sum(axis=0) / np.square(count)
        level = _drawn(mean, noise, asked > 0)
        if beside is not None:
            share = np.where(known, beside, 0.0)
        if squared:
            expected, errors = np.sqrt(np.maximum(expected, 0.0)), np.sqrt(errors)
            beyond = np.where(known, errors - _means(errors, share, known), 0.0)
        said = expected - _means(expected, share, known)
        alike = said.mean(axis=1, keepdims=True)
        alone = said - alike
        shared, uncertain = _slope(np.broadcast_to(alike, said.shape), beyond, share, known)
        left = beyond - np.where(known, shared * alike, 0.0)
        slopes, variances = np.zeros(len(centre)), np.full(len(centre), np.inf)
        for j in range(len(centre)):
            slopes[j], variances[j] = _slope(alone[:, j], left[:, j], share[:, j], known[:, j])
        whole, variance = _slope(alone, left, share, known)
        pooled = _kept(whole, variance)
        spread = np.isfinite(variances)
        own = np.full(len(centre), pooled)
        if spread.any():
            beyond_chance = np.square(slopes - whole)[spread] - variances[spread]
            # Entities are told apart where their slopes differ by more than chance would have it, and its own chance.
            doubt = np.sqrt(2.0 * np.square(variances[spread]).sum()) / spread.sum()
            between = max(0.0, float(beyond_chance.mean()) - _FEWEST_ERRORS * float(doubt))
            trust = between / (between + variances[spread]) if between > 0 else np.zeros(int(spread.sum()))
            own[spread] = pooled + trust * (slopes[spread] - pooled)
        return cls(centre, level, float(np.clip(_kept(shared, uncertain), 0.0, 1.0)), np.clip(own, 0.0, 1.0))

    def apply(self, expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a"]:
        """Return what is left of expected errors, at least 0, shape (n, |A|)."""
        said = expected - self.centre
        alike = (summed(said) / said.shape[1])[:, None]
        found = said - alike
        found *= self.own
        found += self.level + self.shared * alike
        return np.maximum(found, 0.0, out=found)

    def of_one(self, expected: list[float]) -> list[float]:
        """Return the same for one query, in plain numbers: on so few of them NumPy's calls would take longest."""
        said = [value - centre for value, (centre, _, _) in zip(expected, self._parts, strict=True)]
        alike = sum(said) / len(said)
        base = self.shared * alike
        found = [level + base + own * (each - alike) for each, (_, level, own) in zip(said, self._parts, strict=True)]
        return [error if error > 0.0 else 0.0 for error in found]

    @cached_property
    def _parts(self) -> list[tuple[float, float, float]]:
        """Centre, level and what is kept, by entity."""
        return list(zip(self.centre.tolist(), self.level.tolist(), self.own.tolist(), strict=True))

    def to_state(self) -> State:
        """Return the shrinkage as arrays."""
        arrays = {"centre": self.centre, "level": self.level, "own": self.own, "shared": np.array([self.shared])}
        return State(arrays=arrays)

    @classmethod
    def from_state(cls, state: State) -> "Shrinkage":
        """Return the shrinkage that `to_state` wrote."""
        centre, level, own, shared = state.pick(centre="a", level="a", own="a", shared="1")
        return cls(centre, level, float(shared[0]), own)


def _means(table: np.ndarray, share: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The mean of each entity's cells, by what they weigh."""
    return (share * np.where(known, table, 0.0)).sum(axis=0) / np.maximum(share.sum(axis=0), 1e-12)


def _row_effects(beyond: np.ndarray, known: np.ndarray) -> np.ndarray:
    """How much harder each query was for everybody: its mean, drawn to nothing by the correlation within rows."""
    count, total = known.sum(axis=1), beyond.sum(axis=1)
    pairs = float((count * (count - 1)).sum())
    variance = float(np.square(beyond).sum()) / max(1, int(known.sum()))
    if pairs == 0 or variance == 0:
        return np.zeros((len(beyond), 1))
    together = float((np.square(total) - np.square(beyond).sum(axis=1)).sum()) / pairs / variance
    within = float(np.clip(together, 0.0, 1.0))
    return (within * total / (1.0 + within * (np.maximum(count, 1) - 1)))[:, None]


def _slope(said: np.ndarray, came: np.ndarray, share: np.ndarray, known: np.ndarray) -> tuple[float, float]:
    """How much came of what was said, by weighted least squares through the origin, and its variance (White 1980)."""
    square = float((share * np.square(said))[known].sum())
    if square <= 1e-12:
        return 0.0, float("inf")
    slope = float((share * said * came)[known].sum()) / square
    rest = share * said * (came - slope * said)
    # Cells of one row go together.
    total = np.where(known, rest, 0.0)
    total = total.sum(axis=1) if total.ndim > 1 else total
    return slope, float(np.square(total).sum()) / square**2


def _kept(slope: float, variance: float) -> float:
    """What is left of a slope that is itself uncertain (as James and Stein 1961, positive part)."""
    if not np.isfinite(variance) or slope <= _FEWEST_ERRORS * np.sqrt(variance):
        return 0.0
    return slope * max(0.0, 1.0 - _ERRORS**2 * variance / slope**2)


def _drawn(means: np.ndarray, noise: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Means drawn to their own mean: by the share of their spread that is chance (DerSimonian and Laird 1986)."""
    if not known.any():
        return means
    some, variance = means[known], np.maximum(noise[known], 1e-12)
    weight = 1.0 / variance
    centre = float((weight * some).sum() / weight.sum())
    excess = float((weight * np.square(some - centre)).sum()) - (len(some) - 1)
    scale = float(weight.sum() - np.square(weight).sum() / weight.sum())
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    weight = 1.0 / (variance + between)
    centre = float((weight * some).sum() / weight.sum())
    drawn = np.full(len(means), centre)
    drawn[known] = centre + between / (between + variance) * (some - centre)
    return drawn

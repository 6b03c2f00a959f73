"""Settings of a policy or a rival as points: what each query's decision got, and what it paid; and their sums."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped, UInt8, UInt64
from scipy.special import betaincinv, ndtri, stdtrit

from askwho._fast import loops
from askwho._splitmix import mixed, step, uniform
from askwho._unit import FEWEST_EFFECTIVE, Unit
from askwho.data import fingerprints

# Weights add up to the rows, if it is true how likely each was asked, and everybody could have been. Where they are
# more by this part, and by so many standard errors, it is not true. By hand: of made logs that were asked in turn, of
# 1,000 rows, 93% of the intervals hold below that and 60% above.
_MOST_OFF, _ERRORS_OFF = 0.15, 2.0
# Where they are less, so large a part of the queries is of kinds about which hardly any row has the whole committee:
# of these a mean error says what was expected, and nothing that came. By hand: of made logs of policies that explore
# little or nothing, 96% of the intervals hold up to 0.3, and 87% beyond.
_MOST_UNSEEN = 0.3
# A model that imagines is off for all its rows alike, here by so much of what its draws differ by (standard
# deviation), in one resample more and in another less. By hand: mean fees were off by .08 to .2 of it, mean errors by
# less, of made logs that were asked in turn, or emptied at random or by features, in three worlds.
_IMAGINED_OFF = 0.15
# What spreads normal numbers evenly over resamples, however many there are.
_GOLDEN = (1 + math.sqrt(5)) / 2
# A group occurs so often or more in a resample with these probabilities, as Poisson's law of mean 1 has it.
_OFTEN = 1 - np.cumsum(np.exp(-1.0) / np.cumprod([1.0, *range(1, 15)]))
# The same for the 53 bits that `uniform` makes a number in [0, 1) of.
_OFTEN_BITS = np.ceil(np.maximum(_OFTEN, 0.0) * 2.0**53).astype(np.uint64)

# Rows that all columns are summed over together: a few megabytes of them, which a processor keeps near.
_ROWS = 1 << 11


@dataclass(frozen=True, eq=False)
class Point:
    """One setting, query by query.

    Args:
        errors: shape (n,), zero-one or squared; NaN where the decision cannot be scored.
        fees: shape (n,), what was paid; NaN where that is not known either.
        labels: what to call it: fee weight, k, and the like.
        means: what else is told of it in the mean, each of shape (n,), by name; NaN where a row does not count.
        weights: shape (n,), what each row that can be scored weighs; None where all weigh the same.
        expected: shape (n,), what the decision was expected to get; 0 everywhere, unless said.
        foreseen: shape (n,), what it was expected to pay, where `fees` are not known everywhere.
        doubt: shape (n,), the square of what may come beyond `expected`, where a few rows may decide the mean and not
            all of them can be scored.
        seen: shape (n,), of which rows the error is what came, and not imagined; of all, unless said.
        variance: shape (n,), of errors that are imagined, 0 elsewhere; 0 everywhere, unless said.
        spread: shape (n,), how far fees that are imagined differ by what is imagined, 0 elsewhere; 0 everywhere, unless
            said.
    """

    errors: Float[np.ndarray, " n"]
    fees: Float[np.ndarray, " n"]
    labels: Mapping[str, float] = field(default_factory=dict[str, float])
    means: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict[str, np.ndarray])
    weights: Float[np.ndarray, " n"] | None = None
    expected: Float[np.ndarray, " n"] | None = None
    foreseen: Float[np.ndarray, " n"] | None = None
    doubt: Float[np.ndarray, " n"] | None = None
    seen: Bool[np.ndarray, " n"] | None = None
    variance: Float[np.ndarray, " n"] | None = None
    spread: Float[np.ndarray, " n"] | None = None


@dataclass(frozen=True)
class Behind:
    """What stands behind a mean error: sums over rows, those of two batches add up.

    Args:
        seen: what those rows weigh whose errors came, and are not imagined.
        squares: sum of their squared weights, of groups.
        variance: of the weighed sum of errors that are imagined.
        doubt: sum of squares of what may come beyond what is expected of rows, weighed: of a share it is the squared
            weight times the variance that such a share has, of numbers what each row would weigh times the square.
        excess: what all rows weigh, less how many there are: 0 but for chance, where it is known who was likely asked.
        unpaid: of how many rows it is not known what would be paid.
    """

    seen: float
    squares: float
    variance: float
    doubt: float
    excess: float
    unpaid: float

    def __add__(self, other: "Behind") -> "Behind":
        return Behind(
            self.seen + other.seen,
            self.squares + other.squares,
            self.variance + other.variance,
            self.doubt + other.doubt,
            self.excess + other.excess,
            self.unpaid + other.unpaid,
        )


@dataclass(frozen=True, eq=False)
class Tally:
    """One setting over any number of rows: the sums that its means are made of. Those of two batches add up.

    A mean is doubly robust (Robins, Rotnitzky and Zhao 1994): what was expected of every row, and the weighed mean of
    what came beyond it, over the rows that can be scored. Of numbers it is the ratio of what came to what was expected
    of the same rows (Cochran 1977, chapter 6): an error that nothing bounds is not less than nothing, however much was
    expected. Where everybody was asked it is the plain mean.

    Args:
        unit: how errors are shown.
        rows: shape (draws + 1,), how many rows there are in the sample and in each resample.
        scored: shape (draws + 1,), what those weigh that can be scored.
        expected: shape (draws + 1,), sum of expected errors over all rows.
        hoped: shape (draws + 1,), weighed sum of expected errors over the rows that can be scored.
        came: shape (draws + 1,), weighed sum of the errors that these have.
        fees: shape (draws + 1,), sum of fees, or of those foreseen.
        charged: shape (draws + 1,), weighed sum of fees beyond those foreseen.
        behind: what stands behind the mean error, of the sample alone.
        labels: what to call it.
        means: sum and count of what else is told of it, by name.
    """

    unit: Unit
    rows: Float[np.ndarray, " b"]
    scored: Float[np.ndarray, " b"]
    expected: Float[np.ndarray, " b"]
    hoped: Float[np.ndarray, " b"]
    came: Float[np.ndarray, " b"]
    fees: Float[np.ndarray, " b"]
    charged: Float[np.ndarray, " b"]
    behind: Behind
    labels: Mapping[str, float]
    means: Mapping[str, tuple[float, float]]

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.unit,
            self.rows + other.rows,
            self.scored + other.scored,
            self.expected + other.expected,
            self.hoped + other.hoped,
            self.came + other.came,
            self.fees + other.fees,
            self.charged + other.charged,
            self.behind + other.behind,
            self.labels,
            {name: (total + other.means[name][0], n + other.means[name][1]) for name, (total, n) in self.means.items()},
        )

    @property
    def effective(self) -> float:
        """How many rows, or groups, of equal weight would say as much (Kish 1965); what is imagined says nothing.

        0 where weights come to clearly more than there are rows, for then it is not known who was likely asked; and
        where they come to clearly less, for then part of the queries could not have been asked about.
        """
        rows, squares, excess = float(self.rows[0]), self.behind.squares, self.behind.excess
        chance = _ERRORS_OFF * math.sqrt(max(squares - rows, 0.0))
        if squares <= 0 or excess > max(_MOST_OFF * rows, chance) or -excess > max(_MOST_UNSEEN * rows, chance):
            return 0.0
        return self.behind.seen**2 / squares

    @property
    def told(self) -> bool:
        """Whether enough rows stand behind an error for it to be told."""
        return self.effective >= FEWEST_EFFECTIVE - 1e-9

    @property
    def paid(self) -> bool:
        """Whether it is known what was paid: of every row, or of enough that stand for the others."""
        return self.told or self.behind.unpaid == 0

    @property
    def loss(self) -> Float[np.ndarray, " b"]:
        """Mean errors, shape (draws + 1,); NaN where no row can be scored."""
        if not self.unit.most < np.inf and (self.hoped > 0).any():
            return ratio(self.expected, self.rows) * ratio(self.came, self.hoped)
        return np.maximum(ratio(self.expected, self.rows) + ratio(self.came - self.hoped, self.scored), 0.0)

    @property
    def fee(self) -> Float[np.ndarray, " b"]:
        """Mean fees, shape (draws + 1,)."""
        beyond = np.where(self.charged == 0, 0.0, ratio(self.charged, self.scored))
        return np.maximum(ratio(self.fees, self.rows) + beyond, 0.0)

    def shown(self, loss: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return a mean loss as it is shown, of the same shape."""
        return self.unit.all_shown(loss)


@dataclass(frozen=True, eq=False)
class Sums:
    """What evaluating adds up over the rows of a log; those of two batches add up, in any order.

    Args:
        n: how many rows were judged.
        left_out: how many were not, for they did not come after what the policy comes from.
        found: the sums of every setting, by kind, each kind with the same settings whatever the rows.
    """

    n: int = 0
    left_out: int = 0
    found: Mapping[str, Sequence[Tally]] = field(default_factory=dict[str, "Sequence[Tally]"])

    def __add__(self, other: "Sums") -> "Sums":
        both = {
            name: [a + b for a, b in zip(tallies, other.found[name], strict=True)]
            for name, tallies in self.found.items()
            if name in other.found
        }
        return Sums(self.n + other.n, self.left_out + other.left_out, {**self.found, **other.found, **both})


@dataclass(frozen=True, eq=False)
class Resamples:
    """Bootstrap weights by group, and the means they give.

    Args:
        weights: shape (draws + 1, n); the first row is the sample itself.
        unit: how errors are shown.
        group: shape (n,), the number of each row's group.
    """

    weights: Float[np.ndarray, "b n"]
    unit: Unit
    group: Int[np.ndarray, " n"]

    @classmethod
    def of(
        cls, groups: Shaped[np.ndarray, " n"], unit: Unit, *, draws: int = 200, random_state: int = 0
    ) -> "Resamples":
        """Return the sample and `draws` resamples of its groups: the Poisson bootstrap (Chamandy et al. 2012).

        How often a group occurs is Poisson with mean 1 and depends on the group and the seed alone: batches of a log
        that does not fit into memory are resampled as the whole would be.
        """
        keys = _keys(groups)
        key, fast = mixed(keys + mixed(np.array([random_state]).astype(np.uint64))), loops(len(groups))
        if fast is not None:
            # A row's resamples lie together, so that they are written in one go.
            weights = np.empty((len(groups), draws + 1)).T
            fast.drawn(key, _OFTEN_BITS, weights.T)
        else:
            weights = np.ones((draws + 1, len(groups)))
            for draw in range(1, draws + 1):
                weights[draw] = _often(uniform(mixed(step(key, draw))))
        return cls(weights, unit, np.unique(keys, return_inverse=True)[1].reshape(-1))

    def tally(self, points: Sequence[Point]) -> list[Tally]:
        """Return the sums of each setting."""
        rows, nothing = self._rows, np.zeros(len(self.weights))
        off = _standard(len(rows))
        counted = np.bincount(self.group).astype(np.float64)
        sums = _Weighed(self.weights)
        made = [_Columns.of(point, sums) for point in points]
        totals = sums.totals()
        found: list[Tally] = []
        for point, each in zip(points, made, strict=True):
            share = each.share
            seen = counted if share is None else self._seen(point, share)
            scored, expected, hoped, came, fees, charged, spread, doubt = (
                nothing if place is None else totals[place] for place in each.places
            )
            found.append(
                Tally(
                    self.unit,
                    rows,
                    rows if share is None else scored,
                    expected,
                    hoped,
                    came + _IMAGINED_OFF * off * doubt,
                    fees + _IMAGINED_OFF * off * spread,
                    charged,
                    Behind(
                        float(seen.sum()),
                        float(np.square(seen).sum()),
                        0.0 if share is None or point.variance is None else float(np.square(share) @ point.variance),
                        self._doubt(point, share),
                        0.0 if share is None or point.weights is None else float(share.sum() - len(share)),
                        float(np.isnan(point.fees).sum()),
                    ),
                    point.labels,
                    {name: _sums(values, share) for name, values in point.means.items()},
                )
            )
        return found

    @cached_property
    def _rows(self) -> Float[np.ndarray, " b"]:
        """How many rows there are in the sample and in each resample."""
        return self.weights.sum(axis=1)

    def _seen(self, point: Point, share: np.ndarray) -> Float[np.ndarray, " g"]:
        """What groups weigh by what came, and is not imagined."""
        return np.bincount(self.group, share if point.seen is None else np.where(point.seen, share, 0.0))

    def _doubt(self, point: Point, share: np.ndarray | None) -> float:
        """What a mean may be off by, squared and summed: a row that cannot be scored would weigh what others do."""
        if self.unit.most < np.inf:
            if point.expected is None:
                return 0.0
            # In parts of the largest, of which a mean is a share.
            likely = np.clip(point.expected / self.unit.most, 0.0, 1.0)
            return float(((1.0 if share is None else np.square(share)) * likely * (1.0 - likely)).sum())
        if point.doubt is None:
            return 0.0
        if share is None:
            return float(np.ones(len(point.doubt)) @ point.doubt)
        known = ~np.isnan(point.errors)
        usual = float(share.sum()) / max(1, int(known.sum()))
        return float(np.where(known, share, usual) @ point.doubt)

    def shown(self, loss: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return a mean loss as it is shown, of the same shape."""
        return self.unit.all_shown(loss)


def _standard(count: int) -> Float[np.ndarray, " b"]:
    """Return standard normal numbers, one for each resample, the same for every setting and batch; 0 for the sample.

    By the golden ratio: spread evenly, however many there are, and not by how often groups occur.
    """
    found = ndtri(np.modf(np.arange(1, count + 1) / _GOLDEN)[0])
    found[0] = 0.0
    return found


def _often(drawn: Float[np.ndarray, " n"]) -> UInt8[np.ndarray, " n"]:
    """How often each group occurs, by a number in [0, 1): step by step, for hardly any occurs more than a few times."""
    count = np.zeros(len(drawn), dtype=np.uint8)
    for probability in _OFTEN:
        more = drawn < probability
        if not more.any():
            break
        count += more
    return count


class _Weighed:
    """Columns to be summed in every resample, all at a time: one product of matrices is what the processor likes.

    Args:
        weights: shape (b, n).
    """

    def __init__(self, weights: np.ndarray) -> None:
        self._weights = weights
        self._columns: list[np.ndarray] = []

    def add(self, column: Float[np.ndarray, " n"]) -> int:
        """Return the place that a column's sums will have."""
        self._columns.append(column)
        return len(self._columns) - 1

    def totals(self) -> Float[np.ndarray, "c b"]:
        """Return the sums of all columns, shape (columns, b)."""
        draws, n = self._weights.shape
        found = np.zeros((len(self._columns), draws))
        whole = np.array([bool(((column == 0) | (column == 1)).all()) for column in self._columns], dtype=bool)
        # Of zeros and ones the sums of a block are small whole numbers, which half the bits hold exactly.
        for kind, places in ((np.float32, np.flatnonzero(whole)), (np.float64, np.flatnonzero(~whole))):
            block = np.empty((len(places), _ROWS), dtype=kind)
            for start in range(0, n if len(places) else 0, _ROWS):
                rows = slice(start, min(start + _ROWS, n))
                some = block[:, : rows.stop - start]
                for cells, place in zip(some, places, strict=True):
                    cells[:] = self._columns[place][rows]
                # However the weights lie, so that sums are the same to the bit.
                found[places] += some @ self._weights[:, rows].T.astype(kind, order="C", copy=False)
        return found


@dataclass(frozen=True, eq=False)
class _Columns:
    """Where the sums of a setting are: of what is nothing everywhere there are none.

    Args:
        share: shape (n,), what each row weighs; None where every row can be scored and all weigh the same.
        places: of `scored`, `expected`, `hoped`, `came`, `fees`, `charged` and how far imagined fees and errors differ;
            None where all are 0, or each row's 1.
    """

    share: Float[np.ndarray, " n"] | None
    places: tuple[int | None, ...]

    @classmethod
    def of(cls, point: Point, sums: _Weighed) -> "_Columns":
        """Return where the sums of a setting will be."""
        known, unpaid = ~np.isnan(point.errors), np.isnan(point.fees)
        paid = np.where(unpaid, 0.0, point.fees) if unpaid.any() else point.fees
        foreseen = paid if point.foreseen is None else point.foreseen
        spread = None if point.spread is None else sums.add(point.spread)
        if point.weights is None and point.expected is None and known.all():
            beyond = None if point.foreseen is None else sums.add(paid - foreseen)
            return cls(None, (None, None, None, sums.add(point.errors), sums.add(foreseen), beyond, spread, None))
        share = np.where(known, 1.0 if point.weights is None else point.weights, 0.0)
        expected, hoped = None, None
        if point.expected is not None:
            expected, hoped = sums.add(point.expected), sums.add(share * point.expected)
        came = sums.add(share * np.where(known, point.errors, 0.0))
        doubt = None if point.variance is None else sums.add(share * np.sqrt(point.variance))
        beyond = None if point.foreseen is None else sums.add(share * np.where(known, paid - foreseen, 0.0))
        return cls(share, (sums.add(share), expected, hoped, came, sums.add(foreseen), beyond, spread, doubt))


def _sums(values: np.ndarray, share: np.ndarray | None) -> tuple[float, float]:
    """Sum and count of what is told of every row; of what is told of some, those weighed as their errors are."""
    total = float(np.ones(len(values)) @ values)
    known = None if not math.isnan(total) else ~np.isnan(values)
    if known is None or known.all():
        return total, float(len(values))
    weights = known.astype(np.float64) if share is None else np.where(known, share, 0.0)
    return float(weights @ np.where(known, values, 0.0)), float(weights.sum())


def table_of(points: Sequence[Point]) -> tuple[np.ndarray, np.ndarray]:
    """Return errors and fees of many settings, each (n, settings)."""
    return np.column_stack([point.errors for point in points]), np.column_stack([point.fees for point in points])


def interval(values: np.ndarray) -> list[float]:
    """Return the middle 95% of resamples, NaN left out: the percentile interval (Efron and Tibshirani 1993)."""
    known = values[~np.isnan(values)]
    # Between a number and what is beyond every number there is nothing.
    method = "linear" if np.isfinite(known).all() else "inverted_cdf"
    return [float(q) for q in np.quantile(known, [0.025, 0.975], method=method)] if known.size else [float("nan")] * 2


def error_interval(tally: Tally) -> list[float]:
    """Return the interval of an error, as it is shown.

    Of shares: Clopper and Pearson's, for as many rows as the spread of the resamples says there are (Korn and Graubard
    1998): it covers where errors are rare, and where none was seen. Where not everybody was asked, no more rows than
    the errors that were expected allow: rows that weigh much are mostly hard ones, and a few of them that went well by
    chance say little. What mistakes cost is a share of the worst. Of numbers: the middle of the resamples; where not
    everybody was asked, no nearer than the errors allow of all who were asked about the same rows.
    """
    loss, effective, most = tally.loss, tally.effective, tally.unit.most
    # What is imagined would have come otherwise in each draw of it, and is the same in all resamples.
    imagined = tally.behind.variance / float(tally.scored[0]) ** 2 if tally.behind.variance > 0 else 0.0
    share, variance = float(loss[0]) / most, float(np.nanvar(loss[1:] / most)) + imagined / most**2
    if tally.behind.doubt > 0 and not most < np.inf:
        drawn, mean = interval(loss[1:]), float(loss[0])
        far = 1.96 * math.sqrt(tally.behind.doubt / float(tally.rows[0]) ** 2 + imagined)
        return [float(each) for each in tally.shown(np.array([min(drawn[0], mean - far), max(drawn[1], mean + far)]))]
    if not most < np.inf or not 0.0 <= share <= 1.0 or effective <= 1.0:
        return interval(tally.shown(loss)[1:])
    n = min(share * (1.0 - share) / variance, float(tally.rows[0])) if variance > 0 else effective
    if tally.behind.doubt > 0:
        hoped = min(float(ratio(tally.expected[:1], tally.rows[:1])[0]) / most, 1.0)
        n = min(n, hoped * (1.0 - hoped) * float(tally.scored[0]) ** 2 / tally.behind.doubt)
    # Few groups know their own variance badly: as Student's t is wider than the normal.
    n *= (1.96 / float(stdtrit(effective - 1.0, 0.975))) ** 2
    wrong = share * n
    low = float(betaincinv(wrong, n - wrong + 1.0, 0.025)) if wrong > 0 else 0.0
    high = float(betaincinv(wrong + 1.0, n - wrong, 0.975)) if wrong < n else 1.0
    return [most * low, most * high]


def ratio(above: Float[np.ndarray, "..."], below: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return one by the other, of the same shape; NaN where there is nothing to divide by."""
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _keys(groups: np.ndarray) -> UInt64[np.ndarray, " n"]:
    """A number for each group that does not depend on the others."""
    if groups.dtype.kind in "iu":
        return groups.astype(np.uint64)
    names, place = np.unique(groups.astype(str), return_inverse=True)
    return fingerprints(names.tolist())[place.reshape(-1)]

"""What moves over time: features that are others in the later half of a log, and entities that err more, or less."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from askwho._unit import Unit
from askwho.data._kinds import as_numbers, as_ranks, kinds
from askwho.data._log import Log
from askwho.data._problem import Problem, listed, shown
from askwho.data._sample import Sample

# The largest difference between two shares of the halves, of values up to some number or of a category: below it, a
# million rows would show what nobody need mind.
_LEAST_SHIFT = 0.1
# The correlation of errors with time, in ranks: a share of errors that goes from 0.10 to 0.18 at half-time has as much.
_LEAST_TREND = 0.1
# How often a clean log may be blamed, over all features, and over all entities.
_CHANCE = 1e-3
# Rows, or groups, of each half, and twice as many answers of an entity: of fewer nothing can be told.
_LEAST_ROWS = 30
# Rows of a category in both halves together, for Pearson's test to hold.
_LEAST_IN_A_KIND = 10


@dataclass(frozen=True)
class Moved:
    """Something that is not what it was.

    Args:
        name: of a feature, or of an entity.
        size: how far it moved, between 0 and 1: a difference of shares, or a correlation of ranks with time.
        before: what it was in the earlier half, in words.
        after: what it was in the later half, in words.
    """

    name: str
    size: float
    before: str
    after: str


class OverTime:
    """Rows of a log of any length, with what is known of them and how everybody erred, to compare earlier with later.

    Each group speaks once, by a row at random: rows of one group are no new evidence.
    """

    def __init__(self) -> None:
        self._sample: Sample | None = None
        self._column: str | None = None
        self._known: list[str] = []
        self._names: list[str] = []
        self._unit = Unit()
        self._rows = 0
        self._ends = (np.inf, -np.inf)

    def add(self, log: Log) -> None:
        """Look at a batch; one that does not say when its rows were tells nothing."""
        time, columns = log.sampling.time, log.columns
        if time is None or not len(log):
            return
        self._ends = min(self._ends[0], float(time.min())), max(self._ends[1], float(time.max()))
        if self._sample is None:
            self._column, self._names = columns.time, list(log.panel.names)
            self._known = [name for name in log.known if name not in (columns.text, columns.time)]
            self._unit = log.unit
            named = [*(f"known {name}" for name in self._known), *(f"error {name}" for name in self._names)]
            self._sample = Sample(["time", "group", *named])
        table = {"time": time, "group": log.groups} | {f"known {name}": log.known[name] for name in self._known}
        self._sample.add(table | {f"error {name}": log.errors[:, j] for j, name in enumerate(self._names)}, self._rows)
        self._rows += len(log)

    def found(self) -> tuple[list[Moved], list[Moved]]:
        """Return the features and the entities that moved, those that moved most first."""
        if self._sample is None or self._ends[0] >= self._ends[1]:
            return [], []
        table = self._sample.table()
        rows = self._sample.one_of_each(table["group"])
        table = {name: values[rows] for name, values in table.items()}
        late = _later_half(table["time"])
        features = [name for name in self._known if f"known {name}" in table]
        chance = _CHANCE / max(1, len(features))
        moved = [_shifted(name, table[f"known {name}"], late, chance) for name in features]
        chance = _CHANCE / max(1, len(self._names))
        drifted = [self._drifted(name, table[f"error {name}"], table["time"], late, chance) for name in self._names]
        return _largest(moved), _largest(drifted)

    def problems(self) -> Iterator[Problem]:
        """Yield a problem for features that move, one for entities whose errors do, and one where time stands still."""
        if self._rows > 1 and self._ends[0] >= self._ends[1]:
            yield Problem(
                "error", "the same moment in every row: nothing is before anything else. Leave it out", self._column
            )
        features, entities = self.found()
        if features:
            one, move = features[0], "moves" if len(features) == 1 else "move"
            yield Problem(
                "warning",
                f"{listed(repr(each.name) for each in features)} {move} over time {_most(features, repr(one.name))}: "
                "what earlier queries teach may not hold of later ones. Fit on the latest rows, and again as new ones "
                "come",
                one.name if len(features) == 1 else None,
            )
        if entities:
            yield Problem(
                "warning",
                f"the errors of {listed(each.name for each in entities)} move over time "
                f"{_most(entities, entities[0].name)}: is it another version? Give that a name of its own, or fit on "
                "the latest rows",
            )

    def _drifted(
        self, name: str, errors: np.ndarray, time: np.ndarray, late: np.ndarray, chance: float
    ) -> Moved | None:
        """How far an entity's errors follow time, if they do: Spearman's correlation of ranks."""
        known = ~np.isnan(errors)
        halves = known & ~late, known & late
        if min(half.sum() for half in halves) < _LEAST_ROWS:
            return None
        ranks = [as_ranks(values[known]) - (known.sum() + 1) / 2 for values in (errors, time)]
        length = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
        trend = float((ranks[0] * ranks[1]).sum()) / length if length > 0 else 0.0
        luck = float(special.erfc(abs(trend) * np.sqrt((known.sum() - 1) / 2)))
        if abs(trend) < _LEAST_TREND or luck >= chance:
            return None
        means = [float(errors[half].mean()) for half in halves]
        before, after = (f"{mean:.3f}" if self._unit.share else f"{self._unit.shown(mean):.3g}" for mean in means)
        return Moved(name, abs(trend), before, after)


def _later_half(time: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Which rows are of the later half; those of one moment are of the same."""
    moments, counts = np.unique(time, return_counts=True)
    if len(moments) < 2:
        return np.zeros(len(time), dtype=bool)
    before = np.cumsum(counts)[:-1]
    return time > moments[np.abs(before - len(time) / 2).argmin()]


def _shifted(name: str, values: np.ndarray, late: np.ndarray, chance: float) -> Moved | None:
    """How far a feature is another in the later half, if it is: Kolmogorov and Smirnov's test, or Pearson's."""
    if min(late.sum(), (~late).sum()) < _LEAST_ROWS:
        return None
    numbers = as_numbers(values)
    size, luck = _categories(values, late) if numbers is None else _distance(numbers, late)
    if size < _LEAST_SHIFT or luck >= chance:
        return None
    before, after = _said(values, numbers, late)
    return Moved(name, size, before, after)


def _distance(numbers: np.ndarray, late: np.ndarray) -> tuple[float, float]:
    """The largest difference between the shares of the halves up to any number, and how likely that is by chance."""
    # An empty cell is below every number: that there are more of them is a difference, too.
    places = np.nan_to_num(numbers, nan=-np.inf)
    one, other = np.sort(places[~late]), np.sort(places[late])
    every = np.concatenate([one, other])
    shares = [np.searchsorted(half, every, side="right") / len(half) for half in (one, other)]
    size = float(np.abs(shares[0] - shares[1]).max())
    return size, float(special.kolmogorov(size * np.sqrt(len(one) * len(other) / len(every))))


def _categories(values: np.ndarray, late: np.ndarray) -> tuple[float, float]:
    """How far apart the halves' shares of categories are in all, and how likely that is by chance."""
    codes = kinds(values).of_at_least(_LEAST_IN_A_KIND).codes
    # What is rare is one more kind.
    counts = np.stack([np.bincount(codes[half] + 1, minlength=int(codes.max()) + 2) for half in (~late, late)])
    counts = counts[:, counts.sum(axis=0) >= _LEAST_IN_A_KIND].astype(np.float64)
    if counts.shape[1] < 2:
        return 0.0, 1.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    luck = float(special.chdtrc(counts.shape[1] - 1, (np.square(counts - expected) / expected).sum()))
    shares = counts / counts.sum(axis=1, keepdims=True)
    return float(np.abs(shares[0] - shares[1]).sum() / 2), luck


def _said(values: np.ndarray, numbers: np.ndarray | None, late: np.ndarray) -> tuple[str, str]:
    """What a feature is in each half, in words: its median, or how often it is what moved most."""
    if numbers is not None:
        empty = np.isnan(numbers)
        gone = float(empty[~late].mean()), float(empty[late].mean())
        if abs(gone[0] - gone[1]) >= _LEAST_SHIFT or min(gone) == 1.0:
            return f"empty in {gone[0]:.0%} of rows", f"in {gone[1]:.0%}"
        if values.dtype.kind != "M":
            return f"median {np.nanmedian(numbers[~late]):.3g}", f"{np.nanmedian(numbers[late]):.3g}"
        middle = [np.sort(values[half & ~empty])[(half & ~empty).sum() // 2] for half in (~late, late)]
        return f"median {shown(middle[0])}", shown(middle[1])
    found = kinds(values)
    shares = np.array([[(found.codes[half] == c).mean() for c in range(len(found.labels))] for half in (~late, late)])
    most = int(np.abs(shares[0] - shares[1]).argmax())
    return f"{found.labels[most]} in {shares[0, most]:.0%} of rows", f"in {shares[1, most]:.0%}"


def _largest(found: list[Moved | None]) -> list[Moved]:
    return sorted((each for each in found if each is not None), key=lambda each: -each.size)


def _most(found: list[Moved], name: str) -> str:
    """From what to what the one moved that moved most; which one, where there are others."""
    which = "" if len(found) == 1 else f"most {name}: "
    return f"({which}{found[0].before} in the earlier half, {found[0].after} in the later)"

"""Kinds of rows by what is in one column, and how much of something else they explain."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import special

from askwho.core import family, is_null
from askwho.data._problem import shown

# So many rows fill one part of a column of numbers: a share is then known to within a sixth or so.
_ROWS_A_PART = 50
# Tenths of a column show any dependence that is worth a line.
_MOST_PARTS = 10
# Categories beyond the most frequent ones are rare, or names of rows.
_MOST_CATEGORIES = 20


@dataclass(frozen=True)
class Kinds:
    """The kind of each row.

    Args:
        codes: shape (n,), the kind's place in `labels`; -1 where a row is of none.
        labels: what the column is in each kind: "is 'a'", "is from 0.1 to 0.4", "is empty".
        ends: the ends of each part of a column of numbers, as they are shown; kinds behind them are no parts.
    """

    codes: Int[np.ndarray, " n"]
    labels: tuple[str, ...]
    ends: tuple[tuple[str, str], ...] = ()

    def of_at_least(self, rows: float) -> "Kinds":
        """Return the same kinds without those of fewer rows."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels))
        few = np.append(counts < rows, False)
        return Kinds(np.where(few[self.codes], -1, self.codes), self.labels, self.ends)

    def around(self, code: int, among: Collection[int]) -> tuple[range, str]:
        """Return a kind with the parts beside it that are among some, and what the column is there."""
        first = last = code
        while first - 1 in among and first - 1 < len(self.ends) and first < len(self.ends):
            first -= 1
        while last + 1 in among and last + 1 < len(self.ends):
            last += 1
        alone = first == last
        label = self.labels[code] if alone else f"is from {self.ends[first][0]} to {self.ends[last][1]}"
        return range(first, last + 1), label


def kinds(values: np.ndarray) -> Kinds:
    """Return the kinds of rows that a column makes: parts of equal size of its numbers, or its categories."""
    empty = is_null(values)
    if empty.all():
        return Kinds(np.zeros(len(values), dtype=np.int64), ("is empty",))
    codes = np.full(len(values), -1)
    numbers = as_numbers(values)
    found = _common(values[~empty]) if numbers is None else _parts(values[~empty], numbers[~empty])
    codes[~empty] = found.codes
    codes[empty] = len(found.labels)
    return Kinds(codes, (*found.labels, "is empty") if empty.any() else found.labels, found.ends)


def as_numbers(values: np.ndarray) -> Float[np.ndarray, " n"] | None:
    """Return a column as numbers, NaN where it is empty; None where it is no numbers and no times."""
    if values.dtype.kind == "M":
        return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64))
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    empty = is_null(values)
    if empty.all() or family(values[~empty]) != "numbers":
        return None
    numbers = np.full(len(values), np.nan)
    numbers[~empty] = values[~empty].astype(np.float64)
    return numbers


def as_codes(values: np.ndarray) -> Int[np.ndarray, " n"]:
    """Return a number for each value, shape (n,), equal where values are; empty cells are one value."""
    numbers = as_numbers(values)
    if numbers is not None:
        return np.unique(numbers, return_inverse=True)[1]
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(str(value), len(seen)) for value in values.tolist()], dtype=np.int64)


def as_ranks(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return the rank of each number, shape (n,), the mean rank among equals."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def explained(values: Float[np.ndarray, " n"], codes: Int[np.ndarray, " n"]) -> tuple[float, float]:
    """Return what share of the values' variance the kinds explain, and how likely so much is by chance.

    Of ranks it is the test of Kruskal and Wallis (1952), of zeros and ones Pearson's test of independence: (n − 1) η²
    is about χ² with one degree of freedom less than there are kinds. The share is η² less what chance explains (ε²,
    Kelley 1935).
    """
    values, codes = values[codes >= 0], codes[codes >= 0]
    counts = np.bincount(codes)
    many, n = int((counts > 0).sum()), len(values)
    centred = values - values.mean() if n else values
    total = float((centred**2).sum())
    if many < 2 or n <= many or total <= 0:
        return 0.0, 1.0
    between = float((np.bincount(codes, weights=centred)[counts > 0] ** 2 / counts[counts > 0]).sum())
    share = min(1.0, between / total)
    chance = float(special.chdtrc(many - 1, (n - 1) * share))
    return max(0.0, 1 - (1 - share) * (n - 1) / (n - many)), chance


def _parts(values: np.ndarray, numbers: np.ndarray) -> Kinds:
    distinct, first, codes = np.unique(numbers, return_index=True, return_inverse=True)
    many = int(np.clip(len(numbers) // _ROWS_A_PART, 2, _MOST_PARTS))
    if len(distinct) <= many:
        return Kinds(codes, tuple(f"is {shown(values[row])}" for row in first))
    edges = np.unique(np.quantile(numbers, np.arange(1, many) / many))
    # Where values repeat, a part may be empty.
    codes = np.unique(np.searchsorted(edges, numbers, side="right"), return_inverse=True)[1]
    ends: list[tuple[str, str]] = []
    for part in range(int(codes.max()) + 1):
        inside = np.flatnonzero(codes == part)
        low, high = inside[numbers[inside].argmin()], inside[numbers[inside].argmax()]
        ends.append((shown(values[low]), shown(values[high])))
    return Kinds(codes, tuple(f"is from {low} to {high}" for low, high in ends), tuple(ends))


def _common(values: np.ndarray) -> Kinds:
    codes = as_codes(values)
    common = np.argsort(-np.bincount(codes), kind="stable")[:_MOST_CATEGORIES]
    place = np.full(int(codes.max()) + 1, -1)
    place[common] = np.arange(len(common))
    first = np.unique(codes, return_index=True)[1]
    return Kinds(place[codes], tuple(f"is {shown(values[first[code]])}" for code in common))

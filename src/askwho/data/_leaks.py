"""Who knows the truth and should not: features that are it in other words, and entities that are never wrong."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from askwho._types import Task
from askwho.data._kinds import as_codes, as_numbers, as_ranks
from askwho.data._labels import plain
from askwho.data._problem import Problem, listed
from askwho.data._tables import Table

# Mistakes beside those of always saying the most frequent truth: up to here a feature is practically the truth.
_MOST_MISTAKES = 0.01
# Rows that are not of the most frequent truth: of fewer nobody can say that a good feature is a perfect one.
_LEAST_ROWS = 40
# Correlation of ranks from which on a feature is practically the truth in another unit.
_LEAST_CORRELATION = 0.999
# A straight line may be that good where ranks are less so: many truths that are nearly equal change places.
_LEAST_OF_RANKS = 0.99
# Answers of an entity that is never wrong: somebody wrong once in fifty has two chances in a hundred to be so in 200.
_LEAST_ANSWERS = 200
# Answers in numbers that are right to the last digit behind the point: luck has no part in that.
_LEAST_NUMBERS = 30
# Mistakes that somebody as good as the next best would have made: none of so many is no luck (e^-10).
_LEAST_EXPECTED = 10.0
# What to do is the same whichever way a feature has come by the truth.
_REMEDY = "is it known before asking? If not, leave it out"


def leaks(
    sample: Table, halves: np.ndarray, *, truth: str, features: Sequence[str], task: Task, copies: Collection[str]
) -> Iterator[Problem]:
    """Yield a problem for each feature that is the truth, or tells it, in practically all rows.

    Args:
        sample: rows of the log.
        halves: shape (rows,), which rows are of the first of two halves at random.
        truth: the column of the truth.
        features: those that are single values.
        task: what the truth is.
        copies: features that equal the truth in every row of the log.
    """
    right = sample[truth]
    codes = as_codes(right)
    rest = len(codes) - int(np.bincount(codes).max())
    for name in features:
        said = None
        if name in copies:
            said = "the same as the truth in every row"
        elif rest >= _LEAST_ROWS:
            said = _equal(sample[name], right, rest) or (
                _told(sample[name], codes, halves, rest) if task == "classification" else _followed(sample[name], right)
            )
        if said is not None:
            yield Problem("warning", f"{said}: {_REMEDY}", name)


def _equal(values: np.ndarray, truth: np.ndarray, rest: int) -> str | None:
    """What to say of a feature that equals the truth, give or take its writing."""
    one, other = as_numbers(values), as_numbers(truth)
    most, but = _MOST_MISTAKES * rest, ""
    if one is not None and other is not None:
        mistakes = int((one != other).sum())
    else:
        mistakes, but = _unlike(values.tolist(), truth.tolist(), most), " but for case, space or type"
    return None if mistakes > most else f"the same as the truth{but} in {_share(mistakes, len(truth))}"


def _unlike(one: list[Any], other: list[Any], most: float) -> int:
    """How many rows are not alike even without case, space and type; beyond the most that matter none is counted."""
    mistakes = 0
    for a, b in zip(one, other, strict=True):
        mistakes += plain(str(a)) != plain(str(b))
        if mistakes > most:
            break
    return mistakes


def _told(values: np.ndarray, truth: np.ndarray, halves: np.ndarray, rest: int) -> str | None:
    """What to say of a feature that tells the class: looked up in one half of the rows, it is right in the other.

    A number is looked up by the nearest one, so that thresholds are found too. Names of rows occur in one half alone,
    and tell nothing.
    """
    numbers = as_numbers(values)
    places = as_codes(values).astype(np.float64) if numbers is None else np.nan_to_num(numbers, nan=-np.inf)
    mistakes = 0
    for learned in (halves, ~halves):
        if not learned.any() or learned.all():
            return None
        known, best = _most_frequent(places[learned], truth[learned])
        asked = places[~learned]
        right = np.clip(np.searchsorted(known, asked), 0, len(known) - 1)
        left = np.clip(right - 1, 0, None)
        # Two empty cells are infinitely low, and their difference is no number.
        with np.errstate(invalid="ignore"):
            nearer = np.where(np.abs(asked - known[left]) < np.abs(known[right] - asked), left, right)
        found = best[nearer] == truth[~learned]
        mistakes += int((~(found if numbers is not None else found & (known[nearer] == asked))).sum())
        if mistakes > _MOST_MISTAKES * rest:
            return None
    return f"enough by itself to tell the truth in {_share(mistakes, len(truth))}"


def _most_frequent(places: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values of a feature in order, and the truth that is most frequent with each."""
    known, place = np.unique(places, return_inverse=True)
    pairs, counts = np.unique(place * (int(truth.max()) + 1) + truth, return_counts=True)
    order = np.argsort(counts, kind="stable")
    best = np.zeros(len(known), dtype=np.int64)
    # Of several with one value the last written stays: the most frequent.
    best[pairs[order] // (int(truth.max()) + 1)] = pairs[order] % (int(truth.max()) + 1)
    return known, best


def _followed(values: np.ndarray, truth: np.ndarray) -> str | None:
    """What to say of a feature that follows a truth of numbers, in another unit or on another scale."""
    one, other = as_numbers(values), as_numbers(truth)
    if one is None or other is None:
        return None
    known = np.isfinite(one) & np.isfinite(other)
    one, other = one[known], other[known]
    # A single value far out makes a straight line of anything: ranks do not see how far.
    if len(one) < _LEAST_ROWS or 2 * len(one) < len(values):
        return None
    ranks = _correlation(as_ranks(one), as_ranks(other))
    if ranks > _LEAST_CORRELATION or (ranks > _LEAST_OF_RANKS and _correlation(one, other) > _LEAST_CORRELATION):
        return f"nearly the truth in another unit (correlation of ranks {ranks:.4f})"
    return None


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """The absolute correlation; 0 where one does not move, or moves too far for a float."""
    with np.errstate(all="ignore"):
        one, other = one - one.mean(), other - other.mean()
        length = np.sqrt((one**2).sum() * (other**2).sum())
        return float(np.nan_to_num(abs((one * other).sum()) / length)) if length > 0 else 0.0


def _share(mistakes: int, rows: int) -> str:
    # Rounded down: 100.0% would be said of what is not.
    return "every row" if mistakes == 0 else f"{np.floor(1000 * (1 - mistakes / rows)) / 10:.1f}% of rows"


def oracles(
    entities: Sequence[Mapping[str, Any]], rows: int, *, task: Task, whole: bool, columns: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield one problem for the entities that are the truth wherever they were asked, though the others are not.

    Args:
        entities: name, share asked and error of each.
        rows: of the log.
        task: what the truth is.
        whole: whether its numbers are whole ones, which are met by luck too.
        columns: from an entity's name to its column.
    """
    errors = [entity["error"] for entity in entities if entity["error"] > 0]
    if not errors:
        return
    needed = _LEAST_ANSWERS if whole or task == "classification" else _LEAST_NUMBERS
    if task == "classification":
        needed = max(needed, _LEAST_EXPECTED / min(errors))
    found = [entity for entity in entities if entity["error"] == 0 and rows * entity["asked"] >= needed]
    if found:
        names = [entity["name"] for entity in found]
        yield Problem(
            "warning",
            f"{listed(names)} {'was' if len(names) == 1 else 'were'} never wrong, and the others were: "
            "is it the truth under another name? If so, leave it out",
            columns[names[0]] if len(names) == 1 else None,
        )

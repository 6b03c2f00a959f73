"""Which rows are held out together: groups stay whole, and folds are of nearly equal size; or go from past to future.

Folds in time are numbered as they follow each other; what was before all of them has the number −1.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from askwho.exceptions import InvalidInputError


def folds(groups: np.ndarray, count: int, *, random_state: int = 0) -> Int[np.ndarray, " n"]:
    """Return the fold of each row, shape (n,): groups stay whole, and folds are of nearly equal size."""
    _, group = np.unique(groups, return_inverse=True)
    size = np.bincount(group)
    shuffled = np.random.default_rng(random_state).permutation(len(size))
    # Largest groups first, each into the emptiest fold: one huge group cannot unbalance the rest.
    order = shuffled[np.argsort(-size[shuffled], kind="stable")]
    if size.max() == 1:
        place = np.empty(len(size), dtype=np.intp)
        place[order] = np.arange(len(size)) % count
        return place[group]
    place, filled = np.empty(len(size), dtype=np.intp), np.zeros(count)
    for each in order:
        place[each] = filled.argmin()
        filled[place[each]] += size[each]
    return place[group]


def folds_in_time(
    time: Float[np.ndarray, " n"],
    groups: Shaped[np.ndarray, " n"],
    count: int,
    *,
    least: int = 1,
    random_state: int = 0,
) -> Int[np.ndarray, " n"]:
    """Return the fold of each row, shape (n,): −1 is what was first, 0, 1 and on follow in time, of nearly equal size.

    A group goes with its last row. Rows of one moment stay together, unless hardly any row were before or after them.

    Args:
        time: shape (n,), when each row was.
        groups: shape (n,), which rows stay together.
        count: how many folds follow the first; fewer where there are not so many moments.
        least: how many rows the first must have, and fewer than there are.
        random_state: the seed of the order within one moment.
    """
    last, group = last_moments(time, groups)
    shuffled = np.random.default_rng(random_state).permutation(len(last))
    order = shuffled[np.argsort(last[shuffled], kind="stable")]
    moments = np.diff(last[order]) > 0
    if not moments.any():
        if np.ptp(time) == 0:
            raise InvalidInputError(
                "`time` must tell one moment from another, got the same in every row: leave it out."
            )
        raise InvalidInputError(
            f"`time` must tell which groups were first, got the same last moment of all {len(last)}: leave it out, or "
            "name finer groups."
        )
    cuts = _cuts(np.cumsum(np.bincount(group)[order])[:-1], moments, len(time), count, least)
    place = np.empty(len(last), dtype=np.intp)
    place[order] = np.searchsorted(cuts, np.arange(len(last)), side="right") - 1
    return place[group]


def last_moments(
    time: Float[np.ndarray, " n"], groups: Shaped[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " g"], Int[np.ndarray, " n"]]:
    """Return when each group had its last row, shape (g,), and the number of each row's group, shape (n,)."""
    names, group = np.unique(groups, return_inverse=True)
    last = np.full(len(names), -np.inf)
    np.maximum.at(last, group.reshape(-1), time)
    return last, group.reshape(-1)


def each_fold(fold: Int[np.ndarray, " n"]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows to learn from and the rows to predict, a fold at a time, each of shape (rows,).

    In time only what was before is learned from, and what was before everything is not predicted.
    """
    past = bool((fold < 0).any())
    for each in np.unique(fold[fold >= 0]):
        yield np.flatnonzero(fold < each if past else fold != each), np.flatnonzero(fold == each)


def _cuts(
    before: Int[np.ndarray, " cut"], moments: Bool[np.ndarray, " cut"], n: int, count: int, least: int
) -> Int[np.ndarray, " few"]:
    """The places, among groups in order of time, where folds begin.

    Args:
        before: how many rows there are up to each group but the last.
        moments: whether time moves on behind each of them.
        n: how many rows there are.
        count: how many folds are wanted.
        least: how many rows must be before the first.
    """
    first = max(n // (count + 1), least)
    wanted, fewest = np.linspace(first, n, count + 1)[:-1], max(least, first / 2)
    near = before[:0]
    for places in (np.flatnonzero(moments), np.arange(len(before))):
        enough = places[before[places] >= fewest]
        if len(enough):
            near = np.unique(enough[np.abs(before[enough][:, None] - wanted).argmin(axis=0)])
            # So few rows would follow that they tell nothing: rather are those of one moment parted.
            if n - before[near[0]] >= (n - first) / count / 2:
                break
    return near + 1

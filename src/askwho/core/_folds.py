"""Which rows are held out together: groups stay whole, and folds are of nearly equal size; or go from past to future.

A fold in time has a number that grows with it. What comes first of all has negative ones: nothing was before it, so
that its two halves are predicted from each other, and nothing is judged by them.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int, Shaped

from askwho.exceptions import InvalidInputError

# Rows that the first block has, where there are twice as many: each of its halves then teaches a little.
_FIRST_ROWS = 8


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
    time: Float[np.ndarray, " n"], groups: Shaped[np.ndarray, " n"], count: int, *, random_state: int = 0
) -> Int[np.ndarray, " n"]:
    """Return the fold of each row, shape (n,): −1 and −2 are halves of what was first, 0, 1 and on follow in time.

    A group goes with its last row. Rows of one moment stay together, unless hardly any row were before or after them.

    Args:
        time: shape (n,), when each row was.
        groups: shape (n,), which rows stay together.
        count: how many folds follow the first; fewer where there are not so many moments.
        random_state: the seed of the first fold's halves, and of the order within one moment.
    """
    rng = np.random.default_rng(random_state)
    last, group = last_moments(time, groups)
    shuffled = rng.permutation(len(last))
    order = shuffled[np.argsort(last[shuffled], kind="stable")]
    before = np.cumsum(np.bincount(group)[order])[:-1]
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
    cuts = _cuts(before, moments, len(time), count)
    place = np.empty(len(last), dtype=np.intp)
    place[order] = np.searchsorted(cuts, np.arange(len(last)), side="right") - 1
    fold = place[group]
    first = np.flatnonzero(fold < 0)
    if len(first) < 2:
        raise InvalidInputError("`groups` must leave two rows to begin with, got one: no more ended before the others.")
    # A first block of one group is halved within: nothing is judged by it.
    together = group[first] if len(np.unique(group[first])) > 1 else np.arange(len(first))
    fold[first] = -1 - folds(together, 2, random_state=random_state)
    return fold


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

    In time only what was before is learned from, and the last fold comes first: it has most to learn from.
    """
    if not in_time(fold):
        for each in np.unique(fold):
            yield np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        return
    for each in np.unique(fold[fold >= 0])[::-1]:
        yield np.flatnonzero(fold < each), np.flatnonzero(fold == each)
    halves = [np.flatnonzero(fold == each) for each in np.unique(fold[fold < 0])]
    if len(halves) > 1:
        yield halves[0], halves[1]
        yield halves[1], halves[0]


def in_time(fold: Int[np.ndarray, " n"]) -> bool:
    """Return whether folds go from past to future."""
    return bool((fold < 0).any())


def judged(fold: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    """Return the rows by which something is chosen and targets are met, shape (m,): those with a past, or all."""
    return np.flatnonzero(fold >= 0)


def halved(fold: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Return two folds in the place of many, shape (n,); in time two after the first, which is not halved."""
    if not in_time(fold):
        return fold % 2
    return np.where(fold < 0, -1, (2 * fold > fold.max()).astype(fold.dtype))


def _cuts(before: Int[np.ndarray, " g-1"], moments: np.ndarray, n: int, count: int) -> Int[np.ndarray, " cuts"]:
    """The places, among groups in order of time, where folds begin.

    Args:
        before: how many rows there are up to each group but the last.
        moments: whether time moves on behind each of them.
        n: how many rows there are.
        count: how many folds are wanted.
    """
    first = max(n // (count + 1), min(_FIRST_ROWS, n // 2))
    wanted = np.linspace(first, n, count + 1)[:-1]
    least, most = max(2.0, first / 2), n - (n - first) / count / 2
    near = before[:0]
    for places in (np.flatnonzero(moments), np.arange(len(before))):
        near = np.unique(places[np.abs(before[places][:, None] - wanted).argmin(axis=0)])
        if least <= before[near[0]] <= most:
            break
    return near + 1

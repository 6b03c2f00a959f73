"""Folds in time: what was before is learned from, what was after is not, and groups stay whole."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import InvalidInputError
from askwho.core import each_fold, folds, folds_in_time, last_moments


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(8, 60),
    moments=st.sampled_from([2, 3, 10, 1000]),
    size=st.sampled_from([1, 3, 20]),
    count=st.integers(2, 5),
    least=st.sampled_from([1, 8]),
)
def test_nothing_is_learned_from_what_came_later(seed, n, moments, size, count, least):
    rng = np.random.default_rng(seed)
    time, groups = rng.integers(0, moments, n).astype(np.float64), rng.integers(0, max(2, n // size), n)
    last, group = last_moments(time, groups)
    if len(np.unique(last)) < 2:
        return
    fold = folds_in_time(time, groups, count, least=least)
    assert all(len(np.unique(fold[group == g])) == 1 for g in range(len(last)))
    assert (np.unique(fold) == np.arange(fold.max() + 2) - 1).all()
    assert fold.max() < count
    assert (fold < 0).sum() >= least
    # In order of time: no group of an earlier fold ends after one of a later fold.
    place = np.array([fold[group == g][0] for g in range(len(last))])
    ends = [(last[place == b].min(), last[place == b].max()) for b in range(-1, fold.max() + 1)]
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))
    predicted = np.zeros(n, dtype=int)
    for past, now in each_fold(fold):
        predicted[now] += 1
        assert fold[past].max() < fold[now].min()
        assert set(groups[past]).isdisjoint(groups[now])
        assert len(past) + (fold >= fold[now[0]]).sum() == n
    np.testing.assert_array_equal(predicted, fold >= 0)


def test_folds_in_time_are_of_nearly_equal_size_and_mind_the_order_of_time_alone():
    time = np.random.default_rng(0).permutation(120).astype(np.float64)
    fold = folds_in_time(time, np.arange(120), 5)
    np.testing.assert_array_equal(np.bincount(fold + 1), np.full(6, 20))
    np.testing.assert_array_equal(fold, (time // 20).astype(int) - 1)
    np.testing.assert_array_equal(fold, folds_in_time(time**3, np.arange(120), 5, random_state=9))


def test_rows_of_one_moment_stay_together_where_enough_are_before_and_after():
    halves = np.repeat([0.0, 1.0], 50)
    np.testing.assert_array_equal(folds_in_time(halves, np.arange(100), 5), np.repeat([-1, 0], 50))
    # Five rows after all others judge nothing: then one moment is divided.
    late = np.repeat([0.0, 1.0], [95, 5])
    fold = folds_in_time(late, np.arange(100), 4)
    np.testing.assert_array_equal(np.bincount(fold + 1), np.full(5, 20))
    assert (fold[95:] == 3).all()


def test_a_group_goes_with_its_last_row():
    time, groups = np.arange(40.0), np.arange(40) // 2
    groups[0] = groups[39]
    assert folds_in_time(time, groups, 3)[0] == 2


def test_time_that_tells_nothing_is_refused():
    with pytest.raises(InvalidInputError, match="`time` must tell one moment from another, got the same in every row"):
        folds_in_time(np.ones(20), np.arange(20), 3)
    time = np.repeat([0.0, 1.0], 10)
    with pytest.raises(
        InvalidInputError, match="got the same last moment of all 10: leave it out, or name finer groups"
    ):
        folds_in_time(time, np.tile(np.arange(10), 2), 3)


def test_folds_at_random_learn_from_all_others():
    fold = folds(np.arange(20), 4)
    for seen, held in each_fold(fold):
        assert sorted([*seen, *held]) == list(range(20))

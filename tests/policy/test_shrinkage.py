"""What is kept of expected errors: all of a true signal, nothing of noise, little of a newcomer's luck."""

import numpy as np
import pytest

from askwho.policy import Shrinkage


def test_noise_leaves_one_ranking_for_every_query():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        levels = np.array([0.2, 0.3, 0.4])
        errors = (rng.random((2000, 3)) < levels).astype(float)
        expected = levels + rng.normal(0, 0.1, (2000, 3))
        left = Shrinkage.fit(expected, errors).apply(expected)
        assert left.std(axis=0).max() < 0.025
        assert (left.argmin(axis=1) == 0).mean() > 0.95


def test_a_signal_that_is_borne_out_stays():
    rng = np.random.default_rng(0)
    expected = rng.uniform(0.05, 0.95, (4000, 3))
    errors = (rng.random(expected.shape) < expected).astype(float)
    np.testing.assert_allclose(Shrinkage.fit(expected, errors).apply(expected), expected, atol=0.05)


def test_half_a_signal_is_halved():
    rng = np.random.default_rng(1)
    true = rng.uniform(0.3, 0.7, (20000, 3))
    errors = (rng.random(true.shape) < true).astype(float)
    stretched = 0.5 + 2 * (true - 0.5)
    shrinkage = Shrinkage.fit(stretched, errors)
    np.testing.assert_allclose(shrinkage.own, 0.5, atol=0.06)
    assert shrinkage.shared == pytest.approx(0.5, abs=0.06)


def test_nothing_is_stretched():
    rng = np.random.default_rng(2)
    true = rng.uniform(0.1, 0.9, (4000, 3))
    errors = (rng.random(true.shape) < true).astype(float)
    shrinkage = Shrinkage.fit(0.5 + 0.3 * (true - 0.5), errors)
    assert shrinkage.own.max() <= 1
    assert shrinkage.shared <= 1


def test_ten_right_answers_of_ten_are_not_proof():
    rng = np.random.default_rng(3)
    errors = (rng.random((1000, 5)) < [0.3, 0.25, 0.35, 0.3, 0.3]).astype(float)
    errors[:, 4] = np.nan
    errors[:10, 4] = 0.0
    expected = np.tile(np.nanmean(errors, axis=0), (1000, 1))
    level = Shrinkage.fit(expected, errors).level
    assert level[4] > level[:4].min()
    np.testing.assert_allclose(level[:4], np.nanmean(errors, axis=0)[:4], atol=0.02)


def test_errors_of_the_same_queries_differ_by_less_than_chance_over_queries():
    # Two who err on the same hard queries, one of them on a few more: the difference is small, and certain.
    rng = np.random.default_rng(4)
    hard = rng.random(2000) < 0.3
    errors = np.column_stack([hard, hard | (rng.random(2000) < 0.01)]).astype(float)
    level = Shrinkage.fit(np.tile(errors.mean(axis=0), (2000, 1)), errors).level
    assert level[1] - level[0] > 0.7 * (errors[:, 1].mean() - errors[:, 0].mean())


def test_one_query_is_as_among_many():
    rng = np.random.default_rng(5)
    expected = rng.uniform(0, 1, (300, 4))
    shrinkage = Shrinkage.fit(expected, (rng.random(expected.shape) < expected).astype(float))
    one = np.array([shrinkage.of_one(expected[i].tolist()) for i in range(20)])
    np.testing.assert_allclose(one, shrinkage.apply(expected)[:20], rtol=1e-12)


def test_of_squares_a_few_queries_do_not_decide():
    # One query in a hundred is off by a hundred times as much, for everybody: the rest tells who is good at what.
    kept = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        good = rng.uniform(0.5, 1.5, (2000, 3))
        wild = np.where(rng.random((2000, 1)) < 0.01, 100.0, 1.0)
        errors = np.square(good * rng.normal(size=good.shape)) * wild
        kept.append(Shrinkage.fit(np.square(good), errors, squared=True).own.mean())
    assert min(kept) > 0.6


def test_who_is_told_apart_from_the_others_keeps_a_slope_of_his_own():
    rng = np.random.default_rng(2)
    expected = rng.uniform(0.1, 0.9, (20000, 3))
    # What is expected of the first two is borne out, and of the third nothing is.
    errors = (rng.random(expected.shape) < np.where(np.arange(3) < 2, expected, 0.5)).astype(float)
    own = Shrinkage.fit(expected, errors).own
    assert own[2] < 0.1
    assert own[:2].min() > 0.8


def test_who_was_asked_about_easy_queries_is_thought_of_over_all():
    rng = np.random.default_rng(0)
    hard = rng.normal(size=(6000, 1))
    came = (rng.random((6000, 3)) < 1 / (1 + np.exp(1.0 - 1.5 * hard))).astype(float)
    chance = np.where(hard < 0, 0.8, 0.15)
    asked = rng.random(came.shape) < chance
    # The learner knows nothing of it: whatever tells the easy from the hard is in the weights alone.
    expected = np.full(came.shape, came[asked].mean())
    level = Shrinkage.fit(expected, np.where(asked, came, np.nan), np.where(asked, 1 / chance, 0.0)).level
    assert came[asked].mean() < came.mean() - 0.08
    np.testing.assert_allclose(level, came.mean(axis=0), atol=0.03)


def test_slopes_are_told_by_rows_as_they_stand_and_levels_by_what_these_weigh():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3000, 1))
    true = np.hstack([0.1 + 0.5 * x, 0.6 - 0.5 * x])
    chance = np.where(x < 0.6, 0.6, 0.02)
    asked = rng.random(true.shape) < chance
    errors = np.where(asked, (rng.random(true.shape) < true).astype(float), np.nan)
    weights = np.where(asked, 1 / chance, 0.0)
    kept = Shrinkage.fit(true, errors, weights, beside=asked.astype(float))
    assert kept.own.min() > 0.8
    np.testing.assert_allclose(kept.apply(true).mean(axis=0), true.mean(axis=0), atol=0.05)

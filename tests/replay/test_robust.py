"""A mean that is right where the model is, or the weights are; and that a few rows do not carry away."""

import numpy as np
import pytest

from askwho.replay import corrected

N = 4000


def world(seed, *, model, known=True):
    rng = np.random.default_rng(seed)
    x = rng.random(N)
    chance = np.where(x < 0.5, 0.8, 0.2)
    truth = np.where(x < 0.5, 0.1, 0.4)
    came = np.where(rng.random(N) < chance, (rng.random(N) < truth).astype(float), np.nan)
    weights = 1 / (chance if known else np.full(N, np.nanmean(~np.isnan(came))))
    return (truth if model else np.full(N, 0.1))[None], came[None], weights[None]


@pytest.mark.parametrize(("model", "known"), [(True, True), (True, False), (False, True)])
def test_it_is_right_where_either_is(model, known):
    means = [corrected(*world(seed, model=model, known=known)).mean() for seed in range(20)]
    assert np.mean(means) == pytest.approx(0.25, abs=0.012)


def test_what_chance_would_do_moves_nothing():
    rng = np.random.default_rng(0)
    expected, weights = np.full((1, N), 0.25), np.full((1, N), 50.0)
    came = np.where(rng.random((1, N)) < 0.02, (rng.random((1, N)) < 0.25).astype(float), np.nan)
    np.testing.assert_array_equal(corrected(expected, came, weights), expected)


def test_no_single_row_stands_for_all():
    expected, came, weights = np.full((1, N), 0.5), np.full((1, N), np.nan), np.ones((1, N))
    came[0, :200] = 0.5
    came[0, 0], weights[0, 0] = 0.0, 1e6
    assert corrected(expected, came, weights).mean() == pytest.approx(0.5, abs=0.01)


def test_rows_of_one_group_are_one_doubt():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(8), N // 8)
    expected, weights = np.full((1, N), 0.25), np.ones((1, N))
    came = (0.25 + np.repeat(rng.normal(0, 0.1, 8), N // 8))[None]
    assert not np.array_equal(corrected(expected, came, weights), expected)
    np.testing.assert_array_equal(corrected(expected, came, weights, groups), expected)

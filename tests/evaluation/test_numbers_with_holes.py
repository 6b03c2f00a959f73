"""Numbers of which few queries decide the mean, and not everybody was asked about them."""

import numpy as np
import pytest

from askwho._unit import Unit
from askwho.evaluation import Point, Resamples
from askwho.evaluation._points import error_interval
from askwho.replay._others import Others

N, SEEDS = 800, 60
SQUARES = Unit("RMSE", root=True, share=False, most=np.inf)


def world(seed):
    """Squared errors of four, each asked about a quarter of the queries: one query in a hundred is hard for all."""
    rng = np.random.default_rng(seed)
    hard = np.where(rng.random(N) < 0.01, 400.0, 1.0)
    expected = np.full((N, 4), 5.0)
    errors = hard[:, None] * rng.gamma(2.0, 0.5, (N, 4))
    asked = rng.random((N, 4)) < 0.25
    return errors, expected, asked


def told(errors, expected, asked, *, doubt):
    resamples = Resamples.of(np.arange(N), SQUARES, draws=200)
    members = np.zeros(asked.shape, dtype=bool)
    members[:, 0] = True
    others = Others.of(np.where(asked, errors, np.nan), expected)
    point = Point(
        np.where(asked[:, 0], errors[:, 0], np.nan),
        np.ones(N),
        weights=np.where(asked[:, 0], 4.0, 0.0),
        expected=expected[:, 0],
        doubt=others.beyond(expected[:, 0], members) if doubt else None,
    )
    return resamples.tally([point])[0]


def test_intervals_hold_what_the_same_rows_say_when_complete():
    held = {True: 0, False: 0}
    for seed in range(SEEDS):
        errors, expected, asked = world(seed)
        whole = float(np.sqrt(errors[:, 0].mean()))
        for doubt in held:
            low, high = error_interval(told(errors, expected, asked, doubt=doubt))
            held[doubt] += low <= whole <= high
    # Exact binomial test of 95%: 60 draws of which fewer than 53 hold would reject at one in a hundred.
    assert held[True] >= 53
    assert held[False] < 53


def test_a_mean_of_numbers_is_not_below_nothing_and_right_in_the_mean():
    means = []
    for seed in range(SEEDS):
        errors, expected, asked = world(seed)
        tally = told(errors, 3 * expected, asked, doubt=True)
        means.append(float(tally.loss[0]) / errors[:, 0].mean())
        assert tally.loss.min() > 0
    assert np.mean(means) == pytest.approx(1.0, abs=4 * np.std(means) / np.sqrt(SEEDS))


def test_batches_add_up():
    errors, expected, asked = world(0)
    whole = told(errors, expected, asked, doubt=True)
    resamples = Resamples.of(np.arange(N), SQUARES, draws=200)
    point = Point(errors[:, 0], np.ones(N), expected=expected[:, 0])
    both = resamples.tally([point])[0] + resamples.tally([point])[0]
    assert both.loss == pytest.approx(resamples.tally([point])[0].loss)
    assert (whole + whole).behind.doubt == pytest.approx(2 * whole.behind.doubt)


def test_who_else_was_asked_tells_how_far_off_one_may_be():
    errors = np.array([[np.nan, 9.0, 1.0], [np.nan, 1.0, np.nan], [np.nan, np.nan, np.nan]])
    expected = np.ones((3, 3))
    members = np.array([[True, False, False]] * 3)
    found = Others.of(errors, expected).beyond(np.full(3, 0.5), members)
    # Of the last nobody knows: the mean of the three that are known.
    np.testing.assert_allclose(found, 0.25 * np.array([32.0, 0.0, 64.0 / 3.0]))
    order = np.array([[0, 1, 2]] * 3)
    nested = Others.of(errors, expected).prefixes(np.full((3, 3), 0.5), order)
    np.testing.assert_allclose(nested[:, 0], found)
    np.testing.assert_allclose(nested[0], 0.25 * np.array([32.0, 0.0, 64.0 / 3.0]))

"""Bounds of an error where asking went by something hidden: they hold what truly came, and no more than they must."""

import itertools

import numpy as np
import pytest

from askwho._unit import Unit
from askwho.evaluation import Point, Resamples, sensitivity


def test_nothing_hidden_is_the_figure_itself():
    errors = np.array([0.0, 1.0, np.nan, 1.0, 0.0])
    weights = np.array([2.0, 1.0, 0.0, 4.0, 1.0])
    resamples = Resamples.of(np.arange(5), Unit(), draws=20)
    (bound,) = sensitivity(Point(errors, np.zeros(5), weights=weights), resamples, [1.0])
    assert bound.low == pytest.approx(5 / 8)
    assert bound.high == pytest.approx(5 / 8)


@pytest.mark.parametrize("seed", range(5))
def test_the_bounds_are_those_of_every_choice_of_weights(seed):
    rng = np.random.default_rng(seed)
    errors, expected = rng.random(6), rng.random(6)
    weights = 1.0 + 3.0 * rng.random(6)
    gamma = 1.0 + rng.random()
    resamples = Resamples.of(np.arange(6), Unit(), draws=10)
    (bound,) = sensitivity(Point(errors, np.zeros(6), weights=weights, expected=expected), resamples, [gamma])
    ends = [(1 + (w - 1) / gamma, 1 + (w - 1) * gamma) for w in weights]
    means = [np.average(errors - expected, weights=chosen) for chosen in itertools.product(*ends)]
    assert bound.low == pytest.approx(max(expected.mean() + min(means), 0.0))
    assert bound.high == pytest.approx(expected.mean() + max(means))


def hidden(seed: int, n: int = 4000, gamma: float = 3.0):
    """Somebody is asked more often where she errs, for a reason that is not in the log."""
    rng = np.random.default_rng(seed)
    errors = (rng.random(n) < 0.3).astype(float)
    odds = np.where(errors == 1, gamma, 1.0) * 0.5
    asked = rng.random(n) < odds / (1 + odds)
    share = np.full(n, asked.mean())
    return errors, Point(np.where(asked, errors, np.nan), np.zeros(n), weights=np.where(asked, 1 / share, 0.0))


def test_what_a_hidden_reason_did_is_within_its_bound_and_beyond_a_smaller_one():
    resamples = Resamples.of(np.arange(4000), Unit(), draws=50)
    for seed in range(5):
        errors, point = hidden(seed)
        none, some, enough = sensitivity(point, resamples, [1.0, 1.2, 3.0])
        assert none.low - errors.mean() > 0.1
        assert not some.interval[0] <= errors.mean() <= some.interval[1]
        assert enough.low <= errors.mean() <= enough.high


def test_more_may_be_hidden_the_wider_the_bounds_and_never_below_nothing():
    _, point = hidden(1)
    resamples = Resamples.of(np.arange(4000), Unit(), draws=50)
    bounds = sensitivity(point, resamples, [1.0, 1.5, 2.0, 50.0])
    for narrow, wide in itertools.pairwise(bounds):
        assert wide.low <= narrow.low <= narrow.high <= wide.high
        assert wide.interval[0] <= narrow.interval[0]
    assert bounds[-1].low >= 0.0


def test_rows_that_everybody_was_asked_about_hide_nothing():
    errors = np.array([0.0, 1.0, 1.0])
    resamples = Resamples.of(np.arange(3), Unit("RMSE", root=True, share=False, most=np.inf), draws=10)
    (bound,) = sensitivity(Point(errors, np.zeros(3)), resamples, [5.0])
    assert bound.low == bound.high == pytest.approx(np.sqrt(2 / 3))

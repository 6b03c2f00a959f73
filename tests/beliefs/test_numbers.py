"""Numbers: what several say together, how far off that may be, and intervals that hold the truth as often as said."""

import numpy as np
import pytest

from askwho.beliefs import Intervals, NumberCase, NumberPool
from askwho.core import Pinball, elementwise_error, error_function, quantile_of
from askwho.exceptions import InvalidInputError

SCALES = np.array([0.2, 0.5, 1.0, 2.0])


def world(n=1500, seed=0, error="absolute"):
    """Queries of two kinds, one three times as hard; everybody is known for how far off he is."""
    rng = np.random.default_rng(seed)
    hard = np.where(rng.random(n) < 0.5, 1.0, 3.0)[:, None]
    truth = 100.0 * rng.normal(size=n)
    noise = SCALES * hard * rng.normal(size=(n, 4))
    said = truth[:, None] + noise
    expected = np.broadcast_to(elementwise_error(noise, np.zeros_like(noise), error).mean(axis=0) / 2, (n, 4)) * hard
    return NumberCase(said, np.ones((n, 4), dtype=bool), expected), truth


def masks(n, seed=0):
    rng = np.random.default_rng(seed)
    return [np.ones((n, 4), dtype=bool), rng.random((n, 4)) < 0.5]


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_pinball_loss_is_least_at_its_quantile(quantile):
    truth = np.random.default_rng(0).normal(size=4000)
    guesses = np.linspace(-2, 2, 401)
    losses = [Pinball(quantile)(np.full(4000, guess), truth).mean() for guess in guesses]
    assert abs(guesses[int(np.argmin(losses))] - np.quantile(truth, quantile)) < 0.02
    assert error_function(f"pinball:{quantile}") == Pinball(quantile)
    assert quantile_of(Pinball(quantile)) == quantile
    assert quantile_of(error_function("squared")) is None


@pytest.mark.parametrize("error", ["pinball:", "pinball:1", "pinball:x", "pinball:nan"])
def test_a_quantile_is_between_0_and_1(error):
    with pytest.raises(InvalidInputError) as said:
        error_function(error)
    assert str(said.value) == (f"`error` must name a quantile between 0 and 1, such as 'pinball:0.9', got {error!r}.")


@pytest.mark.parametrize("error", ["squared", "absolute", "pinball:0.9", "smooth-l1"])
def test_what_stopping_is_expected_to_cost_is_what_it_costs(error):
    case, truth = world(error=error)
    pool = NumberPool.fit(case, truth, masks(len(case)), error)
    fresh, later = world(seed=1, error=error)
    for asked in ([True, False, False, False], [False, False, True, False], [True, True, True, True]):
        believed = pool.probabilities(fresh, pool.hear_all(fresh, np.tile(asked, (len(fresh), 1))))
        came = elementwise_error(believed[:, 0], later, error).mean()
        assert believed[:, 2].mean() == pytest.approx(came, rel=0.3)


def test_those_who_are_far_off_weigh_little_and_a_quantile_is_above_the_mean():
    case, truth = world()
    pool = NumberPool.fit(case, truth, masks(len(case)), "absolute")
    everyone = pool.hear_all(case, np.ones((len(case), 4), dtype=bool))
    together = pool.probabilities(case, everyone)[:, 0]
    assert np.abs(together - truth).mean() < 0.97 * np.abs(case.values[:, 0] - truth).mean()
    case, truth = world(error="pinball:0.9")
    high = NumberPool.fit(case, truth, masks(len(case)), "pinball:0.9")
    for asked in (everyone.asked, everyone.asked & np.array([False, False, False, True])):
        verdict = high.probabilities(case, high.hear_all(case, asked))[:, 0]
        assert (truth <= verdict).mean() == pytest.approx(0.9, abs=0.04)


def test_answers_that_are_apart_say_that_the_verdict_is_off():
    rng = np.random.default_rng(0)
    hard = np.exp(rng.normal(size=2000))[:, None]
    truth = rng.normal(size=2000)
    # Nothing is known beforehand of how hard a query is: only the answers tell.
    case = NumberCase(
        truth[:, None] + hard * rng.normal(size=(2000, 4)), np.ones((2000, 4), dtype=bool), np.ones((2000, 4))
    )
    pool = NumberPool.fit(case, truth, masks(2000), "absolute")
    believed = pool.probabilities(case, pool.hear_all(case, np.ones((2000, 4), dtype=bool)))
    sure = believed[:, 1] < np.median(believed[:, 1])
    off = np.abs(believed[:, 0] - truth)
    assert off[sure].mean() < 0.5 * off[~sure].mean()


def test_who_is_not_heard_makes_no_difference_and_nobody_says_nothing():
    case, truth = world(300)
    pool = NumberPool.fit(case, truth, masks(300), "squared")
    asked = np.tile([True, True, False, False], (300, 1))
    other = NumberCase(np.where(asked, case.values, 1e6), case.spoke, np.where(asked, case.expected, 7.0))
    np.testing.assert_array_equal(
        pool.probabilities(case, pool.hear_all(case, asked)), pool.probabilities(other, pool.hear_all(other, asked))
    )
    nothing = pool.probabilities(case, pool.nothing(case, np.arange(300)))
    assert np.isnan(nothing[:, 0]).all()
    assert np.isfinite(nothing[:, 1]).all()


# Intervals.


def scores(n, seed):
    """Skewed, and twice as wide where the scale is large: what the scale does not know."""
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0, 1, n)
    return (rng.exponential(size=n) - 1.0) * np.where(scales > 0.5, 2.0, 1.0), scales


def test_intervals_hold_the_truth_as_often_as_said_in_every_part():
    left, scales = scores(6000, 0)
    known = Intervals.of(left, scales, np.ones(6000, dtype=np.intp), np.arange(6000))
    fresh, where = scores(20000, 1)
    for coverage in (0.5, 0.9):
        low, high = known.bounds(where, np.ones(20000, dtype=np.intp), coverage)
        inside = (low <= fresh) & (fresh <= high)
        for part in (where < 0.5, where > 0.5):
            assert inside[part].mean() == pytest.approx(coverage, abs=0.025)


def test_rows_of_one_group_count_as_one():
    rng = np.random.default_rng(0)
    # One group of a thousand rows lies elsewhere: it is one of many.
    left = np.concatenate([rng.normal(size=300), np.full(1000, 50.0)])
    groups = np.concatenate([np.arange(300), np.full(1000, 300)])
    alone = Intervals.of(left, np.ones(1300), np.ones(1300, dtype=np.intp), groups)
    _, high = alone.bounds(np.ones(1), np.ones(1, dtype=np.intp), 0.9)
    assert high[0] < 3.0
    _, high = Intervals.of(left, np.ones(1300), np.ones(1300, dtype=np.intp), np.arange(1300)).bounds(
        np.ones(1), np.ones(1, dtype=np.intp), 0.9
    )
    assert high[0] == 50.0


def test_too_few_rows_are_refused():
    few = Intervals.of(np.arange(18.0), np.ones(18), np.ones(18, dtype=np.intp), np.arange(18))
    with pytest.raises(InvalidInputError) as said:
        few.bounds(np.ones(1), np.ones(1, dtype=np.intp), 0.9)
    assert str(said.value) == (
        "`coverage` must be at most 0.895, got 0.9: 18 rows that are alike, or groups of them, cannot tell more. "
        "Calibrate on more rows."
    )
    enough = Intervals.of(np.arange(19.0), np.ones(19), np.ones(19, dtype=np.intp), np.arange(19))
    low, high = enough.bounds(np.ones(1), np.ones(1, dtype=np.intp), 0.9)
    assert (low[0], high[0]) == (0.0, 18.0)
    assert Intervals.of(np.full(3, np.nan), np.ones(3), np.ones(3, dtype=np.intp), np.arange(3)) is None

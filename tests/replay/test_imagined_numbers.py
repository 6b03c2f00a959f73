"""Numbers that nobody said are drawn as the others are: as heavy in their tails, and off where others are off."""

import numpy as np
import pytest

from askwho import Columns, read_log
from askwho.core import Cell
from askwho.replay._imagined import imagined
from askwho.replay._imagined_numbers import _degree

N, NAMES = 6000, ("a", "b", "c")


def world(*, error="squared", hard=0.0, own=0.0):
    """Three forecasters whose errors share a part; `hard` queries are harder for all, `own` tails are of each."""
    rng = np.random.default_rng(0)
    truth = 10.0 * rng.normal(size=N)
    noise = 0.6 * rng.normal(size=(N, 1)) + 0.8 * rng.normal(size=(N, 3))
    noise = noise * np.exp(hard * rng.normal(size=(N, 1))) * np.exp(own * rng.normal(size=(N, 3)))
    said = truth[:, None] + np.array([2.0, 1.5, 1.0]) * noise
    keep = rng.random((N, 3)) < 0.6
    keep[:, 0] = True
    table = {"truth": truth, "x_0": rng.normal(size=N)}
    columns = Columns(truth="truth", answers="answer_*", features="x_*", task="regression", error=error)
    whole = read_log(table | {f"answer_{name}": said[:, j] for j, name in enumerate(NAMES)}, columns)
    kept = np.where(keep, said, np.nan)
    return whole, read_log(table | {f"answer_{name}": kept[:, j] for j, name in enumerate(NAMES)}, columns)


def drawn(whole, log, *, anew=False):
    """The log with what is missing drawn, where each errs as he does in the mean."""
    expected = np.tile(whole.errors.mean(axis=0), (N, 1))
    return imagined(log, expected, np.random.default_rng(1), anew=anew)


def gaps(log):
    """How far those who are asked first lie apart: by which asking in turn stops, or goes on."""
    return np.abs(np.diff(log.answers.values, axis=1))


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize(("hard", "own"), [(0.0, 0.0), (0.8, 0.0), (0.0, 0.8)])
def test_answers_lie_as_far_apart_as_they_really_would(hard, own, anew):
    whole, log = world(hard=hard, own=own)
    found = drawn(whole, log, anew=anew)
    for part in (0.25, 0.5, 0.75, 0.95):
        np.testing.assert_allclose(np.quantile(gaps(found), part), np.quantile(gaps(whole), part), rtol=0.08)


def test_who_is_far_off_tells_that_others_would_be():
    whole, log = world(hard=0.8)
    found, there = drawn(whole, log), log.asked[:, 1]
    # Beside the first answer, whose error is known, by how far off it is.
    far = whole.errors[:, 0] > np.quantile(whole.errors[:, 0], 0.8)
    for some in (far, ~far):
        missing = some & ~there
        assert found.errors[missing, 1].mean() == pytest.approx(whole.errors[missing, 1].mean(), rel=0.2)


@pytest.mark.parametrize(("error", "degree"), [("absolute", 1.0), ("squared", 2.0), ("pinball:0.9", 1.0)])
def test_errors_are_of_the_logs_own_kind(error, degree):
    whole, log = world(error=error)
    assert _degree(log.scored_by) == pytest.approx(degree)
    found = drawn(whole, log)
    missing = ~log.asked
    np.testing.assert_allclose(found.errors[missing].mean(), whole.errors[missing].mean(), rtol=0.05)


def test_forecasts_that_are_off_to_one_side_are_drawn_to_that_side():
    whole, log = world()
    for each in (whole, log):
        each.answers.values[:, 1] += 3.0
    found, missing = drawn(whole, log), ~log.asked[:, 1]
    off = (found.answers.values[:, 1] - found.truth)[missing]
    assert off.mean() == pytest.approx(3.0, abs=0.2)


def test_nobody_heard_and_nothing_known_are_drawn_all_the_same():
    whole, log = world()
    log.errors[:, 2] = np.nan
    log.answers.states[:, 2] = Cell.NOT_ASKED
    assert np.isfinite(imagined(log, whole.errors * 0 + 1.0, np.random.default_rng(0)).answers.values).all()

"""What is imagined to come back with answers: as hard as the query is, and beside what others said of it."""

import numpy as np
import pytest
from scipy.special import expit

from askwho.core import Answers, Cell, Entity, Panel
from askwho.replay._imagined import imagined
from askwho.replay._told import Told
from tests.logs import log_of_arrays

N, SIZE, CLASSES = 12_000, 4, 3
PANEL = Panel(tuple(Entity(f"e{j}", "expert", 1.0) for j in range(SIZE)))


def world(seed=0, *, silent=()):
    """A log of everybody, expected errors by a feature, and confidences that know more of how hard a query is."""
    rng = np.random.default_rng(seed)
    seen, unseen = rng.normal(size=(N, 1)), rng.normal(size=(N, 1))
    hard = -0.8 + 1.2 * seen + 1.2 * unseen + np.zeros(SIZE)
    erred = rng.random(hard.shape) < expit(hard)
    # What the feature alone tells: the mean over what it does not.
    expected = expit(-0.8 + 1.2 * seen + 1.2 * rng.normal(size=(1, 400))).mean(axis=1, keepdims=True) + np.zeros(SIZE)
    truth = rng.integers(CLASSES, size=N)
    said = np.where(erred, (truth[:, None] + rng.integers(1, CLASSES, erred.shape)) % CLASSES, truth[:, None])
    info = expit(1.0 - 0.6 * hard - 0.8 * erred + 0.6 * rng.normal(size=hard.shape))
    info[:, list(silent)] = np.nan
    answers = Answers(said, np.full(said.shape, Cell.ANSWERED, dtype=np.int8))
    return log_of_arrays(seen, panel=PANEL, answers=answers, truth=truth, info=info), expected


def thinned(log, keep):
    states = np.where(keep, log.answers.states, Cell.NOT_ASKED).astype(np.int8)
    answers = Answers(log.answers.values, states)
    info = np.where(keep, log.info, np.nan)
    return log_of_arrays(log.known["X"], panel=PANEL, answers=answers, truth=log.truth, info=info)


@pytest.fixture(scope="module")
def filled():
    """The whole log, whom the other asked, mostly about what is easy, and the other with its holes filled."""
    log, expected = world()
    chance = np.where(log.known["X"] > 0, 0.3, 0.7)
    keep = np.random.default_rng(1).random(log.errors.shape) < chance
    return log, keep, imagined(thinned(log, keep), expected, np.random.default_rng(2))


def test_what_comes_back_goes_by_how_hard_a_query_is(filled):
    log, keep, drawn = filled
    for hard in (True, False):
        for erred in (True, False):
            rows = ~keep & ((log.known["X"] > 0) == hard)
            true = log.info[rows & ((log.errors > 0) == erred)]
            got = drawn.info[rows & ((drawn.errors > 0) == erred)]
            # Means of a thousand rows vary by .006; without a line in what was expected they were off by .1.
            assert got.mean() == pytest.approx(true.mean(), abs=0.03), (hard, erred)
            assert got.std() == pytest.approx(true.std(), rel=0.15), (hard, erred)


def test_what_was_heard_stays_and_what_is_imagined_was_heard_before(filled):
    log, keep, drawn = filled
    np.testing.assert_array_equal(drawn.info[keep], log.info[keep])
    for j in range(SIZE):
        assert np.isin(drawn.info[:, j], log.info[keep[:, j], j]).all()


def test_a_low_confidence_tells_of_those_who_were_not_asked(filled):
    log, keep, drawn = filled
    rows = keep[:, 0] & ~keep[:, 1] & (log.errors[:, 0] == 0)
    unsure = rows & (log.info[:, 0] < np.median(log.info[rows, 0]))
    for each in (drawn, log):
        assert each.errors[unsure, 1].mean() > each.errors[rows & ~unsure, 1].mean() + 0.15
    for some in (unsure, rows & ~unsure):
        assert drawn.errors[some, 1].mean() == pytest.approx(log.errors[some, 1].mean(), abs=0.06)
        assert drawn.info[some, 1].mean() == pytest.approx(log.info[some, 1].mean(), abs=0.04)


def test_who_brings_nothing_back_still_does_not():
    log, expected = world(silent=[1])
    keep = np.random.default_rng(1).random(log.errors.shape) < 0.5
    for anew in (True, False):
        drawn = imagined(thinned(log, keep), expected, np.random.default_rng(2), anew=anew)
        assert np.isnan(drawn.info[:, 1]).all()
        assert np.isfinite(drawn.info[:, [0, 2, 3]]).all()


@pytest.mark.parametrize("rows", [19, 20])
def test_a_line_wants_a_score_of_rows_that_differ(rows):
    log, expected = world()
    info = np.where(np.arange(N)[:, None] < rows, log.info, np.nan)
    info[:, 0] = 1.0
    told = Told.of(info, expected, log.errors > 0, log.asked, log.truth)
    assert told.entities.tolist() == ([1, 2, 3] if rows == 20 else [])

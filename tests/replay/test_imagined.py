"""What those who were not asked are imagined to say: errors and wrong answers go together as they do in the log."""

import numpy as np
import pytest
from scipy.special import ndtri

from askwho.core import Answers, Cell, Entity, Panel
from askwho.replay._correlated import correlations
from askwho.replay._imagined import Before, _by_class, imagined
from tests.logs import log_of_arrays

N, STRONG, WEAK, CLASSES = 3000, 5, 5, 6
RATES = np.repeat([0.3, 0.55], [STRONG, WEAK])
PANEL = Panel(tuple(Entity(f"e{j}", "expert", 1.0) for j in range(STRONG + WEAK)))


def world(alike, follow, seed=0):
    """A log of everybody: the strong err together as `alike` says, and who errs says what misleads with `follow`."""
    rng = np.random.default_rng(seed)
    link = np.full((STRONG + WEAK, STRONG + WEAK), alike / 2)
    link[:STRONG, :STRONG] = alike
    np.fill_diagonal(link, 1.0)
    # By the Cholesky factor, which is one matrix everywhere: of equal eigenvalues each machine has its own vectors.
    erred = rng.multivariate_normal(np.zeros(len(link)), link, N, method="cholesky") < ndtri(RATES)
    truth = rng.integers(CLASSES, size=N)
    misleads = (truth + rng.integers(1, CLASSES, N)) % CLASSES
    own = (truth[:, None] + rng.integers(1, CLASSES, erred.shape)) % CLASSES
    wrong = np.where(rng.random(erred.shape) < follow, misleads[:, None], own)
    said = np.where(erred, wrong, truth[:, None])
    answers = Answers(said, np.full(said.shape, Cell.ANSWERED, dtype=np.int8))
    return log_of_arrays(np.zeros((N, 1)), panel=PANEL, answers=answers, truth=truth)


def thinned(log, seed=1):
    """The same log where each was asked about four queries of ten."""
    keep = np.random.default_rng(seed).random(log.errors.shape) < 0.4
    states = np.where(keep, log.answers.states, Cell.NOT_ASKED).astype(np.int8)
    return log_of_arrays(
        np.zeros((N, 1)), panel=PANEL, answers=Answers(log.answers.values, states), truth=log.truth
    ), keep


def plurality(log, members):
    """How often a vote of some is wrong; a tie is half a mistake."""
    votes = np.stack([(log.answers.values[:, members] == each).sum(axis=1) for each in range(CLASSES)], axis=1)
    mine = votes[np.arange(N), log.truth]
    most = np.where(np.arange(CLASSES) == log.truth[:, None], -1, votes).max(axis=1)
    return float(np.where(mine > most, 0.0, np.where(mine == most, 0.5, 1.0)).mean())


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize(("alike", "follow"), [(0.8, 0.7), (0.8, 0.0), (0.0, 0.7), (0.0, 0.0)])
def test_committees_err_as_often_as_they_really_would(alike, follow, anew):
    log = world(alike, follow)
    part, keep = thinned(log)
    drawn = imagined(part, np.tile(RATES, (N, 1)), np.random.default_rng(2), anew=anew)
    strong, everybody = np.arange(STRONG), np.arange(STRONG + WEAK)
    # Three standard errors of shares of 3,000 queries, twice over: of the log and of the draw.
    for members in (strong, everybody):
        assert plurality(drawn, members) == pytest.approx(plurality(log, members), abs=0.035)
    lost = [(each.errors[:, :STRONG] > 0).all(axis=1).mean() for each in (drawn, log)]
    assert lost[0] == pytest.approx(lost[1], abs=0.02)
    assert (drawn.answers.states == Cell.ANSWERED).mean() > 0.97
    if not anew:
        np.testing.assert_array_equal(drawn.answers.values[keep], log.answers.values[keep])
        np.testing.assert_array_equal(drawn.errors[keep], log.errors[keep])


def test_who_erred_tells_of_those_who_were_not_asked():
    found = {True: [], False: [], "same": []}
    # Few queries have what is looked at here: thirty of a log, so that there are six of them.
    for seed in range(6):
        log = world(0.8, 0.7, seed)
        part, keep = thinned(log)
        drawn = imagined(part, np.tile(RATES, (N, 1)), np.random.default_rng(2))
        heard = keep[:, :2].all(axis=1) & ~keep[:, 2]
        for erred in (True, False):
            rows = heard & ((log.errors[:, :2] > 0) == erred).all(axis=1)
            found[erred].append((drawn.errors[rows, 2].mean(), log.errors[rows, 2].mean()))
        # Two that say the same are what misleads: the third that errs mostly says it too.
        said = log.answers.values
        rows = heard & (log.errors[:, :2] > 0).all(axis=1) & (said[:, 0] == said[:, 1])
        found["same"].append(
            [(each.answers.values[:, 2] == said[:, 0])[rows & (each.errors[:, 2] > 0)].mean() for each in (drawn, log)]
        )
    for case, within in ((True, 0.08), (False, 0.04), ("same", 0.12)):
        imagined_so, really = np.mean(found[case], axis=0)
        assert imagined_so == pytest.approx(really, abs=within), case


def one_a_row(log):
    """The same log where one was asked about each query."""
    keep = np.eye(STRONG + WEAK, dtype=bool)[np.random.default_rng(3).integers(STRONG + WEAK, size=N)]
    states = np.where(keep, log.answers.states, Cell.NOT_ASKED).astype(np.int8)
    return log_of_arrays(np.zeros((N, 1)), panel=PANEL, answers=Answers(log.answers.values, states), truth=log.truth)


@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_rows_before_tell_who_errs_together_where_one_was_asked_a_row(alike):
    log, told = world(alike, 0.0), world(alike, 0.0, seed=9)
    before = Before(np.tile(RATES, (N, 1)), told.errors > 0, told.asked)
    drawn = imagined(one_a_row(log), np.tile(RATES, (N, 1)), np.random.default_rng(2), before=before, anew=True)
    lost = [(each.errors[:, :STRONG] > 0).all(axis=1).mean() for each in (drawn, log)]
    assert lost[0] == pytest.approx(lost[1], abs=0.02)
    assert plurality(drawn, np.arange(STRONG)) == pytest.approx(plurality(log, np.arange(STRONG)), abs=0.035)


def two_a_row(log):
    """The same log where two were asked about each query."""
    order = np.random.default_rng(3).random(log.errors.shape).argsort(axis=1)
    keep = np.zeros(log.errors.shape, dtype=bool)
    np.put_along_axis(keep, order[:, :2], values=True, axis=1)
    states = np.where(keep, log.answers.states, Cell.NOT_ASKED).astype(np.int8)
    return log_of_arrays(np.zeros((N, 1)), panel=PANEL, answers=Answers(log.answers.values, states), truth=log.truth)


def lost_and_voted(alike, follow, part, worlds=6):
    """How often all the strong err together, and how often their vote is wrong: imagined, and really."""
    found = []
    for seed in range(worlds):
        log = world(alike, follow, seed)
        drawn = imagined(part(log), np.tile(RATES, (N, 1)), np.random.default_rng(2), anew=True)
        found.append(
            [
                ((each.errors[:, :STRONG] > 0).all(axis=1).mean(), plurality(each, np.arange(STRONG)))
                for each in (drawn, log)
            ]
        )
    return np.mean(found, axis=0)


def test_where_one_was_asked_a_row_errors_are_not_taken_for_independent():
    (lost, voted), (really, vote) = lost_and_voted(0.4, 0.0, one_a_row)
    # A panel whose errors go together as they usually do: .38, between what the strong share and all others do.
    assert voted == pytest.approx(vote, abs=0.02)
    # Independent errors would make it .002, where .04 are true; a draw scatters by .005.
    assert lost == pytest.approx(really, abs=0.012)


def test_few_queries_have_both_and_pairs_are_drawn_to_their_like():
    (lost, voted), (really, vote) = lost_and_voted(0.8, 0.7, two_a_row)
    assert voted == pytest.approx(vote, abs=0.02)
    # Pairs of the strong are drawn to all others, who go together less: .118 where .133 are true; a draw scatters by
    # .015, the mean of six by .006.
    assert lost == pytest.approx(really, abs=0.035)


def test_whoever_errs_on_a_class_as_often_as_was_expected_stays_as_he_was():
    rng = np.random.default_rng(0)
    expected = rng.uniform(0.1, 0.6, (400, 2))
    # Of the second half of the rows nobody was asked: what is expected in the mean stands in.
    asked = np.tile(np.arange(400)[:, None] < 200, (1, 2))
    wrong = np.zeros((400, 2), dtype=bool)
    for j in range(2):
        wrong[: round(expected[:200, j].sum()), j] = True
    found = _by_class(expected, wrong, asked, asked, np.zeros(400))
    np.testing.assert_allclose(found, expected, atol=0.01)
    # Twice as many mistakes of a class move it up there, and nowhere else.
    often = wrong.copy()
    often[:100] = True
    classes = (np.arange(400) >= 200).astype(np.intp)
    moved = _by_class(expected, often, asked | True, asked | True, classes)
    assert (moved[:200] > expected[:200]).all()
    assert (moved[200:] < expected[200:]).all()


def test_who_was_always_wrong_on_a_class_may_be_right_there_once():
    expected = np.tile([[0.1], [0.9]], (2500, 1))
    always = np.ones((5000, 1), dtype=bool)
    found = _by_class(expected, always, always, always, np.zeros(5000))
    # As if he had erred in 995 of a thousand, where half was expected: the odds of one in nine times 199.
    assert found[0, 0] == pytest.approx(199 / 9 / (1 + 199 / 9))
    assert found[1, 0] < 1.0


def test_correlations_are_those_of_a_panel_whatever_the_rows_order():
    log = world(0.8, 0.0)
    likely, wrong = np.tile(RATES, (N, 1)), log.errors > 0
    # Skill that differs by query: rows in another order are the same rows.
    likely = np.clip(likely + np.random.default_rng(5).normal(0, 0.05, likely.shape), 0.02, 0.98)
    mixed = np.random.default_rng(4).permutation(N)
    found = correlations(likely, wrong, log.asked)
    np.testing.assert_allclose(correlations(likely[mixed], wrong[mixed], log.asked[mixed]), found, atol=1e-9)
    np.testing.assert_allclose(np.diag(found), 1.0)
    assert np.linalg.eigvalsh(found).min() > 0
    # Copies of one have a correlation of nearly one, and the matrix is still one of correlations.
    copies = correlations(likely[:, [0, 0, 0, 5]], wrong[:, [0, 0, 0, 5]], log.asked[:, :4])
    np.testing.assert_allclose(np.diag(copies), 1.0)
    assert copies[0, 1] > 0.9
    assert np.linalg.eigvalsh(copies).min() > 0


def test_pairs_that_contradict_each_other_still_make_correlations():
    # On rows of their own the first two err together, so do the last two, and the outer two never: no panel is so.
    rng = np.random.default_rng(6)
    one = rng.random((2000, 1)) < 0.5
    asked = np.repeat(np.array([[True, True, False], [False, True, True], [True, False, True]]), 2000, axis=0)
    wrong = np.concatenate([np.tile(one, 3), np.tile(one, 3), np.hstack([one, one, ~one])]) & asked
    found = correlations(np.full(asked.shape, 0.5), wrong, asked)
    np.testing.assert_allclose(np.diag(found), 1.0)
    assert np.linalg.eigvalsh(found).min() > 0
    assert found[0, 1] > 0.2 > found[0, 2]

"""Somebody new among beliefs: the panel's habits at his own level, moved as the panel's members differ."""

from dataclasses import replace

import numpy as np
import pytest

from askwho.beliefs import with_answers, with_member
from askwho.beliefs._evidence import PRIOR_WRONG, Heard
from askwho.beliefs._members import _at_level, _confused, _moved, _some
from askwho.core import Answers, Cell
from tests.policies import fitted


def panel():
    """The beliefs of a panel of four with a fifth, of whom nothing is known."""
    return with_member(fitted("classes").combiner.beliefs)


def told(beliefs, usual, n=12, *, stranger=True):
    """The beliefs after a few answers of the fifth, right three times of four, and nobody else's."""
    truth = np.resize(beliefs.classes, n)
    values = np.tile(truth[:, None], (1, 5))
    values[::4, 4] = np.roll(truth, 1)[::4]
    states = np.full((n, 5), Cell.NOT_ASKED, dtype=np.int8)
    states[:, 4] = Cell.ANSWERED
    expected = np.full((n, 5), 0.3)
    answers = Answers(values, states)
    return with_answers(
        beliefs, 4, answers, truth, expected=expected, shares=None, info=None, usual=usual, stranger=stranger
    )


def odds(beliefs, n=6):
    """The log-odds that the fifth is right, whatever he says."""
    classes = len(beliefs.classes)
    prior = np.full((n, classes), -np.log(classes), dtype=np.float32)
    codes = np.tile((np.arange(n) % classes)[:, None], (1, 5))
    heard = Heard(codes, np.full((n, 5), 0.3), prior, np.full((n, 5), np.nan))
    return beliefs.evidence.log_odds(heard)[:, 4]


def test_at_his_level_everybody_is_right_as_often_as_he_is():
    evidence = panel().evidence
    usual = np.array([0.1, 0.2, 0.3, 0.6, 0.2])
    level = _at_level(evidence, 4, usual)
    right = np.log((1 - usual) / usual)
    counted = evidence.weights[:, 0]
    # By whatever of his being better the weight of what is expected of him does not tell already.
    np.testing.assert_allclose(level.bias + counted * (right[4] - right), evidence.bias + right[4] - right)
    # Who is as good as he has the habits that he had.
    np.testing.assert_array_equal(level.bias[[1, 4]], evidence.bias[[1, 4]])
    # Somebody who never errs is not infinitely better than others.
    assert np.isfinite(_at_level(evidence, 4, np.array([0.0, 0.2, 0.3, 1.0, 0.0])).bias).all()


def test_a_stranger_who_errs_less_than_the_panel_is_believed_more():
    panels = np.array([0.3, 0.3, 0.3, 0.3])
    good, alike, bad = (odds(told(panel(), np.append(panels, his))) for his in (0.1, 0.3, 0.6))
    assert (good > alike).all()
    assert (alike > bad).all()


def test_whose_habits_are_known_does_not_begin_anew():
    """What the others are expected to err moves how far their habits are apart, and not where he stands."""
    beliefs = panel()
    known, stranger = (
        [odds(told(beliefs, np.array([0.3, 0.3, 0.3, 0.3, his]), n=1, stranger=new)) for his in (0.1, 0.6)]
        for new in (False, True)
    )
    assert np.abs(known[0] - known[1]).max() < 0.5 * np.abs(stranger[0] - stranger[1]).max()


def test_weights_that_go_together_for_the_panel_do_so_for_him():
    """He is always right: as far as the panel's members differ in what makes them right, he moves; and else hardly."""
    evidence = panel().evidence
    width, classes, n = evidence.weights.shape[1], evidence.by_class.shape[1], 10
    nothing = {"weights": np.zeros((2, width)), "bias": np.zeros(2), "by_class": np.zeros((2, classes))}
    others = replace(_some(evidence, [0, 1]), **nothing)
    prior = np.full((n, classes), -1.0, dtype=np.float32)
    said = (np.arange(n) % classes)[:, None]
    his = Heard(said, np.full((n, 1), 0.5), prior, np.full((n, 1), np.nan))
    # How sure the prior is, here always -1, and the bias: both make one of the panel right more often, or cancel out.
    sure = np.zeros((2, width))
    sure[:, 2] = (-1.0, 1.0)
    both, neither = (
        _moved(_some(others, [0]), replace(others, weights=sure, bias=np.array(bias)), his, said[:, 0])
        for bias in ((1.0, -1.0), (-1.0, 1.0))
    )
    assert both.bias[0] > 0.5
    assert both.weights[0, 2] == pytest.approx(-both.bias[0])
    assert abs(neither.bias[0]) < 0.5 * both.bias[0]


@pytest.mark.parametrize("count", [1, 5, 200])
def test_his_wrong_answers_count_beside_the_panels_as_everybodys_do_beside_none(count):
    share = np.full(3, 1 / 3)
    found = _confused(np.zeros((3, 3), dtype=np.float32), share, np.zeros(count, int), np.ones(count, int))
    shrunk = np.array([(count + PRIOR_WRONG / 2) / (count + PRIOR_WRONG), (PRIOR_WRONG / 2) / (count + PRIOR_WRONG)])
    np.testing.assert_allclose(found[0, 1:], np.log(shrunk / 0.5), rtol=1e-5)
    np.testing.assert_array_equal(found[1:], 0.0)

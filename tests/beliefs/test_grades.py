"""How good answers are after several told something: in any order, and alone as each says of itself."""

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho.beliefs import Grades, Kept, Telling, named_answers
from askwho.core import Cell, Entity, Panel
from tests import graded

N = 500


@pytest.fixture(scope="module")
def world():
    """Beliefs, past queries out of fold, and what everybody erred."""
    table = graded.table(N)
    errors = 1.0 - np.column_stack([table[f"grade_{name}"] for name in graded.FEES])
    info = np.column_stack([table[f"info_{name}"] for name in graded.FEES])
    expected = np.tile(errors.mean(axis=0), (N, 1))
    beliefs, case = Grades.fit(errors, expected=expected, info=info, fold=np.arange(N) % 3)
    return beliefs, case, errors


def test_hearing_one_by_one_in_any_order_is_hearing_all(world):
    beliefs, case, _ = world
    asked = np.random.default_rng(0).random((N, 3)) < 0.6
    whole = beliefs.pool.hear_all(case, asked)
    for order in ([0, 1, 2], [2, 0, 1]):
        for i in range(0, N, 50):
            state = beliefs.pool.nothing(case, np.array([i]))
            for j in order:
                state = beliefs.pool.hear(case, state, j) if asked[i, j] else state
            np.testing.assert_array_equal(state.asked[0], whole.asked[i])
            alone, company = (beliefs.pool.probabilities(case, each)[0] for each in (state, whole.some(np.array([i]))))
            np.testing.assert_allclose(alone, company, atol=1e-6)


def test_one_alone_is_believed_as_it_says_of_itself(world):
    beliefs, case, _ = world
    for j in range(3):
        state = beliefs.pool.hear(case, beliefs.pool.nothing(case, np.arange(N)), j)
        odds = np.clip(case.prior[:, j] + case.evidence[:, j, j], -6, 6)
        np.testing.assert_allclose(beliefs.pool.probabilities(case, state)[:, j], 1 / (1 + np.exp(-odds)), atol=1e-6)


def test_what_is_expected_of_each_set_comes_in_the_mean(world):
    beliefs, case, errors = world
    for members in ([0], [0, 1], [1, 2], [0, 1, 2]):
        asked = np.zeros((N, 3), dtype=bool)
        asked[:, members] = True
        state = beliefs.pool.hear_all(case, asked)
        kept, sure = beliefs.kept(case, beliefs.pool.probabilities(case, state), asked)
        assert set(kept) <= set(members)
        assert (1 - sure).mean() == pytest.approx(errors[np.arange(N), kept].mean(), abs=0.04)
        _, stop = beliefs.pool.summarise(case, state)
        np.testing.assert_allclose(stop, 1 - sure, atol=1e-6)


def test_a_doubt_of_one_is_a_doubt_of_others(world):
    beliefs, case, _ = world
    state = beliefs.pool.hear(case, beliefs.pool.nothing(case, np.arange(N)), 0)
    others = beliefs.pool.probabilities(case, state)[:, 1]
    low = case.evidence[:, 0, 0] < np.quantile(case.evidence[:, 0, 0], 0.2)
    assert others[low].mean() < others[~low].mean() - 0.02


def test_noise_is_believed_to_tell_nothing():
    table = graded.table(N, tells="nothing")
    errors = 1.0 - np.column_stack([table[f"grade_{name}"] for name in graded.FEES])
    info = np.column_stack([table[f"info_{name}"] for name in graded.FEES])
    expected = np.tile(errors.mean(axis=0), (N, 1))
    _, told = Telling.fit(errors, expected, info).of(expected, info)
    assert np.abs(told).mean() < 0.35
    loud = graded.table(N)
    info = np.column_stack([loud[f"info_{name}"] for name in graded.FEES])
    errors = 1.0 - np.column_stack([loud[f"grade_{name}"] for name in graded.FEES])
    _, heard = Telling.fit(errors, expected, info).of(expected, info)
    assert np.abs(heard).mean() > 4 * np.abs(told).mean()


def test_an_answer_that_did_not_come_is_not_kept(world):
    beliefs, _, errors = world
    panel = Panel(tuple(Entity(name) for name in graded.FEES))
    states = np.tile(np.array([Cell.NO_ANSWER, Cell.ANSWERED, Cell.NOT_ASKED], dtype=np.int8), (4, 1))
    answers = named_answers(panel, states)
    case = beliefs.case(answers, expected=np.tile(errors.mean(axis=0), (4, 1)))
    asked = states != Cell.NOT_ASKED
    believed = beliefs.pool.probabilities(case, beliefs.pool.hear_all(case, asked))
    said, sure = beliefs.decide(case, believed, answers, asked)
    assert (said == "middle").all()
    assert (sure > 0).all()


def test_the_rest_of_a_panel_is_believed_as_before_and_a_stranger_as_expected(world):
    beliefs, _, errors = world
    expected = np.tile(errors.mean(axis=0), (N, 1))
    panel = Panel(tuple(Entity(name) for name in graded.FEES))
    states = np.full((N, 3), Cell.ANSWERED, dtype=np.int8)
    info = np.random.default_rng(0).normal(size=(N, 3))
    whole = beliefs.case(named_answers(panel, states), expected=expected, info=info)
    asked = np.array([True, False, True])
    before = beliefs.pool.probabilities(whole, beliefs.pool.hear_all(whole, np.tile(asked, (N, 1))))
    fewer = beliefs.without(1)
    rest = Panel((panel.entities[0], panel.entities[2]))
    small = fewer.case(named_answers(rest, states[:, :2]), expected=expected[:, [0, 2]], info=info[:, [0, 2]])
    after = fewer.pool.probabilities(small, fewer.pool.hear_all(small, np.ones((N, 2), dtype=bool)))
    np.testing.assert_allclose(after, before[:, [0, 2]], atol=1e-6)
    more = beliefs.with_one_more()
    prior, told = more.evidence.of(np.full((2, 4), 0.2), np.array([[0.0, 0.0, 0.0, 9.0], [0.0, 0.0, 0.0, np.nan]]))
    np.testing.assert_allclose(told[:, 3], 0.0, atol=1e-6)
    np.testing.assert_allclose(prior[:, 3], np.log(4.0), rtol=1e-5)
    # A pool that was learned before he came takes him for one who moves nobody.
    wide = more.case(
        named_answers(Panel((*panel.entities, Entity("new"))), np.full((N, 4), Cell.ANSWERED, dtype=np.int8)),
        expected=np.hstack([expected, np.full((N, 1), 0.2)]),
        info=np.hstack([info, np.full((N, 1), np.nan)]),
    )
    mask = np.tile(np.append(asked, False), (N, 1))
    for pool in (beliefs.pool, more.pool):
        np.testing.assert_allclose(pool.probabilities(wide, pool.hear_all(wide, mask))[:, :3], before, atol=1e-6)
    with pytest.raises(InvalidInputError, match="`links` must be of everybody who is asked in turn"):
        Kept(np.zeros((2, 3)), np.zeros((2, 2, 2))).check(np.array([0, 2]))

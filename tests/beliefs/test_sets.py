"""Models of every set, at once: judged by other rows, without features, and the pool where they know too little."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho._parts import read_part, state_of
from askwho.beliefs import Sets, with_member, without_member
from tests.beliefs import worlds

N, ERRORS = 600, np.array([0.3, 0.4, 0.2])
FOLD = np.arange(N) % 3


def fitted(truth, said):
    beliefs, case = worlds.taught(said, truth)
    known = np.random.default_rng(0).normal(size=(N, 2))
    sets, told = Sets.fit(beliefs.pool, replace(case, known=known), truth, entities=np.arange(3), fold=FOLD)
    return replace(beliefs, sets=sets), told


@pytest.fixture(scope="module")
def world():
    truth, said = worlds.independent(N, worlds.habits(1 - ERRORS, 3), seed=0)
    # The second repeats the first where both are wrong: no sum of evidence tells.
    said[:, 1] = np.where(said[:, 0] != truth, said[:, 0], said[:, 1])
    beliefs, told = fitted(truth, said)
    return beliefs, told, truth, said


def some(seed=1, n=N):
    return np.random.default_rng(seed).random((n, 3)) < 0.5


def test_of_the_rows_that_taught_the_models_of_other_folds_are_asked(world):
    beliefs, told, truth, said = world
    held = FOLD == 1
    sets, other = Sets.fit(beliefs.pool, told, np.where(held, (truth + 1) % 3, truth), entities=np.arange(3), fold=FOLD)
    np.testing.assert_array_equal(other.believed[held], told.believed[held])
    assert np.abs(other.believed[~held] - told.believed[~held]).max() > 0.1
    assert np.abs(sets.models.weights - beliefs.sets.models.weights).max() > 0.1
    del said


def test_what_is_laid_out_is_what_is_believed(world):
    beliefs, _, _, said = world
    case = worlds.told(beliefs, said, ERRORS)
    asked = some()
    np.testing.assert_allclose(beliefs.after(beliefs.sets.laid_out(case), asked), beliefs.after(case, asked), atol=1e-6)
    np.testing.assert_allclose(beliefs.after(case, asked).sum(axis=1), 1.0, atol=1e-5)


def test_features_are_not_looked_at(world):
    beliefs, _, _, said = world
    case = worlds.told(beliefs, said, ERRORS)
    asked = some(2)
    for known in (np.zeros((N, 0)), np.full((N, 2), 7.0)):
        np.testing.assert_array_equal(beliefs.after(replace(case, known=known), asked), beliefs.after(case, asked))


def test_members_that_repeat_each_other_are_believed_better_than_by_the_pool(world):
    beliefs, _, _, _ = world
    truth, said = worlds.independent(3000, worlds.habits(1 - ERRORS, 3), seed=5)
    said[:, 1] = np.where(said[:, 0] != truth, said[:, 0], said[:, 1])
    case, everybody = worlds.told(beliefs, said, ERRORS), np.ones((3000, 3), dtype=bool)
    rows = np.arange(3000)
    own, pooled = (
        np.log(each[rows, truth]).mean()
        for each in (beliefs.after(case, everybody), worlds.after(beliefs, case, everybody))
    )
    assert own > pooled + 0.01


def test_the_pool_decides_of_answers_that_training_never_saw(world):
    beliefs, _, _, _ = world
    case, asked = worlds.told(beliefs, np.array([[7, 7, 7], [0, 0, 7], [0, 0, 0]]), ERRORS), np.ones((3, 3), dtype=bool)
    asked[1, 2] = False
    found, pooled = beliefs.after(case, asked), worlds.after(beliefs, case, asked)
    np.testing.assert_array_equal(found[0], pooled[0])
    assert found[0].argmax() == 3
    # Nobody was asked who says so.
    assert np.abs(found[1:] - pooled[1:]).max() > 1e-3
    np.testing.assert_array_equal(found[1:, 3], 0.0)


def test_the_pool_decides_where_somebody_was_heard_who_came_later(world):
    beliefs, _, _, said = world
    grown = with_member(beliefs)
    more = np.hstack([said, said[:, :1]])
    case = worlds.told(grown, more, np.append(ERRORS, 0.3))
    asked = np.ones((N, 4), dtype=bool)
    np.testing.assert_array_equal(grown.after(case, asked), worlds.after(grown, case, asked))
    asked[:, 3] = False
    np.testing.assert_allclose(
        grown.after(case, asked), beliefs.after(worlds.told(beliefs, said, ERRORS), asked[:, :3]), atol=1e-6
    )


def test_who_left_leaves_the_sets_of_the_others_as_they_were(world):
    beliefs, _, _, said = world
    kept, left = np.array([0, 2]), without_member(beliefs, 1)
    asked = some(3)
    asked[:, 1] = False
    few = worlds.told(left, said[:, kept], ERRORS[kept])
    whole = worlds.told(beliefs, said, ERRORS)
    np.testing.assert_allclose(left.after(few, asked[:, kept]), beliefs.after(whole, asked), atol=1e-6)


def test_it_is_written_and_read_back(world):
    beliefs, _, _, said = world
    again = read_part(state_of(beliefs, "beliefs"))
    case, asked = worlds.told(beliefs, said, ERRORS), some(4)
    np.testing.assert_array_equal(again.after(case, asked), beliefs.after(case, asked))


def test_sets_of_nobody_in_the_panel_are_damaged(world):
    beliefs, _, _, _ = world
    for entities in ([0, 1, 3], [0, 0, 1], [0.0, 1.0, 2.0]):
        state = state_of(beliefs, "beliefs")
        state.parts["sets"].arrays["entities"] = np.array(entities)
        with pytest.raises(InvalidInputError, match="damaged"):
            read_part(state)
    state = state_of(beliefs, "beliefs")
    state.parts["sets"].arrays["entities"] = np.array([0, 1])
    with pytest.raises(InvalidInputError, match="damaged"):
        read_part(state)

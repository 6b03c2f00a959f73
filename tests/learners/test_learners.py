"""Every learner on a small log, and learners of one's own."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from askwho import InvalidInputError
from askwho.core import folds
from askwho.learners import (
    LEARNERS,
    CompSum,
    Learner,
    Linear,
    candidates,
    check_learner,
    cross_fit,
    fitted,
    learner_name,
    make_learner,
    own_base,
    suited,
    surrogate_settings,
)
from tests.learners.own import Means

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (800, 3)).astype(np.float32)
CHANCE = np.column_stack([np.where(X[:, 0] < 0, 0.1, 0.8), np.where(X[:, 0] < 0, 0.8, 0.1), np.full(800, 0.4)])
ERRORS = (rng.random(CHANCE.shape) < CHANCE).astype(float)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_beats_the_mean_out_of_fold(name):
    expected = cross_fit(LEARNERS[name], X, ERRORS, folds(np.arange(800), 3))
    assert expected.shape == ERRORS.shape
    assert ((expected - CHANCE) ** 2).mean() < 0.5 * ((ERRORS.mean(axis=0) - CHANCE) ** 2).mean()


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_takes_few_answers_a_row(name):
    sparse = np.where(rng.random(ERRORS.shape) < 0.3, ERRORS, np.nan)
    expected = cross_fit(LEARNERS[name], X, sparse, folds(np.arange(800), 3))
    assert np.isfinite(expected).all()
    assert (expected[:, :2].argmin(axis=1) == CHANCE[:, :2].argmin(axis=1)).mean() > 0.85


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_repeats_itself_for_a_seed(name):
    once, twice = (LEARNERS[name](3).fit(X, ERRORS).predict(X[:50]) for _ in range(2))
    np.testing.assert_array_equal(once, twice)


def test_folds_keep_groups_whole_and_sizes_even():
    groups = np.repeat(np.arange(40), 5)
    fold = folds(groups, 4)
    assert all(len(set(fold[groups == g])) == 1 for g in range(40))
    assert np.bincount(fold).tolist() == [50, 50, 50, 50]
    assert np.bincount(folds(np.arange(103), 5)).max() <= 21


def test_auto_compares_all_that_can_run():
    assert candidates("auto") == list(LEARNERS)
    assert candidates("linear") == ["linear"]


def test_a_base_is_kept_only_where_it_beats_a_constant():
    fold = folds(np.arange(800), 3)
    truth = np.where(X[:, 0] + 0.2 * rng.normal(size=800) > 0, "yes", "no")
    trial = own_base(X, None, truth, fold, task="classification")
    assert trial is not None
    assert (trial.answers == truth).mean() > 0.85
    assert own_base(X, None, rng.permutation(truth), fold, task="classification") is None
    numbers = own_base(X, None, (3 * X[:, 1]).astype(float), fold, task="regression")
    assert numbers is not None
    assert np.abs(numbers.answers - 3 * X[:, 1]).mean() < 0.5


def test_free_answers_are_no_classes_to_learn():
    free = np.array([f"x = {i // 2}" for i in range(60)])
    assert own_base(X[:60], None, rng.permutation(free), folds(np.arange(60), 3), task="classification") is None


def test_a_base_that_hardly_knows_more_than_a_constant_is_left_out():
    draw = np.random.default_rng(2)
    features = draw.uniform(-1, 1, (40_000, 1))
    for knows, kept in ((0.012, False), (0.2, True)):
        truth = draw.random(len(features)) < 0.5 + knows * np.sign(features[:, 0])
        trial = own_base(features, None, truth, folds(np.arange(len(truth)), 2), task="classification")
        assert (trial is not None) == kept


@pytest.mark.parametrize("name", LEARNERS)
def test_an_entity_that_was_never_asked_is_expected_to_be_like_the_others(name):
    errors = ERRORS.copy()
    errors[:, 2] = np.nan
    expected = LEARNERS[name](0).fit(X, errors).predict(X[:20])
    np.testing.assert_allclose(expected[:, 2], np.nanmean(errors), atol=1e-6)


def test_whole_numbers_are_no_reason_to_round_a_base():
    truth = np.round(10 * X[:, 0]).astype(int)
    trial = own_base(X, None, truth, folds(np.arange(800), 3), task="regression")
    assert trial is not None
    assert min(trial.errors.values()) < 1.0


def test_errors_that_change_from_one_query_to_the_next_are_learned_locally():
    fold = folds(np.arange(800), 5)
    checkers = (np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])) % 2
    sharp = np.column_stack([checkers, 1 - checkers])
    for name in ("forest", "neighbours"):
        lost = [
            np.mean((cross_fit(make, X, sharp, fold) - sharp) ** 2)
            for make in (LEARNERS[name], suited(name, X, sharp, fold))
        ]
        assert lost[1] < 0.6 * lost[0]


@pytest.mark.parametrize("name", ["forest", "neighbours"])
def test_a_learner_stays_as_it_comes_where_locality_is_not_clearly_better(name):
    noise = (np.random.default_rng(1).random((800, 3)) < 0.4).astype(float)
    fold = folds(np.arange(800), 5)
    assert suited(name, X, noise, fold) is LEARNERS[name]
    unasked = np.where(fold[:, None] == 0, np.nan, noise)
    assert suited(name, X, unasked, fold) is LEARNERS[name]


# Learners of one's own.


def test_an_object_of_ones_own_is_copied_for_every_fit_and_given_the_seed():
    mine = Means()
    assert isinstance(mine, Learner)
    check_learner(mine)
    assert candidates(mine) == [mine]
    assert learner_name(mine) == "Means"
    make = make_learner(mine)
    one, other = make(3), make(4)
    assert (one.random_state, other.random_state) == (3, 4)
    expected = cross_fit(make, X, ERRORS, folds(np.arange(800), 4))
    assert expected.shape == ERRORS.shape
    # Every fold had a learner of its own, and the user's object none of it.
    assert mine.seen == []
    assert mine.random_state is None
    learner = fitted(make, X, ERRORS, random_state=5)
    assert (learner.seen, learner.random_state) == ([800], 5)


def test_an_object_without_a_seed_is_left_without():
    class Plain:
        def fit(self, X, errors):
            self.means, self.rows = errors.mean(axis=0), len(X)

        def predict(self, X):
            return np.tile(self.means, (len(X), 1))

    made = make_learner(Plain())(3)
    assert not hasattr(made, "random_state")
    fold = folds(np.arange(800), 2)
    assert isinstance(suited(Plain(), X, ERRORS, fold)(1), Plain)


def test_scikit_learns_regressors_are_learners():
    forest = RandomForestRegressor(20, min_samples_leaf=10)
    expected = cross_fit(make_learner(forest), X, ERRORS, folds(np.arange(800), 3), random_state=2)
    assert ((expected - CHANCE) ** 2).mean() < 0.5 * ((ERRORS.mean(axis=0) - CHANCE) ** 2).mean()
    assert forest.random_state is None


def test_a_learner_that_is_put_into_the_registry_is_found_by_its_name(monkeypatch):
    monkeypatch.setitem(LEARNERS, "means", Means)
    check_learner("means")
    assert "means" in candidates("auto")
    assert make_learner("means")(2).shrink == 2
    # Another's name brings none of its settings along.
    monkeypatch.setitem(LEARNERS, "forest", Linear)
    checkers = (np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])) % 2
    sharp = np.column_stack([checkers, 1 - checkers])
    assert isinstance(suited("forest", X, sharp, folds(np.arange(800), 5))(0), Linear)


class FitsAlone:
    fit = Means.fit


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ("magic", "'magic'"),
        (None, "None"),
        (3, "3"),
        (Means, "the class Means: give an object of it"),
        (FitsAlone(), "a FitsAlone"),
        (Means().predict, "a method"),
    ],
    ids=["word", "nothing", "number", "class", "fits alone", "method"],
)
def test_anything_else_is_refused_with_the_names_that_exist(given, got):
    with pytest.raises(InvalidInputError) as error:
        check_learner(given)
    assert str(error.value) == (
        "`learner` must be 'auto', one of 'forest', 'boosting', 'neighbours', 'linear', a surrogate (a `CompSum`, or "
        "one of 'top-k', 'mozannar-sontag', 'one-vs-all', 'mao-one-stage', 'asymmetric-softmax', 'mao-two-stage', "
        f"'mao-two-stage-regression', 'post-hoc'), or an object with `fit` and `predict`, got {got}."
    )
    with pytest.raises(InvalidInputError, match=r"`learner` must be one of 'forest', .* or an object with `fit` and"):
        make_learner(given)


def test_a_surrogate_is_told_from_a_learner():
    assert surrogate_settings("top-k") == CompSum()
    own = CompSum(u=0.5)
    assert surrogate_settings(own) is own
    for learner in ("auto", "forest", Means()):
        check_learner(learner)
        assert surrogate_settings(learner) is None
    pytest.importorskip("torch")
    check_learner("post-hoc")
    check_learner(own)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda X: np.zeros(len(X)), "`learner.predict` must have shape (400, 3), got (400,)"),
        (lambda X: np.zeros((len(X), 1)), "`learner.predict` must have shape (400, 3), got (400, 1)"),
        (lambda X: np.full((len(X), 3), np.nan), "`learner.predict` must be finite, got 1200 cells that are not"),
        (lambda X: [["a", "b", "c"]] * len(X), "`learner.predict` must hold numbers"),
    ],
)
def test_what_a_learner_of_ones_own_says_is_checked(said, message):
    mine = Means()
    mine.predict = said
    with pytest.raises(InvalidInputError) as error:
        cross_fit(make_learner(mine), X, ERRORS, folds(np.arange(800), 2))
    assert message in str(error.value)

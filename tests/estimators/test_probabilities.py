"""`predict_proba`: probabilities that add up, agree with the prediction, and mean something."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from askwho import InvalidInputError, Target
from askwho.estimators import OneStageClassifier, TwoStageClassifier, TwoStageRegressor

CHEAP = {"base": None, "learner": "linear", "cv": 2, "random_state": 0}
CLASSES = np.array(["ant", "bee", "caterpillar"])


def world(n, seed):
    """The first feature tells who of two knows the class; the second tells a little about the class itself."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.digitize(X[:, 1] + rng.normal(size=n), [-0.7, 0.9])
    chance = {"left": np.where(X[:, 0] < 0, 0.9, 0.4), "right": np.where(X[:, 0] < 0, 0.4, 0.9), "noise": 0.4}
    said = {name: CLASSES[np.where(rng.random(n) < right, y, rng.integers(0, 3, n))] for name, right in chance.items()}
    return X, CLASSES[y], said


@pytest.fixture(scope="module")
def taught():
    return world(400, 0)


@pytest.fixture(scope="module")
def fresh():
    return world(500, 1)


FEES = {"left": 1.0, "right": 1.0, "noise": 0.1}
MODELS = {
    "posterior": TwoStageClassifier(**CHEAP, committee="posterior", fees=FEES),
    "beliefs beside a vote": TwoStageClassifier(**CHEAP, fees=FEES),
    "posterior and base": TwoStageClassifier(**{**CHEAP, "base": "auto"}, fees=FEES),
    "a given base": TwoStageClassifier(**{**CHEAP, "base": GaussianNB()}, fees=FEES),
    "majority": TwoStageClassifier(**CHEAP, committee="majority", fees=FEES),
    "one stage": OneStageClassifier(learner="linear", cv=2, random_state=0, fees=FEES),
}
IN_TURN = {"posterior", "beliefs beside a vote", "posterior and base", "a given base"}
AIMS = [None, Target(k=1), Target(fee_weight=0.05), Target(budget=1.0)]


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_add_up_agree_with_the_prediction_and_beat_the_base_rate(name, taught, fresh):
    X, y, said = taught
    model = MODELS[name].fit(X, y, answers=said)
    X, y, said = fresh
    constant = np.tile(model.live_.truths.shares, (len(y), 1))
    modes = ["at-once", "sequential"] if name in IN_TURN else ["at-once"]
    for mode in modes:
        for target in [aim for aim in AIMS if mode == "at-once" or aim is None or aim.k is None]:
            shares = model.predict_proba(X, answers=said, target=target, mode=mode)
            assert shares.shape == (len(X), 3)
            assert shares.min() >= 0
            np.testing.assert_allclose(shares.sum(axis=1), 1.0)
            predicted = model.predict(X, answers=said, target=target, mode=mode)
            np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], predicted)
            assert brier_score_loss(y, shares, labels=CLASSES) < brier_score_loss(y, constant, labels=CLASSES) - 0.05
            # It is about as sure as it is right.
            assert abs(shares.max(axis=1).mean() - np.mean(predicted == y)) < 0.12


def test_it_knows_more_where_more_were_heard(taught, fresh):
    model = TwoStageClassifier(**{**CHEAP, "learner": "neighbours", "committee": "posterior"})
    model.fit(*taught[:2], answers=taught[2])
    X, y, said = fresh
    scores = [
        brier_score_loss(y, model.predict_proba(X, answers=said, target=Target(k=k)), labels=CLASSES) for k in (1, 3)
    ]
    assert scores[1] < scores[0]


def test_of_equal_shares_the_prediction_has_the_larger():
    X = np.random.default_rng(0).normal(size=(40, 1))
    y = np.where(np.arange(40) % 4 < 2, "no", "yes")
    other = np.where(y == "yes", "no", "yes")
    turn = np.arange(40) % 2 == 0
    # Each is right about every second row, and contradicts the other: nothing tells them apart.
    answers = {"a": np.where(turn, y, other), "b": np.where(turn, other, y)}
    model = TwoStageClassifier(**CHEAP, committee="majority").fit(X, y, answers=answers)
    shares = model.predict_proba(X, answers=answers, target=Target(k=2))
    predicted = model.predict(X, answers=answers, target=Target(k=2))
    assert set(predicted) == {"no", "yes"}
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], predicted)


@pytest.mark.parametrize("committee", ["auto", "majority"])
def test_where_nobody_answers_it_is_as_sure_as_the_classes_are_common(committee, taught):
    X, y, said = taught
    model = TwoStageClassifier(**CHEAP, committee=committee).fit(X, y, answers=said)
    nobody = {name: np.full(len(y), None) for name in said}
    shares = model.predict_proba(X, answers=nobody)
    np.testing.assert_allclose(shares, np.tile([np.mean(y == label) for label in CLASSES], (len(y), 1)), atol=0.02)


@pytest.mark.parametrize("labels", [np.array([3, 5, 8]), np.array([-1.0, 0.0, 7.0]), CLASSES.astype(object)])
def test_columns_are_in_the_order_of_the_classes_whatever_their_type(labels, taught):
    X, y, said = taught
    answers = {name: labels[np.searchsorted(CLASSES, words)] for name, words in said.items()}
    model = TwoStageClassifier(**CHEAP).fit(X, labels[np.searchsorted(CLASSES, y)], answers=answers)
    plain = TwoStageClassifier(**CHEAP).fit(X, y, answers=said)
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_allclose(model.predict_proba(X, answers=answers), plain.predict_proba(X, answers=said))


def test_scikit_learns_scorers_take_it():
    X, y, _ = world(200, 3)
    model = TwoStageClassifier(experts=[LogisticRegression(), GaussianNB()], **CHEAP)
    found = cross_val_score(model, X, y, scoring="neg_log_loss", cv=2, error_score="raise")
    assert (found > -np.log(3)).all()


def test_a_regressor_has_none_and_asking_in_turn_needs_rows():
    assert not hasattr(TwoStageRegressor(), "predict_proba")
    X, y, said = world(40, 0)
    model = TwoStageClassifier(**CHEAP).fit(X, y, answers=said)
    with pytest.raises(InvalidInputError, match="This policy cannot ask in turn"):
        model.predict_proba(X, answers=said, mode="sequential")

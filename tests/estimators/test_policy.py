"""Behind scikit-learn's face is the same policy that `fit` makes: it decides the same, saves and loads."""

import inspect

import joblib
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from askwho import Columns, Target, fit, load, read_log, save
from askwho.estimators import TwoStageClassifier, TwoStageRegressor
from tests.synthetic import FEES, classification, regression

AIMS = [Target(fee_weight=0.3), Target(k=2), Target(budget=0.2)]


def arrays(table):
    """The matrix of features, the truth, and the answers by name."""
    X = np.column_stack([table[f"x_{i}"] for i in range(3)])
    return X, table["truth"], {name: table[f"answer_{name}"] for name in FEES}


@pytest.mark.parametrize("kind", [TwoStageClassifier, TwoStageRegressor])
def test_its_defaults_are_those_of_fit(kind):
    theirs = inspect.signature(fit).parameters
    ours = {name: value for name, value in kind().get_params().items() if name in theirs and name != "random_state"}
    assert set(ours) == {"base", "learner", "committee", "cardinality", "cv"}
    assert ours == {name: theirs[name].default for name in ours}


@pytest.mark.parametrize(("kind", "make"), [(TwoStageClassifier, classification), (TwoStageRegressor, regression)])
def test_it_decides_as_fit_does_on_the_same_log(kind, make, tmp_path):
    X, y, answers = arrays(make(220))
    # By its defaults, but for the time that more folds would take.
    model = kind(fees=FEES, cv=2, random_state=0).fit(X, y, answers=answers)
    columns = Columns(truth="truth", answers="answer_*", features="X", fees=FEES)
    table = {"X": X, "truth": y} | {f"answer_{name}": said for name, said in answers.items()}
    policy = fit(read_log(table, columns), cv=2)
    assert model.policy_.facts == policy.facts
    assert model.policy_.judge.name == policy.judge.name
    assert model.panel_ == policy.panel
    X, _, answers = arrays(make(100, seed=1))
    save(model.policy_, tmp_path / "policy")
    again = load(tmp_path / "policy")
    ids = np.arange(len(X)).astype(str)
    for aim in AIMS:
        ours, theirs, back = (
            each.decide({"X": X}, aim, ids=ids).to_columns() for each in (model.policy_, policy, again)
        )
        assert ours == theirs == back
        assert model.decide(X, aim, ids=ids).to_columns() == ours
        decisions = policy.decide({"X": X}, aim, ids=ids)
        done = policy.combine(decisions, {"id": ids} | {f"answer_{name}": said for name, said in answers.items()})
        np.testing.assert_array_equal(done.outcome.values, model.predict(X, answers=answers, target=aim))


def test_it_is_dumped_and_loaded_whole(tmp_path):
    X, y, answers = arrays(classification(220))
    recorded = TwoStageClassifier(fees=FEES, learner="forest", cv=2, random_state=0).fit(X, y, answers=answers)
    live = TwoStageClassifier(experts=[GaussianNB()], learner="linear", base=None, cv=2, random_state=0).fit(X, y)
    joblib.dump((recorded, live), tmp_path / "models.joblib")
    again, alive = joblib.load(tmp_path / "models.joblib")
    for mode in ("at-once", "sequential"):
        aim = Target(fee_weight=0.1)
        np.testing.assert_array_equal(
            *(each.predict_proba(X, answers=answers, target=aim, mode=mode) for each in (recorded, again))
        )
        np.testing.assert_array_equal(*(each.predict(X, target=aim, mode=mode) for each in (live, alive)))


def test_a_whole_number_is_the_seed_and_a_generator_draws_one():
    X, y, answers = arrays(classification(60))
    model = TwoStageClassifier(learner="forest", base=None, cv=2)
    expected = [
        model.set_params(random_state=state).fit(X, y, answers=answers).policy_.see({"X": X}).expected
        for state in (3, np.int64(3), np.random.RandomState(3), np.random.RandomState(3))
    ]
    np.testing.assert_array_equal(expected[0], expected[1])
    np.testing.assert_array_equal(expected[2], expected[3])
    assert (expected[0] != expected[2]).any()

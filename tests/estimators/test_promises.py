"""Estimators learn from every row they are given: others are needed to promise anything."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import InvalidInputError, Target, TwoStageClassifier
from askwho.data import read_log
from askwho.fitting import calibrate
from tests import synthetic


@pytest.fixture(scope="module")
def known():
    new = synthetic.classification(1500, seed=1)
    return np.column_stack([new[f"x_{i}"] for i in range(3)]), new


@pytest.fixture
def system(known):
    X, new = known
    answers = {name: new[f"answer_{name}"] for name in synthetic.FEES}
    system = TwoStageClassifier(fees=synthetic.FEES, learner="linear", base=None, cv=3, random_state=0)
    return system.fit(X, new["truth"], answers=answers)


def fresh(policy, fees=synthetic.FEES):
    """Rows that the estimator has not seen, as a log of its policy."""
    table = synthetic.classification(1000, seed=2)
    rows = {"X": np.column_stack([table[f"x_{i}"] for i in range(3)]), "y": table["truth"]}
    rows |= {f"answer_{name}": table[f"answer_{name}"] for name in synthetic.FEES}
    return read_log(rows, replace(policy.columns, fees=fees))


def test_an_estimator_passes_a_promise_on(system, known):
    X, new = known
    answers = {name: new[f"answer_{name}"] for name in synthetic.FEES}
    with pytest.raises(InvalidInputError, match="`confidence` must be promised by rows that nothing was learned from"):
        system.decide(X, Target(budget=0.4, confidence=0.9))
    system.policy_ = calibrate(system.policy_, fresh(system.policy_))
    chosen = system.decide(X, Target(budget=0.4, confidence=0.9))
    assert chosen.fee.mean() <= 0.42
    predicted = system.predict(X, answers=answers, target=Target(max_error=0.3, confidence=0.9))
    assert (predicted == new["truth"]).mean() > 0.6
    with pytest.raises(InvalidInputError, match=r"`max_error` must be at least .* rows cannot promise less"):
        system.predict(X, answers=answers, target=Target(max_error=0.001, confidence=0.9))


def test_rows_without_fees_promise_nothing_of_a_budget(system):
    with pytest.raises(InvalidInputError) as error:
        calibrate(system.policy_, fresh(system.policy_, fees=None))
    assert str(error.value) == (
        "`log` must tell what everybody charges, as the policy's own did, got no fees: budgets would be of nothing."
    )

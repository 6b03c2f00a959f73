"""Estimators pass promises on to their policy."""

import numpy as np
import pytest

from askwho import InvalidInputError, Target, TwoStageClassifier
from tests import synthetic


def test_an_estimator_passes_a_promise_on():
    new = synthetic.classification(1500, seed=1)
    X = np.column_stack([new[f"x_{i}"] for i in range(3)])
    answers = {name: new[f"answer_{name}"] for name in synthetic.FEES}
    system = TwoStageClassifier(fees=synthetic.FEES, learner="linear", base=None, cv=3, random_state=0)
    system.fit(X, new["truth"], answers=answers)
    chosen = system.decide(X, Target(budget=0.4, confidence=0.9))
    assert chosen.fee.mean() <= 0.42
    predicted = system.predict(X, answers=answers, target=Target(max_error=0.3, confidence=0.9))
    assert (predicted == new["truth"]).mean() > 0.6
    with pytest.raises(InvalidInputError, match=r"`max_error` must be at least .* rows cannot promise less"):
        system.predict(X, answers=answers, target=Target(max_error=0.001, confidence=0.9))

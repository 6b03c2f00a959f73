"""What came back with answers: of the whole panel, or of those alone who had to be asked."""

import numpy as np
import pytest

from askwho.core import Answers, Cell, Entity, Panel
from askwho.exceptions import InvalidInputError
from askwho.fitting import fit
from askwho.policy import Target
from tests.logs import log_of_arrays

N = 400
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
TRUTH = (X[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(int)
SAID = np.column_stack([np.where(rng.random(N) < p, TRUTH, 1 - TRUTH) for p in (0.6, 0.8, 0.9)])
ANSWERS = Answers(SAID, np.full(SAID.shape, Cell.ANSWERED, dtype=np.int8))
# How sure each says it is, which tells a little of whether it is right.
SURE = (TRUTH[:, None] == SAID) * 0.3 + rng.random(SAID.shape)


@pytest.fixture(scope="module")
def log():
    panel = Panel(tuple(Entity(name, fee=fee) for name, fee in (("a", 1.0), ("b", 2.0), ("c", 4.0))))
    return log_of_arrays(X, panel=panel, answers=ANSWERS, truth=TRUTH, info=SURE)


@pytest.fixture(scope="module")
def policy(log):
    made = fit(log, learner="linear", committee="posterior", cv=2)
    assert made.base is not None
    return made


def test_answers_and_what_came_with_them_may_leave_out_who_answers_for_itself(policy, log):
    decisions = policy.decide(log.known, Target(k=3))
    wide = np.column_stack([np.full(N, np.nan), SURE])
    given, whole = (policy.combine(decisions, ANSWERS, info=info).outcome for info in (SURE, wide))
    np.testing.assert_array_equal(given.probability, whole.probability)
    without = policy.combine(decisions, ANSWERS).outcome
    assert (given.probability != without.probability).any()
    steps = [policy.next(log.known, ANSWERS, Target(fee_weight=0.01), info=info) for info in (SURE, wide)]
    np.testing.assert_array_equal(steps[0].expected_error, steps[1].expected_error)


def test_what_came_with_answers_has_a_column_for_each_of_them(policy, log):
    decisions = policy.decide(log.known, Target(k=3))
    with pytest.raises(InvalidInputError, match=r"`info` must have shape \(400, 3\), got \(400, 2\)"):
        policy.combine(decisions, ANSWERS, info=SURE[:, :2])
    with pytest.raises(InvalidInputError, match=r"`info` must have shape \(400, 3\), got \(5, 3\)"):
        policy.next(log.known, ANSWERS, Target(fee_weight=0.01), info=SURE[:5])

"""Asking one at a time behind scikit-learn's face: nobody twice, and nobody who is not worth the fee."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from askwho import InvalidInputError, Target
from askwho.estimators import TwoStageClassifier


class Counting:
    """An expert that knows everything but flips some rows, and counts what it is asked."""

    def __init__(self, chance, seed):
        self.chance, self.seed, self.rows = chance, seed, 0

    def predict(self, X):
        self.rows += len(X)
        flip = (
            np.random.default_rng(self.seed + (np.abs(X).sum() * 1e6).astype(int) % 1000).random(len(X)) > self.chance
        )
        return np.where(flip, 1 - (X[:, 0] > 0), X[:, 0] > 0).astype(int)


def test_asking_in_turn_asks_each_expert_once_about_a_row_and_pays_less():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = (X[:, 0] > 0).astype(int)
    said = {name: np.where(rng.random(700) < chance, y, 1 - y) for name, chance in (("a", 0.8), ("b", 0.8), ("c", 0.8))}
    model = TwoStageClassifier(learner="linear", base="none", cv=3, random_state=0, fees=dict.fromkeys("abc", 1.0))
    model.fit(X[:500], y[:500], answers={name: each[:500] for name, each in said.items()})
    rest = {name: each[500:] for name, each in said.items()}
    alone = model.predict(X[500:], answers=rest, target=Target(fee_weight=10.0), mode="sequential")
    turns = model.predict(X[500:], answers=rest, target=Target(fee_weight=0.02), mode="sequential")
    assert (turns == y[500:]).mean() > (alone == y[500:]).mean() + 0.03
    with pytest.raises(InvalidInputError, match="`mode` must be one of 'at-once', 'sequential', got 'twice'"):
        model.predict(X[500:], answers=rest, mode="twice")


def test_live_experts_are_asked_in_turn_and_about_nothing_twice():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] > 0).astype(int)
    experts = [("a", Counting(0.9, 1)), ("b", Counting(0.9, 2)), ("c", Counting(0.9, 3))]
    model = TwoStageClassifier(
        experts=experts, learner="linear", base="none", cv=3, random_state=0, fees=dict.fromkeys("abc", 1.0)
    ).fit(X[:400], y[:400])
    for _, expert in experts:
        expert.rows = 0
    said = model.predict(X[400:], target=Target(fee_weight=1e-3), mode="sequential")
    assert said.shape == (200,)
    assert all(expert.rows <= 200 for _, expert in experts)
    assert sum(expert.rows for _, expert in experts) >= 200


def yes_or_no(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(rng.random(n) < 0.5, "yes", "no")
    other = np.where(y == "yes", "no", "yes")
    return X, y, {name: np.where(rng.random(n) < 0.8, y, other) for name in "abc"}


@pytest.fixture(scope="module")
def of_three():
    """A model of three experts that are all right four times in five, and charge 1."""
    X, y, said = yes_or_no(300, 0)
    model = TwoStageClassifier(learner="linear", base=None, cv=2, random_state=0, fees=dict.fromkeys("abc", 1.0))
    return model.fit(X, y, answers=said)


def test_it_asks_as_the_policy_does_step_by_step(of_three):
    X, _, said = yes_or_no(60, 1)
    aim = Target(fee_weight=0.02)
    policy, table = of_three.policy_, {"X": X}
    while True:
        step = policy.next(table, target=aim)
        if not step.k.any():
            break
        for j, name in enumerate("abc"):
            before = table.get(f"answer_{name}", np.full(len(X), None, dtype=object))
            table[f"answer_{name}"] = np.where(step.members[:, j], said[name], before)
    assert 0 < step.outcome.paid.mean() < 3
    for i, decision in enumerate(step):
        assert set(decision.heard) == {name for name in "abc" if table[f"answer_{name}"][i] is not None}
        assert decision.paid == len(decision.heard)
    predicted = of_three.predict(X, answers=said, target=aim, mode="sequential")
    np.testing.assert_array_equal(predicted, step.outcome.values)


class Silent(Counting):
    """An expert that falls silent when it is told to."""

    silent = False

    def predict(self, X):
        said = super().predict(X)
        return np.full(len(X), None) if self.silent else said


def test_who_is_asked_and_does_not_answer_is_asked_once():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    experts = [(name, Silent(0.9, seed)) for seed, name in enumerate("abc")]
    model = TwoStageClassifier(experts=experts, learner="linear", base=None, cv=2, random_state=0).fit(X, y)
    for _, expert in experts:
        expert.silent, expert.rows = True, 0
    constant = model.predict(X[:50], mode="sequential")
    assert set(constant) == {np.bincount(y).argmax()}
    assert 50 <= sum(expert.rows for _, expert in experts) <= 150
    assert all(expert.rows <= 50 for _, expert in experts)


def test_a_base_that_was_given_is_heard_before_anybody_is_asked():
    X, y, said = yes_or_no(300, 0)
    # The base reads the truth off the second column.
    X[:, 1] = np.where(y == "yes", 1.0, -1.0)
    base = DecisionTreeClassifier(max_depth=1).fit(X, y)
    model = TwoStageClassifier(learner="linear", base=base, cv=2, random_state=0, fees=dict.fromkeys("abc", 1.0))
    model.fit(X, y, answers=said)
    nobody = {name: np.full(len(X), None) for name in said}
    predicted = model.predict(X, answers=nobody, target=Target(fee_weight=0.5), mode="sequential")
    np.testing.assert_array_equal(predicted, y)


def test_who_is_away_is_not_asked_and_k_is_no_aim_in_turn(of_three):
    X, _, said = yes_or_no(40, 1)
    free = Target(fee_weight=0.0)
    only = of_three.predict(X, answers=said, target=free, mode="sequential", available=["b"])
    np.testing.assert_array_equal(only, said["b"])
    with pytest.raises(InvalidInputError, match="`target` must be a price, a budget or an error to ask in turn"):
        of_three.predict(X, answers=said, target=Target(k=2), mode="sequential")
    assert of_three.predict(X, answers=said, target=Target(budget=1.5), mode="sequential").shape == (40,)

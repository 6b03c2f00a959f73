"""Probabilities of verdicts are what such verdicts come to, whoever was chosen to give them."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import Columns, Target, fit, load, read_log, save

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees={f"e{j}": 0.02 for j in range(6)})


def world(n, seed):
    """Six who know a stretch of x_0 each, which no line through the features tells; who is asked is right more often.

    Whoever is expected to err least is asked, and where several are expected to err alike, it is he who does not.
    """
    rng = np.random.default_rng(seed)
    x, classes, truth = rng.uniform(-1, 1, (n, 4)), np.array(["a", "b", "c"]), rng.integers(3, size=n)
    place = (3 * (x[:, 0] + 1)).astype(int).clip(0, 5)
    table = {f"x_{i}": x[:, i] for i in range(4)} | {"truth": classes[truth]}
    for j in range(6):
        right = rng.random(n) < np.where(place == j, 0.97, np.where(abs(place - j) == 1, 0.8, 0.45))
        table[f"answer_e{j}"] = classes[np.where(right, truth, (truth + rng.integers(1, 3, size=n)) % 3)]
    return table


def untold(policy):
    """The same policy, with what is believed as it is."""
    return replace(policy, combiner=replace(policy.combiner, beliefs=replace(policy.combiner.beliefs, sureness=None)))


@pytest.fixture(scope="module")
def taught():
    return fit(read_log(world(1000, 0), COLUMNS), learner="linear", base="none", cv=5)


@pytest.fixture(scope="module")
def later():
    return read_log(world(4000, 99), COLUMNS)


def off(policy, log, k):
    """How far the mean probability of being wrong is off, and what was said."""
    decisions = policy.decide(log.known, Target(k=k))
    came = policy.combine(decisions, log.answers).outcome
    return abs((1 - came.probability).mean() - (came.values != log.truth).mean()), came, decisions


@pytest.mark.parametrize("k", [1, 2, 3])
def test_probabilities_are_right_by_the_size_of_the_committee(taught, later, k):
    before, plain, _ = off(untold(taught), later, k)
    after, told, decisions = off(taught, later, k)
    assert after < 0.5 * before
    assert after < 0.03
    # Which verdict it is, and whom it asks, is left alone.
    assert (plain.values == told.values).all()
    assert (decisions.order == untold(taught).decide(later.known, Target(k=k)).order).all()
    assert np.mean(np.square(told.probability - (told.values == later.truth))) < (
        np.mean(np.square(plain.probability - (plain.values == later.truth)))
    )


def test_probabilities_of_classes_agree_with_the_verdict(taught, later):
    decisions = taught.decide(later.known, Target(k=2))
    came = taught.combine(decisions, later.answers)
    classes = taught.combiner.classes
    shares = taught.probabilities(came, later.answers, classes)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert (classes[shares.argmax(axis=1)] == came.outcome.values).all()
    assert shares.max(axis=1) == pytest.approx(came.outcome.probability, abs=1e-5)


def test_in_turn_too(taught, later):
    answers = later.answers
    step = taught.next(later.known, answers, Target(fee_weight=0.5))
    plain = untold(taught).next(later.known, answers, Target(fee_weight=0.5))
    assert (step.outcome.values == plain.outcome.values).all()
    assert (step.k == plain.k).all()
    wrong = (step.outcome.values != later.truth).mean()
    assert abs(step.expected_error.mean() - wrong) <= abs(plain.expected_error.mean() - wrong) + 0.005


def test_it_is_saved(taught, later, tmp_path):
    save(taught, tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert off(again, later, 1)[1].probability.tolist() == off(taught, later, 1)[1].probability.tolist()

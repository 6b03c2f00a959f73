"""Probabilities of classes after any answers: by the beliefs, or by naive Bayes where there are none."""

from dataclasses import replace

import numpy as np
import pytest

from askwho.core import Answers
from tests import policies

CLASSES = np.array(["cat", "dog", "owl", "zebra"])


@pytest.fixture(scope="module")
def policy():
    return policies.fitted("classes")


def shares(policy, said, beliefs=True):
    combiner = policy.combiner if beliefs else replace(policy.combiner, beliefs=None, rule="log-odds-vote")
    seen = policy.see({name: values[: len(said)] for name, values in policies.queries("classes").items()})
    answers = Answers(np.array(said), np.zeros((len(said), len(said[0])), dtype=np.int8))
    return combiner.distribution(policy.panel, seen, answers, CLASSES)


@pytest.mark.parametrize("beliefs", [True, False])
def test_what_all_say_is_likeliest_and_all_together_are_one(policy, beliefs):
    found = shares(policy, [["cat"] * 4, ["owl"] * 4, ["dog", "dog", "dog", "owl"]], beliefs)
    assert CLASSES[found.argmax(axis=1)].tolist() == ["cat", "owl", "dog"]
    assert found.max(axis=1).min() > 0.7
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_a_class_that_was_never_learned_has_no_probability(policy):
    assert shares(policy, [["cat"] * 4])[0, 3] == 0.0


def test_classes_that_nobody_named_share_what_is_left_alike(policy):
    found = shares(policy, [["cat", "cat", "cat", "dog"]], beliefs=False)[0]
    assert found[2] == pytest.approx(found[3])
    assert found[0] > found[1] > 0

"""Expected errors where some cannot be asked, or have left: those of who is there, and not of who mostly was."""

from functools import cache

import numpy as np
import pytest

from askwho import Columns, Target, evaluate, fit, load, read_log, save

FEES = {"left": 0.1, "right": 0.1, "both": 1.0}


def world(n, seed):
    """Two who each know one half, and one who knows both for ten times the fee."""
    rng = np.random.default_rng(seed)
    x, truth = rng.normal(size=n), rng.choice(list("abcd"), n)
    chance = {"left": np.where(x > 0, 0.4, 0.9), "right": np.where(x > 0, 0.9, 0.4), "both": np.full(n, 0.93)}
    table = {"x": x, "truth": truth}
    for name, right in chance.items():
        table[f"answer_{name}"] = np.where(rng.random(n) < right, truth, rng.choice(list("abcd"), n))
    return table


@cache
def policy_and_rows():
    columns = Columns(truth="truth", answers="answer_*", features="x", fees=FEES)
    return fit(read_log(world(500, 0), columns), learner="forest", base="none", cv=3), read_log(world(3000, 1), columns)


def expected_and_came(policy, log, **given):
    decided = policy.decide(log.known, Target(k=given.pop("k"), fee_weight=0.0), **given)
    answers = {f"answer_{name}": log.answers.values[:, log.panel.index(name)] for name in FEES}
    said = policy.combine(decided, answers, by_position=True)
    return decided.expected_error.mean(), (said.outcome.values != log.truth).mean()


@pytest.mark.parametrize("there", [["left"], ["right"], ["left", "right"], ["left", "both"]])
def test_expected_errors_are_of_who_is_there(there):
    policy, log = policy_and_rows()
    for k in range(1, len(there) + 1):
        expected, came = expected_and_came(policy, log, k=k, available=there)
        assert expected == pytest.approx(came, abs=0.05), (there, k)


@pytest.mark.parametrize("gone", [["both"], ["left", "both"], ["right", "both"]])
def test_so_they_are_of_who_is_left(gone, tmp_path):
    policy, log = policy_and_rows()
    for name in gone:
        policy = policy.without(name)
    save(policy, tmp_path / "left")
    loaded = load(tmp_path / "left")
    for k in range(1, len(policy.panel) + 1):
        decided = policy.decide(log.known, Target(k=k, fee_weight=0.0))
        answers = {f"answer_{name}": log.answers.values[:, log.panel.index(name)] for name in policy.panel.names}
        came = (policy.combine(decided, answers, by_position=True).outcome.values != log.truth).mean()
        assert decided.expected_error.mean() == pytest.approx(came, abs=0.05), (gone, k)
        one = loaded.decide({"x": log.known["x"][:1]}, Target(k=k, fee_weight=0.0))
        assert one.expected_error[0] == pytest.approx(decided.expected_error[0], abs=1e-6)
    assert evaluate(policy, read_log(world(400, 2), policy.columns), draws=10)["adaptive"]


def test_a_mask_that_hides_nobody_changes_nothing():
    policy, log = policy_and_rows()
    for target in (Target(k=2), Target(fee_weight=0.1)):
        plain, masked = (policy.decide(log.known, target, available=each) for each in (None, [*FEES]))
        np.testing.assert_array_equal(plain.members, masked.members)
        np.testing.assert_array_equal(plain.expected_error, masked.expected_error)


def test_of_whom_a_mask_leaves_as_they_were_nothing_changes():
    policy, log = policy_and_rows()
    some = np.arange(len(log)) % 2 == 0
    masked = policy.decide(log.known, Target(fee_weight=0.1), available={"left": some, "right": True, "both": True})
    plain = policy.decide(log.known, Target(fee_weight=0.1))
    np.testing.assert_array_equal(plain.expected_error[some], masked.expected_error[some])
    assert (plain.expected_error[~some] != masked.expected_error[~some]).any()
    assert not masked.members[~some, 0].any()

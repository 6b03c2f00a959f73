"""Fresh rows: the settings of a policy are taken from what this very policy does on them."""

import dataclasses

import numpy as np
import pytest

from askwho import InvalidInputError, Panel, Target
from askwho.data import Columns, Sampling, read_log
from askwho.fitting import calibrate, fit
from tests import policies, synthetic
from tests.logs import log_of_arrays


def test_calibrated_rows_are_what_the_policy_does(policy):
    table = synthetic.classification(1500, seed=1)
    fresh = read_log(table, synthetic.COLUMNS)
    ours = calibrate(policy, fresh)
    rows = ours.tried
    assert rows.fees.shape == (31, 1500)
    np.testing.assert_array_equal(rows.prices, policy.tried.prices)
    seen = ours.see(table)
    for p in (0, 12, 30):
        decisions = ours.combine(ours.decide(seen, Target(fee_weight=float(rows.prices[p]))), fresh.answers)
        np.testing.assert_array_equal(rows.sizes[p], decisions.k)
        np.testing.assert_allclose(rows.fees[p], decisions.fee)
        np.testing.assert_array_equal(rows.errors[p], decisions.outcome.values != fresh.truth)
    # And so at a mixture of two prices.
    target = Target(budget=0.3, confidence=0.95)
    paid, _ = synthetic.tried(rows, ours.setting(target))
    assert ours.decide(seen, target).fee.mean() == pytest.approx(paid)


def test_the_policy_itself_is_left_as_it_was(policy):
    before = policy.tried, policy.turns.tried, policy.setting(Target(budget=0.3))
    ours = calibrate(policy, read_log(synthetic.classification(100, seed=5), synthetic.COLUMNS))
    assert (policy.tried, policy.turns.tried, policy.setting(Target(budget=0.3))) == before
    assert ours is not policy
    assert ours.tried.errors.shape[1] == ours.turns.tried.errors.shape[1] == 100
    # Nothing else is learned from fresh rows.
    for name in ("panel", "encoder", "judge", "cardinality", "combiner", "past", "facts"):
        assert getattr(ours, name) is getattr(policy, name)
    assert ours.turns.asking is policy.turns.asking


@pytest.mark.parametrize(
    "kind", ["numbers", "grades", "own base", "numbers, own base", "fees by query", "free answers"]
)
def test_every_kind_of_policy_is_calibrated(kind):
    policy, table = policies.fitted(kind), policies.queries(kind, 300)
    assert (policy.base is not None) == ("own base" in kind)
    ours = calibrate(policy, read_log(table, policy.columns))
    rows = ours.tried
    assert rows.errors.shape[1] == 300
    assert np.isfinite(rows.errors).all()
    cap = float(2 * rows.fees.max()) if kind == "fees by query" else None
    target = Target(budget=float(rows.fees.mean()) + 0.1, confidence=0.9, max_fee=cap)
    assert 0 <= ours.decide(table, target).fee.mean() <= 1.05 * target.budget


def test_turns_are_calibrated_too(policy):
    table = synthetic.classification(300, seed=5)
    ours = calibrate(policy, read_log(table, synthetic.COLUMNS))
    before, after = policy.turns.tried, ours.turns.tried
    np.testing.assert_array_equal(after.prices, before.prices)
    assert after.errors.shape == (len(before.prices), 300)
    heard, _ = policies.taking_turns(ours, table, Target(fee_weight=float(before.prices[5])))
    np.testing.assert_allclose(after.fees[5], heard @ policy.panel.fees)
    np.testing.assert_array_equal(after.sizes[5], heard.sum(axis=1))


def test_what_was_calibrated_can_be_calibrated_again(policy):
    first, second = (read_log(synthetic.classification(n, seed=n), synthetic.COLUMNS) for n in (60, 80))
    twice, once = calibrate(calibrate(policy, first), second), calibrate(policy, second)
    for name in ("errors", "fees", "sizes", "coins"):
        np.testing.assert_array_equal(getattr(twice.tried, name), getattr(once.tried, name))


def test_groups_are_those_of_the_fresh_rows():
    rng = np.random.default_rng(0)
    panel, groups = Panel.two_stage({"a": 1.0}), np.repeat(np.arange(100), 4)
    X, errors = rng.normal(size=(400, 2)), (rng.random((400, 2)) < [0.3, 0.1]).astype(float)
    policy = fit(log_of_arrays(X, errors=errors, panel=panel, groups=groups), learner="linear", cv=3)
    np.testing.assert_array_equal(policy.tried.groups, groups)
    lonely = log_of_arrays(X[:99], errors=errors[:99], panel=panel)
    assert calibrate(policy, lonely).tried.groups is None
    np.testing.assert_array_equal(
        calibrate(policy, dataclasses.replace(lonely, sampling=Sampling(np.arange(99) // 3))).tried.groups,
        np.arange(99) // 3,
    )


def graded(n=60):
    """The same entities with grades in the place of answers."""
    table = synthetic.classification(n)
    known = {name: values for name, values in table.items() if name.startswith("x_")}
    grades = {f"grade_{name}": (table[f"answer_{name}"] == table["truth"]).astype(float) for name in synthetic.FEES}
    return read_log(known | grades, Columns(grades="grade_*", features="x_*", fees=synthetic.FEES))


def others(n=60):
    """Other entities."""
    fees = {name: fee for name, fee in synthetic.FEES.items() if name != "noise"}
    table = synthetic.classification(n)
    del table["answer_noise"]
    return read_log(table, dataclasses.replace(synthetic.COLUMNS, fees=fees))


def counted(n=60):
    """The same entities with classes that are numbers."""
    table = synthetic.classification(n)
    coded = {name: np.searchsorted(["cat", "dog", "owl"], v) for name, v in table.items() if v.dtype.kind in "OU"}
    return read_log(table | coded, dataclasses.replace(synthetic.COLUMNS, task="classification"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (graded, "`log` must hold answers, as the policy's own did, got grades: nothing to combine."),
        (
            others,
            (
                "`log` must have the entities of the policy, ['left', 'right', 'both', 'noise'], got "
                "['left', 'right', 'both']."
            ),
        ),
        (counted, "`answers` must be text, as in the policy's log, got numbers: 1 and '1' would never agree."),
        (
            lambda: dataclasses.replace(read_log(synthetic.classification(60), synthetic.COLUMNS), task="regression"),
            "`log` must be one of classification, as the policy's own was, got regression.",
        ),
    ],
    ids=["grades", "others", "numbers", "task"],
)
def test_rows_that_cannot_be_calibrated_on(policy, make, message):
    with pytest.raises(InvalidInputError) as error:
        calibrate(policy, make())
    assert str(error.value) == message

"""Policies of numbers: errors in one unit, intervals around verdicts, and questions in turn, saved and read back."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from askwho import InvalidInputError, Target, TwoStageRegressor, calibrate, evaluate, fit, load, read_log, save
from askwho._parts import State
from askwho.beliefs import Intervals, NumberPool
from askwho.core import Answers, Cell
from tests import synthetic

COVERAGE = 0.9


def columns(error):
    return replace(synthetic.COLUMNS, error=error, task="regression")


def fitted(error, n=500, **options):
    log = read_log(synthetic.regression(n), columns(error))
    return fit(log, **{"learner": "linear", "base": "none", "cv": 3, **options})


@pytest.fixture(scope="module")
def policies():
    return {error: fitted(error) for error in ("absolute", "pinball:0.9")}


@pytest.fixture(scope="module")
def fresh():
    return {error: read_log(synthetic.regression(1000, 1), columns(error)) for error in ("absolute", "pinball:0.9")}


def combined(policy, log, price, **options):
    return policy.combine(policy.decide(log.known, Target(fee_weight=price)), log.answers, **options).outcome


@pytest.mark.parametrize("error", ["absolute", "pinball:0.9"])
def test_no_root_is_taken_of_errors_that_are_no_squares(policies, fresh, error):
    policy, log = policies[error], fresh[error]
    result = evaluate(policy, log, draws=5)
    alone = {entity["name"]: entity["error"] for entity in result["entities"]}
    assert alone["both"] == pytest.approx(np.mean(log.errors[:, policy.panel.index("both")]))
    assert (
        result["unit"]
        == policy.unit.to_json()
        == {
            "name": policy.unit.name,
            "root": False,
            "share": False,
            "most": None,
        }
    )
    expected = policy.decide(log.known, Target(k=1))
    assert 0 < expected.expected_error.mean() < 0.5
    # A promise bounds the loss itself, and never takes 1 for a bound: these errors are no shares.
    with pytest.raises(InvalidInputError, match="`max_loss` must be given"):
        calibrate(policy, log).setting(Target(max_error=1.0, confidence=0.9))
    found = calibrate(policy, log).setting(Target(max_error=1.0, confidence=0.9, max_loss=30.0))
    assert found.fee_weight >= 0


def test_a_pinball_policy_is_above_the_truth_as_often_as_it_should_be(policies, fresh):
    log = fresh["pinball:0.9"]
    outcome = combined(policies["pinball:0.9"], log, 0.0)
    assert (log.truth <= outcome.values).mean() == pytest.approx(0.9, abs=0.06)
    best = np.nanmean(log.errors, axis=0).min()
    gap = log.truth - outcome.values
    assert np.maximum(0.9 * gap, -0.1 * gap).mean() < 0.9 * best


@pytest.mark.parametrize("price", [0.0, 0.3, 3.0])
def test_intervals_cover_as_often_as_said_at_once(policies, fresh, price):
    log = fresh["absolute"]
    outcome = combined(policies["absolute"], log, price, coverage=COVERAGE)
    inside = (outcome.low <= log.truth) & (log.truth <= outcome.high)
    assert inside.mean() == pytest.approx(COVERAGE, abs=0.05)
    wide = combined(policies["absolute"], log, price, coverage=0.97)
    assert ((wide.low <= outcome.low) & (outcome.high <= wide.high)).all()


def test_calibrating_takes_intervals_from_the_fresh_rows(policies, fresh):
    policy, log = policies["absolute"], fresh["absolute"]
    off = replace(log, truth=log.truth + 100.0)
    moved = combined(calibrate(policy, off), log, 0.0, coverage=COVERAGE)
    assert np.median(moved.low - log.truth) > 50
    assert np.median(combined(policy, log, 0.0, coverage=COVERAGE).high - log.truth) < 5


def test_asking_in_turn_stops_where_answers_agree_and_covers_what_it_says(policies, fresh):
    policy, log = policies["absolute"], fresh["absolute"]
    target = Target(fee_weight=0.5)
    seen, shape = policy.see(log.known), log.answers.values.shape
    states = np.full(shape, Cell.NOT_ASKED, dtype=np.int8)
    for _ in range(shape[1] + 1):
        step = policy.next(seen, Answers(log.answers.values, states), target, coverage=COVERAGE)
        if not step.members.any():
            break
        states = np.where(step.members, log.answers.states, states).astype(np.int8)
    outcome = step.outcome
    assert not step.k.any()
    assert outcome.decided.all()
    assert ((outcome.low <= log.truth) & (log.truth <= outcome.high)).mean() == pytest.approx(COVERAGE, abs=0.05)
    assert len(np.unique((states == Cell.ANSWERED).sum(axis=1))) > 1
    # What was expected of stopping is what came.
    assert step.expected_error.mean() == pytest.approx(np.abs(outcome.values - log.truth).mean(), rel=0.5)
    columns_ = step.next_columns()
    assert columns_["low"] == pytest.approx(outcome.low)
    assert step[0].interval == (outcome.low[0], outcome.high[0])


def test_what_is_saved_is_read_back_and_routes_carry_all_that_intervals_need(policies, fresh, tmp_path):
    policy, log = policies["absolute"], fresh["absolute"]
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    before, after = (combined(each, log, 0.3, coverage=COVERAGE) for each in (policy, again))
    np.testing.assert_array_equal(before.low, after.low)
    np.testing.assert_array_equal(before.high, after.high)
    routes = again.read(again.decide(log.known, Target(fee_weight=0.3)).to_columns())
    read = again.combine(routes, log.answers, coverage=COVERAGE)
    np.testing.assert_allclose(read.outcome.low, before.low, rtol=1e-6)
    assert read.outcome_columns()["high"] == pytest.approx(before.high)
    assert again.unit == policy.unit
    other = again.without("noise")
    with pytest.raises(InvalidInputError, match="calibrate it first"):
        other.combine(other.decide(log.known, Target(k=1)), coverage=COVERAGE)


@pytest.mark.parametrize("part", [NumberPool, Intervals])
def test_parts_that_are_damaged_are_refused(policies, part):
    numbers = policies["absolute"].combiner.beliefs
    whole = (numbers.pool if part is NumberPool else numbers.at_once).to_state()
    for name, array in whole.arrays.items():
        for broken in (
            np.zeros((3, 2, 5)),
            np.full(array.shape, np.inf),
            np.full(array.shape, np.nan),
            array[:-1],
            None,
        ):
            if name in ("members", "levels", "alone") and broken is not None and broken.shape == array[:-1].shape:
                continue
            arrays = {key: value for key, value in whole.arrays.items() if key != name}
            arrays |= {} if broken is None else {name: broken}
            with pytest.raises(InvalidInputError, match=r"damaged|must"):
                part.from_state(State(part.__name__, whole.plain, load_arrays(save_arrays(arrays))))
    assert part.from_state(State(part.__name__, whole.plain, whole.arrays)) is not None


def test_what_has_no_intervals_says_why(fresh):
    log = fresh["absolute"]
    small = fitted("absolute", 150)
    with pytest.raises(InvalidInputError, match="fewer than 200 rows: it has no intervals"):
        combined(small, log, 0.0, coverage=COVERAGE)
    with pytest.raises(InvalidInputError, match="cannot ask in turn"):
        small.next(log.known, target=Target(fee_weight=1.0))
    named = fitted("absolute", 300, committee="median")
    assert named.turns is None
    assert combined(named, log, 0.0, coverage=COVERAGE).low is not None
    with pytest.raises(InvalidInputError, match="`coverage` must be between 0 and 1, got 1"):
        combined(named, log, 0.0, coverage=1.0)


def test_a_log_that_is_scored_otherwise_is_refused(policies, fresh):
    with pytest.raises(InvalidInputError, match="scored as the policy's own was, by mean absolute error, got p"):
        evaluate(policies["absolute"], fresh["pinball:0.9"])


def test_a_base_of_our_own_answers_with_its_quantile():
    log = read_log(synthetic.estimated(400), columns("pinball:0.8"))
    policy = fit(log, learner="linear", cv=3)
    assert policy.base is not None
    table = synthetic.estimated(1000, 1)
    said = policy.see(table).said
    assert (table["truth"] <= said).mean() == pytest.approx(0.8, abs=0.06)


def test_the_regressor_has_intervals():
    table, test = synthetic.regression(400), synthetic.regression(600, 1)
    X, Z = (np.column_stack([each[f"x_{i}"] for i in range(3)]) for each in (table, test))
    answers, said = ({name: each[f"answer_{name}"] for name in synthetic.FEES} for each in (table, test))
    model = TwoStageRegressor(base=None, learner="linear", cv=3, error="absolute", random_state=0)
    model.fit(X, table["truth"], answers=answers)
    assert model.policy_.unit.name == "mean absolute error"
    bounds = model.predict_interval(Z, answers=said, coverage=0.8)
    assert bounds.shape == (600, 2)
    inside = (bounds[:, 0] <= test["truth"]) & (test["truth"] <= bounds[:, 1])
    assert inside.mean() == pytest.approx(0.8, abs=0.07)

"""Mistakes that cost more than others: what is said, whom is asked, what is met and promised, in the user's unit."""

import re
from dataclasses import replace

import numpy as np
import pytest

from askwho._parts import state_of
from askwho._unit import Unit
from askwho.core import Answers, CostMatrix, elementwise_error
from askwho.data import Columns, read_log
from askwho.evaluation import evaluate
from askwho.exceptions import InvalidInputError
from askwho.fitting import calibrate, fit, with_expert
from askwho.persistence import load, save
from askwho.policy import Target
from askwho.replay import Replay
from tests import costly
from tests.persistence.alike import same_decisions, same_state

QUICK = {"learner": "linear", "base": "none", "cv": 3}


@pytest.fixture(scope="module")
def policy():
    return fit(read_log(costly.desk(), costly.COLUMNS), **QUICK)


@pytest.fixture(scope="module")
def blind():
    return fit(read_log(costly.desk(), costly.PLAIN), **QUICK)


@pytest.fixture(scope="module")
def new():
    return read_log(costly.desk(1500, seed=1), costly.COLUMNS)


def said(policy, log, price=0.0):
    return policy.combine(policy.decide(log.known, Target(fee_weight=price)), log.answers).outcome.values


def test_costs_that_are_all_alike_decide_to_the_last_bit_as_none_do(blind, new):
    columns = replace(costly.PLAIN, error={"fraud": {"fine": 1}, "fine": {"fraud": 1}})
    alike = fit(read_log(costly.desk(), columns), **QUICK)
    same_state(replace(alike, columns=blind.columns), blind)
    same_decisions(alike, blind, new.known, [Target(fee_weight=0.3)])
    np.testing.assert_array_equal(said(alike, new), said(blind, new))


def test_the_verdict_is_the_class_of_least_expected_cost(policy, new):
    assert policy.combiner.rule == "posterior"
    decisions = policy.decide(new.known, Target(k=3))
    shares = policy.probabilities(decisions, new.answers, np.array(["fine", "fraud"]))
    risks = shares @ np.array([[0.0, 1.0], [20.0, 0.0]])
    verdicts = policy.combine(decisions, new.answers).outcome.values
    clear = np.abs(risks[:, 0] - risks[:, 1]) > 1e-4
    np.testing.assert_array_equal(verdicts[clear], np.array(["fine", "fraud"])[risks.argmin(axis=1)][clear])
    assert ((verdicts == "fraud") & (shares[:, 1] < 0.5)).sum() > 30


def test_a_policy_that_knows_the_costs_costs_less_than_one_that_does_not(policy, blind, new):
    ours, theirs = (costly.cost(said(each, new), new.truth) for each in (policy, blind))
    assert ours < 0.75 * theirs
    assert ours < min(costly.cost(np.full(len(new), each), new.truth) for each in ("fine", "fraud"))


def test_in_turn_what_is_expected_is_a_cost_and_so_is_what_came(policy, new):
    held = Replay.of(policy, new)
    done = held.in_turn(policy.turns.asking, 0.0)
    assert set(np.unique(done.errors)) == {0.0, 1.0, 20.0}
    step = policy.next(new.known, new.answers, Target(fee_weight=0.0))
    assert step.expected_error.max() > 0.5
    assert step.expected_error.mean() == pytest.approx(done.errors.mean(), abs=0.25)
    assert done.errors.mean() == pytest.approx(costly.cost(step.outcome.values, new.truth), abs=0.1)
    # Money that nothing is worth is not spent.
    assert held.in_turn(policy.turns.asking, 100.0).fees.mean() < 0.05 < done.fees.mean()


def test_what_is_saved_knows_the_costs(policy, new, tmp_path):
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert again.columns.scoring.to_json() == {"fine": {"fraud": 1.0}, "fraud": {"fine": 20.0}}
    same_state(again, policy)
    same_decisions(again, policy, new.known, [Target(fee_weight=0.3)])
    np.testing.assert_array_equal(said(again, new), said(policy, new))
    # A log that was read without them is scored by them.
    plain = read_log(costly.desk(1500, seed=1), costly.PLAIN)
    assert evaluate(again, plain, draws=20) == evaluate(policy, new, draws=20)


def test_figures_are_mean_costs_with_intervals_in_their_unit(policy, new):
    found = evaluate(policy, new, draws=50)
    assert Unit.from_json(found["unit"]) == policy.unit == Unit("cost", share=False, most=20.0)
    for entity in found["entities"]:
        name = f"answer_{entity['name']}"
        assert entity["error"] == pytest.approx(costly.cost(costly.desk(1500, seed=1)[name], new.truth))
        low, high = entity["error_interval"]
        assert low < entity["error"] < high < 5
    best = min(point["error"] for point in found["adaptive"])
    assert best < found["baselines"]["best_single"]["error"]


def test_a_promise_is_of_losses_up_to_the_worst_mistake(policy, new):
    fresh = calibrate(policy, new)
    with pytest.raises(InvalidInputError, match="`max_error` must be at least") as refused:
        fresh.setting(Target(max_error=0.01, confidence=0.95))
    least = float(re.search(r"at least ([\d.]+)", str(refused.value)).group(1))
    shown = fresh.setting(Target(max_error=least, confidence=0.95))
    met = fresh.tried.errors[np.flatnonzero(fresh.tried.prices == shown.fee_weight)[0]].mean()
    # A binomial would promise what a few per cent above the mean says; twenties are rare, and make it wider.
    assert least > 1.15 * met
    with pytest.raises(InvalidInputError, match="`max_error` must be at least"):
        fresh.setting(Target(max_error=1.02 * met, confidence=0.95))


def test_a_base_of_our_own_says_what_costs_least(new):
    table = {name: values for name, values in costly.desk(500).items() if name != "answer_senior"}
    columns = replace(costly.COLUMNS, fees={"rules": 0.0, "analyst": 0.1})
    policy = fit(read_log(table, columns), learner="linear", cv=3)
    assert policy.base is not None
    answers, shares = policy.base.say(policy.see(new.known).X, None)
    np.testing.assert_array_equal(answers == "fraud", 20 * shares[:, 1] > shares[:, 0])
    assert ((answers == "fraud") & (shares[:, 1] < 0.5)).any()


def test_holes_newcomers_and_leavers_count_in_costs(policy):
    table = costly.desk(250)
    rng = np.random.default_rng(3)
    for name in ("answer_analyst", "answer_senior"):
        table[name] = np.where(rng.random(250) < 0.3, None, table[name].astype(object))
    holed = fit(read_log(table, costly.COLUMNS), **QUICK)
    assert all(0.1 < each < 3 for each in holed.facts.entity_errors)
    his = costly.desk(60, seed=5)
    his = {name: his[name] for name in ("x_0", "x_1", "truth")} | {"answer_novice": np.full(60, "fine")}
    grown = with_expert(policy, "novice", his, fee=0.0)
    assert grown.judge.newcomers.most == 20
    # Whoever never alarms costs more than those who do.
    assert grown.facts.entity_errors[-1] > np.mean(policy.facts.entity_errors)
    left = grown.without("analyst")
    assert left.decide({"x_0": [2.0], "x_1": [0.0]}, Target(fee_weight=0.0)).expected_error[0] > 0


def test_a_function_of_the_users_own_is_what_it_costs_on_every_pair(policy):
    def error(answer, truth):
        return np.where(answer == truth, 0.0, np.where(truth == "fraud", 20.0, 1.0))

    plain = read_log(costly.desk(), costly.PLAIN)
    errors = elementwise_error(plain.answers.values, np.repeat(plain.truth[:, None], 3, axis=1), error)
    same_state(fit(replace(plain, error=error, errors=errors), **QUICK), policy)


def test_of_more_classes_than_a_table_holds_the_function_stays():
    def error(answer, truth):
        return 3.0 * (answer != truth)

    rng = np.random.default_rng(0)
    truth = np.array([f"c{i}" for i in rng.integers(0, 70, 300)])
    table = costly.desk(300) | {"truth": truth}
    table |= {f"answer_{name}": np.where(rng.random(300) < 0.7, truth, truth[::-1]) for name in costly.FEES}
    plain = read_log(table, costly.PLAIN)
    log = replace(plain, error=error, errors=3.0 * plain.errors)
    policy = fit(log, **QUICK)
    assert policy.unit == Unit("cost", share=False, most=np.inf)
    found = evaluate(policy, log, draws=5)["entities"]
    assert [each["error"] for each in found] == pytest.approx(3.0 * plain.errors.mean(axis=0))
    with pytest.raises(InvalidInputError, match="`log` must be scored as the policy's own was, by cost, got error"):
        evaluate(policy, plain, draws=5)


def test_numbers_that_are_classes_may_be_off_by_more_or_less():
    table = costly.desk(300)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    table |= {"truth": truth} | {
        f"answer_{name}": np.clip(truth + rng.integers(-1, 2, 300), 0, 2) for name in costly.FEES
    }
    columns = replace(costly.PLAIN, error="absolute", task="classification")
    policy = fit(read_log(table, columns), **QUICK)
    np.testing.assert_array_equal(policy.combiner.beliefs.costs, np.abs(np.subtract.outer(range(3), range(3))))


def test_an_answer_that_training_never_saw_is_not_said_for_nothing(policy):
    known = {"x_0": [0.0], "x_1": [0.0]}
    heard = Answers(np.array([["fine", "odd", "odd"]]), np.zeros((1, 3), dtype=np.int8))
    done = policy.combine(policy.decide(known, Target(k=3)), heard).outcome
    assert done.values[0] in ("fine", "fraud", "odd")
    assert 0 < done.probability[0] <= 1


def test_what_is_wrong_with_costs_is_said(policy):
    slip = replace(costly.COLUMNS, error={"Fraud": {"fine": 20}})
    with pytest.raises(InvalidInputError, match=re.escape("`error` must name classes of the log, got 'Fraud': it has")):
        fit(read_log(costly.desk(), slip), **QUICK)
    with pytest.raises(InvalidInputError, match="`error` must be a name where the task is regression"):
        replace(costly.COLUMNS, task="regression")
    numbers = costly.desk() | {"truth": np.linspace(0, 1, 400)}
    numbers |= {f"answer_{name}": np.linspace(0, 1, 400) for name in costly.FEES}
    with pytest.raises(InvalidInputError, match="`error` must be a name where the truth is numbers"):
        read_log(numbers, costly.COLUMNS)
    with pytest.raises(InvalidInputError, match="`error` must be 'auto' with `grades`"):
        Columns(grades="g_*", features="x_*", error=costly.COSTS)
    state = dict(state_of(policy, "policy").walk())["combiner.beliefs"]
    state.arrays["costs"] = np.zeros((3, 3), dtype=np.float32)
    with pytest.raises(InvalidInputError, match="the artefact is damaged"):
        type(policy.combiner.beliefs).from_state(state)


def test_a_log_says_what_its_largest_error_is(new):
    assert isinstance(new.error, CostMatrix)
    assert (new.weighed, new.unit.most) == (True, 20.0)
    plain = read_log(costly.desk(), costly.PLAIN)
    assert (plain.weighed, plain.unit.most) == (False, 1.0)

"""Committees that are the same for every query: taken where no price does better, and asked as they were tried."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import InvalidInputError, Target, fit
from askwho._parts import State
from askwho._unit import Unit
from askwho.core import Answers, Cell
from askwho.data import Columns, read_log
from askwho.fitting import calibrate
from askwho.persistence import load, save
from askwho.policy import Fixed, Judgement, Outcomes, in_front
from askwho.replay import Replay, alike, constant_committees
from askwho.replay._alike import _errors

FEES = {"cheap": 1.0, "good": 3.0, "twin": 3.0}


def table(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Nobody is better anywhere: what is to be learned is that `good` errs least."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    errs = {"cheap": 0.45, "good": 0.1, "twin": 0.14}
    answers = {f"answer_{name}": (truth + (rng.random(n) < err)) % 3 for name, err in errs.items()}
    return {"x_0": rng.normal(size=n), "x_1": rng.normal(size=n), "truth": truth} | answers


COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES, task="classification")


@pytest.fixture(scope="module")
def policy():
    return fit(read_log(table(400), COLUMNS), learner="linear", base="none", cv=3)


def outcomes(errors: list[float], fees: list[float], fixed: Fixed) -> Outcomes:
    """One row: what is done at each price."""
    prices = np.arange(len(errors), dtype=np.float64)
    rows = np.array([errors]).T, np.array([fees]).T
    return Outcomes(prices, *rows, np.ones((len(errors), 1), dtype=np.intp), fixed=fixed)


def test_what_a_budget_buys_best_is_taken_whoever_offers_it():
    fixed = Fixed(np.array([[0, -1], [0, 1]]), np.array([[0.3], [0.2]]), np.array([[1.0], [2.0]]))
    tried = outcomes([0.1, 0.25, 0.4], [3.0, 1.5, 0.5], fixed)
    found = {budget: tried.meeting(Unit(), budget=budget, max_error=None) for budget in (0.5, 1.0, 2.0, 3.0)}
    assert {budget: setting.fixed for budget, setting in found.items()} == {0.5: (), 1.0: (0,), 2.0: (0, 1), 3.0: ()}
    assert tried.foreseen(found[1.0], Unit()) == (1.0, 0.3)
    assert tried.foreseen(found[3.0], Unit()) == (3.0, 0.1)
    # For more money a gain must be clear: by luck some committee always errs a little less.
    lucky = Fixed(np.array([[0, 1]]), np.array([[0.2, 0.29]]), np.full((1, 2), 2.0))
    rows = Outcomes(np.zeros(1), np.array([[0.3, 0.2]]), np.ones((1, 2)), np.ones((1, 2), dtype=np.intp), fixed=lucky)
    assert rows.meeting(Unit(), budget=2.0, max_error=None).fixed == ()
    # For hardly more money it need not be.
    near = replace(rows, fixed=replace(lucky, fees=np.full((1, 2), 1.01)))
    assert near.meeting(Unit(), budget=2.0, max_error=None).fixed == (0, 1)
    # The luckiest of many committees would be found to meet an error.
    assert tried.meeting(Unit(), budget=None, max_error=0.25).fixed == ()


def test_only_those_stay_that_none_is_both_cheaper_and_better_than():
    members = np.array([[0], [1], [2], [3]])
    fixed = Fixed(members, np.array([[0.3], [0.2], [0.3], [np.nan]]), np.array([[1.0], [2.0], [1.5], [0.1]]))
    assert sorted(fixed.front(Unit()).members[:, 0]) == [0, 1]


def forced(policy, members):
    """The same policy, of which one committee was never wrong."""
    shape, none = policy.tried.fees[:1].shape, np.full(3 - len(members), -1)
    fixed = Fixed(np.concatenate([members, none])[None].astype(np.intp), np.zeros(shape), np.full(shape, 3.0))
    turns = replace(policy.turns, tried=replace(policy.turns.tried, fixed=fixed))
    return replace(policy, tried=replace(policy.tried, fixed=fixed), turns=turns)


def test_at_once_they_are_asked_about_every_query(policy):
    target, better = Target(budget=3.0), forced(policy, [2, 0])
    assert better.setting(target).fixed == (2, 0)
    many = better.decide({"x_0": np.linspace(-2, 2, 50), "x_1": np.linspace(3, -3, 50)}, target)
    assert {tuple(row) for row in many.order[:, :2].tolist()} == {(2, 0)}
    assert set(many.k.tolist()) == {2}
    one = better.decide({"x_0": [0.1], "x_1": [0.2]}, target)
    assert one.ask(0) == ("twin", "cheap")
    # Whoever is drawn at random is drawn in place of as many.
    some = better.decide({"x_0": np.zeros(400), "x_1": np.zeros(400)}, target, explore=0.5, random_state=0)
    assert set(some.k.tolist()) == {2}
    assert 0.1 < np.mean(some.propensity < 0.5) < 0.9


def test_in_turn_they_are_asked_one_after_another(policy):
    better, target = forced(policy, [1, 0]), Target(budget=5.0)
    assert better.setting(target, in_turn=True).fixed == (1, 0)
    queries = {"x_0": [0.0, 0.3], "x_1": [0.1, -2.0]}
    states = np.full((2, 3), Cell.NOT_ASKED, dtype=np.int8)
    asked = []
    for _ in range(3):
        step = better.next(queries, Answers(np.ones((2, 3), dtype=np.intp), states), target)
        asked.append(np.where(step.k > 0, step.order[:, 0], -1).tolist())
        for row in np.flatnonzero(step.k):
            states[row, step.order[row, 0]] = Cell.ANSWERED
    assert asked == [[1, 1], [0, 0], [-1, -1]]


def test_what_they_got_is_what_deciding_so_gets(policy):
    log = read_log(table(300, 5), COLUMNS)
    held = Replay.of(policy, log)
    done = alike(held, np.array([[1, -1, -1], [1, 2, 0]]))
    np.testing.assert_array_equal(done.errors[0], log.errors[:, 1])
    np.testing.assert_array_equal(done.fees[1], np.full(300, 7.0))
    assert {tuple(each[each >= 0]) for each in constant_committees(held, 3)} >= {(0,), (1,)}
    fresh = calibrate(policy, log)
    assert fresh.tried.fixed is not None
    np.testing.assert_array_equal(fresh.tried.fixed.members, policy.tried.fixed.members)
    assert fresh.tried.fixed.errors.shape[1] == 300


def test_they_are_saved_with_the_policy(policy, tmp_path):
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    for target in (Target(budget=1.0), Target(budget=3.0), Target(budget=6.0)):
        assert again.setting(target) == policy.setting(target)
        assert again.setting(target, in_turn=True) == policy.setting(target, in_turn=True)


@pytest.mark.parametrize("members", [[[0, -2]], [[-1, 0]], [[0.0, 1.0]]])
def test_committees_with_nobody_first_or_with_strangers_are_refused(members):
    good = Fixed(np.array([[0, -1]]), np.zeros((1, 2)), np.ones((1, 2)))
    assert Fixed.from_state(good.to_state()).members.tolist() == [[0, -1]]
    arrays = good.to_state().arrays | {
        "members": np.array(members, dtype=np.float64 if members == [[0.0, 1.0]] else np.int32)
    }
    with pytest.raises(InvalidInputError, match="somebody in every committee"):
        Fixed.from_state(State(arrays=arrays))


def test_in_turn_whoever_the_log_does_not_know_there_is_passed_over(policy):
    seen = policy.see({"x_0": [0.0, 0.3], "x_1": [0.1, -2.0]})
    case = policy.combiner.case(Answers(np.ones((2, 3), dtype=np.intp), np.zeros((2, 3), dtype=np.int8)), seen, None)
    case = replace(case, there=np.array([[True, False, True], [False, True, True]]))

    def step(asked):
        beliefs, rates = policy.combiner.beliefs, np.zeros(2)
        return policy.turns.next(
            beliefs, case, asked=asked, fees=seen.fees, fee_weights=rates, alike=np.tile([1, 0], (2, 1))
        )[0]

    asked = np.zeros((2, 3), dtype=bool)
    assert step(asked).tolist() == [0, 1]
    asked[[0, 1], [0, 1]] = True
    assert step(asked).tolist() == [-1, -1]


def test_in_turn_rows_that_a_member_was_not_asked_about_are_not_scored(policy):
    full = table(60, 7)
    log = read_log(full, COLUMNS)
    lacking = read_log(full | {"answer_cheap": np.where(np.arange(60) < 20, None, full["answer_cheap"])}, COLUMNS)
    judges = [(np.arange(60), policy.turns.asking)]
    whole, some = (Replay.of(policy, each) for each in (log, lacking))
    pair, other = np.tile([1, 2], (60, 1)), np.tile([0, 1], (60, 1))
    np.testing.assert_array_equal(_errors(some, pair, judges), _errors(whole, pair, judges))
    assert np.isnan(_errors(some, other, judges)).tolist() == [True] * 20 + [False] * 40


def test_the_papers_own_policies_have_none():
    log = read_log(table(120), COLUMNS)
    assert fit(log, learner="linear", base="none", cv=2, cardinality="surrogate").tried.fixed is None


def test_whoever_errs_least_stands_in_for_a_member_the_log_does_not_know_there():
    covered = np.array([[True, True, True], [True, False, True], [False, False, True]])
    judged = Judgement(np.tile([0.3, 0.1, 0.2], (3, 1)), np.ones(3), covered=covered)
    assert in_front(judged, (1, 0))[:, :2].tolist() == [[1, 0], [0, 2], [2, 1]]
    there = np.tile([True, True, False], (3, 1))
    assert in_front(judged, (1, 0), there)[:2, :2].tolist() == [[1, 0], [0, 1]]


def test_what_is_told_of_them_is_of_those_who_stand_in(policy):
    log = read_log(table(300, 5), COLUMNS)
    held = Replay.of(policy, log)
    known = np.ones(log.errors.shape, dtype=bool)
    known[:100, 1] = False
    held = replace(held, seen=replace(held.seen, judged=replace(held.seen.judged, covered=known)))
    done = alike(held, np.array([[1, -1, -1], [1, 0, -1]]))
    tried = replace(policy.tried, fixed=Fixed(np.array([[1, 0, -1]]), np.zeros((1, 1)), np.zeros((1, 1))))
    always = replace(policy, tried=replace(tried, fees=np.ones_like(tried.fees)))
    decided = always.decide(held.seen, Target(budget=1.0))
    np.testing.assert_array_equal(done.fees[1], decided.fee)
    came = always.combine(decided, log.answers).outcome.values != log.truth
    assert decided.order[:100, 0].tolist() != decided.order[100:200, 0].tolist()
    np.testing.assert_array_equal(done.fees[0][100:], 3.0)
    assert done.errors[1].mean() == pytest.approx(came.mean(), abs=1e-9)

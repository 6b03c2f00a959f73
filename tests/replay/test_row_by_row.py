"""What a log says a policy would have got, against the policy itself asked query by query."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import Answers, Target, calibrate, fit, read_log
from askwho.core import Cell
from askwho.policy import Outcomes
from askwho.replay import Replay, joined
from tests import cases, oracles, synthetic

# Rows that a loop goes through: enough that every size and every kind of cell occurs.
ROWS = 24
RULES = {
    "classes": "posterior",
    "own base": "posterior",
    "missing": "log-odds-vote",
    "plain vote": "majority",
    "regression": "inverse-error-mean",
    "far": "median",
}


@pytest.fixture(scope="module", params=RULES)
def replayed(request):
    policy, log = cases.case(request.param)
    assert policy.combiner.rule == RULES[request.param]
    return policy, Replay.of(policy, log.rows(np.arange(ROWS)))


def row(answers, i):
    """What everybody said of one query."""
    return Answers(answers.values[[i]], answers.states[[i]])


def error_of(task, outcome, truth):
    """The error of one verdict, as a log counts it."""
    if task == "regression":
        return (outcome.values[0] - truth) ** 2
    return float(not outcome.decided[0] or outcome.values[0] != truth)


def of_one(policy, held, i, decisions):
    """What the deployed policy makes of one query's logged answers: its error and what it pays; NaN where unknown."""
    log = held.log
    members = decisions.order[0, : decisions.k[0]]
    fee = log.fees[i, members].sum()
    if (log.answers.states[i, members] == Cell.NOT_ASKED).any():
        return np.nan, fee
    outcome = policy.combine(decisions, row(log.answers, i), info=log.info[[i]]).outcome
    return error_of(log.task, outcome, log.truth[i]), fee


@pytest.mark.parametrize("price", [0.0, 0.3])
def test_prefix_errors_are_those_of_the_deployed_committee(replayed, price):
    policy, held = replayed
    width = policy.cardinality.width
    order = held.order(price, width)
    found, paid = held.errors(order), held.paid(order)
    assert found.shape == (ROWS, width)
    for i in range(ROWS):
        seen = policy.see({name: values[[i]] for name, values in held.log.known.items()})
        for k in range(1, width + 1):
            decisions = policy.decide(seen, Target(k=k, fee_weight=price))
            assert (decisions.order[0] == order[i]).all()
            error, fee = of_one(policy, held, i, decisions)
            np.testing.assert_allclose(found[i, k - 1], error, rtol=1e-6, atol=1e-9)
            assert paid[i, k - 1] == pytest.approx(fee)


def test_prefix_errors_of_plain_rules_are_counted_by_hand(replayed):
    policy, held = replayed
    order, log = held.order(0.0, policy.cardinality.width), held.log
    rules = {"regression": ("mean", "median"), "classification": ("majority",)}[log.task]
    for rule in rules:
        found = held.errors(order, rule)
        for i, members in enumerate(order):
            for k in range(1, len(members) + 1):
                asked = members[:k]
                if (log.answers.states[i, asked] == Cell.NOT_ASKED).any():
                    assert np.isnan(found[i, k - 1])
                    continue
                said = log.answers.values[i, asked].tolist()
                spoke = (log.answers.states[i, asked] == Cell.ANSWERED).tolist()
                verdict = {
                    "majority": lambda said=said, spoke=spoke: oracles.vote(said, spoke, [1] * len(said), "rank"),
                    "mean": lambda said=said, spoke=spoke: oracles.average(said, spoke, [1] * len(said)),
                    "median": lambda said=said, spoke=spoke: oracles.middle(said, spoke),
                }[rule]()
                error = (verdict - log.truth[i]) ** 2 if log.task == "regression" else float(verdict != log.truth[i])
                assert found[i, k - 1] == pytest.approx(error)


def test_of_grades_the_first_is_believed():
    policy, log = cases.case("grades")
    held = Replay.of(policy, log)
    order = held.order(0.2, policy.cardinality.width)
    assert (held.errors(order)[:, 0] == log.errors[np.arange(len(log)), order[:, 0]]).all()


def test_the_parts_replay_as_the_policy_does(replayed):
    policy, held = replayed
    seen = policy.see(held.log.known)
    whole = joined(policy, held.log, seen)
    parts = Replay(whole, seen, policy.combiner, policy.combiner.case(whole.answers, seen, whole.info))
    order = held.order(0.1, policy.cardinality.width)
    np.testing.assert_array_equal(parts.order(0.1, policy.cardinality.width), order)
    np.testing.assert_array_equal(parts.errors(order), held.errors(order))
    np.testing.assert_array_equal(parts.paid(order), held.paid(order))


def test_some_rows_replay_as_they_do_among_all(replayed):
    policy, held = replayed
    chosen = np.array([20, 2, 7])
    some, width = held.rows(chosen), policy.cardinality.width
    np.testing.assert_array_equal(some.order(0.1, width), held.order(0.1, width)[chosen])
    np.testing.assert_array_equal(some.errors(some.order(0.1, width)), held.errors(held.order(0.1, width))[chosen])


def test_asking_at_once_is_deciding_row_by_row(replayed):
    policy, held = replayed
    prices = policy.tried.prices[::7]
    found = held.at_once(policy.cardinality, prices)
    for p, price in enumerate(prices):
        for i in range(ROWS):
            seen = policy.see({name: values[[i]] for name, values in held.log.known.items()})
            decisions = policy.decide(seen, Target(fee_weight=float(price)))
            error, fee = of_one(policy, held, i, decisions)
            assert found.sizes[p, i] == decisions.k[0]
            assert found.fees[p, i] == pytest.approx(fee)
            if held.chances is None:
                np.testing.assert_allclose(found.errors[p, i], error, rtol=1e-6, atol=1e-9)
            else:
                # With holes errors are estimates, of every row.
                assert np.isfinite(found.errors[p, i])


def test_fresh_rows_take_the_place_of_those_that_were_tried(replayed):
    policy, held = replayed
    made = calibrate(policy, held.log)
    fresh = Replay.of(policy, held.log)
    same(made.tried, fresh.at_once(policy.cardinality, policy.tried.prices, fresh.anew(0)))
    assert made.tried.errors.shape == (len(policy.tried.prices), ROWS)
    assert made.judge is policy.judge
    assert made.cardinality is policy.cardinality
    if policy.turns is None:
        assert made.turns is None
    else:
        assert made.turns.asking is policy.turns.asking
        prices = policy.turns.tried.prices
        same(made.turns.tried, held.outcomes(prices, *held.taken(policy.turns.asking, prices)))


def same(one: Outcomes, other: Outcomes):
    for name in ("prices", "errors", "fees", "sizes", "groups", "coins"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def stepped(policy, held, i, price):
    """Ask about one query as a service would: next, and next, with the logged answers, until it is time to decide."""
    log, own = held.log, policy.panel.own
    states = np.where(own, log.answers.states[[i]], np.int8(Cell.NOT_ASKED)).astype(np.int8)
    info = np.full((1, len(policy.panel)), np.nan)
    known = {name: values[[i]] for name, values in log.known.items()}
    order, paid = [], 0.0
    while True:
        step = policy.next(known, Answers(log.answers.values[[i]], states), Target(fee_weight=price), info=info)
        if step.k[0] == 0:
            return order, error_of(log.task, step.outcome, log.truth[i]), paid
        j = step.order[0, 0]
        if log.answers.states[i, j] == Cell.NOT_ASKED:
            return order, np.nan, np.nan
        order.append(j)
        paid += log.fees[i, j]
        states[0, j], info[0, j] = log.answers.states[i, j], log.info[i, j]


def in_turn(policy, held, prices):
    """How many rows could not be followed to their end, after every row was stepped through at every price."""
    lost, asking = 0, policy.turns.asking
    # Who answers without being asked is heard before the first question.
    before = asking.entities[policy.panel.own[asking.entities]].tolist()
    for price in prices:
        taken = held.in_turn(asking, float(price))
        for i in range(len(held.log)):
            order, error, paid = stepped(policy, held, i, float(price))
            order = before + order
            assert taken.order[i, : len(order)].tolist() == order
            assert (taken.order[i, len(order) :] == -1).all()
            assert taken.sizes[i] == len(order)
            np.testing.assert_allclose([taken.errors[i], taken.fees[i]], [error, paid], atol=1e-9)
            lost += np.isnan(error)
    return lost


@pytest.mark.parametrize(("kind", "heard"), [("classes", False), ("own base", False), ("many classes", True)])
def test_asking_in_turn_is_stepping_row_by_row(kind, heard):
    policy, log = cases.case(kind)
    assert policy.panel.own[policy.turns.asking.entities].any() == heard
    assert in_turn(policy, Replay.of(policy, log.rows(np.arange(ROWS))), policy.turns.tried.prices[::6]) == 0


def test_what_the_log_does_not_have_ends_a_row_unknown():
    policy, _ = cases.case("classes")
    log = read_log(synthetic.classification(ROWS, seed=3, missing=0.3), cases.ANSWERS)
    assert 3 < in_turn(policy, Replay.of(policy, log), policy.turns.tried.prices[::9]) < 3 * ROWS


def test_whoever_gave_no_answer_was_asked_and_paid():
    policy, _ = cases.case("classes")
    table = synthetic.classification(ROWS, seed=3, missing=0.3)
    held = Replay.of(policy, read_log(table, replace(cases.ANSWERS, nulls="no-answer")))
    assert (held.log.answers.states == Cell.NO_ANSWER).any()
    assert in_turn(policy, held, policy.turns.tried.prices[[1, 8]]) == 0
    order = held.order(0.0, policy.cardinality.width)
    assert not np.isnan(held.errors(order)).any()
    np.testing.assert_allclose(held.paid(order)[:, -1], sum(synthetic.FEES.values()))


def test_info_that_came_with_answers_is_replayed():
    table = {n: synthetic.classification(n, seed) for n, seed in ((260, 0), (ROWS, 1))}
    rng = np.random.default_rng(0)
    for each in table.values():
        for name in synthetic.FEES:
            right = each[f"answer_{name}"] == each["truth"]
            each[f"sure_{name}"] = np.where(right, 0.8, 0.3) + 0.1 * rng.random(len(right))
    columns = replace(cases.ANSWERS, info="sure_*")
    policy = fit(read_log(table[260], columns), learner="linear", base="none", cv=3)
    held = Replay.of(policy, read_log(table[ROWS], columns))
    assert in_turn(policy, held, policy.turns.tried.prices[[0, 8]]) == 0
    order = held.order(0.0, policy.cardinality.width)
    found = held.errors(order)
    for i in range(ROWS):
        seen = policy.see({name: values[[i]] for name, values in held.log.known.items()})
        for k in range(1, order.shape[1] + 1):
            assert found[i, k - 1] == of_one(policy, held, i, policy.decide(seen, Target(k=k)))[0]

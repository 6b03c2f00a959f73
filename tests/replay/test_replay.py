"""A policy on logged rows: what it would have asked, got and paid, as if it had been asked row by row."""

import numpy as np
import pytest

from askwho import InvalidInputError, Target
from askwho.data import read_log
from askwho.replay import Replay, joined, price_grid
from tests import policies, synthetic


@pytest.mark.parametrize("kind", policies.ANSWERED)
def test_rows_fare_as_when_they_are_decided_and_combined(kind):
    policy, table = policies.fitted(kind), policies.queries(kind)
    log = read_log(table, policy.columns)
    replay = Replay.of(policy, log)
    np.testing.assert_array_equal(replay.seen.expected, policy.see(table).expected)
    for price in policy.tried.prices[[0, 10, 20]].tolist():
        decisions = policy.decide(table, Target(fee_weight=price))
        order = replay.order(price, policy.cardinality.width)
        np.testing.assert_array_equal(order, decisions.order)
        got, paid = replay.outcome(order, replay.errors(order), decisions.k)
        outcome = policy.combine(decisions, table, by_position=True).outcome
        wrong = outcome.values != log.truth if policy.task == "classification" else (outcome.values - log.truth) ** 2
        np.testing.assert_allclose(got, wrong.astype(float), atol=1e-9)
        # What was really charged, as the table says.
        np.testing.assert_allclose(paid, outcome.paid)
    tried = replay.at_once(policy.cardinality, policy.tried.prices[[10]])
    at = policy.decide(table, Target(fee_weight=float(policy.tried.prices[10])))
    np.testing.assert_array_equal(tried.sizes[0], at.k)


def test_a_log_of_everybody_is_taken_as_it_is(policy, log):
    assert joined(policy, log, policy.see(log.known)) is log
    own = policies.fitted("own base")
    outside = read_log(policies.queries("own base"), own.columns)
    seen = own.see(outside.known)
    whole = joined(own, outside, seen)
    assert whole.panel == own.panel
    np.testing.assert_array_equal(whole.answers.values[:, 0], seen.said)
    np.testing.assert_array_equal(whole.errors[:, 0], seen.said != outside.truth)
    np.testing.assert_array_equal(whole.errors[:, 1:], outside.errors)
    assert (whole.fees[:, 0] == 0).all()
    with pytest.raises(InvalidInputError, match="`log` must have the entities of the policy"):
        joined(own, read_log(policies.queries("free answers"), synthetic.FREE), seen)


def test_somebody_elses_scores_rank(policy, log):
    few = log.rows(np.arange(50))
    scores = np.random.default_rng(0).normal(size=(50, 4))
    replay = Replay.of(policy, few, scores=scores)
    for price in (0.0, 5.0):
        np.testing.assert_array_equal(replay.order(price, 4), np.argsort(-scores, axis=1, kind="stable"))
    # A ranking that no price moves is made once.
    orders = replay.orders([0.0, 1.0, 2.0], 3)
    assert all(order is orders[0] for order in orders)


def test_some_of_the_rows_are_those_rows():
    policy, table = policies.fitted("own base"), policies.queries("own base")
    replay = Replay.of(policy, read_log(table, policy.columns))
    rows = np.array([5, 3, 80])
    part, few = replay.rows(rows), Replay.of(policy, read_log(table, policy.columns).rows(rows))
    for name in ("X", "fees", "said", "shares", "expected", "coins"):
        np.testing.assert_array_equal(getattr(part.seen, name), getattr(replay.seen, name)[rows])
    np.testing.assert_allclose(few.seen.expected, part.seen.expected)
    order = replay.order(0.1, 3)
    np.testing.assert_array_equal(part.order(0.1, 3), order[rows])
    np.testing.assert_array_equal(part.errors(order[rows]), replay.errors(order)[rows])


def test_a_committee_without_an_answer_of_its_own_is_not_scored(policy):
    log = read_log(synthetic.classification(200, seed=3, missing=0.4), synthetic.COLUMNS)
    replay = Replay.of(policy, log)
    order = replay.order(0.1, 3)
    errors = replay.errors(order)
    asked = np.take_along_axis(log.asked, order, axis=1)
    np.testing.assert_array_equal(np.isnan(errors), ~np.logical_and.accumulate(asked, axis=1))


def test_turns_are_those_that_were_taken(policy):
    table = synthetic.classification(100, seed=4)
    replay = Replay.of(policy, read_log(table, synthetic.COLUMNS))
    price = float(policy.turns.tried.prices[5])
    taken = replay.in_turn(policy.turns.asking, price)
    heard, _ = policies.taking_turns(policy, table, Target(fee_weight=price))
    np.testing.assert_array_equal(taken.sizes, heard.sum(axis=1))
    np.testing.assert_allclose(taken.fees, heard @ policy.panel.fees)
    last = policy.next(table, policies.said(policy, table, heard), Target(fee_weight=price))
    np.testing.assert_array_equal(taken.errors, last.outcome.values != table["truth"])


def test_without_beliefs_nobody_is_asked_in_turn():
    policy = policies.fitted("votes")
    replay = Replay.of(policy, read_log(policies.queries("votes"), policy.columns))
    with pytest.raises(InvalidInputError, match="`log` must hold answers, and the policy beliefs"):
        replay.believed()


def test_prices_go_from_nothing_to_where_money_alone_decides():
    fees, expected = np.array([0.0, 0.1, 1.0]), np.linspace(0.0, 1.0, 101)
    prices = price_grid(fees, expected, 9)
    assert len(prices) == 9
    assert prices[0] == 0
    assert (np.diff(prices) > 0).all()
    assert prices[-1] == pytest.approx(2.0 * 0.9 / 0.1)
    # Where nobody charges anything there is one price.
    np.testing.assert_array_equal(price_grid(np.zeros(3), expected), [0.0])


def test_what_was_said_of_a_row_and_nothing_where_nothing_was():
    policy, table = policies.fitted("classes"), policies.queries("classes", 30)
    table["answer_left"][0] = None
    replay = Replay.of(policy, read_log(table, policy.columns))
    assert replay.answer(0, 0) is None
    assert replay.answer(1, 0) == table["answer_left"][1]
    graded = policies.fitted("grades")
    assert Replay.of(graded, read_log(policies.queries("grades", 30), graded.columns)).answer(0, 0) is None


def test_budgets_are_those_of_the_best_whom_the_log_knows_though_somebody_has_holes():
    policy, table = policies.fitted("classes"), policies.queries("classes", 200)
    whole = Replay.of(policy, read_log(table, policy.columns)).budgets
    table["answer_both"][:20] = None
    # The best is who he was: a few holes of his do not make another's fee the measure.
    np.testing.assert_allclose(Replay.of(policy, read_log(table, policy.columns)).budgets, whole)


def test_a_fee_of_a_hundredth_of_the_largest_is_told_from_nothing():
    expected = np.array([[0.1, 0.5]])
    told, free = (price_grid(np.array([cheap, 100.0]), expected)[-1] for cheap in (1.0, 0.99))
    assert told == pytest.approx(100 * free)

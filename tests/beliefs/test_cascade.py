import itertools
from dataclasses import replace

import numpy as np
import pytest

from askwho._parts import read_part, state_of
from askwho.beliefs import NEVER, Cascade, asking_without, efficient, in_turn, orders_of
from askwho.exceptions import InvalidInputError
from tests.beliefs import worlds
from tests.beliefs.test_asking import learned, one_by_one

# Two who are cheap and often right, and one who is dear and hardly ever wrong.
RIGHTS, FEES = (0.75, 0.75, 0.97), np.array([0.05, 0.05, 1.0])
PRICES = np.array([0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 50.0])


@pytest.fixture(scope="module")
def world():
    confusions = worlds.habits(RIGHTS, 6, seed=1)
    truth, said = worlds.independent(900, confusions, seed=2)
    beliefs, case = worlds.taught(said, truth)
    return beliefs, case, beliefs.right(worlds.answers(said), case.codes, truth), said != truth[:, None]


@pytest.fixture(scope="module")
def cascade(world):
    return made(world)


def made(world, *, entities=(0, 1, 2), free_start=False, fees=FEES):
    beliefs, case, right, wrong = world
    entities = np.array(entities)
    errors = wrong.mean(axis=0)[entities]
    return Cascade.fit(
        beliefs.pool.only(entities),
        case,
        right,
        fees=np.tile(fees, (len(case), 1)),
        prices=PRICES,
        entities=entities,
        orders=orders_of(errors, np.zeros(len(entities), dtype=bool)),
        free_start=free_start,
    )


def walked(rule, case, prices, **given):
    asked = np.ones(case.codes.shape, dtype=bool)
    return in_turn(rule, case, fees=np.tile(FEES, (len(case), 1)), fee_weights=list(prices), asked=asked, **given)


def costs(world, rule, price):
    _, case, right, _ = world
    ends = walked(rule, case, [price]).at(0)
    wrong = ends.believed.argmax(axis=1) != right
    return (wrong + price * ends.paid(np.tile(FEES, (len(case), 1)))).mean()


def test_it_asks_the_cheap_first_and_the_dear_where_they_differ(world, cascade):
    beliefs, case, _, _ = world
    rule = replace(learned(beliefs, case), cascade=cascade)
    ends = walked(rule, case, [0.2]).at(0)
    dear = (ends.order == 2).any(axis=1)
    differ = case.codes[:, 0] != case.codes[:, 1]
    assert set(ends.order[:, 0].tolist()) <= {0, 1}
    assert dear[differ].mean() > 0.7
    assert dear[~differ].mean() < 0.1


def test_it_costs_no_more_than_any_single_entity_or_everybody(world, cascade):
    beliefs, case, right, wrong = world
    rule = replace(learned(beliefs, case), cascade=cascade)
    everybody = beliefs.pool.probabilities(case, beliefs.pool.hear_all(case, np.ones(case.codes.shape, dtype=bool)))
    for price in PRICES:
        alone = (wrong.mean(axis=0) + price * FEES).min()
        together = (everybody.argmax(axis=1) != right).mean() + price * FEES.sum()
        assert costs(world, rule, price) <= min(alone, together) + 0.01


def test_prices_that_do_not_take_it_are_asked_as_before(world, cascade):
    beliefs, case, _, _ = world
    plain = learned(beliefs, case)
    used = np.arange(len(PRICES)) % 2 == 1
    both = replace(plain, cascade=replace(cascade, used=used))
    found, old, new = (
        walked(rule, case, PRICES)
        for rule in (both, plain, replace(plain, cascade=replace(cascade, used=~np.isnan(PRICES))))
    )
    for p in range(len(PRICES)):
        mine, expected = found.at(p), (new if used[p] else old).at(p)
        width = min(mine.order.shape[1], expected.order.shape[1])
        np.testing.assert_array_equal(mine.order[:, :width], expected.order[:, :width])
        np.testing.assert_array_equal(mine.believed, expected.believed)
        np.testing.assert_array_equal(mine.known, expected.known)
    # Between two prices the nearer one's rule is followed.
    assert both.at(0.011) is both.cascade
    assert both.at(0.045) is both


def test_changes_and_steps_say_the_same(world, cascade):
    _, case, _, _ = world
    some, fees = case.rows(np.arange(60)), np.tile(FEES, (60, 1))
    for price in (0.0, 0.1, 0.3):
        order, known = one_by_one(cascade, some, price, fees, np.ones(some.codes.shape, dtype=bool))
        beliefs = learned(world[0], case)
        ends = walked(replace(beliefs, cascade=cascade), some, [price]).at(0)
        np.testing.assert_array_equal(ends.order[:, : order.shape[1]], order)
        assert known.all()


def test_whoever_cannot_be_asked_is_skipped(world, cascade):
    _, case, _, _ = world
    there = np.ones(case.codes.shape, dtype=bool)
    first = cascade.order[3, 0]
    there[:, first] = False
    away = replace(case, there=there)
    state = cascade.pool.nothing(away, np.arange(len(away)))
    change, _ = cascade.changes(away, state, np.tile(FEES, (len(away), 1)), PRICES[3])
    assert (change[:, first] == NEVER).all()
    assert set(change.argmin(axis=1).tolist()) == {int(cascade.order[3, 1])}
    nobody = replace(case, there=np.zeros(case.codes.shape, dtype=bool))
    assert (cascade.changes(nobody, state, np.tile(FEES, (len(away), 1)), PRICES[3])[0] == NEVER).all()


def test_whoever_answered_before_he_was_asked_ends_nothing(world, cascade):
    """A base that somebody hands over may have answered first, wherever in the order it stands."""
    _, case, _, _ = world
    rows = np.arange(len(case))
    last = int(cascade.order[0, -1])
    state = cascade.pool.hear(case, cascade.pool.nothing(case, rows), last)
    change, _ = cascade.changes(case, state, np.tile(FEES, (len(case), 1)), 0.0)
    assert set(change.argmin(axis=1).tolist()) == {int(cascade.order[0, 0])}
    # What costs nothing is asked wherever one may still be wrong.
    assert (change.min(axis=1) < 0).mean() > 0.5


def test_where_one_can_decide_unasked_nobody_need_be_asked(world):
    cascade = made(world, free_start=True)
    beliefs, case, _, _ = world
    rule = replace(learned(beliefs, case, free_start=True), cascade=cascade)
    ends = walked(rule, case, [50.0]).at(0)
    assert (ends.order[:, 0] < 0).mean() > 0.5


def test_whoever_leaves_is_in_no_order(world, cascade):
    beliefs, case, _, _ = world
    rule = replace(learned(beliefs, case), cascade=cascade)
    left = asking_without(rule, 0)
    np.testing.assert_array_equal(left.cascade.entities, [0, 1])
    small = case.only(np.array([1, 2]))
    fees = np.tile(FEES[1:], (len(case), 1))
    asked = np.ones(small.codes.shape, dtype=bool)
    ends = in_turn(left, small, fees=fees, fee_weights=[0.2], asked=asked).at(0)
    assert (ends.order[:, 0] >= 0).all()
    before = np.where(cascade.order == 0, -1, cascade.order - 1)
    for kept, was in zip(left.cascade.order, before, strict=True):
        np.testing.assert_array_equal(kept[kept >= 0], was[was >= 0])
    # Of somebody who is in no order nothing but the numbers move.
    two = made(world, entities=(1, 2))
    np.testing.assert_array_equal(two.without(0).entities, [0, 1])
    np.testing.assert_array_equal(two.without(0).weights, two.weights)
    assert two.without(2).without(1) is None


def test_it_is_read_back_as_it_was(world, cascade):
    beliefs, case, _, _ = world
    rule = replace(learned(beliefs, case), cascade=replace(cascade, used=PRICES > 0.05))
    again = read_part(state_of(rule, "asking"))
    for name in ("entities", "prices", "used", "order", "weights"):
        np.testing.assert_array_equal(getattr(again.cascade, name), getattr(rule.cascade, name))
    one, other = (walked(each, case, PRICES) for each in (rule, again))
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_array_equal(one.believed, other.believed)


def test_a_damaged_order_is_refused(cascade):
    state = state_of(cascade, "cascade")
    state.arrays["order"] = np.full_like(state.arrays["order"], 3)
    with pytest.raises(InvalidInputError, match="`order` must hold some of the entities at each price"):
        read_part(state)


def test_efficient_are_who_stand_highest_at_some_price():
    errors = np.array([0.5, 0.3, 0.1, 0.6, 0.31, 0.7, 0.65, 0.05])
    fees = np.array([0.1, 0.2, 0.5, 0.9, 0.8, 0.9, 0.9, 1.0])
    found = efficient(errors, fees, np.arange(8))
    assert {0, 1, 2, 7} <= set(found.tolist())
    assert len(found) == 6
    assert 5 not in found
    np.testing.assert_array_equal(efficient(errors, fees, np.array([3, 5])), [3, 5])


def test_orders_try_every_start_and_hear_first_who_answers_unasked():
    errors = np.array([0.4, 0.3, 0.2, 0.1, 0.5])
    found = orders_of(errors, np.array([False, False, False, False, True]))
    assert found == sorted((4, *each) for each in itertools.permutations(range(4)))
    assert orders_of(errors, np.zeros(5, dtype=bool), 2) == sorted(itertools.permutations(range(5), 2))
    assert orders_of(errors[:1], np.zeros(1, dtype=bool)) == [(0,)]

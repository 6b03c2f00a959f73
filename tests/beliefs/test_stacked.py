"""A model for every set of members: the same in any order, read of nobody else, and the pool where it knows nothing."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho._parts import read_part, state_of
from askwho.beliefs import BySets, Stacked, _stacked, in_turn
from tests.beliefs import worlds

N, ERRORS = 600, np.array([0.3, 0.4, 0.2])
PRICES = np.array([0.0, 0.05, 0.5])


def queries(n, seed):
    """Truths, answers of three experts, and features of which the first two tell the class a little."""
    truth, said = worlds.independent(n, worlds.habits(1 - ERRORS, 3), seed=seed)
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(n, 3)) + np.eye(3)[truth] * [1.5, 1.5, 0.0]
    return truth, said, known, rng.normal(size=(n, 3)) + (said == truth[:, None])


@pytest.fixture(scope="module")
def world():
    """Beliefs, past queries with what is known of them, their truths, and the models."""
    truth, said, known, info = queries(N, 0)
    beliefs, case = worlds.taught(said, truth, info=info)
    case = replace(case, known=known, info=info)
    return beliefs, case, truth, Stacked.fit(beliefs.pool, case, truth)


def believed(stacked, case, asked):
    return stacked.probabilities(case, stacked.hear_all(case, asked))


def some(seed=1, n=N):
    return np.random.default_rng(seed).random((n, 3)) < 0.5


def test_hearing_one_by_one_in_any_order_is_hearing_all(world):
    _, case, _, stacked = world
    asked = some()
    whole = believed(stacked, case, asked)
    np.testing.assert_allclose(whole.sum(axis=1), 1.0, atol=1e-5)
    for order in ([0, 1, 2], [2, 0, 1]):
        for i in range(0, N, 60):
            state = stacked.nothing(case, np.array([i]))
            for j in order:
                state = stacked.hear(case, state, j) if asked[i, j] else state
            np.testing.assert_allclose(stacked.probabilities(case, state)[0], whole[i], atol=1e-6)


def test_what_those_say_who_were_not_asked_is_not_read(world):
    _, case, _, stacked = world
    asked = some(2)
    other = replace(
        case,
        codes=np.where(asked, case.codes, 2),
        evidence=np.where(asked[:, :, None], case.evidence, np.float32(3.0)),
        info=np.where(asked, case.info, 9.0),
    )
    np.testing.assert_array_equal(believed(stacked, case, asked), believed(stacked, other, asked))


def test_new_queries_are_judged_better_than_by_the_pool_alone(world):
    beliefs, _, _, stacked = world
    truth, said, known, info = queries(2000, 5)
    case = replace(worlds.told(beliefs, said, ERRORS, info=info), known=known, info=info)
    for members in ([], [0], [1, 2], [0, 1, 2]):
        asked = np.tile(np.isin(np.arange(3), members), (2000, 1))
        own, pooled = believed(stacked, case, asked), worlds.after(beliefs, case, asked)
        rows = np.arange(2000)
        assert np.log(own[rows, truth]).mean() > np.log(pooled[rows, truth]).mean() + 0.02


def test_weights_that_are_held_back_leave_what_the_pool_believes(world, monkeypatch):
    beliefs, case, truth, _ = world
    monkeypatch.setattr(_stacked, "_RIDGE", 1e9)
    held = Stacked.fit(beliefs.pool, case, truth)
    asked = some(3)
    # But for a constant for each class and set, which nothing holds back.
    np.testing.assert_allclose(believed(held, case, asked), worlds.after(beliefs, case, asked), atol=0.05)


def test_some_of_the_members_are_believed_as_in_company(world):
    _, case, _, stacked = world
    kept = np.array([0, 2])
    asked = some(4)
    asked[:, 1] = False
    few = stacked.only(kept)
    np.testing.assert_allclose(
        believed(few, case.only(kept), asked[:, kept]), believed(stacked, case, asked), atol=1e-6
    )


def test_what_training_never_saw_is_not_believed(world):
    beliefs, _, _, stacked = world
    said = np.array([[7, 0, 1], [0, 0, 0]])
    case = replace(worlds.told(beliefs, said, ERRORS), known=np.zeros((2, 3)))
    found = believed(stacked, case, np.ones((2, 3), dtype=bool))
    assert found.shape == (2, 4)
    np.testing.assert_array_equal(found[:, 3], 0.0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)


def test_where_features_are_gone_they_are_as_in_the_mean(world):
    _, case, _, stacked = world
    gone, mean = (
        replace(case, known=each) for each in (np.zeros((N, 0)), np.tile(stacked.centre, (N, 1)).astype(np.float64))
    )
    np.testing.assert_allclose(believed(stacked, gone, some()), believed(stacked, mean, some()), atol=1e-6)


FEES = np.tile([0.1, 0.1, 1.0], (N, 1))
DEAR = np.array([[0.0, 20.0, 20.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], dtype=np.float32)


def learned(world, costs=None, prices=PRICES):
    beliefs, case, truth, _ = world
    return BySets.fit(
        beliefs.pool,
        replace(case, costs=costs),
        truth,
        fees=FEES,
        prices=prices,
        entities=np.arange(3),
        fold=np.arange(N) % 3,
        free_start=True,
    )


@pytest.fixture(scope="module")
def rules(world):
    return learned(world)


def test_there_is_a_rule_for_every_set_but_the_last_and_one_for_each_fold(rules):
    assert len(rules.held) == 3
    for asking in (rules.asking, *rules.held):
        assert asking.by_sets
        assert len(asking.bases) == len(asking.gains) == 7
        assert asking.depth == 3


def test_dearer_money_asks_less_and_nobody_is_asked_twice(rules, world):
    _, case, _, _ = world
    everybody = np.ones((N, 3), dtype=bool)
    found = [in_turn(rules.asking, case, fees=FEES, fee_weights=[price], asked=everybody).at(0) for price in PRICES]
    paid = [turns.paid(FEES).mean() for turns in found]
    assert paid[0] > paid[1] > paid[2]
    for turns in found:
        np.testing.assert_array_equal(turns.members(3).sum(axis=1), turns.asked)


def what_came(world, costs, price):
    """What verdicts of held-out rows cost by `DEAR`, and what was paid for them, by a rule that knows of `costs`."""
    _, case, truth, _ = world
    got, paid = np.empty(N), np.empty(N)
    for f, asking in enumerate(learned(world, costs).held):
        rows = np.flatnonzero(np.arange(N) % 3 == f)
        some = replace(case, costs=costs).rows(rows)
        everybody = np.ones((len(rows), 3), dtype=bool)
        turns = in_turn(asking, some, fees=FEES[rows], fee_weights=[price], asked=everybody).at(0)
        got[rows] = DEAR[truth[rows], (turns.believed @ DEAR).argmin(axis=1)]
        paid[rows] = turns.paid(FEES[rows])
    return got.mean(), paid.mean()


def test_a_rule_that_knows_what_mistakes_cost_pays_where_it_is_worth_it(world):
    knows, spent = what_came(world, DEAR, 0.5)
    blind, saved = what_came(world, None, 0.5)
    assert spent > saved + 0.1
    assert knows + 0.5 * spent < blind + 0.5 * saved - 0.05
    # And dearer money asks less.
    assert what_came(world, DEAR, 0.0)[1] > spent


def test_costs_of_another_unit_at_prices_in_it_ask_the_same(world):
    found = []
    for unit in (1.0, 8.0):
        costs = DEAR * np.float32(unit)
        asking, case = learned(world, costs, PRICES * unit).asking, replace(world[1], costs=costs)
        everybody = np.ones((N, 3), dtype=bool)
        turns = in_turn(asking, case, fees=FEES, fee_weights=[0.05 * unit], asked=everybody)
        found.append(turns.at(0).order)
    assert (found[0] == found[1]).mean() > 0.995


def test_rules_are_read_back_as_they_were(rules):
    again = read_part(state_of(rules.asking, "asking"))
    assert again.by_sets
    for mine, other in zip(rules.asking.gains, again.gains, strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(again.pool.weights, rules.asking.pool.weights)


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda state: state.parts["pool"].arrays.update(weights=np.zeros((4, 5, 3))), "every set of members"),
        (lambda state: (state.parts.pop("basis-6"), state.arrays.pop("gains-6")), "of every set of the 3 entities"),
        (
            lambda state: (
                state.arrays.update(entities=np.arange(2, dtype=np.int32))
                or [state.arrays.update({f"gains-{i}": state.arrays[f"gains-{i}"][:, :2]}) for i in range(7)]
            ),
            "`weights` must be of the 2 entities",
        ),
    ],
    ids=["sets", "rules", "members"],
)
def test_damaged_rules_are_refused(rules, cut, message):
    state = state_of(rules.asking, "asking")
    cut(state)
    with pytest.raises(InvalidInputError, match=message):
        read_part(state)

"""What was tried on held-out rows, the settings that meet a target there, and the coins that mix two prices."""

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho._parts import read_part, state_of
from askwho._unit import Unit
from askwho.policy import Outcomes, grouped
from askwho.policy._seen import coins_of
from tests import synthetic


def test_every_mixture_of_prices_is_tried_on_the_rows_themselves(policy):
    rows = policy.tried
    fees, errors = rows.means(Unit())
    for place in (0, 1, 31, 32, 300, rows.places - 1):
        assert (fees[place], errors[place]) == pytest.approx(synthetic.tried(rows, rows.setting(place)))


def test_more_money_is_never_taken_to_buy_more_errors():
    means, n = np.array([0.30, 0.26, 0.32, 0.30, 0.24, 0.40, 0.38, 0.60]), 100
    errors = (np.arange(n) < (n * means)[:, None]).astype(float)
    fees = np.repeat(np.arange(8.0, 0.0, -1)[:, None], n, axis=1)
    rows = Outcomes(np.arange(8.0), errors, fees, np.ones((8, n), dtype=int))

    def price(**target):
        return rows.meeting(Unit(), **{"budget": None, "max_error": None, **target}).fee_weight

    # Smoothed: the first two 0.28, the next three 0.287, the next two 0.39.
    assert [price(budget=money) for money in (8.0, 6.0, 4.0, 3.0, 2.0, 1.5)] == [1.0, 4.0, 4.0, 6.0, 6.0, 7.0]
    assert price(max_error=0.395) == 6.0
    for fee in (0.1, 0.3, 0.7):
        alike = Outcomes(rows.prices, errors, np.full((8, n), fee), rows.sizes, None, np.linspace(0, 0.99, n))
        assert alike.meeting(Unit(), budget=fee, max_error=None).share >= 0
    with pytest.raises(InvalidInputError, match=r"`max_error` must be at least 0\.28, got 0\.25\."):
        price(max_error=0.25)


def test_where_all_queries_toss_the_same_coin_a_budget_is_kept_all_the_same(policy):
    rows = policy.tried
    alike = Outcomes(rows.prices, rows.errors, rows.fees, rows.sizes, None, np.full(rows.fees.shape[1], 0.3))
    for budget in (0.03, 0.08, 0.09, 0.5):
        found = alike.meeting(Unit(), budget=budget, max_error=None)
        assert synthetic.tried(alike, found)[0] <= budget
    assert synthetic.tried(alike, alike.meeting(Unit(), budget=None, max_error=0.2))[1] <= 0.2


def test_a_setting_is_found_once_and_few_are_kept(policy):
    rows = policy.tried.take(np.arange(50))
    found = []

    def find():
        found.append(rows.setting(3))
        return found[-1]

    assert rows.remembered("a", find) == rows.remembered("a", find)
    assert len(found) == 1
    for target in range(1000):
        rows.remembered(target, find)
    assert len(found) == 1001
    assert len(rows._found) <= 256


def test_coins_are_uniform_and_a_query_has_one_of_its_own():
    X = np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32)
    tossed = coins_of(X)
    assert np.abs(np.sort(tossed) - np.arange(20_000) / 20_000).max() < 0.012
    assert abs(np.corrcoef(tossed, X[:, 0])[0, 1]) < 0.02
    np.testing.assert_array_equal(coins_of(X[7:8]), tossed[7:8])
    np.testing.assert_array_equal(coins_of(-np.zeros((1, 3))), coins_of(np.zeros((1, 3))))
    assert coins_of(X[:1])[0] != coins_of(X[:1, ::-1])[0]


def test_groups_are_numbered_and_lonely_rows_are_none():
    assert grouped(np.array(["b", "a"])) is None
    np.testing.assert_array_equal(grouped(np.array(["b", "a", "b"])), [1, 0, 1])


def test_kept_rows_are_read_back_as_they_were_or_not_at_all(promising):
    for damage in (
        lambda state: state.arrays.update(prices=state.arrays["prices"] * 2),
        lambda state: setattr(state, "kind", "fees") or state.arrays.update(usual=np.zeros(1), bounds=np.zeros((2, 1))),
    ):
        state = state_of(promising.tried, "tried")
        assert read_part(state).kept.fresh
        damage(state.parts["kept"])
        with pytest.raises(InvalidInputError) as error:
            read_part(state)
        assert str(error.value) == "`kept` must be outcomes at the same prices, got others: the artefact is damaged."

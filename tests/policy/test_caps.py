"""What a promise stands on: rows that nothing was learned from, and caps that are stated where no row can tell them."""

import dataclasses

import numpy as np
import pytest

from askwho import InvalidInputError, Target
from askwho.core import unit_of
from askwho.data import read_log
from askwho.fitting import calibrate, fit
from askwho.policy import Outcomes, Setting
from askwho.policy._promises import find_setting
from tests import cases, policies, synthetic

NO_ROWS = (
    "`confidence` must be promised by rows that nothing was learned from, got a policy without any: fit with "
    "promise=0.3, which keeps that share of the log apart, or calibrate on other rows."
)
ESTIMATE = (
    "`{}` cannot be promised on these rows: not everybody was asked, or not every truth is known, and what would "
    "have been answered or charged is an estimate. Ask without `confidence`, or calibrate on rows without holes."
)


def refused(call):
    with pytest.raises(InvalidInputError) as error:
        call()
    return str(error.value)


def flat(fee, error, n=60, **more):
    """Rows of one price, all of one fee and one error."""
    sizes = np.ones((1, n), dtype=np.intp)
    return Outcomes(np.zeros(1), np.full((1, n), float(error)), np.full((1, n), float(fee)), sizes, fresh=True, **more)


def found(rows, target, *, task="regression", most_fee=None):
    return find_setting(rows, target, unit=unit_of("auto", task), most_fee=most_fee)


ONLY = Setting(0.0, 0.0, 0.0)


@pytest.mark.parametrize("in_turn", [False, True])
def test_rows_that_taught_promise_nothing(policy, in_turn):
    for target in (Target(budget=5.0, confidence=0.5), Target(max_error=0.9, confidence=0.5)):
        assert refused(lambda target=target: policy.setting(target, in_turn=in_turn)) == NO_ROWS
        # The same without a promise is met on them.
        policy.setting(Target(target.k, None, target.budget, target.max_error), in_turn=in_turn)
    assert refused(lambda: policy.decide(policies.queries("classes"), Target(budget=5.0, confidence=0.5))) == NO_ROWS


def test_fees_by_query_need_a_cap():
    policy = policies.promising("fees by query")
    largest = policy.tried.fees.max()
    target = Target(budget=20.0, confidence=0.9)
    assert refused(lambda: policy.setting(target)) == (
        "`max_fee` must be given to promise a `budget` where fees differ by query: no row excludes a larger bill. "
        f"State what no query will ever be charged; the largest here is {largest:g}."
    )
    # One that the rows do not keep themselves is none.
    assert refused(lambda: policy.setting(dataclasses.replace(target, max_fee=20.0))) == (
        f"`max_fee` must be at least {largest:g}, got 20: a row is charged it."
    )
    policy.setting(dataclasses.replace(target, max_fee=float(largest)))
    # An error is promised without: it is none of its business.
    policy.setting(Target(max_error=0.4, confidence=0.9))


def test_a_budget_is_of_what_each_query_is_charged():
    policy, table = policies.promising("fees by query"), policies.queries("fees by query", 500, seed=8)
    log = read_log(table, policy.columns)
    seen = policy.see(table)
    for p in (0, 9, 20, 30):
        members = policy.decide(seen, Target(fee_weight=float(policy.tried.prices[p]))).members
        np.testing.assert_allclose(policy.tried.fees[p], (members * log.fees).sum(axis=1))
    # Those who are charged 26 where they are worth it cost more than the mean fee tells.
    dear = Target(budget=3.0, confidence=0.9, max_fee=40.0)
    paid, _ = synthetic.tried(policy.tried, policy.setting(dear))
    assert 1.5 < paid <= 3.0


def test_a_higher_cap_promises_less():
    rows = flat(1.0, 0.0)
    assert found(rows, Target(budget=2.0, confidence=0.95, max_fee=10.0)) == ONLY
    # One query in thirty might be charged 60: rows that all pay 1 do not exclude it.
    assert "60 rows cannot promise less" in refused(
        lambda: found(rows, Target(budget=2.0, confidence=0.95, max_fee=60.0))
    )
    policy = policies.promising("fees by query")
    spent = [
        synthetic.tried(policy.tried, policy.setting(Target(budget=8.0, confidence=0.9, max_fee=cap)))[0]
        for cap in (30.0, 60.0, 300.0)
    ]
    assert spent == sorted(spent, reverse=True)
    assert spent[-1] < spent[0]


def test_fees_that_were_constant_by_chance_need_a_cap_too():
    table = synthetic.charged(400)
    table["fee_both"] = np.full(400, 1.0)
    policy = fit(read_log(table, synthetic.CHARGED), learner="linear", base="none", cv=3, promise=0.4)
    assert policy.judge.fees.model is None
    target = Target(budget=1.0, confidence=0.9)
    assert "`max_fee` must be given" in refused(lambda: policy.setting(target))
    assert policy.setting(dataclasses.replace(target, max_fee=2.0)) is not None


def test_rows_that_are_charged_more_than_everybody_is_known_to_need_a_cap(policy):
    fees = {name: 50 * fee for name, fee in synthetic.FEES.items()}
    log = read_log(synthetic.classification(200, seed=4), dataclasses.replace(synthetic.COLUMNS, fees=fees))
    dear = calibrate(policy, log)
    assert "`max_fee` must be given" in refused(lambda: dear.setting(Target(budget=30.0, confidence=0.9)))


def test_who_was_free_so_far_may_charge_some_day():
    table = synthetic.charged(500)
    table["fee_noise"] = np.zeros(500)
    log = read_log(table, synthetic.CHARGED)
    policy = fit(log, learner="linear", base="none", cv=3, promise=0.4)
    assert policy.judge.fees.free.any()
    # Met on every row; but no row excludes a bill.
    assert policy.decide(table, Target(budget=0.0)).fee.max() == 0
    said = refused(lambda: policy.setting(Target(budget=0.0, confidence=0.9, max_fee=40.0)))
    assert said.startswith("`budget` must be at least")


def test_numbers_need_a_cap():
    policy = policies.promising("numbers")
    largest = np.sqrt(policy.tried.errors.max())
    target = Target(max_error=2.5, confidence=0.9)
    assert refused(lambda: policy.setting(target)) == (
        "`max_loss` must be given to promise a `max_error` of numbers: no row excludes a larger error. State what no "
        f"error will ever be above, in the unit of the truth; the largest here is {largest:g}."
    )
    assert refused(lambda: policy.setting(dataclasses.replace(target, max_loss=1.0))) == (
        f"`max_loss` must be at least {largest:g}, got 1: a row errs by it."
    )
    policy.setting(dataclasses.replace(target, max_loss=20.0))
    # A budget is promised without.
    policy.setting(Target(budget=1.0, confidence=0.9))


def test_the_cap_of_an_error_is_in_its_own_unit():
    # Sixty rows without an error: how small a mean square they show goes by the square of the cap. At a cap of b they
    # show a mean of b² (1 − 0.05^(1/60)) or a little more, which is a root of 0.22 b.
    rows = flat(0.0, 0.0)
    for cap in (3.0, 10.0, 0.5):
        assert found(rows, Target(max_error=0.25 * cap, confidence=0.95, max_loss=cap)) == ONLY
        assert "60 rows cannot promise less" in refused(
            lambda cap=cap: found(rows, Target(max_error=0.2 * cap, confidence=0.95, max_loss=cap))
        )
    # Graded errors above 1 are their own cap, and none of classes needs one.
    more = flat(0.0, 3.0)
    assert found(more, Target(max_error=3.5, confidence=0.9, max_loss=4.0), task="classification") == ONLY
    assert "`max_loss` must be given" in refused(
        lambda: found(more, Target(max_error=3.5, confidence=0.9), task="classification")
    )
    assert found(flat(0.0, 0.0), Target(max_error=0.1, confidence=0.9), task="classification") == ONLY


@pytest.fixture(scope="module")
def grouped():
    """A policy of rows in groups of three."""
    table = synthetic.classification(900) | {"who": np.arange(900) // 3}
    log = read_log(table, dataclasses.replace(synthetic.COLUMNS, groups="who"))
    return fit(log, learner="linear", base="none", cv=3, promise=0.4)


@pytest.mark.parametrize("given", [{"budget": 0.5}, {"max_error": 0.4}])
@pytest.mark.parametrize("in_turn", [False, True])
def test_rows_in_groups_need_a_cap(grouped, given, in_turn):
    def setting(policy=grouped, **more):
        return policy.setting(Target(**given, confidence=0.9, **more), in_turn=in_turn)

    assert refused(setting) == (
        "`max_group` must be given to promise anything of rows in groups: none excludes a larger group, with fees and "
        "errors of its own. State how many rows no group will ever have; the largest here has 3."
    )
    assert refused(lambda: setting(max_group=2)) == "`max_group` must be at least 3, got 2: a group has as many."
    assert setting(max_group=3) is not None
    # A group of many more rows than any here can be anything.
    assert "120 groups of rows cannot promise less" in refused(lambda: setting(max_group=3000))
    # Each row of these is alone by chance: the log's own were not.
    alone = synthetic.classification(300, seed=6) | {"who": np.arange(300)}
    fresh = calibrate(grouped, read_log(alone, grouped.columns))
    assert fresh.tried.groups is None
    assert "`max_group` must be given" in refused(lambda: setting(fresh))
    assert setting(fresh, max_group=3) is not None


@pytest.fixture(scope="module")
def holed():
    """A policy that was fitted and calibrated on logs with holes, and can ask in turn."""
    log = read_log(synthetic.classification(700, missing=0.3), cases.ANSWERS)
    policy = fit(log, learner="linear", base="none", committee="posterior", cv=3, promise=0.4)
    assert policy.turns is not None
    return policy


def test_rows_with_holes_promise_no_error(holed):
    assert holed.tried.kept.estimated == ("errors",)
    assert holed.turns.tried.kept.estimated == ("errors", "fees")
    for target in (Target(max_error=0.9, confidence=0.5), Target(max_error=0.9, budget=5.0, confidence=0.5)):
        assert refused(lambda target=target: holed.setting(target)) == ESTIMATE.format("max_error")
        holed.setting(Target(budget=target.budget, max_error=0.9))
    # Whom to ask at once needs no answer, and everybody's fee is known; in turn it goes by what is heard.
    found = holed.setting(Target(budget=0.4, confidence=0.9))
    kept = holed.tried.kept
    paid, _ = synthetic.tried(kept, found)
    assert 0 < paid <= 0.4
    assert refused(lambda: holed.setting(Target(budget=5.0, confidence=0.5), in_turn=True)) == ESTIMATE.format("budget")
    # On rows without holes all of it can be promised.
    whole = calibrate(holed, read_log(synthetic.classification(300, seed=5), cases.ANSWERS))
    whole.setting(Target(max_error=0.5, budget=1.0, confidence=0.5))
    whole.setting(Target(budget=1.0, confidence=0.5), in_turn=True)


def test_fees_that_are_filled_in_promise_nothing():
    table = synthetic.charged(700)
    rng = np.random.default_rng(0)
    for name in synthetic.FEES:
        table[f"fee_{name}"] = np.where(rng.random(700) < 0.1, np.nan, table[f"fee_{name}"])
    policy = fit(read_log(table, synthetic.CHARGED), learner="linear", base="none", cv=3, promise=0.4)
    assert policy.tried.kept.estimated == ("fees",)
    said = refused(lambda: policy.setting(Target(budget=30.0, confidence=0.5, max_fee=100.0)))
    assert said == ESTIMATE.format("budget")
    policy.setting(Target(max_error=0.5, confidence=0.5))
    policy.setting(Target(budget=30.0))


def test_nobody_is_asked_at_random_under_a_promise(promising, new):
    target = Target(budget=0.4, confidence=0.9)
    message = "`explore` must be 0 beside `confidence`, got 0.1: no row tells what asking at random comes to."
    assert refused(lambda: promising.decide(new, target, explore=0.1, random_state=0)) == message
    assert refused(lambda: promising.next(new, None, target, explore=0.1, random_state=0)) == message
    assert promising.decide(new, target, explore=0.0).fee.mean() < 0.45

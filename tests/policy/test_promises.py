"""Promises: how often they are broken, how much of a budget they leave, and what they say where they cannot be made."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from askwho import InvalidInputError, Panel, Target
from askwho._unit import Unit
from askwho.data import read_log
from askwho.fitting import fit
from askwho.persistence import load, save
from askwho.policy import Outcomes, Setting
from askwho.policy._promises import Promises, shown_within
from tests import policies, synthetic
from tests.logs import log_of_arrays

LEVEL = 0.05


def within(losses, target, *, level=LEVEL, bound=1.0, groups=None, most_rows=1):
    """Which columns are shown to be within a target."""
    targets, bounds = (np.full(losses.shape[1], float(each)) for each in (target, bound))
    return shown_within(losses, targets, bounds, level=level, groups=groups, most_rows=most_rows)


def path(n=2000, seed=0, prices=5, **more):
    """Rows of a policy whose fee falls from 1 to 0.2 and whose error rises from 0.05 to 0.3 with the price."""
    rng = np.random.default_rng(seed)
    fees = np.where(rng.random(n) < np.linspace(1, 0.2, prices)[:, None], 1.0, 0.01)
    errors = (rng.random(n) < np.linspace(0.05, 0.3, prices)[:, None]).astype(float)
    settings = {"coins": rng.random(n)} | more
    return Outcomes(np.arange(prices) / 2.0, errors, fees, np.ones((prices, n), dtype=np.intp), **settings)


def promises(rows, *, squared=False, most_loss=1.0, most_rows=1):
    return Promises(
        rows,
        most_fee=1.0,
        most_loss=most_loss,
        most_rows=most_rows,
        unit=Unit(root=squared, share=not squared, most=np.inf if squared else 1.0),
    )


def share_of(rows, setting, table):
    """The mean of a table at a setting, from the rows themselves."""
    here, there = (int(np.flatnonzero(rows.prices == price)[0]) for price in (setting.fee_weight, setting.other))
    return np.where(rows.coins < setting.share, table[there], table[here]).mean()


# The test of one mean.


@pytest.mark.parametrize("n", [10, 200, 1000])
@pytest.mark.parametrize("mean", [0.03, 0.3, 0.8])
def test_a_coin_on_target_is_shown_to_be_within_it_as_seldom_as_said(mean, n):
    losses = (np.random.default_rng(1).random((n, 2000)) < mean).astype(float)
    # 2,000 games at 5% stray by 0.005 a deviation.
    assert within(losses, mean).mean() <= LEVEL + 0.012
    # Never 0 or 1 alone: these are bet upon.
    assert within(np.clip(losses, 0.01, 1), np.clip([0.0, 1.0], 0.01, 1) @ [1 - mean, mean]).mean() <= LEVEL + 0.012


LAWS = {
    "fees": lambda rng, shape: rng.choice([0.1, 0.2, 1.0], shape, p=[0.6, 0.3, 0.1]),
    "narrow": lambda rng, shape: 0.3 + 0.05 * rng.uniform(-1, 1, shape),
    "skewed": lambda rng, shape: rng.random(shape) ** 8,
    "rare": lambda rng, shape: np.where(rng.random(shape) < 0.01, 1.0, 0.05 * rng.random(shape)),
    "left": lambda rng, shape: 1 - rng.random(shape) ** 8,
}


@pytest.mark.parametrize("level", [0.05, 0.3])
@pytest.mark.parametrize("law", LAWS)
def test_any_bounded_loss_on_target_is_shown_to_be_within_it_as_seldom_as_said(law, level):
    mean = LAWS[law](np.random.default_rng(0), 2_000_000).mean()
    losses = LAWS[law](np.random.default_rng(1), (300, 2000))
    assert within(losses, mean, level=level).mean() <= level + 0.005 + 2.5 * np.sqrt(level * (1 - level) / 2000)


@pytest.mark.parametrize("law", ["fees", "skewed"])
def test_it_is_nearly_as_sharp_as_the_normal_test_would_be(law):
    n = 2000
    losses = LAWS[law](np.random.default_rng(1), (n, 400))
    mean, deviation = losses.mean(), losses.std() / np.sqrt(n)
    # A normal test shows half of the targets 1.645 deviations off, and 91% of those at 3.
    assert within(losses, mean + 1.645 * deviation).mean() > 0.4
    assert within(losses, mean + 3.0 * deviation).mean() > 0.83


def test_zero_one_losses_take_the_binomial_tail():
    losses = (np.arange(400)[:, None] < np.arange(60)).astype(float)
    expected = binom.cdf(np.arange(60), 400, 0.1) <= LEVEL
    np.testing.assert_array_equal(within(losses, 0.1), expected)


@given(st.integers(0, 10_000), st.sampled_from(sorted(LAWS)), st.integers(2, 60))
def test_nothing_is_shown_to_be_below_zero_and_everything_to_be_within_its_bound(seed, law, n):
    losses = LAWS[law](np.random.default_rng(seed), (n, 1))
    shown = shown_within(np.repeat(losses, 3, axis=1), np.array([0.0, 1.0, 2.0]), np.ones(3), level=LEVEL)
    np.testing.assert_array_equal(shown, [False, True, True])


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_what_is_unknown_is_as_if_it_were_not_there(seed, n):
    rng = np.random.default_rng(seed)
    losses = (rng.random((n, 8)) < 0.1).astype(float)
    gaps = np.full((5, 8), np.nan)
    np.testing.assert_array_equal(within(np.concatenate([losses, gaps]), 0.3), within(losses, 0.3))


def test_rows_of_one_group_count_once():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 20)
    # All rows of a group fare alike: 60 coins, not 1,200.
    losses = (rng.random((60, 2000)) < 0.3).astype(float)[groups]
    assert within(losses, 0.3).mean() > 0.2
    assert within(losses, 0.3, groups=groups, most_rows=20).mean() <= LEVEL + 0.012
    assert within(losses, 0.6, groups=groups, most_rows=20).mean() > 0.9


def test_the_mean_of_groups_of_all_sizes_is_over_rows():
    rng = np.random.default_rng(0)
    # Large groups err always, small ones never: half of the groups, but 95% of the rows.
    sizes = np.where(np.arange(200) % 2 == 0, 19, 1)
    groups = np.repeat(np.arange(200), sizes)
    losses = np.repeat(sizes == 19, sizes).astype(float)[:, None]
    shuffled = rng.permutation(len(groups))
    assert not within(losses[shuffled], 0.9, groups=groups[shuffled], most_rows=19)[0]
    assert within(losses[shuffled], 0.99, groups=groups[shuffled], most_rows=19)[0]


def test_a_group_that_no_row_has_shown_is_reckoned_with():
    rng = np.random.default_rng(0)
    # Three groups in a hundred have thirty rows, all wrong, the others one, which is right: 48% of the rows are wrong.
    mean = 0.9 / 1.87
    shown = {30: 0, 1: 0}
    for _ in range(300):
        sizes = np.where(rng.random(30) < 0.03, 30, 1)
        groups, losses = np.repeat(np.arange(30), sizes), np.repeat(sizes == 30, sizes).astype(float)[:, None]
        shown[30] += within(losses, mean, groups=groups, most_rows=30)[0]
        if sizes.max() == 1:
            shown[1] += within(losses, mean, groups=groups)[0]
            # Alone by chance is not alone.
            assert not within(losses, mean, most_rows=30)[0]
    assert shown[30] <= 0.05 * 300
    # The largest of the sample is no bound: it would be wrong as often as the sample has none of the large ones.
    assert shown[1] > 0.3 * 300


# The path of prices.


def test_between_two_prices_lie_their_mixtures():
    rows = path()
    assert rows.places == 4 * 32 + 1
    assert (rows.setting(0).fee_weight, rows.setting(0).share) == (0.0, 0.0)
    assert dataclasses.astuple(rows.setting(40)) == (0.5, 1.0, 0.25, ())
    assert rows.setting(128).fee_weight == 2.0
    np.testing.assert_array_equal(rows.at(rows.fees, np.array([0, 128])), rows.fees[[0, 4]].T)
    mixed = rows.at(rows.fees, np.array([40]))[:, 0]
    np.testing.assert_array_equal(mixed, np.where(rows.coins < 0.25, rows.fees[2], rows.fees[1]))


def test_the_path_goes_by_price_in_whatever_order_prices_were_given():
    rows = path()
    turned = Outcomes(rows.prices[::-1], rows.errors[::-1], rows.fees[::-1], rows.sizes[::-1], coins=rows.coins)
    for target in ({"budget": 0.5, "max_error": None}, {"budget": None, "max_error": 0.2}):
        assert promises(turned).choose(**target, confidence=0.95) == promises(rows).choose(**target, confidence=0.95)


def bent(n=400, **more):
    """Rows that err most where money is no object: a promise that began there would end there."""
    rates = np.array([0.3] * 10 + [0.06] * 10 + [0.3] * 10)
    errors = (np.linspace(0, 1, n, endpoint=False) < rates[:, None]).astype(float)
    fees = np.linspace(1, 0.2, 30)[:, None] * np.ones(n)
    return Outcomes(np.arange(30.0), errors, fees, np.ones((30, n), dtype=np.intp), coins=np.full(n, 0.5), **more)


def test_an_error_is_promised_from_where_other_rows_erred_least():
    assert bent().least() == 10
    with pytest.raises(InvalidInputError, match="must be at least"):
        promises(bent()).choose(budget=None, max_error=0.1, confidence=0.95)
    found = promises(bent(easiest=bent().least())).choose(budget=None, max_error=0.1, confidence=0.95)
    # The cheapest that keeps it; what lies before the beginning is neither tested nor promised.
    assert found.fee_weight == 19.0
    assert bent(easiest=15).take(np.arange(200)).begin == bent(easiest=15).begin == 15 * 32


def test_of_prices_alike_an_error_is_promised_from_the_lowest():
    alike = Outcomes(np.arange(6.0)[::-1], np.zeros((6, 9)), np.ones((6, 9)), np.ones((6, 9), dtype=np.intp))
    assert alike.least() == 0


@pytest.mark.parametrize(("worse", "begin"), [(3, 0), (42, 10)])
def test_an_error_is_promised_from_the_lowest_price_that_is_not_clearly_worse(worse, begin):
    rows = bent()
    rows.errors[:10] = rows.errors[10]
    # Two rows fare better there: of 400 one more that errs is half a standard error, forty are six.
    rows.errors[:10, :2] = 0.0
    rows.errors[:10, 200 : 200 + worse] = 1.0
    assert rows.least() == begin


def test_unknown_errors_are_no_errors_when_the_least_is_looked_for():
    rows = bent()
    rows.errors[:10, 40:] = np.nan
    rows.errors[20:, :] = np.nan
    assert 10 <= rows.least() <= 29


@settings(max_examples=20)
@given(st.integers(0, 1000), st.floats(0.3, 0.95), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_promised_budget_is_kept_on_the_rows_and_mostly_spent(seed, budget, confidence):
    rows = path(seed=seed)
    setting = promises(rows).choose(budget=budget, max_error=None, confidence=confidence)
    spent = share_of(rows, setting, rows.fees)
    assert 0.85 * budget < spent <= budget


@settings(max_examples=10)
@given(st.integers(0, 1000), st.floats(0.1, 0.28))
def test_more_confidence_never_spends_more(seed, max_error):
    rows = path(seed=seed)
    spent = [
        share_of(rows, promises(rows).choose(budget=0.6, max_error=None, confidence=c), rows.fees)
        for c in (0.6, 0.9, 0.99)
    ]
    assert spent == sorted(spent, reverse=True)
    risked = [
        share_of(rows, promises(rows).choose(budget=None, max_error=max_error, confidence=c), rows.errors)
        for c in (0.6, 0.9, 0.99)
    ]
    assert risked == sorted(risked, reverse=True)


def test_both_targets_are_kept_at_once_for_the_least_fee():
    rows = path()
    both = promises(rows).choose(budget=0.7, max_error=0.25, confidence=0.95)
    half = promises(rows).choose(budget=None, max_error=0.25, confidence=0.975)
    assert both == half
    assert share_of(rows, both, rows.fees) <= 0.7
    assert share_of(rows, both, rows.errors) <= 0.25


def test_promises_are_broken_as_seldom_as_said_and_spend_the_budget():
    population = path(n=50_000, seed=1)
    rng = np.random.default_rng(2)
    fees, errors = [], []
    for _ in range(60):
        rows = population.take(rng.integers(0, 50_000, 2000))
        chosen = promises(rows).choose(budget=0.5, max_error=None, confidence=0.9)
        fees.append(share_of(population, chosen, population.fees))
        chosen = promises(rows).choose(budget=None, max_error=0.2, confidence=0.9)
        errors.append(share_of(population, chosen, population.errors))
    # Of 60 draws at 10%, 11 is two deviations off.
    assert sum(fee > 0.5 for fee in fees) <= 11
    assert sum(error > 0.2 for error in errors) <= 11
    assert np.mean(fees) > 0.95 * 0.5


def test_a_squared_error_is_promised_by_its_root():
    rows = path()
    squares = np.square(np.random.default_rng(0).normal(size=2000)) * np.linspace(0.01, 0.09, 5)[:, None]
    rows = dataclasses.replace(rows, errors=squares)
    setting = promises(rows, squared=True, most_loss=1.5).choose(budget=None, max_error=0.2, confidence=0.95)
    assert 0.18 < np.sqrt(share_of(rows, setting, squares)) < 0.2


def test_without_coins_a_setting_is_one_of_the_prices():
    rows = path(coins=None)
    assert rows.places == 5
    setting = promises(rows).choose(budget=0.5, max_error=None, confidence=0.95)
    assert setting.share == 0
    assert setting.fee_weight == 1.5


def test_a_policy_with_one_price_has_one_setting():
    rows = path(prices=1)
    assert promises(rows).choose(budget=None, max_error=0.2, confidence=0.9) == rows.setting(0)


def of_means(fees, errors, n=400):
    """Rows whose mean fee and error at each price are these, whatever the price; of one kind, and so without coins."""
    paid, wrong = (np.arange(n) < n * np.array(means)[:, None] for means in (fees, errors))
    return Outcomes(np.arange(len(fees)) / 2.0, wrong.astype(float), paid.astype(float), np.ones((len(fees), n), int))


def test_nothing_beyond_the_first_failure_is_used_however_well_it_does():
    # The lowest price is the best and the cheapest by chance: but the one before it on the way breaks the budget.
    rows = of_means([0.1, 0.9, 0.3, 0.2], [0.01, 0.02, 0.2, 0.3])
    assert promises(rows).choose(budget=0.5, max_error=None, confidence=0.95) == rows.setting(2)
    # The same for an error, which is tested from the other end: the highest price is the cheapest.
    rows = of_means([0.9, 0.8, 0.7, 0.1], [0.02, 0.04, 0.5, 0.01])
    assert promises(rows).choose(budget=None, max_error=0.1, confidence=0.95) == rows.setting(1)
    # And of both no place that only one path has come to.
    rows = of_means([0.9, 0.8, 0.3, 0.1], [0.02, 0.5, 0.04, 0.02])
    with pytest.raises(InvalidInputError, match=r"`budget` must be at least [\d.]+ beside a `max_error` of 0.1"):
        promises(rows).choose(budget=0.5, max_error=0.1, confidence=0.95)


def test_a_path_of_many_places_ends_at_its_first_failure_too():
    rng = np.random.default_rng(0)
    # More places than are tested at a time, on both sides of the failure.
    rows = path(prices=12, seed=3)
    fees = rows.fees.copy()
    fees[5] = 1.0
    rows = dataclasses.replace(rows, fees=fees, errors=(rng.random(2000) < np.linspace(0, 0.4, 12)[:, None]) * 1.0)
    fees[:5] = 0.05
    found = promises(rows).choose(budget=0.5, max_error=None, confidence=0.95)
    assert found.fee_weight >= rows.prices[5]
    assert share_of(rows, found, rows.fees) <= 0.5


# What cannot be promised.


@settings(max_examples=6)
@given(st.integers(0, 1000), st.sampled_from([0.6, 0.9, 0.99]), st.booleans())
def test_the_nearest_that_can_be_had_can_be_had(seed, confidence, squared):
    rows = path(n=200, seed=seed)
    ours = promises(rows, squared=squared)
    for target in ({"budget": 0.05}, {"max_error": 0.01}, {"budget": 0.3, "max_error": 0.4 if squared else 0.16}):
        asked = {"budget": None, "max_error": None} | target
        with pytest.raises(InvalidInputError) as refusal:
            ours.choose(**asked, confidence=confidence)
        name, least = re.match(r"`(\w+)` must be at least ([\d.e-]+)", str(refusal.value)).groups()
        assert float(least) > asked[name]
        ours.choose(**asked | {name: float(least)}, confidence=confidence)
        with pytest.raises(InvalidInputError):
            ours.choose(**asked | {name: 0.97 * float(least)}, confidence=confidence)


@pytest.fixture(scope="module")
def counted():
    """A policy of which 10, 20 and 40 of 100 queries err by price, and 80, 50 and 20 pay 1, which is the most.

    So the bounds below are Clopper and Pearson's.
    """
    wrong, paid = (np.arange(100) < np.array(counts)[:, None] for counts in ([10, 20, 40], [80, 50, 20]))
    tried = Outcomes(np.arange(3.0), wrong.astype(float), paid.astype(float), np.ones((3, 100), dtype=np.intp))
    return dataclasses.replace(policies.fitted("grades"), tried=dataclasses.replace(tried, fresh=True))


LESS = "100 rows cannot promise less. Ask for less confidence, or calibrate on more rows."


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            {"budget": 0.1, "confidence": 0.95},
            f"`budget` must be at least 0.277201 for confidence 0.95, got 0.1: {LESS}",
        ),
        (
            {"max_error": 0.05, "confidence": 0.95},
            f"`max_error` must be at least 0.163718 for confidence 0.95, got 0.05: {LESS}",
        ),
        (
            {"max_error": 0.05, "budget": 0.9, "confidence": 0.95},
            f"`max_error` must be at least 0.176223 for confidence 0.95, got 0.05: {LESS}",
        ),
        (
            {"max_error": 0.35, "budget": 0.3, "confidence": 0.95},
            (f"`budget` must be at least 0.601679 beside a `max_error` of 0.35 for confidence 0.95, got 0.3: {LESS}"),
        ),
        ({"max_error": 0.25, "budget": 0.3}, "`budget` must be at least 0.5 beside a `max_error` of 0.25, got 0.3."),
        ({"max_error": 0.05, "budget": 0.3}, "`max_error` must be at least 0.1, got 0.05."),
    ],
)
def test_what_cannot_be_had_is_refused_with_what_can(counted, target, message):
    aim, queries = Target(**target), policies.queries("grades")
    for ask in (lambda: counted.setting(aim), lambda: counted.decide(queries, aim)):
        with pytest.raises(InvalidInputError) as error:
            ask()
        assert str(error.value) == message


def test_groups_are_counted_where_rows_are_not_alone():
    rows = Outcomes(
        np.zeros(1), np.zeros((1, 60)), np.full((1, 60), 0.5), np.ones((1, 60), dtype=np.intp), np.arange(60) // 3
    )
    with pytest.raises(InvalidInputError, match=r"got 0\.1: 20 groups of rows cannot promise less"):
        promises(rows, most_rows=3).choose(budget=0.1, max_error=None, confidence=0.9)


def test_fees_that_nobody_can_know_are_left_out_of_a_promise():
    errors, fees = np.zeros((1, 60)), np.full((1, 60), 0.5)
    errors[0, :20] = fees[0, :20] = np.nan
    rows = Outcomes(np.zeros(1), errors, fees, np.ones((1, 60), dtype=np.intp))
    most = promises(rows).choose(budget=0.7, max_error=None, confidence=0.9)
    assert most == Setting(0.0, 0.0, 0.0)


# Of a policy.


@pytest.fixture(scope="module")
def many():
    return synthetic.classification(1500, seed=1)


def test_each_query_is_decided_at_its_side_of_the_mixture(promising, many):
    policy = promising
    promised = (Target(budget=float(b), confidence=0.9) for b in np.linspace(0.2, 0.4, 9))
    target, setting = next((t, found) for t in promised if (found := policy.setting(t)).share > 0)
    seen = policy.see(many)
    mixed = policy.decide(seen, target)
    one, other = (policy.decide(seen, Target(fee_weight=weight)) for weight in (setting.fee_weight, setting.other))
    aside = seen.coins < setting.share
    np.testing.assert_array_equal(mixed.k, np.where(aside, other.k, one.k))
    np.testing.assert_array_equal(mixed.order, np.where(aside[:, None], other.order, one.order))
    np.testing.assert_allclose(mixed.expected_error, np.where(aside, other.expected_error, one.expected_error))
    assert 0 < aside.mean() < 1
    assert mixed.fee.mean() < 1.1 * target.budget
    for i in (0, 1, 2):
        alone = policy.decide(policies.row(many, i), target)
        assert (alone.k[0], alone.order[0].tolist()) == (mixed.k[i], mixed.order[i].tolist())


def test_both_targets_without_confidence_are_met_on_held_out_rows(policy):
    found = policy.setting(Target(budget=0.9, max_error=0.1))
    paid, erred = synthetic.tried(policy.tried, found)
    assert paid <= 0.9
    assert erred <= 0.1
    assert found == policy.setting(Target(max_error=0.1))
    with pytest.raises(InvalidInputError, match=r"`budget` must be at least [\d.]+ beside a `max_error` of 0.1, got"):
        policy.setting(Target(budget=0.02, max_error=0.1))


def test_there_must_be_something_to_promise(policy):
    for target in (Target(k=1), Target(fee_weight=0.1)):
        with pytest.raises(InvalidInputError) as error:
            policy.setting(target)
        assert str(error.value) == "`budget` or `max_error` must be given: there is nothing to aim at."


def test_groups_of_the_log_are_kept_with_its_rows():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 4)
    X, errors = rng.normal(size=(400, 2)), (rng.random((400, 2)) < [0.3, 0.1]).astype(float)
    grown = fit(
        log_of_arrays(X, errors=errors, panel=Panel.two_stage({"a": 1.0}), groups=groups), learner="linear", cv=3
    )
    np.testing.assert_array_equal(grown.tried.groups, groups)
    apart = fit(
        log_of_arrays(X, errors=errors, panel=Panel.two_stage({"a": 1.0}), groups=groups),
        learner="linear",
        cv=3,
        promise=0.3,
    )
    np.testing.assert_array_equal(np.bincount(apart.tried.groups), np.full(70, 4))
    np.testing.assert_array_equal(np.bincount(apart.tried.kept.groups), np.full(30, 4))
    with pytest.raises(InvalidInputError, match="30 groups of rows cannot promise less"):
        apart.setting(Target(max_error=0.001, confidence=0.9, max_group=4))


def test_promises_travel_with_the_artefact(many, tmp_path):
    log = read_log(many | {"who": np.arange(1500) // 3}, dataclasses.replace(synthetic.COLUMNS, groups="who"))
    grown = fit(log, learner="linear", base="none", cv=3, promise=0.5)
    save(grown, tmp_path / "policy")
    save(load(tmp_path / "policy"), tmp_path / "again")
    for name in ("policy", "again"):
        loaded = load(tmp_path / name)
        for ours, theirs in ((grown.tried, loaded.tried), (grown.turns.tried, loaded.turns.tried)):
            for mine, other in ((ours, theirs), (ours.kept, theirs.kept)):
                for part in ("prices", "errors", "fees", "sizes", "groups", "coins"):
                    np.testing.assert_array_equal(getattr(other, part), getattr(mine, part), err_msg=part)
            assert (theirs.fresh, theirs.kept.fresh, theirs.kept.kept) == (False, True, None)
        for target in (
            Target(budget=0.4, confidence=0.9, max_group=3),
            Target(max_error=0.35, confidence=0.9, max_group=3),
        ):
            for in_turn in (False, True):
                assert loaded.setting(target, in_turn=in_turn) == grown.setting(target, in_turn=in_turn)
            np.testing.assert_array_equal(loaded.decide(many, target).k, grown.decide(many, target).k)


def test_without_coins_a_policy_promises_at_its_prices(promising, new, tmp_path):
    kept = dataclasses.replace(promising.tried.kept, coins=None)
    save(dataclasses.replace(promising, tried=dataclasses.replace(promising.tried, kept=kept)), tmp_path / "policy")
    loaded, target = load(tmp_path / "policy"), Target(budget=0.3, confidence=0.9)
    assert loaded.tried.kept.coins is None
    assert loaded.setting(target).share == 0
    assert loaded.decide(new, target).fee.mean() < 0.33

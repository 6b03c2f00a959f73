"""Promises: how often they are broken, how much of a budget they leave, and what they say where they cannot be made."""

import dataclasses
import re

import numpy as np
import pytest
from askwho.router import Router, Rows
from askwho.router._promises import Promises, shown_within
from askwho.router._rows import coins, grouped
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from askwho import Answers, InvalidInputError, TwoStageClassifier
from askwho.data import Columns, read_log
from askwho.persistence import load, save
from askwho.policy import fit_policy
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
LEVEL = 0.05


def within(losses, target, *, level=LEVEL, bound=1.0, groups=None):
    """Which columns are shown to be within a target."""
    h = losses.shape[1]
    return shown_within(losses, np.full(h, float(target)), np.full(h, float(bound)), level=level, groups=groups)


def path(n=2000, seed=0, prices=5, **more):
    """Rows of a policy whose fee falls from 1 to 0.2 and whose error rises from 0.05 to 0.3 with the price."""
    rng = np.random.default_rng(seed)
    fees = np.where(rng.random(n) < np.linspace(1, 0.2, prices)[:, None], 1.0, 0.01)
    errors = (rng.random(n) < np.linspace(0.05, 0.3, prices)[:, None]).astype(float)
    settings = {"coins": rng.random(n)} | more
    return Rows(np.arange(prices) / 2.0, errors, fees, np.ones((prices, n), dtype=np.intp), **settings)


def promises(rows, squared=False):
    return Promises(rows, most_fee=1.0, squared=squared)


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
    assert within(losses, 0.3, groups=groups).mean() <= LEVEL + 0.012
    assert within(losses, 0.6, groups=groups).mean() > 0.9


def test_the_mean_of_groups_of_all_sizes_is_over_rows():
    rng = np.random.default_rng(0)
    # Large groups err always, small ones never: half of the groups, but 95% of the rows.
    sizes = np.where(np.arange(200) % 2 == 0, 19, 1)
    groups = np.repeat(np.arange(200), sizes)
    losses = np.repeat(sizes == 19, sizes).astype(float)[:, None]
    shuffled = rng.permutation(len(groups))
    assert not within(losses[shuffled], 0.9, groups=groups[shuffled])[0]
    assert within(losses[shuffled], 0.99, groups=groups[shuffled])[0]


# The path of prices.


def test_between_two_prices_lie_their_mixtures():
    rows = path()
    assert rows.places == 4 * 32 + 1
    assert (rows.setting(0).fee_weight, rows.setting(0).share) == (0.0, 0.0)
    assert dataclasses.astuple(rows.setting(40)) == (0.5, 1.0, 0.25)
    assert rows.setting(128).fee_weight == 2.0
    np.testing.assert_array_equal(rows.at(rows.fees, np.array([0, 128])), rows.fees[[0, 4]].T)
    mixed = rows.at(rows.fees, np.array([40]))[:, 0]
    np.testing.assert_array_equal(mixed, np.where(rows.coins < 0.25, rows.fees[2], rows.fees[1]))


def test_the_path_goes_by_price_in_whatever_order_prices_were_given():
    rows = path()
    turned = Rows(rows.prices[::-1], rows.errors[::-1], rows.fees[::-1], rows.sizes[::-1], coins=rows.coins)
    for target in ({"budget": 0.5, "accuracy": None}, {"budget": None, "accuracy": 0.2}):
        assert promises(turned).choose(**target, confidence=0.95) == promises(rows).choose(**target, confidence=0.95)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.floats(0.3, 0.95), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_promised_budget_is_kept_on_the_rows_and_mostly_spent(seed, budget, confidence):
    rows = path(seed=seed)
    setting = promises(rows).choose(budget=budget, accuracy=None, confidence=confidence)
    spent = share_of(rows, setting, rows.fees)
    assert 0.85 * budget < spent <= budget


@settings(max_examples=10)
@given(st.integers(0, 1000), st.floats(0.1, 0.28))
def test_more_confidence_never_spends_more(seed, accuracy):
    rows = path(seed=seed)
    spent = [
        share_of(rows, promises(rows).choose(budget=0.6, accuracy=None, confidence=c), rows.fees)
        for c in (0.6, 0.9, 0.99)
    ]
    assert spent == sorted(spent, reverse=True)
    risked = [
        share_of(rows, promises(rows).choose(budget=None, accuracy=accuracy, confidence=c), rows.errors)
        for c in (0.6, 0.9, 0.99)
    ]
    assert risked == sorted(risked, reverse=True)


def test_both_targets_are_kept_at_once_for_the_least_fee():
    rows = path()
    both = promises(rows).choose(budget=0.7, accuracy=0.25, confidence=0.95)
    half = promises(rows).choose(budget=None, accuracy=0.25, confidence=0.975)
    assert both == half
    assert share_of(rows, both, rows.fees) <= 0.7
    assert share_of(rows, both, rows.errors) <= 0.25


def test_promises_are_broken_as_seldom_as_said_and_spend_the_budget():
    population = path(n=50_000, seed=1)
    rng = np.random.default_rng(2)
    fees, errors = [], []
    for _ in range(60):
        rows = population.take(rng.integers(0, 50_000, 2000))
        chosen = promises(rows).choose(budget=0.5, accuracy=None, confidence=0.9)
        fees.append(share_of(population, chosen, population.fees))
        chosen = promises(rows).choose(budget=None, accuracy=0.2, confidence=0.9)
        errors.append(share_of(population, chosen, population.errors))
    # Of 60 draws at 10%, 11 is two deviations off.
    assert sum(fee > 0.5 for fee in fees) <= 11
    assert sum(error > 0.2 for error in errors) <= 11
    assert np.mean(fees) > 0.95 * 0.5


def test_a_squared_error_is_promised_by_its_root():
    rows = path()
    squares = np.square(np.random.default_rng(0).normal(size=2000)) * np.linspace(0.01, 0.09, 5)[:, None]
    rows = dataclasses.replace(rows, errors=squares)
    setting = promises(rows, squared=True).choose(budget=None, accuracy=0.2, confidence=0.95)
    assert 0.18 < np.sqrt(share_of(rows, setting, squares)) < 0.2


def test_without_coins_a_setting_is_one_of_the_prices():
    rows = path(coins=None)
    assert rows.places == 5
    setting = promises(rows).choose(budget=0.5, accuracy=None, confidence=0.95)
    assert setting.share == 0
    assert setting.fee_weight == 1.5


def test_a_policy_with_one_price_has_one_setting():
    rows = path(prices=1)
    assert promises(rows).choose(budget=None, accuracy=0.2, confidence=0.9) == rows.setting(0)


# What cannot be promised.


@settings(max_examples=6)
@given(st.integers(0, 1000), st.sampled_from([0.6, 0.9, 0.99]), st.booleans())
def test_the_nearest_that_can_be_had_can_be_had(seed, confidence, squared):
    rows = path(n=200, seed=seed)
    ours = promises(rows, squared=squared)
    for target in ({"budget": 0.05}, {"accuracy": 0.01}, {"budget": 0.3, "accuracy": 0.4 if squared else 0.16}):
        asked = {"budget": None, "accuracy": None} | target
        with pytest.raises(InvalidInputError) as refusal:
            ours.choose(**asked, confidence=confidence)
        name, least = re.match(r"`(\w+)` must be at least ([\d.e-]+)", str(refusal.value)).groups()
        assert float(least) > asked[name]
        ours.choose(**asked | {name: float(least)}, confidence=confidence)
        with pytest.raises(InvalidInputError):
            ours.choose(**asked | {name: 0.97 * float(least)}, confidence=confidence)


# Coins.


def test_coins_are_uniform_and_a_query_has_one_of_its_own():
    X = np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32)
    tossed = coins(X)
    assert np.abs(np.sort(tossed) - np.arange(20_000) / 20_000).max() < 0.012
    assert abs(np.corrcoef(tossed, X[:, 0])[0, 1]) < 0.02
    np.testing.assert_array_equal(coins(X[7:8]), tossed[7:8])
    np.testing.assert_array_equal(coins(-np.zeros((1, 3))), coins(np.zeros((1, 3))))
    assert coins(X[:1])[0] != coins(X[:1, ::-1])[0]


def test_groups_are_numbered_and_lonely_rows_are_none():
    assert grouped(None) is None
    assert grouped(np.array(["b", "a"])) is None
    np.testing.assert_array_equal(grouped(np.array(["b", "a", "b"])), [1, 0, 1])


# The router.


@pytest.fixture(scope="module")
def policy():
    return fit_policy(read_log(synthetic.classification(900), COLUMNS), learner="linear", base="none", cv=3)


@pytest.fixture(scope="module")
def new():
    return synthetic.classification(1500, seed=1)


def test_select_decides_each_query_at_its_side_of_the_mixture(policy, new):
    promised = ((b, policy.router.setting_for(budget=b, confidence=0.9)) for b in np.linspace(0.2, 0.4, 9))
    budget, setting = next((b, found) for b, found in promised if found.share > 0)
    mixed = policy.select(new, budget=budget, confidence=0.9)
    one, other = (policy.select(new, fee_weight=weight) for weight in (setting.fee_weight, setting.other))
    aside = coins(policy.features(new)) < setting.share
    np.testing.assert_array_equal(mixed.k, np.where(aside, other.k, one.k))
    np.testing.assert_array_equal(mixed.order, np.where(aside[:, None], other.order, one.order))
    np.testing.assert_allclose(mixed.scores, np.where(aside[:, None], other.scores, one.scores))
    assert 0 < aside.mean() < 1
    assert mixed.fee.mean() < 1.1 * budget
    for i in (0, 1, 2):
        alone = policy.select({name: values[i : i + 1] for name, values in new.items()}, budget=budget, confidence=0.9)
        assert (alone.k[0], alone.order[0].tolist()) == (mixed.k[i], mixed.order[i].tolist())


def test_both_targets_without_confidence_are_met_on_held_out_rows(policy):
    found = policy.router.setting_for(budget=0.9, accuracy=0.1)
    paid, erred = synthetic.tried(policy.router.rows_, found)
    assert paid <= 0.9
    assert erred <= 0.1
    assert found == policy.router.setting_for(accuracy=0.1)
    with pytest.raises(InvalidInputError, match=r"`budget` must be at least [\d.]+ beside an `accuracy` of 0.1, got"):
        policy.router.setting_for(budget=0.02, accuracy=0.1)


def test_calibrated_rows_are_what_the_policy_does(new):
    policy = fit_policy(read_log(synthetic.classification(600), COLUMNS), learner="linear", base="none", cv=3)
    fresh = read_log(new, COLUMNS)
    before = policy.router.rows_
    policy.calibrate(fresh)
    rows = policy.router.rows_
    assert rows.fees.shape == (31, 1500)
    np.testing.assert_array_equal(rows.prices, before.prices)
    for p in (0, 12, 30):
        selection = policy.select(new, fee_weight=float(rows.prices[p]))
        np.testing.assert_array_equal(rows.sizes[p], selection.k)
        np.testing.assert_allclose(rows.fees[p], selection.fee)
        said, _ = policy.combine(selection, fresh.answers, new).at(selection.k)
        np.testing.assert_array_equal(rows.errors[p], said != fresh.truth)
    # And so at a mixture of two prices.
    setting = policy.router.setting_for(budget=0.3, confidence=0.95)
    assert policy.select(new, budget=0.3, confidence=0.95).fee.mean() == pytest.approx(
        share_of(rows, setting, rows.fees)
    )


@pytest.mark.parametrize("kind", ["regression", "grades", "own base", "fees by query"])
def test_every_kind_of_policy_is_calibrated(kind):
    columns = COLUMNS
    make = synthetic.regression if kind == "regression" else synthetic.classification
    if kind == "grades":
        make, columns = synthetic.grades, Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0})
    tables = [make(400), make(300, seed=1)]
    if kind == "own base":
        for table in tables:
            table["x_0"] = np.select([table["truth"] == "cat", table["truth"] == "dog"], [0.0, 1.0], 2.0)
    if kind == "fees by query":
        columns = dataclasses.replace(COLUMNS, fees="fee_*")
        for table in tables:
            table |= {f"fee_{name}": fee * (1.5 + table["x_1"]) for name, fee in synthetic.FEES.items()}
    policy = fit_policy(read_log(tables[0], columns), learner="linear", cv=3)
    assert (policy.base is not None) == (kind == "own base")
    policy.calibrate(read_log(tables[1], columns))
    rows = policy.router.rows_
    assert rows.errors.shape[1] == 300
    assert np.isfinite(rows.errors).all()
    assert policy.select(tables[1], budget=float(rows.fees.mean()) + 0.1, confidence=0.9).fee.mean() >= 0


def test_groups_of_the_log_are_kept_with_its_rows():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 4)
    X, errors = rng.normal(size=(400, 2)), (rng.random((400, 2)) < [0.3, 0.1]).astype(float)
    from askwho import Panel  # noqa: PLC0415

    router = Router(learner="linear", cv=3)
    router.fit(X, errors=errors, panel=Panel.two_stage({"a": 1.0}), groups=groups)
    np.testing.assert_array_equal(router.rows_.groups, groups)
    with pytest.raises(InvalidInputError, match="100 groups of rows cannot promise less"):
        router.setting_for(accuracy=0.001, confidence=0.9)
    router.calibrate(X[:99], errors=errors[:99])
    assert router.rows_.groups is None


def test_promises_travel_with_the_artefact(new, tmp_path):
    log = read_log(new | {"who": np.arange(1500) // 3}, dataclasses.replace(COLUMNS, groups="who"))
    grown = fit_policy(log, learner="linear", base="none", cv=3)
    save(grown, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    np.testing.assert_array_equal(loaded.router.rows_.groups, grown.router.rows_.groups)
    np.testing.assert_array_equal(loaded.router.rows_.coins, grown.router.rows_.coins)
    target = {"budget": 0.3, "confidence": 0.9}
    assert loaded.router.setting_for(**target) == grown.router.setting_for(**target)
    assert (loaded.select(new, **target).k == grown.select(new, **target).k).mean() > 0.99


def test_an_artefact_from_before_coins_promises_at_its_prices(policy, new, tmp_path):
    rows = policy.router.rows_
    policy.router.rows_ = dataclasses.replace(rows, coins=None)
    save(policy, tmp_path / "policy")
    policy.router.rows_ = rows
    loaded = load(tmp_path / "policy")
    assert loaded.router.rows_.coins is None
    assert loaded.router.setting_for(budget=0.3, confidence=0.9).share == 0
    assert loaded.select(new, budget=0.3, confidence=0.9).fee.mean() < 0.33


def test_an_estimator_passes_a_promise_on(new):
    X = np.column_stack([new[f"x_{i}"] for i in range(3)])
    answers = {name: new[f"answer_{name}"] for name in synthetic.FEES}
    system = TwoStageClassifier(fees=synthetic.FEES, learner="linear", base=None, cv=3, random_state=0)
    system.fit(X, new["truth"], answers=answers)
    chosen = system.select(X, budget=0.4, confidence=0.9)
    assert chosen.fee.mean() <= 0.42
    assert (system.predict(X, answers=answers, accuracy=0.3, confidence=0.9) == new["truth"]).mean() > 0.6
    with pytest.raises(InvalidInputError, match="`confidence` must come with `budget` or `accuracy`"):
        system.select(X, confidence=0.9)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({}, "`answers` and `truth` must be given: the policy was fitted on answers."),
        ({"truth": ["cat"]}, "`answers` and `truth` must be given: the policy was fitted on answers."),
        ({"truth": ["cat"] * 2, "answers": 3}, "`answers` must have a row for each of the 2 queries, got 3."),
        ({"truth": ["cat"] * 3, "answers": 2}, "`truth` must have a row for each of the 2 queries, got 3."),
        (
            {"truth": ["cat"] * 2, "answers": 2, "groups": np.arange(4)},
            "`groups` must have a row for each of the 2 queries, got 4.",
        ),
    ],
)
def test_rows_that_cannot_be_calibrated_on(policy, given_, message):
    if "answers" in given_:
        given_ = given_ | {"answers": Answers.from_table([["cat"] * 4] * given_["answers"], policy.panel)}
    if "truth" in given_:
        given_ = given_ | {"truth": np.array(given_["truth"])}
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        policy.router.calibrate(np.zeros((2, 3)), **given_)

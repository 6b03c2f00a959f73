"""The paper's k(x) (Algorithm 2): networks that say how many to ask, at the prices they were trained for."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from askwho import Answers, InvalidInputError, Panel, Target  # noqa: E402
from askwho.data import read_log  # noqa: E402
from askwho.engine import Training  # noqa: E402
from askwho.fitting import SurrogateCardinality, fit  # noqa: E402
from askwho.learners import CompSum, log_shares  # noqa: E402
from askwho.policy import Cardinality, CardinalityNetworks, Curve  # noqa: E402
from tests import policies, synthetic  # noqa: E402
from tests.logs import log_of_arrays  # noqa: E402

# Whole batches and no hidden layer: on queries that are one-hot the minimiser itself is found.
EXACT = Training(epochs=80, batch=100_000, rate=0.1)
QUICK = Training(epochs=4, batch=64, rate=1e-2)


def sizes(networks, X, price, width):
    """How many networks say to ask at a price, of `width` at the most."""
    unused = np.zeros((len(X), width))
    cardinality = Cardinality(width, Curve(None, np.zeros(width)), networks)
    return cardinality.sizes(X, unused, unused, np.full(len(X), float(price)), width)


def lessons(seed=0, n=60):
    """One-hot queries, their committee errors and fees: the best k depends on the query and on the price."""
    errors = np.array([[0.1, 0.12, 0.15, 0.2], [0.9, 0.2, 0.15, 0.1], [0.8, 0.8, 0.7, 0.0], [0.5, 0.4, 0.45, 0.6]])
    fees = np.array([[0.1, 0.3, 0.6, 1.0], [0.1, 0.2, 0.3, 0.4], [0.2, 0.4, 0.6, 0.8], [0.0, 0.05, 0.1, 0.2]])
    query = np.random.default_rng(seed).permutation(np.repeat(np.arange(4), n))
    return np.eye(4)[query], errors, fees, query


def brute_force(errors, fees, price, transform=lambda s: s):
    return (errors + price * transform(fees)).argmin(axis=1) + 1


PRICES = np.array([0.0, 0.3, 1.0, 5.0])


def network(settings, X, errors, fees, prices=PRICES, **options):
    return settings.fit(X, [errors] * len(prices), [fees] * len(prices), fee_weights=prices, **options)


@pytest.mark.parametrize("u", [0.0, 1.0, 1.5])
def test_k_is_the_best_at_every_price(u):
    X, errors, fees, query = lessons()
    chooser = network(SurrogateCardinality(hidden=(), u=u, training=EXACT), X, errors[query], fees[query])
    wanted = [brute_force(errors, fees, price) for price in PRICES]
    assert len({tuple(k) for k in wanted}) > 2
    for price, best in zip(PRICES, wanted, strict=True):
        np.testing.assert_array_equal(sizes(chooser, np.eye(4), float(price), width=4), best)


def test_every_price_keeps_the_rate_that_is_best_on_held_out_rows():
    X, errors, fees, query = lessons()

    def networks(**options):
        return network(SurrogateCardinality(hidden=(8,), **options), X, errors[query], fees[query]).networks

    alone = [networks(training=Training(epochs=4, batch=64, rate=rate)) for rate in (1e-5, 1e-2)]
    both = networks(training=QUICK, rates=(1e-5, 1e-2))
    held = np.stack([each.held for each in alone])
    assert (held[1] < held[0]).all()
    np.testing.assert_allclose(both.held, held.min(axis=0), rtol=1e-5)
    np.testing.assert_allclose(both.scores(X), alone[1].scores(X), atol=1e-5)


def test_k_is_the_best_in_expectation():
    # Outcomes that differ under one query: the mean decides, not the most frequent best.
    rng = np.random.default_rng(0)
    n = 3000
    X, query = np.eye(2)[np.arange(n) % 2], np.arange(n) % 2
    chance = np.array([[0.9, 0.4, 0.1], [0.3, 0.3, 0.1]])
    errors = (rng.random((n, 3)) < chance[query]).astype(float)
    fees = np.tile([[0.1, 0.2, 0.7]], (n, 1))
    chooser = network(SurrogateCardinality(hidden=(), training=EXACT), X, errors, fees, np.array([0.0, 1.0, 8.0]))
    found = [sizes(chooser, np.eye(2), price, width=3).tolist() for price in (0.0, 1.0, 8.0)]
    assert found == [[3, 3], [2, 1], [1, 1]]


def test_a_committee_cannot_be_larger_than_what_is_there():
    X, errors, fees, query = lessons()
    chooser = network(SurrogateCardinality(hidden=(), training=EXACT), X, errors[query], fees[query])
    assert sizes(chooser, np.eye(4), 0.0, width=4).max() == 4
    assert sizes(chooser, np.eye(4), 0.0, width=3).max() <= 3
    assert (sizes(chooser, np.eye(4), 0.0, width=1) == 1).all()


def test_only_trained_prices_are_answered():
    X, errors, fees, query = lessons()
    chooser = network(SurrogateCardinality(hidden=(), training=QUICK), X, errors[query], fees[query])
    with pytest.raises(InvalidInputError) as error:
        sizes(chooser, np.eye(4), 0.5, width=4)
    assert str(error.value) == (
        "`fee_weight` must be one that k(x) was trained at (0, 0.3, 1, 5), got 0.5: fit with it, or with "
        "cardinality='curve', which answers for every price."
    )
    # A price that went through text comes back.
    np.testing.assert_array_equal(
        sizes(chooser, np.eye(4), float("0.3000000001"), width=4), sizes(chooser, np.eye(4), 0.3, width=4)
    )


def test_equals_go_to_the_smaller_k():
    class Even:
        def scores(self, X):
            return log_shares(np.zeros((1, len(X), 3)))

    even = CardinalityNetworks(np.array([1.0]), Even())
    assert (sizes(even, np.ones((5, 2)), 1.0, width=3) == 1).all()


def step(summed):
    """The first half is free; past it a contract of one unit must be signed."""
    return (summed > 0.5).astype(float)


def test_fees_are_transformed():
    X, errors, fees, query = lessons()
    prices = np.array([0.5, 0.7])
    settings = SurrogateCardinality(hidden=(), fee_transform=step, training=EXACT)
    chooser = network(settings, X, errors[query], fees[query], prices)
    for price in prices:
        best = brute_force(errors, fees, price, step)
        np.testing.assert_array_equal(sizes(chooser, np.eye(4), float(price), width=4), best)
        assert (best != brute_force(errors, fees, price)).any()


def test_fees_that_fall_as_they_grow_are_refused():
    X, errors, fees, query = lessons()
    with pytest.raises(InvalidInputError, match="`fee_transform` must not decrease"):
        network(SurrogateCardinality(fee_transform=lambda s: -s, training=QUICK), X, errors[query], fees[query])


def test_sizes_that_could_not_be_scored_take_no_part_at_any_price():
    # Prices far apart: the bound of the dear one must not flatten what the cheap one learns.
    X, errors, fees, query = lessons(n=400)
    prices = np.array([0.0, 0.3, 100.0])
    seen = errors[query]
    rng = np.random.default_rng(0)
    longest = rng.integers(1, 5, len(query))
    seen = np.where(np.arange(4) < longest[:, None], seen, np.nan)
    seen[:5] = np.nan
    plan = Training(epochs=60, batch=100_000, rate=0.1)
    chooser = network(SurrogateCardinality(hidden=(), training=plan), X, seen, fees[query], prices)
    for price in prices:
        best = brute_force(errors, fees, price)
        np.testing.assert_array_equal(sizes(chooser, np.eye(4), float(price), width=4), best)


def test_one_price_is_enough():
    X, errors, fees, query = lessons()
    chooser = network(
        SurrogateCardinality(hidden=(), training=EXACT), X, errors[query], fees[query], np.array([0.3]), groups=query
    )
    np.testing.assert_array_equal(sizes(chooser, X, 0.3, width=4), brute_force(errors, fees, 0.3)[query])


def test_committees_that_nobody_could_score_teach_nothing():
    X, _, fees, query = lessons()
    with pytest.raises(
        InvalidInputError, match="`errors` must hold committees that can be scored, got 0 rows with any"
    ):
        network(SurrogateCardinality(training=QUICK), X, np.full((240, 4), np.nan), fees[query])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fee_weights": ()}, "`fee_weights` must hold one price at the least, got none."),
        ({"fee_weights": (0.1, -1.0)}, "`fee_weights` must be a finite number of at least 0, got -1.0."),
        ({"u": -1.0}, "`u` must be a finite number of at least 0, got -1.0"),
        ({"metric": "best"}, "`metric` must be one of 'majority', 'weighted-vote'"),
        ({"rates": (1e-3, 0.0)}, "`rate` must be above 0, got 0"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(InvalidInputError) as error:
        SurrogateCardinality(**options)
    assert message in str(error.value)


# In a policy.


def regions(n=300, seed=0):
    """Two kinds of query: one expert knows the first; of the second each of three is wrong a third of the time."""
    query = np.arange(n) % 2
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    errs = np.zeros((n, 3))
    errs[query == 0, 1:] = 1.0
    errs[np.flatnonzero(query == 1), np.arange((query == 1).sum()) % 3] = 1.0
    # Wrong answers that agree with nobody: a vote is won by two who are right, or by the best of three.
    values = np.where(errs == 1, 10 + np.arange(3), truth[:, None])
    panel = Panel(tuple(Panel.two_stage({"a": 0.1, "b": 0.1, "c": 0.1}).entities[1:]))
    answers = Answers.from_table(values, panel)
    return log_of_arrays(np.eye(2)[query], panel=panel, answers=answers, truth=truth, errors=errs), query


@pytest.mark.parametrize("learner", ["linear", CompSum(hidden=(), fee_weight=0.0, training=EXACT)])
def test_a_policy_asks_as_many_as_are_best(learner):
    log, query = regions()
    settings = SurrogateCardinality(fee_weights=(1.0, 3.0), hidden=(), training=EXACT)
    policy = fit(log, learner=learner, committee="majority", cardinality=settings, cv=3, base="none")

    def asked(**target):
        return policy.decide({"X": np.eye(2)}, Target(**target)).k.tolist()

    # One is right at once; of the others three agree, where a third error is worth more than two more fees.
    assert asked(fee_weight=1.0) == [1, 3]
    assert asked(fee_weight=3.0) == [1, 1]
    np.testing.assert_array_equal(policy.tried.prices, [1.0, 3.0])
    # Out of fold too, but for the few rows by which a fold's best weights are chosen.
    assert (policy.tried.sizes == [np.where(query == 0, 1, 3), np.ones(len(query))]).mean() > 0.9
    first = policy.tried.validated(policy.unit)[0]
    assert first["error"] == pytest.approx(0.0, abs=0.05)
    assert first["mean_fee"] == pytest.approx(0.2, abs=0.03)
    assert asked(budget=0.25) == [1, 3]
    assert asked(budget=0.12) == [1, 1]
    assert asked(k=2) == [2, 2]
    with pytest.raises(InvalidInputError, match=r"trained at \(1, 3\), got 0.7"):
        asked(fee_weight=0.7)


def test_what_needs_the_truth_can_be_what_k_is_learned_from():
    # Of two experts one is always right, nobody knows which: a vote gains nothing from both, the best of them all.
    n = 80
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    errors = np.column_stack([np.arange(n) % 2, 1 - np.arange(n) % 2]).astype(float)
    panel = Panel(Panel.two_stage({"a": 0.1, "b": 0.1}).entities[1:])
    answers = Answers.from_table(np.where(errors == 1, 1 - truth[:, None], truth[:, None]), panel)
    log = log_of_arrays(np.ones((n, 1)), panel=panel, answers=answers, truth=truth)
    for metric, best in ((None, 1), ("majority", 1), ("best-of-k", 2)):
        settings = SurrogateCardinality(fee_weights=(1.0,), metric=metric, hidden=(), training=EXACT)
        policy = fit(log, learner="linear", committee="majority", cardinality=settings, cv=2, base="none")
        assert policy.decide({"X": np.ones((1, 1))}, Target(fee_weight=1.0)).k.tolist() == [best]
        # What is reported is what is deployed, whatever k was learned from.
        assert policy.tried.validated(policy.unit)[0]["error"] == pytest.approx(0.5, abs=0.15)


def test_there_are_prices_of_its_own(log, new):
    few = log.rows(np.arange(100))
    settings = SurrogateCardinality(hidden=(8,), training=QUICK)
    policy = fit(few, learner="linear", cardinality=settings, base="none", cv=2)
    prices = policy.tried.prices
    assert len(prices) == 17
    np.testing.assert_array_equal(prices, policy.cardinality.networks.fee_weights)
    seen = policy.see(new)
    for price in prices[[0, 8, 16]]:
        assert set(policy.decide(seen, Target(fee_weight=float(price))).k) <= {1, 2, 3, 4}
    # A budget is met by one or two of them.
    target = Target(budget=float(np.median([point["mean_fee"] for point in policy.tried.validated(policy.unit)])))
    found = policy.setting(target)
    here, there = (policy.decide(seen, Target(fee_weight=price)).k for price in (found.fee_weight, found.other))
    np.testing.assert_array_equal(policy.decide(seen, target).k, np.where(seen.coins < found.share, there, here))
    # One query alone is decided as in company.
    for i in range(0, 400, 50):
        assert policy.decide(policies.row(new, i), target).k[0] == policy.decide(seen, target).k[i]


def test_it_is_asked_for_by_name(log):
    few = log.rows(np.arange(60))
    with pytest.raises(InvalidInputError, match="`cardinality` must be one of 'curve', 'surrogate'"):
        fit(few, learner="linear", cardinality="surogate", base="none", cv=2)
    named = fit(few, learner="linear", cardinality="surrogate", base="none", cv=2)
    assert len(named.cardinality.networks.fee_weights) == 17


def test_without_it_the_curve_answers_for_every_price(policy, new):
    assert policy.cardinality.networks is None
    policy.decide(new, Target(fee_weight=0.123))


def test_k_is_learned_from_the_committees_that_can_be_scored(new):
    sparse = read_log(synthetic.classification(500, missing=0.3), synthetic.COLUMNS)
    longer = Training(epochs=40, batch=64, rate=2e-2)
    settings = SurrogateCardinality(fee_weights=(0.0, 10.0), hidden=(8,), training=longer)
    fitted = fit(sparse, learner="linear", committee="log-odds-vote", cardinality=settings, base="none", cv=2)
    free, dear = (fitted.decide(new, Target(fee_weight=price)).k for price in (0.0, 10.0))
    assert free.mean() > dear.mean() + 0.3
    assert dear.mean() < 1.3
    assert all(np.isfinite(point["error"]) for point in fitted.tried.validated(fitted.unit))


def test_grades_alone_ask_one():
    fitted = fit(
        read_log(synthetic.grades(300), synthetic.GRADED),
        learner=CompSum(hidden=(16,), fee_weight=0.2, training=policies.COMP_SUM.training),
        cardinality=SurrogateCardinality(fee_weights=(0.2,), hidden=(8,), training=QUICK),
        cv=2,
    )
    new = synthetic.grades(300, seed=1)
    decisions = fitted.decide(new, Target(fee_weight=0.2))
    assert (decisions.k == 1).all()
    assert (decisions.order[:, 0] == np.where(new["x_0"] < 0, 0, 1)).mean() > 0.8


def test_what_mistakes_cost_is_learned_from_as_many_queries_as_shares_are():
    rng = np.random.default_rng(0)
    X, expected = rng.normal(size=(1000, 3)), rng.random((1000, 3))
    order = np.tile(np.arange(3), (1000, 1))
    costs = np.where(rng.random((1000, 3)) < 0.05, 20.0, 0.0)
    spread = [
        Curve.fit(X, expected, [order], [costs], weighed=weighed).predict(X, expected, order).std()
        for weighed in (True, False)
    ]
    # Nothing is to be learned: whatever differs is chance.
    assert spread[0] < 0.6 * spread[1]

"""The paper's two algorithms in the router: a ranking with its price baked in, and k(x) at the prices it learned."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from askwho.router import CardinalityNetwork, Router, SurrogateCardinality  # noqa: E402
from askwho.router._rows import coins  # noqa: E402

from askwho import Answers, InvalidInputError, Panel  # noqa: E402
from askwho.data import Columns, read_log  # noqa: E402
from askwho.engine import Training  # noqa: E402
from askwho.evaluation import evaluate  # noqa: E402
from askwho.learners import CompSum, log_shares  # noqa: E402
from askwho.policy import fit_policy  # noqa: E402
from tests import oracles, synthetic  # noqa: E402

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
POLICY = CompSum(hidden=(16,), fee_weight=0.3, training=Training(epochs=25, batch=64, rate=1e-2))
# Whole batches and no hidden layer: on queries that are one-hot the minimiser itself is found.
EXACT = Training(epochs=80, batch=100_000, rate=0.1)
QUICK = Training(epochs=4, batch=64, rate=1e-2)


@pytest.fixture(scope="module")
def log():
    return read_log(synthetic.classification(600), COLUMNS)


@pytest.fixture(scope="module")
def policy(log):
    return fit_policy(log, learner=POLICY, base="none", cv=3)


@pytest.fixture(scope="module")
def new():
    return synthetic.classification(300, seed=1)


@pytest.fixture(scope="module")
def asked(policy, new):
    return Answers.from_table({n: new[f"answer_{n}"] for n in policy.panel.names}, policy.panel)


# The ranking.


def test_it_ranks_at_the_price_it_was_trained_with(policy, new, log):
    def first(fitted):
        return np.array(fitted.panel.names)[fitted.select(new, k=1).order[:, 0]]

    assert (first(policy) == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.85
    free = CompSum(hidden=(16,), fee_weight=0.0, training=POLICY.training)
    assert (first(fit_policy(log.rows(np.arange(300)), learner=free, base="none", cv=2)) == "both").mean() > 0.5


def test_any_k_is_answered_from_one_ranking(policy, new):
    largest = policy.select(new, k=4)
    np.testing.assert_array_equal(np.sort(largest.order, axis=1), np.tile(np.arange(4), (300, 1)))
    for k in range(1, 5):
        selection = policy.select(new, k=k)
        np.testing.assert_array_equal(selection.order, largest.order)
        assert (selection.k == k).all()
    with pytest.raises(InvalidInputError, match="`k` must be between 1 and 4"):
        policy.select(new, k=5)


def test_its_scores_are_the_networks_and_rank_the_order(policy, new):
    selection = policy.select(new, k=2)
    np.testing.assert_allclose(selection.scores, policy.router.scorer_.scores(policy.features(new))[0], atol=1e-9)
    ranked = np.take_along_axis(selection.scores, selection.order, axis=1)
    assert (np.diff(ranked, axis=1) <= 0).all()


@pytest.mark.parametrize(
    "target", [{"k": 2, "fees": [0.0] * 4}, {"fee_weight": 0.3, "fees": [1.0] * 4}, {"k": 2, "fee_weight": 0.3}]
)
def test_it_cannot_be_priced_anew(policy, new, target):
    with pytest.raises(InvalidInputError) as error:
        policy.select(new, **target)
    assert str(error.value) == (
        "The price is baked into the policy 'top-k': it ranks for any `k` and any number of entities, not at other "
        "fees. Fit again with another `fee_weight`, or use a learner of expected errors."
    )


def test_who_is_away_is_not_asked_and_the_others_keep_their_order(policy, new):
    away = policy.panel.index("both")
    available = np.arange(4) != away
    everyone = policy.select(new, k=4).order
    fewer = policy.select(new, k=3, available=available)
    assert not fewer.members[:, away].any()
    np.testing.assert_array_equal(fewer.order[:, :3], np.array([row[row != away] for row in everyone]))
    assert not policy.select(new, fee_weight=0.0, available=available).members[:, away].any()
    with pytest.raises(InvalidInputError, match="between 1 and 3"):
        policy.select(new, k=4, available=available)


def test_a_budget_is_met_on_held_out_rows(policy, new):
    for budget in (0.2, 0.5, 1.0):
        assert synthetic.tried(policy.router.rows_, policy.router.setting_for(budget=budget))[0] <= budget
        selection = policy.select(new, budget=budget)
        assert selection.fee.mean() <= 1.3 * budget
        np.testing.assert_array_equal(selection.order, policy.select(new, k=1).order)
    with pytest.raises(InvalidInputError, match="`budget` must be at least"):
        policy.select(new, budget=1e-6)


def test_dearer_money_asks_fewer(policy, new):
    sizes = [policy.select(new, fee_weight=weight).k.mean() for weight in (0.0, 0.1, 1.0, 10.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 > sizes[-1]


def test_votes_weighed_by_its_scores_are_among_the_committees(policy, log):
    trials = policy.router.committee_trials_
    assert {"majority", "log-odds-vote", "weighted-vote"} <= set(trials)
    assert policy.router.committee_ in ("posterior", min(trials, key=trials.get))
    plain = fit_policy(log.rows(np.arange(200)), learner="linear", base="none", cv=2)
    assert "weighted-vote" not in plain.router.committee_trials_


def test_a_weighted_vote_is_weighed_by_the_softmax_of_scores(log, new, asked):
    fitted = fit_policy(
        log.rows(np.arange(300)), learner=CompSum(training=QUICK), committee="weighted-vote", base="none", cv=2
    )
    selection = fitted.select(new, k=3)
    said, decided = fitted.combine(selection, asked, new).at(selection.k)
    assert decided.all()
    for i in range(0, 300, 10):
        order = selection.order[i, :3]
        weights = oracles.softmax(selection.scores[i, order].tolist(), [True] * 3)
        assert said[i] == oracles.vote(asked.values[i, order].tolist(), [True] * 3, weights, "rank")


def test_numbers_are_averaged_by_its_scores():
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
    table = synthetic.regression(400)
    settings = CompSum(hidden=(16,), fee_weight=0.5, error_bound=1.0, training=POLICY.training)
    fitted = fit_policy(read_log(table, columns), learner=settings, committee="weighted-mean", base="none", cv=2)
    new = synthetic.regression(200, seed=1)
    first = np.array(fitted.panel.names)[fitted.select(new, k=1).order[:, 0]]
    assert (first == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.8
    answers = Answers.from_table({n: new[f"answer_{n}"] for n in fitted.panel.names}, fitted.panel)
    selection = fitted.select(new, k=2)
    said, _ = fitted.combine(selection, answers, new).at(selection.k)
    for i in range(0, 200, 20):
        order = selection.order[i, :2]
        weights = oracles.softmax(selection.scores[i, order].tolist(), [True] * 2)
        expected = oracles.average(answers.values[i, order].tolist(), [True] * 2, weights)
        assert said[i] == pytest.approx(expected, rel=1e-9)


def test_expected_errors_are_calibrated_chances_that_rise_as_scores_fall(policy, new, asked):
    X = policy.features(new)
    expected = policy.router.expected_errors(X)
    assert expected.min() >= 0
    assert expected.max() <= 1
    wrong = (asked.values != new["truth"][:, None]).astype(float)
    np.testing.assert_allclose(expected.mean(axis=0), wrong.mean(axis=0), atol=0.08)
    scores = policy.router.scorer_.scores(X)[0]
    for j in range(4):
        falling = np.argsort(-scores[:, j], kind="stable")
        assert (np.diff(expected[falling, j]) >= -1e-9).all()
    # They tell the regions apart, for those who are good in one of them.
    left = policy.panel.index("left")
    assert expected[new["x_0"] < -0.2, left].mean() < expected[new["x_0"] > 0.2, left].mean() - 0.3


def test_past_two_only_the_first_is_asked(log, new):
    with pytest.warns(UserWarning, match="only the first entity is ranked"):
        fitted = fit_policy(
            log.rows(np.arange(200)), learner=CompSum(u=2.0, fee_weight=0.3, training=QUICK), base="none", cv=2
        )
    assert (fitted.select(new, fee_weight=0.0).k == 1).all()
    assert (fitted.select(new, k=1).k == 1).all()
    with pytest.raises(InvalidInputError, match="`k` must be between 1 and 1, got 2"):
        fitted.select(new, k=2)


def test_a_surrogate_is_chosen_by_its_name(log):
    few = log.rows(np.arange(100))
    router = fit_policy(few, learner="top-k", base="none", cv=2).router
    assert router.learner_name_ == "top-k"
    assert set(router.trials_) == {"top-k"}
    with pytest.raises(InvalidInputError, match="`learner` must be one of 'auto'"):
        fit_policy(few, learner="top-q", base="none", cv=2)
    with pytest.raises(InvalidInputError, match="which is for labels and experts"):
        fit_policy(few, learner="one-vs-all", base="none", cv=2)


def test_the_same_seed_gives_the_same_policy(log, new):
    few, settings = log.rows(np.arange(150)), CompSum(hidden=(8,), training=QUICK)
    cardinality = SurrogateCardinality(fee_weights=(0.1, 1.0), hidden=(8,), training=QUICK)

    def decided(seed):
        fitted = fit_policy(few, learner=settings, cardinality=cardinality, base="none", cv=2, random_state=seed)
        return fitted.select(new, fee_weight=0.1)

    once, twice, other = decided(5), decided(5), decided(6)
    np.testing.assert_array_equal(once.scores, twice.scores)
    np.testing.assert_array_equal(once.k, twice.k)
    assert np.abs(once.scores - other.scores).max() > 1e-3


def test_it_takes_a_log_with_half_of_the_answers(new):
    sparse = read_log(synthetic.classification(800, missing=0.5), COLUMNS)
    fitted = fit_policy(sparse, learner=POLICY, base="none", cv=2)
    first = np.array(fitted.panel.names)[fitted.select(new, k=1).order[:, 0]]
    assert (first == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.75
    assert np.isfinite(fitted.router.expected_errors(fitted.features(new))).all()


def one_stage(n=500, seed=0):
    """Three labels and two experts; the first feature tells the label, the second who is right of the experts."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    truth = np.digitize(X[:, 0], [-0.33, 0.33])
    truth = np.where(rng.random(n) < 0.3, rng.integers(0, 3, n), truth)
    wrong = (truth + 1) % 3
    said = np.column_stack([np.where(X[:, 1] < 0, truth, wrong), np.where(X[:, 1] >= 0, truth, wrong)])
    panel = Panel.one_stage([0, 1, 2], {"low": 0.05, "high": 0.05})
    answers = Answers.from_table(said, panel)
    errors = (answers.values != truth[:, None]).astype(float)
    return X, truth, panel, answers, errors


@pytest.mark.parametrize("surrogate", ["top-k", "asymmetric-softmax", "mozannar-sontag"])
def test_labels_and_experts_are_ranked_together(surrogate):
    X, truth, panel, answers, errors = one_stage()
    settings = CompSum(surrogate=surrogate, hidden=(16,), training=Training(epochs=30, batch=64, rate=3e-2))
    router = Router(learner=settings, cv=2).fit(X, errors=errors, panel=panel, answers=answers, truth=truth)
    fresh, _, _, _, wrong = one_stage(seed=1)
    order = router.select(fresh, k=3).order
    # The expert of the region, who is never wrong; then, more often than not, the likely label.
    assert (order[:, 0] == np.where(fresh[:, 1] < 0, 3, 4)).mean() > 0.8
    assert np.take_along_axis(wrong, order[:, :1], axis=1).mean() < 0.12
    likely = np.digitize(fresh[:, 0], [-0.33, 0.33])
    assert (order[:, :2] == likely[:, None]).any(axis=1).mean() > 0.6


def test_an_evaluation_knows_that_the_ranking_has_one_price(policy):
    held = read_log(synthetic.classification(200, seed=2), COLUMNS)
    found = evaluate(policy, held, draws=5)
    assert [point["k"] for point in found["fixed_k"]] == [1, 2, 3, 4]
    assert [point["fee_weight"] for point in found["adaptive"]] == [float(p) for p in policy.router.rows_.prices]
    assert found["adaptive"][0]["mean_fee"] > found["adaptive"][-1]["mean_fee"]


# k(x).


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
        np.testing.assert_array_equal(chooser.sizes(np.eye(4), float(price), width=4), best)


def test_k_is_the_best_in_expectation():
    # Outcomes that differ under one query: the mean decides, not the most frequent best.
    rng = np.random.default_rng(0)
    n = 3000
    X, query = np.eye(2)[np.arange(n) % 2], np.arange(n) % 2
    chance = np.array([[0.9, 0.4, 0.1], [0.3, 0.3, 0.1]])
    errors = (rng.random((n, 3)) < chance[query]).astype(float)
    fees = np.tile([[0.1, 0.2, 0.7]], (n, 1))
    chooser = network(SurrogateCardinality(hidden=(), training=EXACT), X, errors, fees, np.array([0.0, 1.0, 8.0]))
    found = [chooser.sizes(np.eye(2), price, width=3).tolist() for price in (0.0, 1.0, 8.0)]
    assert found == [[3, 3], [2, 1], [1, 1]]


def test_a_committee_cannot_be_larger_than_what_is_there():
    X, errors, fees, query = lessons()
    chooser = network(SurrogateCardinality(hidden=(), training=EXACT), X, errors[query], fees[query])
    assert chooser.sizes(np.eye(4), 0.0, width=4).max() == 4
    assert chooser.sizes(np.eye(4), 0.0, width=3).max() <= 3
    assert (chooser.sizes(np.eye(4), 0.0, width=1) == 1).all()


def test_only_trained_prices_are_answered():
    X, errors, fees, query = lessons()
    chooser = network(SurrogateCardinality(hidden=(), training=QUICK), X, errors[query], fees[query])
    with pytest.raises(InvalidInputError) as error:
        chooser.sizes(np.eye(4), 0.5, width=4)
    assert str(error.value) == (
        "`fee_weight` must be one that k(x) was trained at (0, 0.3, 1, 5), got 0.5: fit with it, or with "
        "cardinality='curve', which answers for every price."
    )
    # A price that went through text comes back.
    np.testing.assert_array_equal(
        chooser.sizes(np.eye(4), float("0.3000000001"), width=4), chooser.sizes(np.eye(4), 0.3, width=4)
    )


def test_equals_go_to_the_smaller_k():
    class Even:
        def scores(self, X):
            return log_shares(np.zeros((1, len(X), 3)))

    assert (CardinalityNetwork(np.array([1.0]), Even()).sizes(np.ones((5, 2)), 1.0, width=3) == 1).all()


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
        np.testing.assert_array_equal(chooser.sizes(np.eye(4), float(price), width=4), best)
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
        np.testing.assert_array_equal(chooser.sizes(np.eye(4), float(price), width=4), best)


def test_one_price_is_enough():
    X, errors, fees, query = lessons()
    chooser = network(
        SurrogateCardinality(hidden=(), training=EXACT), X, errors[query], fees[query], np.array([0.3]), groups=query
    )
    np.testing.assert_array_equal(chooser.sizes(X, 0.3, width=4), brute_force(errors, fees, 0.3)[query])


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
    ],
)
def test_settings_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(InvalidInputError) as error:
        SurrogateCardinality(**options)
    assert message in str(error.value)


# k(x) in the router.


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
    return np.eye(2)[query], truth, panel, Answers.from_table(values, panel), errs, query


@pytest.mark.parametrize("learner", ["linear", CompSum(hidden=(), fee_weight=0.0, training=EXACT)])
def test_the_router_asks_as_many_as_are_best(learner):
    X, truth, panel, answers, errors, query = regions()
    settings = SurrogateCardinality(fee_weights=(1.0, 3.0), hidden=(), training=EXACT)
    router = Router(learner=learner, committee="majority", cardinality=settings, cv=3)
    router.fit(X, errors=errors, panel=panel, answers=answers, truth=truth)
    # One is right at once; of the others three agree, where a third error is worth more than two more fees.
    np.testing.assert_array_equal(router.select(np.eye(2), fee_weight=1.0).k, [1, 3])
    np.testing.assert_array_equal(router.select(np.eye(2), fee_weight=3.0).k, [1, 1])
    np.testing.assert_array_equal(router.rows_.prices, [1.0, 3.0])
    # Out of fold too, but for the few rows by which a fold's best weights are chosen.
    assert (router.rows_.sizes == [np.where(query == 0, 1, 3), np.ones(len(query))]).mean() > 0.9
    assert router.validated_[0]["error"] == pytest.approx(0.0, abs=0.05)
    assert router.validated_[0]["mean_fee"] == pytest.approx(0.2, abs=0.03)
    np.testing.assert_array_equal(router.select(np.eye(2), budget=0.25).k, [1, 3])
    np.testing.assert_array_equal(router.select(np.eye(2), budget=0.12).k, [1, 1])
    assert router.select(np.eye(2), k=2).k.tolist() == [2, 2]
    with pytest.raises(InvalidInputError, match=r"trained at \(1, 3\), got 0.7"):
        router.select(np.eye(2), fee_weight=0.7)


def test_what_needs_the_truth_can_be_what_k_is_learned_from():
    # Of two experts one is always right, nobody knows which: a vote gains nothing from both, the best of them all.
    n = 80
    rng = np.random.default_rng(0)
    X, truth = np.ones((n, 1)), rng.integers(0, 2, n)
    errors = np.column_stack([np.arange(n) % 2, 1 - np.arange(n) % 2]).astype(float)
    panel = Panel(Panel.two_stage({"a": 0.1, "b": 0.1}).entities[1:])
    answers = Answers.from_table(np.where(errors == 1, 1 - truth[:, None], truth[:, None]), panel)
    for metric, best in ((None, 1), ("majority", 1), ("best-of-k", 2)):
        settings = SurrogateCardinality(fee_weights=(1.0,), metric=metric, hidden=(), training=EXACT)
        router = Router(learner="linear", committee="majority", cardinality=settings, cv=2)
        router.fit(X, errors=errors, panel=panel, answers=answers, truth=truth)
        assert router.select(np.ones((1, 1)), fee_weight=1.0).k.tolist() == [best]
        # What is reported is what is deployed, whatever k was learned from.
        assert router.validated_[0]["error"] == pytest.approx(0.5, abs=0.15)


def test_the_router_has_prices_of_its_own(log, new):
    few = log.rows(np.arange(100))
    settings = SurrogateCardinality(hidden=(8,), training=QUICK)
    router = fit_policy(few, learner="linear", cardinality=settings, base="none", cv=2).router
    assert len(router.rows_.prices) == 17
    np.testing.assert_array_equal(router.rows_.prices, router.chooser_.fee_weights)
    X = np.column_stack([new[f"x_{i}"] for i in range(3)])
    for price in router.rows_.prices[[0, 8, 16]]:
        assert set(router.select(X, fee_weight=float(price)).k) <= {1, 2, 3, 4}
    # A budget is met by one or two of them.
    budget = float(np.median([point["mean_fee"] for point in router.validated_]))
    found = router.setting_for(budget=budget)
    here, there = (router.select(X, fee_weight=price).k for price in (found.fee_weight, found.other))
    aside = coins(X.astype(np.float32)) < found.share
    np.testing.assert_array_equal(router.select(X, budget=budget).k, np.where(aside, there, here))
    named = fit_policy(few, learner="linear", cardinality="surrogate", base="none", cv=2).router
    np.testing.assert_array_equal(named.rows_.prices, router.rows_.prices)
    with pytest.raises(InvalidInputError, match="`cardinality` must be one of 'curve', 'surrogate'"):
        fit_policy(few, learner="linear", cardinality="surogate", base="none", cv=2)


def test_the_curve_is_as_it_was_beside_it(log, new):
    few = log.rows(np.arange(200))
    plain = fit_policy(few, learner="linear", base="none", cv=2)
    assert plain.router.chooser_ is None
    plain.select(new, fee_weight=0.123)


def test_k_is_learned_from_the_committees_that_can_be_scored(new):
    sparse = read_log(synthetic.classification(500, missing=0.3), COLUMNS)
    longer = Training(epochs=40, batch=64, rate=2e-2)
    settings = SurrogateCardinality(fee_weights=(0.0, 10.0), hidden=(8,), training=longer)
    fitted = fit_policy(sparse, learner="linear", committee="log-odds-vote", cardinality=settings, base="none", cv=2)
    free, dear = (fitted.select(new, fee_weight=price).k for price in (0.0, 10.0))
    assert free.mean() > dear.mean() + 0.3
    assert dear.mean() < 1.3
    assert all(np.isfinite(point["error"]) for point in fitted.router.validated_)


def test_grades_alone_ask_one():
    columns = Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0})
    fitted = fit_policy(
        read_log(synthetic.grades(300), columns),
        learner=CompSum(hidden=(16,), fee_weight=0.2, training=POLICY.training),
        cardinality=SurrogateCardinality(fee_weights=(0.2,), hidden=(8,), training=QUICK),
        cv=2,
    )
    new = synthetic.grades(300, seed=1)
    selection = fitted.select(new, fee_weight=0.2)
    assert (selection.k == 1).all()
    assert (selection.order[:, 0] == np.where(new["x_0"] < 0, 0, 1)).mean() > 0.8

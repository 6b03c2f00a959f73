"""The paper's policy: a ranking with its price baked in, for any k."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from askwho import Answers, InvalidInputError, Panel, Target  # noqa: E402
from askwho.data import read_log  # noqa: E402
from askwho.engine import Training  # noqa: E402
from askwho.evaluation import evaluate  # noqa: E402
from askwho.fitting import SurrogateCardinality, fit, priced, priced_cardinality  # noqa: E402
from askwho.learners import CompSum  # noqa: E402
from tests import oracles, policies, synthetic  # noqa: E402
from tests.logs import log_of_arrays  # noqa: E402

QUICK = Training(epochs=4, batch=64, rate=1e-2)


@pytest.fixture(scope="module")
def policy():
    return policies.fitted(policies.PRICED)


@pytest.fixture(scope="module")
def new():
    return synthetic.classification(300, seed=1)


@pytest.fixture(scope="module")
def asked(policy, new):
    return policies.said(policy, new)


def first(policy, queries):
    return np.array(policy.panel.names)[policy.decide(queries, Target(k=1)).order[:, 0]]


def test_it_ranks_at_the_price_it_was_trained_with(policy, new, log):
    assert (first(policy, new) == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.85
    free = CompSum(hidden=(16,), fee_weight=0.0, training=policies.COMP_SUM.training)
    assert (first(fit(log.rows(np.arange(300)), learner=free, base="none", cv=2), new) == "both").mean() > 0.5


def test_any_k_is_answered_from_one_ranking(policy, new):
    largest = policy.decide(new, Target(k=4))
    np.testing.assert_array_equal(np.sort(largest.order, axis=1), np.tile(np.arange(4), (300, 1)))
    for k in range(1, 5):
        decisions = policy.decide(new, Target(k=k))
        np.testing.assert_array_equal(decisions.order, largest.order)
        assert (decisions.k == k).all()
    with pytest.raises(InvalidInputError, match="`k` must be between 1 and 4"):
        policy.decide(new, Target(k=5))


def test_its_scores_are_the_networks_and_rank_the_order(policy, new):
    decisions = policy.decide(new, Target(k=2))
    assert policy.judge.priced
    scores = decisions.seen.judged.scores
    np.testing.assert_allclose(scores, policy.judge.learner.scores(policy.encoder.transform(new))[0], atol=1e-9)
    np.testing.assert_array_equal(decisions.selection.scores, scores)
    assert (np.diff(np.take_along_axis(scores, decisions.order, axis=1), axis=1) <= 0).all()


@pytest.mark.parametrize(
    ("target", "given"),
    [
        ({"k": 2}, {"fees": [0.0] * 4}),
        ({"fee_weight": 0.3}, {"fees": [1.0] * 4}),
        ({"k": 2, "fee_weight": 0.3}, {}),
    ],
)
def test_it_cannot_be_priced_anew(policy, new, target, given):
    with pytest.raises(InvalidInputError) as error:
        policy.decide(new, Target(**target), **given)
    assert str(error.value) == (
        "The price is baked into the policy 'top-k': it ranks for any `k` and any number of entities, not at other "
        "fees. Fit again with another `fee_weight`, or use a learner of expected errors."
    )


def test_who_is_away_is_not_asked_and_the_others_keep_their_order(policy, new):
    away = policy.panel.index("both")
    available = np.arange(4) != away
    everyone = policy.decide(new, Target(k=4)).order
    fewer = policy.decide(new, Target(k=3), available=available)
    assert not fewer.members[:, away].any()
    np.testing.assert_array_equal(fewer.order[:, :3], np.array([row[row != away] for row in everyone]))
    assert not policy.decide(new, Target(fee_weight=0.0), available=available).members[:, away].any()
    with pytest.raises(InvalidInputError, match="between 1 and 3"):
        policy.decide(new, Target(k=4), available=available)


def test_a_budget_is_met_on_held_out_rows(policy, new):
    for budget in (0.2, 0.5, 1.0):
        target = Target(budget=budget)
        assert synthetic.tried(policy.tried, policy.setting(target))[0] <= budget
        decisions = policy.decide(new, target)
        assert decisions.fee.mean() <= 1.3 * budget
        np.testing.assert_array_equal(decisions.order, policy.decide(new, Target(k=1)).order)
    with pytest.raises(InvalidInputError, match="`budget` must be at least"):
        policy.decide(new, Target(budget=1e-6))


def test_dearer_money_asks_fewer(policy, new):
    sizes = [policy.decide(new, Target(fee_weight=weight)).k.mean() for weight in (0.0, 0.1, 1.0, 10.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 > sizes[-1]


def test_votes_weighed_by_its_scores_are_among_the_committees(policy):
    trials = policy.facts.committees
    assert {"majority", "log-odds-vote", "weighted-vote"} <= set(trials)
    assert policy.combiner.name in ("posterior", min(trials, key=trials.get))
    assert "weighted-vote" not in policies.fitted("classes").facts.committees


def test_a_weighted_vote_is_weighed_by_the_softmax_of_scores(log, new, asked):
    settings = {"learner": CompSum(training=QUICK), "committee": "weighted-vote", "base": "none", "cv": 2}
    fitted = fit(log.rows(np.arange(300)), **settings)
    decided = fitted.combine(fitted.decide(new, Target(k=3)), asked)
    assert decided.outcome.decided.all()
    for i in range(0, 300, 10):
        order = decided.order[i, :3]
        weights = oracles.softmax(decided.seen.judged.scores[i, order].tolist(), [True] * 3)
        assert decided.outcome.values[i] == oracles.vote(asked.values[i, order].tolist(), [True] * 3, weights, "rank")


def test_numbers_are_averaged_by_its_scores():
    settings = CompSum(hidden=(16,), fee_weight=0.5, error_bound=1.0, training=policies.COMP_SUM.training)
    log = read_log(synthetic.regression(400), synthetic.COLUMNS)
    fitted = fit(log, learner=settings, committee="weighted-mean", base="none", cv=2)
    new = synthetic.regression(200, seed=1)
    assert (first(fitted, new) == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.8
    answers = policies.said(fitted, new)
    decided = fitted.combine(fitted.decide(new, Target(k=2)), answers)
    for i in range(0, 200, 20):
        order = decided.order[i, :2]
        weights = oracles.softmax(decided.seen.judged.scores[i, order].tolist(), [True] * 2)
        expected = oracles.average(answers.values[i, order].tolist(), [True] * 2, weights)
        assert decided.outcome.values[i] == pytest.approx(expected, rel=1e-9)


def test_expected_errors_are_calibrated_chances_that_rise_as_scores_fall(policy, new, asked):
    seen = policy.see(new)
    expected, scores = seen.expected, seen.judged.scores
    assert expected.min() >= 0
    assert expected.max() <= 1
    wrong = (asked.values != new["truth"][:, None]).astype(float)
    np.testing.assert_allclose(expected.mean(axis=0), wrong.mean(axis=0), atol=0.08)
    for j in range(4):
        falling = np.argsort(-scores[:, j], kind="stable")
        assert (np.diff(expected[falling, j]) >= -1e-9).all()
    # They tell the regions apart, for those who are good in one of them.
    left = policy.panel.index("left")
    assert expected[new["x_0"] < -0.2, left].mean() < expected[new["x_0"] > 0.2, left].mean() - 0.3


def test_past_two_only_the_first_is_asked(log, new):
    with pytest.warns(UserWarning, match="only the first entity is ranked"):
        fitted = fit(
            log.rows(np.arange(200)), learner=CompSum(u=2.0, fee_weight=0.3, training=QUICK), base="none", cv=2
        )
    assert (fitted.decide(new, Target(fee_weight=0.0)).k == 1).all()
    assert (fitted.decide(new, Target(k=1)).k == 1).all()
    with pytest.raises(InvalidInputError, match="`k` must be between 1 and 1, got 2"):
        fitted.decide(new, Target(k=2))


def test_a_surrogate_is_chosen_by_its_name(log):
    few = log.rows(np.arange(100))
    fitted = fit(few, learner="top-k", base="none", cv=2)
    assert fitted.judge.name == "top-k"
    assert set(fitted.facts.learners) == {"top-k"}
    with pytest.raises(InvalidInputError, match="`learner` must be 'auto', one of"):
        fit(few, learner="top-q", base="none", cv=2)
    with pytest.raises(InvalidInputError, match="which is for labels and experts"):
        fit(few, learner="one-vs-all", base="none", cv=2)


def test_a_price_is_baked_into_what_is_given_by_name_alone():
    assert priced("top-k", 0.3) == CompSum(surrogate="top-k", fee_weight=0.3)
    assert priced("linear", 0.3) == "linear"
    assert priced(policies.COMP_SUM, 0.7) is policies.COMP_SUM
    assert priced_cardinality("surrogate", 0.3) == SurrogateCardinality(fee_weights=(0.3,))
    assert priced_cardinality("curve", 0.3) == "curve"


def test_the_same_seed_gives_the_same_policy(log, new):
    few, settings = log.rows(np.arange(150)), CompSum(hidden=(8,), training=QUICK)
    cardinality = SurrogateCardinality(fee_weights=(0.1, 1.0), hidden=(8,), training=QUICK)

    def decided(seed):
        fitted = fit(few, learner=settings, cardinality=cardinality, base="none", cv=2, random_state=seed)
        return fitted.decide(new, Target(fee_weight=0.1))

    once, twice, other = (decided(seed) for seed in (5, 5, 6))
    scores = [decisions.seen.judged.scores for decisions in (once, twice, other)]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(once.k, twice.k)
    assert np.abs(scores[0] - scores[2]).max() > 1e-3


def test_it_takes_a_log_with_half_of_the_answers(new):
    sparse = read_log(synthetic.classification(800, missing=0.5), synthetic.COLUMNS)
    fitted = fit(sparse, learner=policies.COMP_SUM, base="none", cv=2)
    assert (first(fitted, new) == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.75
    assert np.isfinite(fitted.see(new).expected).all()


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
    return X, panel, answers, truth


@pytest.mark.parametrize("surrogate", ["top-k", "asymmetric-softmax", "mozannar-sontag"])
def test_labels_and_experts_are_ranked_together(surrogate):
    X, panel, answers, truth = one_stage()
    settings = CompSum(surrogate=surrogate, hidden=(16,), training=Training(epochs=30, batch=64, rate=3e-2))
    policy = fit(log_of_arrays(X, panel=panel, answers=answers, truth=truth), learner=settings, cv=2)
    fresh, _, said, truth = one_stage(seed=1)
    wrong = said.values != truth[:, None]
    order = policy.decide({"X": fresh}, Target(k=3)).order
    # The expert of the region, who is never wrong; then, more often than not, the likely label.
    assert (order[:, 0] == np.where(fresh[:, 1] < 0, 3, 4)).mean() > 0.8
    assert np.take_along_axis(wrong, order[:, :1], axis=1).mean() < 0.12
    likely = np.digitize(fresh[:, 0], [-0.33, 0.33])
    assert (order[:, :2] == likely[:, None]).any(axis=1).mean() > 0.6


def test_an_evaluation_knows_that_the_ranking_has_one_price(policy):
    held = read_log(synthetic.classification(200, seed=2), synthetic.COLUMNS)
    found = evaluate(policy, held, draws=5)
    assert [point["k"] for point in found["fixed_k"]] == [1, 2, 3, 4]
    assert [point["fee_weight"] for point in found["adaptive"]] == [float(p) for p in policy.tried.prices]
    assert found["adaptive"][0]["mean_fee"] > found["adaptive"][-1]["mean_fee"]

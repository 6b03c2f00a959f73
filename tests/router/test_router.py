import itertools

import numpy as np
import pytest
from askwho.router import Calibration, Router, Rows
from askwho.router._scoring import Scoring

from askwho import Answers, InvalidInputError
from askwho.core import folds
from askwho.data import Columns, read_log
from askwho.policy import fit_policy
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)


@pytest.fixture(scope="module")
def log():
    return read_log(synthetic.classification(900), COLUMNS)


@pytest.fixture(scope="module")
def policy(log):
    return fit_policy(log, learner="linear", base="none", cv=3)


@pytest.fixture(scope="module")
def new():
    return synthetic.classification(400, seed=1)


def test_at_a_price_it_asks_the_cheap_expert_of_each_region(policy, new):
    selection = policy.select(new, fee_weight=0.3, k=1)
    first = np.array(policy.panel.names)[selection.order[:, 0]]
    assert (first == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.85


def test_for_nothing_it_asks_whoever_is_best(policy, new):
    first = np.array(policy.panel.names)[policy.select(new, fee_weight=0.0, k=1).order[:, 0]]
    assert (first == "both").mean() > 0.5


def test_dearer_money_spends_less(policy, new):
    fees = [policy.select(new, fee_weight=weight).fee.mean() for weight in (0.0, 0.1, 1.0, 10.0)]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(fees))
    assert fees[0] > fees[-1]


def test_a_budget_is_met_on_held_out_rows_and_about_met_on_new_ones(policy, new):
    budget = 0.3
    paid, _ = synthetic.tried(policy.router.rows_, policy.router.setting_for(budget=budget))
    assert paid <= budget
    assert policy.select(new, budget=budget).fee.mean() <= 1.3 * budget


def test_a_budget_between_two_prices_is_spent(policy):
    budget = 0.1
    alone = min(p["error"] for p in policy.router.validated_ if p["mean_fee"] <= budget)
    paid, erred = synthetic.tried(policy.router.rows_, policy.router.setting_for(budget=budget))
    assert 0.95 * budget < paid <= budget
    assert erred < 0.8 * alone


def test_an_accuracy_is_bought_at_the_least_fee(policy):
    paid, erred = synthetic.tried(policy.router.rows_, policy.router.setting_for(accuracy=0.15))
    assert erred <= 0.15
    assert paid <= min(p["mean_fee"] for p in policy.router.validated_ if p["error"] <= 0.15)


def test_every_mixture_of_prices_is_tried_on_the_rows_themselves(policy):
    rows = policy.router.rows_
    fees, errors = rows.means("classification")
    for place in (0, 1, 31, 32, 300, rows.places - 1):
        assert (fees[place], errors[place]) == pytest.approx(synthetic.tried(rows, rows.setting(place)))


def test_more_money_is_never_taken_to_buy_more_errors():
    means, n = np.array([0.30, 0.26, 0.32, 0.30, 0.24, 0.40, 0.38, 0.60]), 100
    errors = (np.arange(n) < (n * means)[:, None]).astype(float)
    fees = np.repeat(np.arange(8.0, 0.0, -1)[:, None], n, axis=1)
    rows = Rows(np.arange(8.0), errors, fees, np.ones((8, n), dtype=int))

    def price(**target):
        return rows.meeting("classification", **{"budget": None, "accuracy": None, **target}).fee_weight

    # Smoothed: the first two 0.28, the next three 0.287, the next two 0.39.
    assert [price(budget=money) for money in (8.0, 6.0, 4.0, 3.0, 2.0, 1.5)] == [1.0, 4.0, 4.0, 6.0, 6.0, 7.0]
    assert price(accuracy=0.395) == 6.0
    for fee in (0.1, 0.3, 0.7):
        alike = Rows(rows.prices, errors, np.full((8, n), fee), rows.sizes, None, np.linspace(0, 0.99, n))
        assert alike.meeting("classification", budget=fee, accuracy=None).share >= 0
    with pytest.raises(InvalidInputError, match=r"`accuracy` must be at least 0\.28, got 0\.25\."):
        price(accuracy=0.25)


def test_where_all_queries_toss_the_same_coin_a_budget_is_kept_all_the_same(policy):
    rows = policy.router.rows_
    alike = Rows(rows.prices, rows.errors, rows.fees, rows.sizes, None, np.full(rows.fees.shape[1], 0.3))
    for budget in (0.03, 0.08, 0.09, 0.5):
        found = alike.meeting("classification", budget=budget, accuracy=None)
        assert synthetic.tried(alike, found)[0] <= budget
    assert synthetic.tried(alike, alike.meeting("classification", budget=None, accuracy=0.2))[1] <= 0.2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, "One target must be given"),
        ({"budget": 1.0, "fee_weight": 0.1}, "One target must be given"),
        ({"budget": 1.0, "k": 2}, "One target must be given"),
        ({"k": 5}, "`k` must be between 1 and 4"),
        ({"budget": 1e-9}, "`budget` must be at least"),
        ({"accuracy": 0.0}, "`accuracy` must be at least"),
        ({"fee_weight": -1.0}, "`fee_weight` must be a finite number"),
        ({"budget": 1.0, "fees": [0.0, 0.0, 0.0, 0.0]}, "pass `fee_weight`"),
        ({"k": 1, "available": np.zeros(4, dtype=bool)}, "there is nobody to ask"),
    ],
)
def test_targets_that_cannot_be_met_are_refused(policy, new, target, message):
    with pytest.raises(InvalidInputError) as error:
        policy.select(new, **target)
    assert message in str(error.value)


def test_who_is_away_is_not_asked(policy, new):
    available = np.array([name != "both" for name in policy.panel.names])
    selection = policy.select(new, fee_weight=0.0, available=available)
    assert not selection.members[:, policy.panel.index("both")].any()
    with pytest.raises(InvalidInputError, match="between 1 and 3"):
        policy.select(new, k=4, available=available)


def test_new_fees_change_the_choice_without_a_refit(policy, new):
    free = policy.select(new, k=1, fee_weight=1.0, fees=[5.0, 5.0, 0.0, 5.0])
    assert (free.order[:, 0] == policy.panel.index("both")).all()


def test_committees_hear_only_whom_they_asked(policy, new):
    answers = Answers.from_table({n: new[f"answer_{n}"] for n in policy.panel.names}, policy.panel)
    selection = policy.select(new, k=1, fee_weight=0.3)
    said, decided = policy.combine(selection, answers, new).at(selection.k)
    expected = answers.values[np.arange(400), selection.order[:, 0]]
    assert decided.all()
    assert (said == expected).all()


def test_it_says_what_it_chose_and_by_how_much(log):
    router = fit_policy(log.rows(np.arange(300)), base="none", cv=3).router
    assert router.learner_name_ == min(router.trials_, key=router.trials_.get)
    assert router.committee_ in router.committee_trials_


def test_the_same_seed_gives_the_same_policy(log, new):
    few = log.rows(np.arange(300))
    once, twice = (
        fit_policy(few, learner="forest", cv=3, random_state=5).select(new, fee_weight=0.2) for _ in range(2)
    )
    np.testing.assert_array_equal(once.order, twice.order)
    np.testing.assert_array_equal(once.k, twice.k)


def test_a_log_with_few_answers_a_row_still_finds_the_experts(new):
    log = read_log(synthetic.classification(1500, missing=0.6), COLUMNS)
    policy = fit_policy(log, learner="linear", base="none", cv=3)
    first = np.array(policy.panel.names)[policy.select(new, fee_weight=0.3, k=1).order[:, 0]]
    assert (first == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.75


def test_grades_alone_teach_whom_to_believe():
    log = read_log(synthetic.grades(900), Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0}))
    policy = fit_policy(log, learner="linear", cv=3)
    first = policy.select(synthetic.grades(400, seed=1), fee_weight=0.2).order[:, 0]
    known = synthetic.grades(400, seed=1)["x_0"] < 0
    assert (first == np.where(known, 0, 1)).mean() > 0.85


def test_regression_weighs_experts_by_region():
    log = read_log(synthetic.regression(900), COLUMNS)
    policy = fit_policy(log, learner="linear", base="none", cv=3)
    new = synthetic.regression(400, seed=1)
    first = np.array(policy.panel.names)[policy.select(new, fee_weight=2.0, k=1).order[:, 0]]
    assert (first == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.8


def test_rows_of_a_group_never_teach_themselves():
    # Each group has its own random answer key: whoever sees a twin of a row in training would look far too good.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 4)
    X = rng.normal(size=(150, 3))[groups]
    errors = (rng.random((150, 2)) < 0.5).astype(float)[groups]
    fold = folds(groups, 3)
    assert all(len(set(fold[groups == g])) == 1 for g in range(150))
    from askwho import Panel  # noqa: PLC0415

    router = Router(learner="neighbours", cv=3).fit(X, errors=errors, panel=Panel.two_stage({"a": 1.0}), groups=groups)
    assert min(p["error"] for p in router.validated_) > 0.4


def test_calibration_of_one_row_is_that_of_many():
    rng = np.random.default_rng(0)
    raw = rng.random((500, 3))
    calibration = Calibration.fit(raw, (rng.random((500, 3)) < raw**2).astype(float))
    queries = np.concatenate([rng.uniform(-0.5, 1.5, (60, 3)), raw[:3], calibration.raw.T[:3], [[-3e6, 3e6, 0.5]]])
    one = np.concatenate([calibration.apply(queries[i : i + 1]) for i in range(len(queries))])
    np.testing.assert_allclose(one, calibration.apply(queries), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("fees", [None, [0.3, 0.0, 1.0, 0.2]])
@pytest.mark.parametrize("fee_weight", [0.0, 0.05, 0.4, 10.0])
def test_one_query_is_decided_as_among_many(policy, new, fee_weight, fees):
    X = policy.features(new)[:60]
    many = policy.router.select(X, fee_weight=fee_weight, fees=fees)
    one = [policy.router.select(row[None], fee_weight=fee_weight, fees=fees) for row in X]
    for name in ("order", "k"):
        np.testing.assert_array_equal(np.concatenate([getattr(each, name) for each in one]), getattr(many, name))
    np.testing.assert_allclose(np.concatenate([each.scores for each in one]), many.scores, rtol=1e-9)
    np.testing.assert_array_equal(np.concatenate([each.fee for each in one]), many.fee)


def test_calibration_moves_towards_the_truth_and_keeps_order():
    rng = np.random.default_rng(0)
    true = rng.uniform(0.1, 0.9, (4000, 1))
    errors = (rng.random(true.shape) < true).astype(float)
    squeezed = 0.5 + 0.3 * (true - 0.5)
    calibrated = Calibration.fit(squeezed, errors).apply(squeezed)
    assert np.abs(calibrated - true).mean() < 0.7 * np.abs(squeezed - true).mean()
    order = np.argsort(squeezed[:, 0])
    assert (np.diff(calibrated[order, 0]) >= -1e-9).all()


def test_a_query_alone_is_decided_as_in_company():
    rng = np.random.default_rng(0)
    n, classes = 500, 5
    X, truth = rng.normal(size=(n, 3)), rng.integers(0, classes, n)
    said = {f"answer_{j}": np.where(rng.random(n) < 0.45, truth, rng.integers(0, classes, n)) for j in range(5)}
    table = {f"x_{i}": X[:, i] for i in range(3)} | said | {"truth": truth}
    log = read_log(table, Columns(truth="truth", answers="answer_*", features="x_*"))
    policy = fit_policy(log, learner="linear", committee="log-odds-vote", base="none", cv=3)
    selection = policy.select(log.known, k=5)
    together, _ = policy.combine(selection, log.answers, log.known).at(selection.k)
    for i in range(0, n, 25):
        alone = {name: values[i : i + 1] for name, values in log.known.items()}
        one = policy.select(alone, k=5)
        answers = Answers(log.answers.values[i : i + 1], log.answers.states[i : i + 1])
        assert policy.combine(one, answers, alone).at(one.k)[0][0] == together[i]


def test_one_answer_a_row_never_asks_for_a_committee_nobody_could_score():
    table = synthetic.classification(300)
    keep = np.random.default_rng(0).integers(0, 4, 300)
    for j, name in enumerate(synthetic.FEES):
        table[f"answer_{name}"] = np.where(keep == j, table[f"answer_{name}"], None)
    policy = fit_policy(read_log(table, COLUMNS), learner="linear", base="none", cv=3)
    assert (policy.select(synthetic.classification(50, seed=1), fee_weight=0.1).k == 1).all()


def test_fees_that_differ_by_query_are_foreseen_from_the_features_and_charged_as_they_were(tmp_path):
    table = synthetic.classification(900)
    # Long queries (x_1 > 0) cost ten times as much at "both"; everybody else charges the same always.
    for name, fee in synthetic.FEES.items():
        table[f"fee_{name}"] = np.full(900, fee)
    table["fee_both"] = np.where(table["x_1"] > 0, 1.0, 0.1)
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*")
    policy = fit_policy(read_log(table, columns), learner="linear", base="none", cv=3)
    new = synthetic.classification(400, seed=1)
    selection = policy.select(new, fee_weight=0.5)
    both = policy.panel.index("both")
    asked = selection.members[:, both]
    assert asked[new["x_1"] < -0.3].mean() > asked[new["x_1"] > 0.3].mean() + 0.3
    foreseen = selection.fees[:, both]
    assert foreseen[new["x_1"] < -0.3].mean() < 0.5 * foreseen[new["x_1"] > 0.3].mean()

    from askwho.persistence import load, save  # noqa: PLC0415

    save(policy, tmp_path / "policy")
    np.testing.assert_allclose(load(tmp_path / "policy").select(new, fee_weight=0.5).fees, selection.fees)


@pytest.mark.parametrize(("area", "chosen"), [(0.1, "majority"), (0.0001, "posterior")])
def test_a_committee_that_knows_its_members_is_given_up_only_for_more_than_chance(monkeypatch, log, area, chosen):
    monkeypatch.setattr(Scoring, "area", lambda self, judged, committee, width: area * (committee == "posterior"))
    fitted = fit_policy(log.rows(np.arange(300)), learner="linear", base="none", cv=2)
    assert fitted.router.committee_ == chosen

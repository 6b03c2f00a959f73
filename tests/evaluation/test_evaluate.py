import json

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho.data import Columns, read_log
from askwho.evaluation import Held, Point, Resamples, adaptive_points, evaluate, hulls
from askwho.policy import fit_policy
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
TABLES = {"classification": synthetic.classification, "regression": synthetic.regression, "grades": synthetic.grades}


def columns_of(kind):
    if kind == "grades":
        return Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0})
    return COLUMNS


@pytest.fixture(scope="module", params=TABLES)
def case(request):
    make, columns = TABLES[request.param], columns_of(request.param)
    policy = fit_policy(read_log(make(700), columns), learner="linear", cv=3)
    log = read_log(make(400, seed=1), columns)
    return policy, log, evaluate(policy, log, draws=50)


def test_the_report_is_plain_json_with_an_interval_for_each_figure(case):
    _, log, result = case
    again = json.loads(json.dumps(result, allow_nan=False))
    assert again["n"] == len(log)
    for row in [*again["adaptive"], *again["fixed_k"], again["baselines"]["best_single"]]:
        for figure in ("error", "mean_fee"):
            low, high = row[f"{figure}_interval"]
            assert low - 1e-9 <= row[figure] <= high + 1e-9
    names = {
        "best_single_error",
        "best_single_fee",
        "fee_to_match_best_single",
        "fee_saved",
        "error_at_best_single_fee",
    }
    assert names | {"best_error", "best_error_fee"} <= set(again["headline"])


def test_what_needs_the_truth_is_named_so(case):
    *_, result = case
    for row in result["baselines"]["oracle"]:
        assert "error" not in row
        assert row["needs_truth_error"] is not None


def test_figures_agree_with_a_decision_made_query_by_query(case):
    policy, log, result = case
    if log.answers is None:
        pytest.skip("nothing is combined without answers")
    price = policy.router.rows_.prices[4]
    selection = policy.select(log.known, fee_weight=float(price))
    said, decided = policy.combine(selection, log.answers, log.known).at(selection.k)
    assert decided.all()
    error = np.mean(said != log.truth) if log.task == "classification" else np.sqrt(np.mean((said - log.truth) ** 2))
    row = result["adaptive"][4]
    assert row["error"] == pytest.approx(error)
    assert row["mean_fee"] == pytest.approx(selection.fee.mean())
    assert row["mean_k"] == pytest.approx(selection.k.mean())


def test_the_policy_is_no_dearer_than_the_best_single_for_its_error(case):
    _, log, result = case
    if log.answers is None or log.task == "regression":
        pytest.skip("the best single is out of reach of a linear learner here")
    assert result["headline"]["fee_saved"] > 0
    assert result["headline"]["error_at_best_single_fee"] < result["headline"]["best_single_error"]


def test_best_single_is_chosen_on_the_rows_of_training(case):
    policy, _, result = case
    own = 0 if policy.base is None else 1
    best = own + int(policy.router.entity_errors_[own:].argmin())
    assert result["baselines"]["best_single"]["name"] == policy.panel.names[best]


def test_choices_that_cannot_be_scored_are_counted():
    policy = fit_policy(read_log(synthetic.classification(700), COLUMNS), learner="linear", base="none", cv=3)
    result = evaluate(policy, read_log(synthetic.classification(300, seed=2, missing=0.3), COLUMNS), draws=20)
    assert 0.2 < result["scored_share"]["adaptive"] < 1


def test_a_log_of_other_entities_is_refused():
    policy = fit_policy(read_log(synthetic.classification(300), COLUMNS), learner="linear", base="none", cv=3)
    table = synthetic.classification(50)
    table["answer_stranger"] = table.pop("answer_left")
    columns = Columns(truth="truth", answers="answer_*", features="x_*")
    with pytest.raises(InvalidInputError, match="must have the entities of the policy"):
        evaluate(policy, read_log(table, columns))


def test_resamples_keep_groups_whole():
    groups = np.repeat(np.arange(20), 3)
    resamples = Resamples.of(groups, "classification", draws=30)
    assert (resamples.weights[0] == 1).all()
    for g in range(20):
        assert (resamples.weights[:, groups == g] == resamples.weights[:, [g * 3]]).all()


def test_intervals_cover_a_known_mean():
    rng = np.random.default_rng(0)
    hits = 0
    for trial in range(60):
        errors = (rng.random(300) < 0.3).astype(float)
        resamples = Resamples.of(np.arange(300), "classification", draws=150, random_state=trial)
        low, high = np.quantile(resamples.error(errors[:, None])[1:, 0], [0.025, 0.975])
        hits += low <= 0.3 <= high
    assert hits >= 50


def test_hulls_are_of_the_sample_and_of_each_resample():
    points = [Point(np.array([1.0, 0.0]), np.array([0.0, 0.0])), Point(np.array([0.0, 0.0]), np.array([1.0, 1.0]))]
    found = hulls(Resamples.of(np.arange(2), "classification", draws=5).tally(points))
    assert len(found) == 6
    assert found[0].errors.tolist() == [0.5, 0.0]


def test_batches_give_the_figures_of_the_whole(case):
    policy, log, result = case
    rows = np.arange(len(log))
    batched = evaluate(policy, (log.rows(rows[start : start + 90]) for start in range(0, len(log), 90)), draws=50)
    for each, whole in zip(_numbers({**batched, "baselines": {}}), _numbers({**result, "baselines": {}}), strict=True):
        assert each == pytest.approx(whole, rel=1e-9, abs=1e-9)


def _numbers(tree):
    if isinstance(tree, dict | list):
        return [number for part in (tree.values() if isinstance(tree, dict) else tree) for number in _numbers(part)]
    return [] if tree is None or isinstance(tree, str) else [tree]


def test_groups_of_any_type_are_resampled_whatever_batch_they_are_in():
    for groups in (np.array(["a", "b", "c", "a"]), np.array([3, 1, 2, 3]), np.array(["a", 1, None, "a"], dtype=object)):
        whole = Resamples.of(groups, "classification", draws=20, random_state=5).weights
        assert (whole[:, :1] == Resamples.of(groups[3:], "classification", draws=20, random_state=5).weights).all()
        assert (whole != Resamples.of(groups, "classification", draws=20, random_state=6).weights).any()


def test_a_group_occurs_as_often_as_poisson_has_it():
    weights = Resamples.of(np.arange(5000), "classification", draws=100).weights[1:]
    for times, share in enumerate([0.3679, 0.3679, 0.1839, 0.0613, 0.0153]):
        assert (weights == times).mean() == pytest.approx(share, abs=0.003)
    between = np.corrcoef(weights)
    assert np.abs(between[~np.eye(100, dtype=bool)]).max() < 0.08


def test_no_row_at_all_is_refused(case):
    with pytest.raises(InvalidInputError, match="no row in it"):
        evaluate(case[0], iter(()))


def test_held_out_points_are_those_of_the_router(case):
    policy, log, result = case
    points = adaptive_points(Held(policy, log))
    assert [p.labels["fee_weight"] for p in points] == [row["fee_weight"] for row in result["adaptive"]]

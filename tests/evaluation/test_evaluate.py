import json
import re

import numpy as np
import pytest

from askwho import Columns, InvalidInputError, Target, evaluate, read_log
from askwho._unit import Unit
from askwho.evaluation import Point, Resamples, adaptive_points, error_interval, fixed_points, sequential_points
from askwho.evaluation._points import _IMAGINED_OFF, _OFTEN, _often, _standard
from askwho.replay import Replay
from tests import cases, synthetic


@pytest.fixture(scope="module", params=["classes", "own base", "regression", "grades"])
def case(request):
    policy, log = cases.case(request.param)
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
    decisions = policy.decide(log.known, Target(fee_weight=float(policy.tried.prices[4])))
    outcome = policy.combine(decisions, log.answers).outcome
    assert outcome.decided.all()
    wrong = outcome.values != log.truth
    error = wrong.mean() if log.task == "classification" else np.sqrt(np.mean((outcome.values - log.truth) ** 2))
    row = result["adaptive"][4]
    assert row["error"] == pytest.approx(error)
    assert row["mean_fee"] == pytest.approx(outcome.paid.mean()) == pytest.approx(decisions.fee.mean())
    assert row["mean_k"] == pytest.approx(decisions.k.mean())


def test_the_policy_is_no_dearer_than_the_best_single_for_its_error(case):
    policy, log, result = case
    if log.answers is None or log.task == "regression":
        pytest.skip("the best single is out of reach of a linear learner here")
    head = result["headline"]
    # Where the best single errs five times in 160 rows, intervals alone can tell.
    assert head["fee_saved_interval"][1] > 0.8
    assert head["error_at_best_single_fee_interval"][0] < head["best_single_error"]
    if policy.base is not None:
        assert head["fee_saved"] > 0
        assert head["error_at_best_single_fee"] < head["best_single_error"]


def test_best_single_is_chosen_on_the_rows_of_training(case):
    policy, _, result = case
    own = 0 if policy.base is None else 1
    best = own + int(np.argmin(policy.facts.entity_errors[own:]))
    assert result["baselines"]["best_single"]["name"] == policy.panel.names[best]


def test_what_cannot_be_scored_lowers_the_effective_rows():
    policy, _ = cases.case("plain vote")
    result = evaluate(policy, read_log(synthetic.classification(300, seed=2, missing=0.3), cases.ANSWERS), draws=20)
    assert 0 < result["effective_rows"]["adaptive"] < 300
    assert all((row["error"] is None) == (row["effective_rows"] < 30) for row in result["adaptive"])


def test_a_handful_of_rows_tells_no_error():
    policy, log = cases.case("plain vote")
    result = evaluate(policy, log.rows(np.arange(29)), draws=20)
    assert all(row["error"] is None for kind in ("fixed_k", "adaptive", "entities") for row in result[kind])
    head = dict(result["headline"])
    assert set(head.pop("untold")) == {name for name in head if not name.endswith("_interval")}
    assert all(value in (None, [None, None]) for value in head.values())
    assert evaluate(policy, log.rows(np.arange(30)), draws=20)["adaptive"][0]["error"] is not None


def test_a_log_of_other_entities_is_refused():
    policy, _ = cases.case("plain vote")
    table = synthetic.classification(50)
    table["answer_stranger"] = table.pop("answer_left")
    columns = Columns(truth="truth", answers="answer_*", features="x_*,kind")
    with pytest.raises(InvalidInputError, match="must have the entities of the policy"):
        evaluate(policy, read_log(table, columns))


def test_resamples_keep_groups_whole():
    groups = np.repeat(np.arange(20), 3)
    resamples = Resamples.of(groups, Unit(), draws=30)
    assert (resamples.weights[0] == 1).all()
    for g in range(20):
        assert (resamples.weights[:, groups == g] == resamples.weights[:, [g * 3]]).all()


def test_intervals_cover_a_known_mean():
    rng = np.random.default_rng(0)
    hits = 0
    for trial in range(60):
        errors = (rng.random(300) < 0.3).astype(float)
        resamples = Resamples.of(np.arange(300), Unit(), draws=150, random_state=trial)
        low, high = error_interval(*resamples.tally([Point(errors, np.zeros(300))]))
        hits += low <= 0.3 <= high
    assert hits >= 50


def test_sums_are_those_that_their_names_say():
    rng = np.random.default_rng(0)
    n = 40
    groups = np.arange(n) // 2
    resamples = Resamples.of(groups, Unit(), draws=7)
    errors, fees, weights, expected, foreseen = rng.random((5, n))
    holes = np.where(rng.random(n) < 0.3, np.nan, errors)
    points = [
        Point(errors, fees),
        Point(holes, fees, means={"mean_k": np.where(np.isnan(holes), np.nan, 2.0)}),
        Point(errors, fees, weights=weights, expected=expected),
        Point(holes, np.where(np.isnan(holes), np.nan, fees), weights=weights, expected=expected, foreseen=foreseen),
        Point(
            errors, fees, weights=weights, expected=expected, seen=fees < 0.5, variance=foreseen, spread=holes_of(fees)
        ),
    ] * 100  # more than are summed at a time
    for point, tally in zip(points, resamples.tally(points), strict=True):
        known = ~np.isnan(point.errors)
        share = known * (1.0 if point.weights is None else point.weights)
        hope = np.zeros(n) if point.expected is None else point.expected
        paid = np.nan_to_num(point.fees)
        before = paid if point.foreseen is None else point.foreseen
        wanted = {
            "rows": np.ones(n),
            "scored": share,
            "expected": hope,
            "hoped": share * hope,
            "came": share * np.nan_to_num(point.errors),
            "fees": before,
            "charged": share * (paid - before),
        }
        # What is imagined is off in all rows of a resample alike.
        imagined = dict.fromkeys(wanted, np.zeros(n))
        if point.variance is not None:
            imagined |= {"came": _IMAGINED_OFF * share * np.sqrt(point.variance), "fees": _IMAGINED_OFF * point.spread}
        for name, column in wanted.items():
            whole = resamples.weights @ column + _standard(8) * (resamples.weights @ imagined[name])
            np.testing.assert_allclose(getattr(tally, name), whole, rtol=1e-12, atol=1e-12)
        seen = share if point.seen is None else share * point.seen
        assert tally.behind.seen == pytest.approx(seen.sum())
        assert tally.behind.squares == pytest.approx(np.square(np.bincount(groups, seen)).sum())
        assert tally.behind.variance == pytest.approx(
            (np.square(share) * (0.0 if point.seen is None else foreseen)).sum()
        )
        assert tally.behind.doubt == pytest.approx((np.square(share) * hope * (1 - hope)).sum())
    assert resamples.tally(points[1:2])[0].means == {"mean_k": (2.0 * known_rows(holes), known_rows(holes))}


def holes_of(values):
    return np.where(values < 0.5, 0.0, values)


def known_rows(values):
    return float((~np.isnan(values)).sum())


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
        whole = Resamples.of(groups, Unit(), draws=20, random_state=5).weights
        assert (whole[:, :1] == Resamples.of(groups[3:], Unit(), draws=20, random_state=5).weights).all()
        assert (whole != Resamples.of(groups, Unit(), draws=20, random_state=6).weights).any()


def test_a_group_occurs_as_often_as_poisson_has_it():
    weights = Resamples.of(np.arange(5000), Unit(), draws=100).weights[1:]
    for times, share in enumerate([0.3679, 0.3679, 0.1839, 0.0613, 0.0153]):
        assert (weights == times).mean() == pytest.approx(share, abs=0.003)
    between = np.corrcoef(weights)
    assert np.abs(between[~np.eye(100, dtype=bool)]).max() < 0.08


def test_how_often_is_the_quantile_of_poisson():
    drawn = np.append(np.random.default_rng(0).random(2000), [0.0, 1e-14, np.nextafter(1.0, 0.0), *_OFTEN.clip(0.0)])
    np.testing.assert_array_equal(_often(drawn), len(_OFTEN) - np.searchsorted(_OFTEN[::-1], drawn, side="right"))


def test_no_row_at_all_is_refused(case):
    with pytest.raises(InvalidInputError, match="no row in it"):
        evaluate(case[0], iter(()))


def test_held_out_points_are_those_that_are_told(case):
    policy, log, result = case
    held = Replay.of(policy, log)
    for name, points in {
        "adaptive": adaptive_points(policy, held),
        "fixed_k": fixed_points(policy, held),
        "sequential": sequential_points(policy, held),
    }.items():
        assert [p.labels["fee_weight"] for p in points] == [row["fee_weight"] for row in result[name]]
        means = [np.nanmean(point.errors) for point in points]
        told = [row["error"] ** 2 if log.task == "regression" else row["error"] for row in result[name]]
        np.testing.assert_allclose(means, told)
    assert bool(result["sequential"]) == (policy.turns is not None)


def test_everybody_together_is_named_by_what_they_do(case):
    _, log, result = case
    together = {name for name in result["baselines"] if name.endswith("_all")}
    if log.answers is None:
        assert together == set()
    else:
        assert together == {"majority_all" if log.task == "classification" else "mean_all", "weighted_all"}


def test_a_mean_of_numbers_is_no_majority():
    policy, log = cases.case("far")
    result = evaluate(policy, log, draws=5)
    assert "majority" not in json.dumps(result)
    said = log.answers.values.mean(axis=1)
    assert result["baselines"]["mean_all"]["error"] == pytest.approx(np.sqrt(np.mean((said - log.truth) ** 2)))


def test_every_error_of_numbers_is_a_root():
    policy, log = cases.case("far")
    result = evaluate(policy, log, draws=20)
    off = np.abs(log.answers.values - log.truth[:, None])
    for entity, column in zip(result["entities"], off.T, strict=True):
        assert entity["error"] == pytest.approx(np.sqrt(np.mean(column**2)))
    # Squares begin where roots end: the least of their means is above the largest single deviation.
    assert np.mean(off.min(axis=1) ** 2) > off.max()
    errors = {k: v for k, v in _named(result) if re.search(r"error(_interval/\d)?$|needs_truth_best_of_k$", k)}
    assert len(errors) > 100
    assert {key: error for key, error in errors.items() if not 10 < error < off.max()} == {}


def _named(tree, name=""):
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    found = [pair for key, part in parts for pair in _named(part, f"{name}/{key}")]
    return [*found, (name, tree)] if isinstance(tree, float) else found


def test_weights_that_come_to_more_than_the_rows_or_to_far_less_stand_behind_nothing():
    rng = np.random.default_rng(0)
    errors, fees = (rng.random(1000) < 0.2).astype(float), np.ones(1000)
    half = rng.random(1000) < 0.5
    told = {}
    for chance in (0.5, 0.4, 0.7, 0.8):
        weights = np.where(half, 1 / chance, 0.0)
        point = Point(np.where(half, errors, np.nan), fees, weights=weights, expected=np.full(1000, 0.2))
        told[chance] = Resamples.of(np.arange(1000), Unit(), draws=10).tally([point])[0]
    # Half of the rows were asked: taken for two fifths, they would stand for a quarter more rows than there are.
    assert told[0.5].effective == pytest.approx(half.sum())
    assert told[0.4].effective == 0
    assert not told[0.4].told
    # To less than the rows weights come where part of them could not have been asked about: what was expected stands
    # for that part, unless it is large.
    assert told[0.7].effective == pytest.approx(half.sum())
    assert told[0.8].effective == 0
    assert (told[0.4] + told[0.4]).effective == (told[0.8] + told[0.8]).effective == 0

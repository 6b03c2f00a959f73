from dataclasses import replace

import numpy as np
import pytest

from askwho import Target
from askwho._unit import Unit
from askwho.evaluation import Resamples, evaluate
from askwho.policy import Outcomes
from askwho.report import _changes as changes
from askwho.report import _findings as findings
from askwho.report._write import default_target
from tests import cases


@pytest.fixture(scope="module", params=["classes", "regression", "missing"])
def decided(request):
    return findings.Decided.of(*cases.case(request.param), Target(k=3, fee_weight=1.0))


def test_decisions_are_those_that_are_deployed(decided):
    log, decisions = decided.held.log, decided.decisions
    scored = ~np.isnan(decided.errors)
    outcome = decided.policy.combine(decisions, log.answers, info=log.info).outcome
    if log.task == "classification":
        errors = (~outcome.decided | (outcome.values != log.truth)).astype(float)
    else:
        errors = np.square(outcome.values - log.truth)
    assert scored.any()
    np.testing.assert_allclose(decided.errors[scored], errors[scored])
    np.testing.assert_allclose(decided.fees, np.where(decisions.members, log.fees, 0).sum(axis=1))


def test_shares_add_up(decided):
    by_rank, k = decided.by_rank, decided.decisions.k
    np.testing.assert_allclose(by_rank.sum(axis=0), [(k > r).mean() for r in range(by_rank.shape[1])])
    np.testing.assert_allclose(by_rank.sum(axis=1), decided.asked(np.ones(len(k), dtype=bool)))


def test_changed_queries_are_told_as_they_were(decided):
    found = changes.changes_of(decided)
    truth = decided.held.log.truth
    assert found.better + found.worse <= found.several[1] <= found.several[0]
    assert len(found.shown) == min(10, found.better + found.worse)
    for one in found.shown:
        assert one.why.query == one.row
        assert len(one.why.chosen) == decided.decisions.k[one.row] > 1
        assert list(one.said) == [reason.name for reason in one.why.chosen]
        assert one.truth == truth[one.row]
        assert (one.errors[1] < one.errors[0]) == one.better
        if decided.held.log.task == "classification":
            assert [float(one.first != one.truth), float(one.decided != one.truth)] == list(one.errors)
        else:
            assert (one.decided - one.truth) ** 2 == pytest.approx(one.errors[1])
    kinds = [one.better for one in found.shown]
    assert kinds.count(True) >= min(1, found.better)
    assert kinds.count(False) >= min(1, found.worse)


def test_both_kinds_of_change_are_shown_in_proportion():
    change = np.array([1.0] * 30 + [-1.0] * 10 + [0.0] * 5)
    rows = changes._chosen(change, 30, 10, 10)
    assert ((change[rows] > 0).sum(), (change[rows] < 0).sum()) == (8, 2)
    assert len(changes._chosen(np.r_[np.ones(100), -1.0], 100, 1, 10)) == 10
    assert (changes._chosen(np.r_[np.ones(100), -1.0], 100, 1, 10) == 100).any()
    assert len(changes._chosen(np.array([1.0, -1.0]), 1, 1, 10)) == 2
    assert len(changes._chosen(np.zeros(3), 0, 0, 10)) == 0


def test_bins_are_of_equal_size_where_values_differ():
    values = np.random.default_rng(0).permutation(1000) / 1000
    codes = findings.bins_of(values)
    assert np.bincount(codes).tolist() == [100] * 10
    assert all(values[codes == b].max() < values[codes == b + 1].min() for b in range(9))
    assert findings.bins_of(np.zeros(500)).tolist() == [0] * 500
    assert findings.bins_of(np.arange(5.0)).tolist() == [0] * 5


def test_expectations_that_hold_lie_on_the_line():
    rng = np.random.default_rng(0)
    expected = rng.random((4000, 2))
    errors = (rng.random((4000, 2)) < expected).astype(float)
    errors[rng.random((4000, 2)) < 0.3] = np.nan
    resamples = Resamples.of(np.arange(4000), Unit(), draws=100)
    bins = findings.reliability(expected, errors, resamples)
    assert sum(b.n for b in bins) == (~np.isnan(errors)).sum()
    assert findings.gap(bins) < 0.03
    assert sum(b.error_interval[0] <= b.expected <= b.error_interval[1] for b in bins) >= 8
    assert findings.gap(findings.reliability(expected, np.zeros((4000, 2)), resamples)) > 0.45
    assert findings.reliability(expected, np.full((4000, 2), np.nan), resamples) == []


def test_a_bin_of_fewer_than_thirty_rows_or_groups_is_left_out():
    expected, errors = np.full((59, 1), 0.5), np.zeros((59, 1))
    alone = Resamples.of(np.arange(59), Unit(), draws=5)
    assert [b.n for b in findings.reliability(expected, errors, alone)] == [59]
    few = np.where(np.arange(59)[:, None] < 29, errors, np.nan)
    assert findings.reliability(expected, few, alone) == []
    # Fifty-nine answers about thirty queries are thirty; of twenty groups they are twenty at the most.
    pairs = Resamples.of(np.arange(59) // 3, Unit(), draws=5)
    assert findings.reliability(expected, errors, pairs) == []
    # Most queries look like many others: those that do not are few.
    tied = np.where(np.arange(100)[:, None] < 10, 0.1, 0.8)
    tied[-40:] = 0.9
    bins = findings.reliability(tied, np.zeros((100, 1)), Resamples.of(np.arange(100), Unit(), draws=5))
    assert [b.n for b in bins] == [50, 40]


def test_squared_errors_are_shown_as_their_root():
    resamples = Resamples.of(np.arange(100), Unit("RMSE", root=True, share=False, most=np.inf), draws=5)
    (found,) = findings.reliability(np.full((100, 1), 4.0), np.full((100, 1), 9.0), resamples)
    assert (found.expected, found.error) == (2.0, 3.0)


def test_the_setting_that_is_shown_spends_no_more_than_the_best_single():
    policy, log = cases.case("classes")
    best = evaluate(policy, log, draws=5)["baselines"]["best_single"]["name"]
    assert default_target(policy, best) == Target(budget=policy.judge.fees.usual[policy.panel.names.index(best)])


def test_where_the_best_single_is_too_cheap_the_cheapest_setting_is_shown():
    policy, _ = cases.case("classes")
    tried, dear = policy.tried, slice(0, 5)
    dear = Outcomes(tried.prices[dear], tried.errors[dear], tried.fees[dear], tried.sizes[dear])
    spent = [point["mean_fee"] for point in dear.validated(policy.unit)]
    assert min(spent) > policy.judge.fees.usual[policy.panel.names.index("noise")]
    target = default_target(replace(policy, tried=dear), "noise")
    assert target == Target(fee_weight=dear.prices[np.argmin(spent)])


def test_more_groups_than_can_be_shown_are_put_together():
    _, log = cases.case("classes")
    values = np.array([f"group {min(i, 60)}" for i in range(len(log))])
    found = findings.grouping_of(log, ("many", values))
    assert len(found.names) == findings.MOST_GROUPS
    assert found.names[0] == "group 60"
    assert found.names[-1] == "38 others"
    assert np.bincount(found.codes).sum() == len(log)


def test_cells_that_were_asked_for_where_others_were_unsure_stand_for_those_that_were_not():
    """Queries that look alike are not: of the hard ones more were asked about, each with its probability."""
    rng = np.random.default_rng(0)
    hard, expected = rng.random(4000) < 0.5, np.full((4000, 1), 0.3)
    errors = (rng.random(4000) < np.where(hard, 0.5, 0.1)).astype(np.float64)[:, None]
    chance = np.where(hard, 0.9, 0.2)[:, None]
    seen = np.where(rng.random((4000, 1)) < chance, errors, np.nan)
    (found,) = findings.reliability(expected, seen, Resamples.of(np.arange(4000), Unit(), draws=50), 1 / chance)
    low, high = found.error_interval
    assert low < 0.3 < high
    assert found.error == pytest.approx(0.3, abs=0.03)

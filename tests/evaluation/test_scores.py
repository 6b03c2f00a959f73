"""Somebody else's scores in the place of the policy's ranking."""

import re

import numpy as np
import pytest

from askwho import InvalidInputError, Target, evaluate
from askwho.replay import Replay
from tests import cases


@pytest.fixture(scope="module", params=["plain vote", "regression", "grades"])
def ranked(request):
    """A policy whose committee of one says what its member says, a log, its errors, and what the policy does."""
    policy, log = cases.case(request.param)
    return policy, log, Replay.of(policy, log).log.errors, evaluate(policy, log, draws=5)


def first(result):
    """What is got with one who is asked, at each price that was ranked at."""
    return [row["error"] for row in result["fixed_k"] if row["k"] == 1]


def test_perfect_scores_are_the_oracles_and_no_worse_than_the_policys(ranked):
    policy, log, errors, own = ranked
    result = evaluate(policy, log, scores=-errors, draws=5)
    (error,) = first(result)
    assert error == pytest.approx(own["baselines"]["oracle"][0]["needs_truth_error"])
    assert error < min(first(own))


def test_random_scores_are_worse(ranked):
    policy, log, errors, own = ranked
    scores = np.random.default_rng(0).random(errors.shape)
    result = evaluate(policy, log, scores=scores, draws=5)
    (error,) = first(result)
    assert error > first(own)[0]
    chosen = errors[np.arange(len(errors)), scores.argmax(axis=1)].mean()
    assert error == pytest.approx(np.sqrt(chosen) if log.task == "regression" else chosen)
    assert result["headline"]["error_at_best_single_fee"] > own["headline"]["error_at_best_single_fee"]


def test_the_policys_own_scores_change_nothing_at_no_price(ranked):
    policy, log, _, own = ranked
    result = evaluate(policy, log, scores=-policy.see(log.known).expected, draws=5)
    sizes = max(row["k"] for row in own["fixed_k"])
    for one, other in zip(result["fixed_k"], own["fixed_k"][:sizes], strict=True):
        assert {name: pytest.approx(value) for name, value in other.items()} == one


def test_baselines_are_not_ranked(ranked):
    policy, log, errors, own = ranked
    result = evaluate(policy, log, scores=errors, draws=5)
    assert result["baselines"] == own["baselines"]
    assert result["entities"] == own["entities"]


def test_asking_in_turn_is_not_theirs():
    policy, log = cases.case("classes")
    scores = np.random.default_rng(0).random((len(log), len(policy.panel)))
    assert evaluate(policy, log, draws=5)["sequential"]
    result = evaluate(policy, log, scores=scores, draws=5)
    assert result["sequential"] == []
    assert result["effective_rows"]["sequential"] is None


def test_batches_take_their_own_rows(ranked):
    policy, log, errors, _ = ranked
    whole = evaluate(policy, log, scores=errors, draws=5)
    parts = (log.rows(np.arange(start, min(start + 70, len(log)))) for start in range(0, len(log), 70))
    batched = evaluate(policy, parts, scores=errors, draws=5)
    for one, other in zip(batched["fixed_k"], whole["fixed_k"], strict=True):
        assert one["error"] == pytest.approx(other["error"])
        assert one["mean_fee"] == pytest.approx(other["mean_fee"])


def test_one_query_is_ranked_by_them_as_many_are():
    policy, log = cases.case("plain vote")
    scores = np.random.default_rng(0).random((len(log), len(policy.panel)))
    many = policy.decide(Replay.of(policy, log, scores=scores).seen, Target(fee_weight=0.1))
    assert (many.order == np.argsort(-scores, axis=1)[:, : many.order.shape[1]]).all()
    for i in range(5):
        one = policy.decide(Replay.of(policy, log.rows(np.array([i])), scores=scores[[i]]).seen, Target(fee_weight=0.1))
        assert (one.order == many.order[i]).all()
        assert one.k[0] == many.k[i]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s[:-1], "`scores` must have shape (160, 4), got (159, 4): one row for each query of the log."),
        (lambda s: np.vstack([s, s[:1]]), "`scores` must have shape (160, 4), got (161, 4): one row for each query"),
        (lambda s: s[:, 1:], "`scores` must have shape (160, 4), got (160, 3): one column for each entity"),
        (lambda s: s[:, 0], "`scores` must have two axes (queries, columns), got shape (160,)."),
        (lambda s: s.astype(str), "`scores` must hold numbers in rows of one length"),
        (lambda s: np.where(s == s[2, 1], np.nan, s), "`scores` must be finite, got nan at row 2, column 1"),
        (lambda s: np.where(s == s[2, 1], np.inf, s), "`scores` must be finite, got inf at row 2, column 1"),
    ],
)
def test_scores_of_another_log_are_refused(change, message):
    policy, log = cases.case("plain vote")
    scores = change(np.random.default_rng(0).random((len(log), len(policy.panel))))
    for take in (lambda: evaluate(policy, log, scores=scores, draws=5), lambda: Replay.of(policy, log, scores=scores)):
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            take()


@pytest.mark.parametrize("rows", [100, 159, 161])
def test_batches_are_counted(rows):
    policy, log = cases.case("plain vote")
    scores = np.zeros((rows, len(policy.panel)))
    with pytest.raises(InvalidInputError, match="`scores` must"):
        evaluate(policy, (log.rows(np.arange(start, start + 80)) for start in (0, 80)), scores=scores, draws=5)

"""Every aggregation, for every prefix, against a committee counted by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askwho import Answers, Panel
from askwho.aggregation import (
    AGGREGATIONS,
    Committee,
    aggregation,
    best_of_k,
    inclusion,
    log_odds_vote,
    majority,
    median,
    prefixwise,
    vote,
    weighted_mean,
    weighted_median,
    weighted_vote,
)
from askwho.core import select_top_k
from tests import oracles


@st.composite
def tables(draw, answers):
    """Answers, states, scores and expected errors (n, a): few different values, so that ties are common."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 6)))
    return (
        draw(arrays(np.float64 if answers is floats else np.int64, shape, elements=answers)),
        draw(arrays(np.int8, shape, elements=st.sampled_from([0, 0, 0, 1, 2]))),
        draw(arrays(np.float64, shape, elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0]))),
        draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]))),
    )


labels = st.integers(0, 3)
floats = st.sampled_from([-3.0, -0.5, 0.0, 1.0, 4.0])


def committee_of(case):
    values, states, scores, expected = case
    size = values.shape[1]
    panel = Panel.two_stage([f"e{j}" for j in range(1, size)])
    selection = select_top_k(scores, size, panel=panel)
    return Committee.of(selection, Answers(values, states), expected_errors=expected)


def each_prefix(committee, weights, decide):
    """What `decide` says of every prefix, None where nobody voted."""
    n, size = committee.order.shape
    return [
        [decide(committee.answers[i, :k], committee.voted[i, :k], weights[i, :k]) for k in range(1, size + 1)]
        for i in range(n)
    ]


def agree(verdicts, expected, tolerance=0.0):
    for i, row in enumerate(expected):
        for r, value in enumerate(row):
            assert verdicts.decided[i, r] == (value is not None)
            if value is not None:
                assert verdicts.values[i, r] == (pytest.approx(value, abs=tolerance) if tolerance else value)


@pytest.mark.parametrize("ties", ["rank", "index"])
@given(case=tables(labels))
def test_majority(ties, case):
    committee = committee_of(case)
    ones = np.ones(committee.order.shape)
    agree(majority(committee, ties=ties), each_prefix(committee, ones, lambda *c: oracles.vote(*c, ties)))


@pytest.mark.parametrize("ties", ["rank", "index"])
@given(case=tables(labels))
def test_weighted_vote(ties, case):
    committee = committee_of(case)
    weights = np.array([oracles.softmax(s, v) for s, v in zip(committee.scores, committee.voted, strict=True)])
    agree(weighted_vote(committee, ties=ties), each_prefix(committee, weights, lambda *c: oracles.vote(*c, ties)))


@pytest.mark.parametrize("ties", ["rank", "index"])
@given(case=tables(labels))
def test_log_odds_vote_with_members_worse_than_chance(ties, case):
    committee = committee_of(case)
    odds = np.vectorize(lambda e: math.log((1 - e) / e) + math.log(3))
    weights = odds(np.clip(committee.expected_errors, 1e-6, 1 - 1e-6))
    found = log_odds_vote(committee, ties=ties, n_classes=4)
    agree(found, each_prefix(committee, weights, lambda *c: oracles.vote(*c, ties)))


@pytest.mark.parametrize("ties", ["rank", "index"])
@given(case=tables(labels))
def test_an_open_set_of_answers_votes_alike(ties, case):
    values, *rest = case
    spread = committee_of((np.array([-9_000_000, 5, 4_000_000, 9_000_000])[values], *rest))
    narrow = committee_of(case)
    weights = np.exp(narrow.scores)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("askwho.aggregation._votes._MOST_CODES", 0)
        wide = vote(spread, weights, ties=ties)
    close = vote(narrow, weights, ties=ties)
    assert (wide.decided == close.decided).all()
    assert (wide.values == np.array([-9_000_000, 5, 4_000_000, 9_000_000])[close.values])[close.decided].all()


@given(case=tables(floats))
def test_mean_and_median(case):
    committee = committee_of(case)
    ones = np.ones(committee.order.shape)
    agree(aggregation("mean")(committee), each_prefix(committee, ones, oracles.average), 1e-12)
    agree(median(committee), each_prefix(committee, ones, lambda a, v, _: oracles.middle(a, v)), 1e-12)


@given(case=tables(floats))
def test_weighted_means(case):
    committee = committee_of(case)
    weights = np.array([oracles.softmax(s, v) for s, v in zip(committee.scores, committee.voted, strict=True)])
    agree(weighted_mean(committee), each_prefix(committee, weights, oracles.average), 1e-9)
    floor = 1e-6 * committee.expected_errors.max(axis=1, keepdims=True)
    inverse = 1 / np.where(floor > 0, np.maximum(committee.expected_errors, floor), 1.0)
    agree(aggregation("inverse-error-mean")(committee), each_prefix(committee, inverse, oracles.average), 1e-9)


@given(case=tables(floats))
def test_the_weighted_median_is_the_lowest_answer_that_half_of_the_weight_does_not_exceed(case):
    committee = committee_of(case)
    floor = 1e-6 * committee.expected_errors.max(axis=1, keepdims=True)
    inverse = 1 / np.where(floor > 0, np.maximum(committee.expected_errors, floor), 1.0)

    def lowest(answers, voted, weights):
        half = weights[voted].sum() / 2 * (1 - 1e-9)
        return next((each for each in sorted(answers[voted]) if weights[voted & (answers <= each)].sum() >= half), None)

    agree(weighted_median(committee), each_prefix(committee, inverse, lowest))


@given(case=tables(labels))
def test_inclusion_and_best_of_k_need_the_truth(case):
    committee = committee_of(case)
    truth = np.full(len(committee.order), 2)
    errors = inclusion(committee, truth)
    for i in range(len(truth)):
        for k in range(1, committee.order.shape[1] + 1):
            if (committee.states[i, :k] == 1).any():
                assert np.isnan(errors[i, k - 1])
            else:
                right = (committee.answers[i, :k] == 2) & committee.voted[i, :k]
                assert errors[i, k - 1] == 1 - right.any()


def test_best_of_k_is_the_running_minimum():
    assert best_of_k(np.array([[3.0, 1.0, 2.0]])).tolist() == [[3.0, 1.0, 1.0]]


def test_two_labels_that_disagree_go_by_rank_unless_told_otherwise():
    panel = Panel.one_stage(["cat", "dog"], ["e"])
    answers = Answers.from_table([["dog"]], panel)
    committee = Committee.of(select_top_k([[0.1, 0.9, -1.0]], 2, panel=panel), answers)
    assert majority(committee).values[0].tolist() == ["dog", "dog"]
    assert majority(committee, ties="index").values[0].tolist() == ["dog", "cat"]


def test_reject_casts_no_vote():
    panel = Panel.selective([0, 1], penalty=0.3)
    answers = Answers(np.array([[0, 1, 0]]), np.array([[0, 0, 2]], dtype=np.int8))
    committee = Committee.of(select_top_k([[0.1, 0.2, 0.9]], 3, panel=panel), answers)
    assert majority(committee).decided[0].tolist() == [False, True, True]
    assert majority(committee).values[0, 1] == 1


def test_huge_score_gaps_weigh_nothing_but_divide_by_nothing():
    panel = Panel.two_stage(["a"])
    answers = Answers(np.array([[1.0, 3.0]]), np.array([[0, 0]], dtype=np.int8))
    committee = Committee.of(select_top_k([[5000.0, -5000.0]], 2, panel=panel), answers)
    assert weighted_mean(committee).values[0].tolist() == [1.0, 1.0]
    silent = Answers(np.array([[1.0, 3.0]]), np.array([[2, 0]], dtype=np.int8))
    committee = Committee.of(select_top_k([[5000.0, -5000.0]], 2, panel=panel), silent)
    assert weighted_mean(committee).values[0, 1] == 3.0


def test_a_users_own_aggregation_plugs_in():
    first_success = prefixwise(lambda answers, voted, scores: answers[np.arange(len(answers)), voted.argmax(axis=1)])
    panel = Panel.two_stage(["a", "b"])
    answers = Answers(np.array([[7, 8, 9]]), np.array([[2, 0, 0]], dtype=np.int8))
    committee = Committee.of(select_top_k([[3.0, 2.0, 1.0]], 3, panel=panel), answers)
    found = aggregation(first_success)(committee)
    assert found.values[0, 1:].tolist() == [8, 8]
    assert found.decided[0].tolist() == [False, True, True]
    values, decided = found.at(np.array([2]))
    assert (values.tolist(), decided.tolist()) == ([8], [True])


@pytest.mark.parametrize("name", AGGREGATIONS)
@given(case=tables(floats))
def test_every_aggregation_lets_a_committee_of_one_speak_for_itself(name, case):
    committee = committee_of(case)
    verdicts = aggregation(name)(committee)
    alone = committee.voted[:, 0]
    np.testing.assert_allclose(verdicts.values[alone, 0], committee.answers[alone, 0])
    assert (verdicts.decided == np.logical_or.accumulate(committee.voted, axis=1)).all()


@pytest.mark.parametrize("name", AGGREGATIONS)
@given(case=tables(floats))
def test_every_aggregation_ignores_who_did_not_answer(name, case):
    committee = committee_of(case)
    values, states, scores, expected = case
    other = committee_of((np.where(states == 0, values, 99.0), states, scores, expected))
    mine, theirs = aggregation(name)(committee), aggregation(name)(other)
    assert (mine.decided == theirs.decided).all()
    if AGGREGATIONS[name].needs != "expected errors" or AGGREGATIONS[name].task == "regression":
        np.testing.assert_allclose(mine.values[mine.decided], theirs.values[mine.decided])

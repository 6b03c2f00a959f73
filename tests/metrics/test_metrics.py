import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askwho import Answers, Panel
from askwho import metrics as m
from askwho.aggregation import Committee, prefixwise
from askwho.core import augmented_costs, cardinality_losses, select_adaptive, select_top_k, task_errors, zero_one
from tests import oracles

rng = np.random.default_rng(0)


def classification(n=60, size=5, missing=False):
    panel = Panel.two_stage({f"e{j}": 0.1 * j for j in range(1, size)})
    values = rng.integers(0, 3, (n, size))
    states = rng.choice([0, 0, 0, 1, 2] if missing else [0, 0, 2], (n, size)).astype(np.int8)
    scores = rng.normal(size=(n, size))
    return panel, Answers(values, states), rng.integers(0, 3, n), scores


def regression(n=60, size=5):
    panel = Panel.two_stage({f"e{j}": 0.1 * j for j in range(1, size)})
    answers = Answers(rng.normal(size=(n, size)), np.zeros((n, size), dtype=np.int8))
    return panel, answers, rng.normal(size=n), rng.normal(size=(n, size))


def by_hand(selection, answers, truth, decide, error):
    """The mean error over queries at each one's own k, one query at a time."""
    total = 0.0
    for i in range(len(selection)):
        members = selection.order[i, : selection.k[i]]
        voted = answers.states[i, members] == 0
        weights = oracles.softmax(selection.scores[i, members], voted)
        total += error(decide(answers.values[i, members], voted, weights), truth[i])
    return total / len(selection)


def wrong(said, truth):
    return float(said is None or said != truth)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_papers_accuracies(k):
    panel, answers, truth, scores = classification()
    selection = select_top_k(scores, k, panel=panel)
    ones = lambda a, v, w: oracles.vote(a, v, [1.0] * len(a), "rank")
    soft = lambda a, v, w: oracles.vote(a, v, w, "rank")
    some = lambda a, v, w: {x for x, speaks in zip(a, v, strict=True) if speaks}
    assert m.accuracy_majority(selection, answers, truth) == pytest.approx(
        1 - by_hand(selection, answers, truth, ones, wrong)
    )
    assert m.accuracy_weighted_vote(selection, answers, truth) == pytest.approx(
        1 - by_hand(selection, answers, truth, soft, wrong)
    )
    assert m.accuracy_top_k(selection, answers, truth) == pytest.approx(
        1 - by_hand(selection, answers, truth, some, lambda said, y: float(y not in said))
    )


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_papers_root_mean_squared_errors(k):
    panel, answers, truth, scores = regression()
    selection = select_top_k(scores, k, panel=panel)
    squared = lambda said, z: (said - z) ** 2
    mean = lambda a, v, w: oracles.average(a, v, [1.0] * len(a))
    best = lambda a, v, w: a
    assert m.rmse_mean(selection, answers, truth) == pytest.approx(
        math.sqrt(by_hand(selection, answers, truth, mean, squared))
    )
    assert m.rmse_weighted_mean(selection, answers, truth) == pytest.approx(
        math.sqrt(by_hand(selection, answers, truth, oracles.average, squared))
    )
    assert m.rmse_best(selection, answers, truth) == pytest.approx(
        math.sqrt(by_hand(selection, answers, truth, best, lambda said, z: min((said - z) ** 2)))
    )


MEASURES = {
    "accuracy_majority": classification,
    "accuracy_weighted_vote": classification,
    "accuracy_top_k": classification,
    "rmse_mean": regression,
    "rmse_weighted_mean": regression,
    "rmse_best": regression,
}


@pytest.mark.parametrize("name", MEASURES)
def test_every_k_at_once_is_each_k_alone(name):
    panel, answers, truth, scores = MEASURES[name]()
    measure = getattr(m, name)
    curve = measure(select_top_k(scores, 5, panel=panel), answers, truth, every_k=True)
    alone = [measure(select_top_k(scores, k, panel=panel), answers, truth) for k in range(1, 6)]
    np.testing.assert_allclose(curve, alone)


@pytest.mark.parametrize("name", MEASURES)
def test_an_adaptive_selection_mixes_the_fixed_ones(name):
    panel, answers, truth, scores = MEASURES[name]()
    k = rng.integers(1, 6, len(truth))
    found = getattr(m, name)(select_adaptive(scores, k, panel=panel), answers, truth)
    parts = [
        getattr(m, name)(
            select_top_k(scores[k == size], size, panel=panel),
            Answers(answers.values[k == size], answers.states[k == size]),
            truth[k == size],
        )
        for size in range(1, 6)
    ]
    shares = [np.mean(k == size) for size in range(1, 6)]
    if name.startswith("rmse"):
        assert found**2 == pytest.approx(sum(s * p**2 for s, p in zip(shares, parts, strict=True)))
    else:
        assert found == pytest.approx(sum(s * p for s, p in zip(shares, parts, strict=True)))


@given(
    scores=arrays(np.float64, (4, 5), elements=st.floats(-3, 3)),
    errors=arrays(np.float64, (4, 5), elements=st.sampled_from([0.0, 1.0])),
    fees=arrays(np.float64, 5, elements=st.floats(0, 1)),
)
def test_at_k_1_the_deferral_loss_is_both_classical_ones(scores, errors, fees):
    # One-stage (Definition 3.1): three labels of which one is right, two experts with costs c_j.
    truth = errors[:, :3].argmin(axis=1)
    errors = np.concatenate([np.arange(3) != truth[:, None], errors[:, 3:]], axis=1).astype(float)
    one_stage = Panel.one_stage([0, 1, 2], {"a": fees[3], "b": fees[4]})
    costs = augmented_costs(errors, panel=one_stage)
    chosen = scores.argmax(axis=1)
    classical = [float(j != truth[i]) if j < 3 else errors[i, j] + one_stage.fees[j] for i, j in enumerate(chosen)]
    found = m.prefix_deferral_losses(select_top_k(scores, 1, panel=one_stage), costs)[:, 0]
    np.testing.assert_allclose(found, classical)
    # Two-stage (Definition 3.2): Σ_j c_j 1{r(x) = j}.
    two_stage = Panel.two_stage({f"e{j}": fees[j] for j in range(1, 5)})
    costs = augmented_costs(errors, panel=two_stage)
    classical = [sum(costs[i, j] * (chosen[i] == j) for j in range(5)) for i in range(4)]
    found = m.prefix_deferral_losses(select_top_k(scores, 1, panel=two_stage), costs)[:, 0]
    np.testing.assert_allclose(found, classical)


@given(
    scores=arrays(np.float64, (3, 4), elements=st.floats(-3, 3)),
    fees=arrays(np.float64, (3, 4), elements=st.floats(0, 2)),
)
def test_budgets_never_shrink_with_k(scores, fees):
    selection = select_top_k(scores, 4, panel=Panel.two_stage(["a", "b", "c"]), fees=fees)
    curve = m.mean_fee(selection, every_k=True)
    assert (np.diff(m.prefix_fees(selection), axis=1) >= 0).all()
    assert (np.diff(curve) >= 0).all()
    assert curve[-1] == pytest.approx(fees.sum() / 3)


def test_mean_k_counts_everybody_and_mean_asked_only_the_experts():
    panel = Panel.two_stage({"a": 1.0, "b": 2.0})
    selection = select_adaptive([[3, 2, 1], [1, 2, 3]], [2, 2], panel=panel)
    assert m.mean_k(selection) == 2.0
    assert m.mean_asked(selection) == 1.5
    assert m.mean_fee(selection) == 2.0
    assert m.mean_asked(select_top_k([[3, 2, 1]], 3, panel=panel), every_k=True).tolist() == [0, 1, 2]


def test_who_was_not_asked_charges_nothing_and_who_failed_does():
    panel = Panel.two_stage({"a": 1.0, "b": 2.0})
    answers = Answers(np.zeros((1, 3)), np.array([[0, 1, 2]], dtype=np.int8))
    selection = select_top_k([[1, 2, 3]], 3, panel=panel)
    assert m.mean_fee(selection) == 3.0
    assert m.mean_fee(selection, answers=answers) == 2.0


def test_committees_with_an_unasked_member_are_refused_or_skipped_and_counted():
    panel, answers, truth, scores = classification(missing=True)
    selection = select_top_k(scores, 3, panel=panel)
    with pytest.raises(ValueError, match="missing='skip'"):
        m.accuracy_majority(selection, answers, truth)
    asked = [(answers.states[i, selection.order[i]] != 1).all() for i in range(len(truth))]
    kept = np.flatnonzero(asked)
    rest = select_top_k(scores[kept], 3, panel=panel)
    expected = m.accuracy_majority(rest, Answers(answers.values[kept], answers.states[kept]), truth[kept])
    assert m.accuracy_majority(selection, answers, truth, missing="skip") == pytest.approx(expected)
    assert m.scored_share(selection, answers) == pytest.approx(np.mean(asked))


def test_of_several_sizes_those_that_can_be_scored_are_and_one_that_never_can_is_refused():
    panel, scores = Panel.two_stage({"a": 1.0, "b": 1.0}), np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    selection, truth = select_top_k(scores, 3, panel=panel), np.array([0, 0])
    # The second query lacks the last of the three: the mean of that size is of the first alone.
    some = Answers(np.array([[0, 1, 1], [1, 1, 0]]), np.array([[0, 0, 0], [0, 0, 1]], dtype=np.int8))
    assert m.accuracy_majority(selection, some, truth, every_k=True, missing="skip").tolist() == [0.5, 0.5, 0.0]
    none = Answers(some.values, np.array([[0, 0, 1], [0, 0, 1]], dtype=np.int8))
    with pytest.raises(ValueError, match="one committee be scored at least"):
        m.accuracy_majority(selection, none, truth, every_k=True, missing="skip")


def test_the_deferral_loss_adds_what_every_member_costs():
    selection = select_top_k([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], 2, panel=Panel.two_stage({"a": 1.0, "b": 1.0}))
    costs = np.array([[0.5, 0.25, 4.0], [4.0, 0.1, 2.0]])
    assert m.prefix_deferral_losses(selection, costs).tolist() == [[0.5, 0.75], [2.0, 2.1]]
    assert m.deferral_loss(selection, costs) == pytest.approx((0.75 + 2.1) / 2)
    assert m.deferral_loss(selection, costs, every_k=True).tolist() == pytest.approx([1.25, 1.425])


def test_abstaining_costs_its_penalty_and_lowers_coverage():
    panel = Panel.selective([0, 1], penalty=0.3)
    answers = Answers.from_table(np.empty((3, 0)), panel)
    selection = select_top_k([[0.9, 0.1, 0.5], [0.1, 0.2, 0.9], [0.1, 0.9, 0.2]], 1, panel=panel)
    committee = Committee.of(selection, answers)
    assert m.prefix_errors(committee, [0, 0, 0])[:, 0].tolist() == [0.0, 0.3, 1.0]
    assert m.coverage(selection, answers) == pytest.approx(2 / 3)
    assert m.mean_fee(selection) == 0.0
    errors = task_errors(answers, [0, 0, 0], panel=panel)
    assert m.deferral_loss(selection, augmented_costs(errors, panel=panel)) == pytest.approx(1.3 / 3)


def test_a_committee_that_says_nothing_makes_the_worst_recorded_error():
    panel = Panel.two_stage(["a"])
    answers = Answers(np.array([[1.0, 5.0], [2.0, 2.0]]), np.array([[2, 0], [0, 0]], dtype=np.int8))
    selection = select_top_k([[2, 1], [2, 1]], 2, panel=panel)
    committee = Committee.of(selection, answers)
    errors = m.prefix_errors(committee, [0.0, 0.0], combine="mean", error="absolute")
    assert errors.tolist() == [[5.0, 5.0], [2.0, 2.0]]


def test_a_users_own_aggregation_and_error_plug_in():
    panel, answers, truth, scores = regression()
    selection = select_top_k(scores, 3, panel=panel)
    largest = prefixwise(lambda said, voted, _: said.max(axis=1))
    found = m.committee_error(
        selection, answers, truth, combine=largest, error=lambda said, z: np.maximum(z - said, 0), every_k=True
    )
    said = np.take_along_axis(answers.values, selection.order, axis=1)
    expected = [np.maximum(truth - said[:, :k].max(axis=1), 0).mean() for k in (1, 2, 3)]
    np.testing.assert_allclose(found, expected)


def test_set_losses_are_committee_errors_plus_weighted_fees():
    panel, answers, truth, scores = classification()
    selection = select_top_k(scores, 5, panel=panel)
    errors, fees = m.prefix_errors(Committee.of(selection, answers), truth), m.prefix_fees(selection)
    np.testing.assert_allclose(cardinality_losses(errors, fees, fee_weight=0.5), errors + 0.5 * fees)
    np.testing.assert_allclose(
        cardinality_losses(errors, fees, fee_weight=2.0, fee_transform=np.sqrt), errors + 2 * np.sqrt(fees)
    )


UNUSABLE = Answers(np.array([[1.0, 5.0], [0.0, 3.0], [2.0, 1.0]]), np.array([[0, 0], [2, 0], [0, 0]], dtype=np.int8))


@pytest.mark.parametrize("measure", [m.rmse_mean, m.rmse_weighted_mean, m.rmse_best])
def test_an_unusable_answer_costs_the_worst_recorded_error_of_the_panel(measure):
    selection = select_top_k([[2.0, 1.0]] * 3, 1, panel=Panel.two_stage(["a"]))
    # The base errs by 1 and by 2, and fails once; the worst that anybody did is 5.
    assert measure(selection, UNUSABLE, [0.0, 0.0, 0.0]) == pytest.approx(math.sqrt((1 + 25 + 4) / 3))


@given(
    values=arrays(np.float64, (4, 3), elements=st.floats(-9, 9)),
    states=arrays(np.int8, (4, 3), elements=st.sampled_from([0, 2])),
    scores=arrays(np.float64, (4, 3), elements=st.floats(-3, 3)),
    truth=arrays(np.float64, 4, elements=st.floats(-9, 9)),
)
def test_at_k_1_the_mean_and_the_best_member_are_the_same(values, states, scores, truth):
    answers, selection = Answers(values, states), select_top_k(scores, 1, panel=Panel.two_stage(["a", "b"]))
    best = m.rmse_best(selection, answers, truth)
    assert m.rmse_mean(selection, answers, truth) == pytest.approx(best)
    assert m.rmse_weighted_mean(selection, answers, truth) == pytest.approx(best)


@pytest.mark.parametrize("every_k", [False, True])
@pytest.mark.parametrize("combine", ["majority", "weighted-vote"])
def test_zero_one_by_name_and_by_function_are_equal(combine, every_k):
    panel, answers, truth, scores = classification()
    selection = select_top_k(scores, 3, panel=panel)
    by_name, by_function = (
        m.committee_error(selection, answers, truth, combine=combine, error=error, every_k=every_k)
        for error in ("zero-one", zero_one)
    )
    np.testing.assert_array_equal(by_name, by_function)


def test_an_unusable_answer_under_the_zero_one_function_costs_1():
    selection = select_top_k([[2.0, 1.0]] * 3, 1, panel=Panel.two_stage(["a"]))
    errors = m.prefix_errors(Committee.of(selection, UNUSABLE), [1.0, 0.0, 2.0], error=zero_one)
    assert errors.tolist() == [[0.0], [1.0], [0.0]]


@pytest.mark.parametrize("measure", [m.accuracy_majority, m.accuracy_weighted_vote, m.accuracy_top_k])
def test_a_log_in_which_nobody_answered_has_no_accuracy(measure):
    panel = Panel.two_stage(["a"])
    answers = Answers.from_table([[None, None], [None, None]], panel, nulls="no-answer")
    selection = select_top_k([[0.0, 1.0]] * 2, 2, panel=panel)
    assert measure(selection, answers, ["x", "y"], every_k=True).tolist() == [0.0, 0.0]

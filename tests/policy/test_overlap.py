import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import Target
from askwho.data import Columns, read_log
from askwho.fitting import fit
from askwho.policy import overlaps
from askwho.policy._overlap import by_marginal_gain


def test_a_copy_overlaps_wholly_and_strangers_hardly():
    rng = np.random.default_rng(0)
    first, second = (rng.random((2, 3000)) < 0.3).astype(float)
    errors = np.column_stack([first, first, second])
    found = overlaps(errors, np.full(errors.shape, 0.3))
    assert found[0, 1] == pytest.approx(1.0)
    assert found[0, 2] < 0.1
    assert (np.diag(found) == 0).all()


def test_what_is_expected_of_both_is_no_overlap():
    rng = np.random.default_rng(0)
    hard = np.where(rng.random(6000) < 0.5, 0.7, 0.1)
    errors = (rng.random((6000, 2)) < hard[:, None]).astype(float)
    told, untold = (overlaps(errors, np.broadcast_to(e, errors.shape))[0, 1] for e in (hard[:, None], 0.4))
    assert told < 0.05
    assert untold > 0.3


def test_few_rows_in_common_tell_nothing():
    errors = np.full((200, 2), np.nan)
    errors[:60, 0], errors[40:, 1] = 1.0, 1.0
    assert overlaps(errors, np.full(errors.shape, 0.5)).max() == 0


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_without_overlap_it_is_the_plain_ranking_and_with_it_still_an_order(seed, width):
    rng = np.random.default_rng(seed)
    costs, worth = rng.random((7, 6)), rng.random((7, 6))
    plain = by_marginal_gain(costs, worth, np.zeros((6, 6)), width)
    np.testing.assert_array_equal(plain, costs.argsort(axis=1, kind="stable")[:, :width])
    other = by_marginal_gain(costs, worth, rng.random((6, 6)), width)
    assert all(len(set(row)) == width for row in other)
    np.testing.assert_array_equal(other[:, 0], plain[:, 0])


def test_a_copy_comes_after_somebody_who_adds_something():
    overlap = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    costs = np.array([[0.1, 0.11, 0.2]])
    order = by_marginal_gain(costs, 0.5 - costs, overlap, 3)
    assert order.tolist() == [[0, 2, 1]]


def test_half_a_copy_loses_half_of_what_it_is_worth():
    overlap = np.zeros((3, 3))
    overlap[0, 1] = 0.5
    # The second repeats half of .4: it costs .2 + .2, and comes before .45, but not before .35.
    for other, order in ((0.45, [0, 1, 2]), (0.35, [0, 2, 1])):
        costs = np.array([[0.1, 0.2, other]])
        assert by_marginal_gain(costs, np.full((1, 3), 0.4), overlap, 3).tolist() == [order]


def twins(n, seed):
    """Three experts of which two are one, and a weaker one who errs by herself."""
    rng = np.random.default_rng(seed)
    x, truth = rng.normal(size=n), rng.integers(0, 2, n)
    said = {name: np.where(rng.random(n) < chance, truth, 1 - truth) for name, chance in (("a", 0.8), ("c", 0.76))}
    table = {"x": x, "truth": truth, "answer_a": said["a"], "answer_b": said["a"], "answer_c": said["c"]}
    return table | {"answer_d": np.where(rng.random(n) < 0.74, truth, 1 - truth)}


def test_without_twins_the_ranking_is_plain(policy):
    assert policy.judge.overlap is None


def test_validation_sets_twins_apart():
    columns = Columns(truth="truth", answers="answer_*", features="x", fees=dict.fromkeys("abcd", 1.0))
    policy = fit(read_log(twins(1500, 0), columns), learner="linear", base="none", committee="majority", cv=3)
    assert policy.judge.overlap is not None
    assert policy.judge.overlap[0, 1] > 0.9 * policy.judge.overlap.max()
    for queries in ({"x": np.zeros(1)}, {"x": np.linspace(-1, 1, 7)}):
        decisions = policy.decide(queries, Target(k=3))
        assert all(not {"a", "b"} <= set(decisions.ask(i)) for i in range(len(decisions)))

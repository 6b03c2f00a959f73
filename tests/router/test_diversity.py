import numpy as np
import pytest
from askwho.router import Coverage
from askwho.router._diversity import by_marginal_gain, overlaps
from hypothesis import given
from hypothesis import strategies as st

from askwho.data import Columns, read_log
from askwho.policy import fit_policy


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


def twins(n, seed):
    """Three experts of which two are one, and a weaker one who errs by herself."""
    rng = np.random.default_rng(seed)
    x, truth = rng.normal(size=n), rng.integers(0, 2, n)
    said = {name: np.where(rng.random(n) < chance, truth, 1 - truth) for name, chance in (("a", 0.8), ("c", 0.76))}
    table = {"x": x, "truth": truth, "answer_a": said["a"], "answer_b": said["a"], "answer_c": said["c"]}
    return table | {"answer_d": np.where(rng.random(n) < 0.74, truth, 1 - truth)}


def test_validation_sets_twins_apart():
    columns = Columns(truth="truth", answers="answer_*", features="x", fees=dict.fromkeys("abcd", 1.0))
    policy = fit_policy(read_log(twins(1500, 0), columns), learner="linear", base="none", committee="majority", cv=3)
    assert policy.router.overlap_trials_[1.0] < policy.router.overlap_trials_[0.0]
    order = policy.select({"x": np.zeros(1)}, k=3).names(0)
    assert not {"a", "b"} <= set(order)


def test_an_entity_is_not_asked_where_the_log_never_asked_it():
    rng = np.random.default_rng(0)
    n = 1200
    x, truth = rng.uniform(-1, 1, n), rng.integers(0, 3, n)
    best = np.where(rng.random(n) < 0.98, truth, 0).astype(object)
    best[(x > 0.2)] = None
    plain = np.where(rng.random(n) < 0.7, truth, 0)
    # One column for each side of the line: a linear model can tell where the best was asked.
    table = {"x": x, "side": (x > 0.2).astype(float), "truth": truth, "answer_best": best, "answer_plain": plain}
    columns = Columns(truth="truth", answers="answer_*", features="x,side", fees={"best": 1.0, "plain": 1.0})
    policy = fit_policy(read_log(table, columns), learner="linear", base="none", cv=3)
    queries = {"x": np.array([-0.5, 0.6]), "side": np.array([0.0, 1.0])}
    selection = policy.select(queries, k=1)
    assert [selection.names(0), selection.names(1)] == [("best",), ("plain",)]


def test_answers_missing_at_random_change_nothing():
    rng = np.random.default_rng(0)
    X, asked = rng.normal(size=(2000, 3)), rng.random((2000, 4)) < 0.5
    coverage, covered = Coverage.fit(X, asked, np.arange(2000) % 3)
    assert coverage is None
    assert covered is None


def test_somebody_can_always_be_asked():
    X = np.repeat([[0.0], [1.0]], 500, axis=0)
    asked = np.column_stack([X[:, 0] == 0, X[:, 0] == 0])
    coverage, _ = Coverage.fit(X, asked, np.arange(1000) % 3)
    assert coverage is not None
    assert coverage.of(np.array([[1.0]])).all()

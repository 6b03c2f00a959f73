import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from askwho.beliefs import Case, Pool
from tests.beliefs import worlds

RIGHT = (0.85, 0.7, 0.6, 0.6, 0.55)


@st.composite
def cases(draw):
    """Any evidence of any answers, any weights, and who is heard."""
    n, size, classes = draw(st.integers(1, 4)), draw(st.integers(1, 12)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(-1, classes, (n, size))
    evidence = np.where(codes[:, :, None] >= 0, rng.uniform(-8, 6, (n, size, classes)), 0).astype(np.float32)
    prior = np.log(rng.dirichlet(np.ones(classes), n)).astype(np.float32)
    case = Case(prior, evidence, codes, rng.random((n, size)), np.arange(classes))
    pool = Pool(rng.normal(size=size), np.hstack([np.zeros((5, 1)), rng.normal(size=(5, 5))]))
    return case, pool, rng.random((n, size)) < 0.6


@given(cases(), st.randoms(use_true_random=False))
def test_one_after_another_is_all_at_once_in_any_order(world, random):
    case, pool, asked = world
    together = pool.hear_all(case, asked)
    for row in range(len(case)):
        state = pool.nothing(case, np.array([row]))
        members = np.flatnonzero(asked[row]).tolist()
        for entity in random.sample(members, len(members)):
            state = pool.hear(case, state, entity)
        alone = together.some(np.array([row]))
        np.testing.assert_array_equal(state.asked, alone.asked)
        np.testing.assert_array_equal(state.answers, alone.answers)
        np.testing.assert_array_equal(state.support, alone.support)
        np.testing.assert_allclose(state.plain, alone.plain, atol=1e-4)
        np.testing.assert_allclose(state.weighed, alone.weighed, atol=1e-3)
        np.testing.assert_allclose(
            pool.probabilities(case, state), pool.probabilities(case, together)[[row]], atol=1e-3
        )


@given(cases())
def test_what_is_believed_is_a_distribution(world):
    case, pool, asked = world
    found = pool.probabilities(case, pool.hear_all(case, asked))
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)


@given(cases())
def test_before_anybody_is_asked_the_prior_is_believed(world):
    case, pool, _ = world
    found = pool.probabilities(case, pool.nothing(case, np.arange(len(case))))
    np.testing.assert_allclose(found, np.exp(case.prior), atol=1e-5)


@given(cases())
def test_one_answer_alone_is_believed_as_it_is(world):
    case, pool, _ = world
    rows = np.arange(len(case))
    for entity in range(case.codes.shape[1]):
        found = pool.probabilities(case, pool.hear(case, pool.nothing(case, rows), entity))
        plain = np.exp(case.prior.astype(np.float64) + case.evidence[:, entity])
        np.testing.assert_allclose(found, plain / plain.sum(axis=1, keepdims=True), atol=1e-5)


@given(cases())
def test_who_gave_no_answer_changes_nothing(world):
    case, pool, asked = world
    missing = case.codes < 0
    without = pool.probabilities(case, pool.hear_all(case, asked & ~missing))
    np.testing.assert_array_equal(pool.probabilities(case, pool.hear_all(case, asked | missing)), without)


@given(cases())
def test_a_part_of_the_panel_is_believed_as_in_the_whole(world):
    case, pool, asked = world
    some = np.flatnonzero(asked.any(axis=0))
    inside = asked[:, some]
    part, few = case.only(some), pool.only(some)
    whole = pool.probabilities(case, pool.hear_all(case, asked))
    np.testing.assert_allclose(few.probabilities(part, few.hear_all(part, inside)), whole, atol=1e-4)


def test_without_committees_nothing_is_learned():
    truth, said = worlds.independent(100, worlds.habits((0.7,), 3))
    _, case = worlds.taught(said, truth)
    pool = Pool.fit(case, truth, [np.ones(said.shape, dtype=bool)])
    assert not pool.members.any()
    np.testing.assert_array_equal(pool.sources[:, 1:], np.repeat([[0.7], [0.0], [0.0], [0.0], [1.0]], 5, axis=1))


@pytest.fixture(scope="module")
def independents():
    confusions = worlds.habits(RIGHT, 4)
    truth, said = worlds.independent(1500, confusions)
    beliefs, _ = worlds.taught(said, truth)
    new_truth, new = worlds.independent(1500, confusions, seed=1)
    return confusions, beliefs, new, new_truth, worlds.told(beliefs, new, 1 - np.array(RIGHT))


def majority(said, heard, classes):
    votes = np.stack([((said == c) & heard).sum(axis=1) for c in range(classes)], axis=1)
    return votes.argmax(axis=1)


def test_of_independent_experts_the_pool_is_close_to_exact_bayes_and_well_above_the_majority(independents):
    confusions, beliefs, new, truth, case = independents
    everyone = np.ones(new.shape, dtype=bool)
    found, exact = worlds.after(beliefs, case, everyone), worlds.exact_bayes(new, confusions, everyone)
    ours, best = (found.argmax(axis=1) != truth).mean(), (exact.argmax(axis=1) != truth).mean()
    assert ours < best + 0.02
    assert ours < (majority(new, everyone, 4) != truth).mean() - 0.03
    assert np.abs(found - exact).sum(axis=1).mean() < 0.2


@pytest.mark.parametrize("size", range(1, 6))
def test_any_part_of_independent_experts_is_believed_about_as_by_exact_bayes(independents, size):
    confusions, beliefs, new, truth, case = independents
    heard = np.random.default_rng(size).random(new.shape).argsort(axis=1) < size
    found, exact = worlds.after(beliefs, case, heard), worlds.exact_bayes(new, confusions, heard)
    ours, best = (found.argmax(axis=1) != truth).mean(), (exact.argmax(axis=1) != truth).mean()
    assert ours < best + 0.025
    assert ours <= (majority(new, heard, 4) != truth).mean()
    assert abs(found.max(axis=1).mean() - (1 - ours)) < 0.04


@pytest.fixture(scope="module")
def echoes():
    """Two experts say the very same, a third says it nearly always, and two more are on their own."""

    def world(seed):
        truth, said = worlds.independent(1500, worlds.habits((0.65, 0.6, 0.7), 3), seed=seed)
        rng = np.random.default_rng(100 + seed)
        near = np.where(rng.random(1500) < 0.95, said[:, 0], rng.integers(0, 3, 1500))
        return truth, np.column_stack([said[:, 0], said[:, 0], near, said[:, 1], said[:, 2]])

    truth, said = world(0)
    beliefs, _ = worlds.taught(said, truth)
    new_truth, new = world(1)
    return beliefs, new, new_truth, worlds.told(beliefs, new, (said != truth[:, None]).mean(axis=0))


@pytest.mark.parametrize("size", range(1, 6))
def test_who_repeats_another_is_not_counted_twice(echoes, size):
    beliefs, _, truth, case = echoes
    off = []
    for members in itertools.combinations(range(5), size):
        heard = np.zeros((len(truth), 5), dtype=bool)
        heard[:, members] = True
        found = worlds.after(beliefs, case, heard)
        off.append(found.max(axis=1).mean() - (found.argmax(axis=1) == truth).mean())
    assert abs(np.mean(off)) < 0.03
    assert np.abs(off).max() < 0.1


def test_naive_sums_would_have_counted_them_twice(echoes):
    # So that the test above can fail: plain evidence of all five is far too sure of itself.
    beliefs, _, truth, case = echoes
    naive = Pool(np.ones(5), np.vstack([np.zeros((4, 6)), np.ones((1, 6))]))
    found = naive.probabilities(case, naive.hear_all(case, np.ones((len(truth), 5), dtype=bool)))
    assert found.max(axis=1).mean() - (found.argmax(axis=1) == truth).mean() > 0.08
    ours = worlds.after(beliefs, case, np.ones((len(truth), 5), dtype=bool))
    assert (ours.argmax(axis=1) != truth).mean() < (found.argmax(axis=1) != truth).mean()

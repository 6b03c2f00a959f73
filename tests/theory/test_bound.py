import numpy as np
import pytest

from askwho.theory import FiniteProblem, consistency_bound, least_surrogate_risk, surrogate_risk

US = [0.0, 0.5, 1.0, 1.25, 1.5]
SHIFTS = ["max", "sum", 1.0]


def random_problem(rng):
    m, outcomes, size = rng.integers(1, 4), rng.integers(1, 4), rng.integers(2, 6)
    return FiniteProblem(
        costs=rng.random((m, outcomes, size)) ** rng.integers(1, 5),
        conditionals=rng.dirichlet(np.full(outcomes, 0.5), size=m),
        marginal=rng.dirichlet(np.ones(m)),
    )


def hard_scores(rng, weights, u):
    """Scores that try to break the bound: near the best ones, with two entities tied or swapped."""
    best = np.log(np.maximum(weights, 1e-12)) / (2 - min(u, 1.9))
    kind = rng.integers(3)
    if kind == 0:
        return rng.normal(scale=2.0, size=best.shape)
    scores = best + rng.normal(scale=0.05, size=best.shape) * (kind == 1)
    for row in scores:
        i, j = rng.choice(len(row), 2, replace=False)
        row[i], row[j] = ((row[i] + row[j]) / 2,) * 2 if kind == 2 else (row[j], row[i])
    return scores


def single(costs, shift=1.0):
    return FiniteProblem(np.array([[costs]], dtype=float), np.ones((1, 1)), np.ones(1)), shift


@pytest.mark.parametrize("u", US)
def test_the_bound_holds_at_every_k_on_six_hundred_random_problems(u):
    rng = np.random.default_rng(int(100 * u))
    for _ in range(600):
        problem = random_problem(rng)
        shift = SHIFTS[rng.integers(3)]
        scores = hard_scores(rng, problem.weights(shift), u)
        for k in range(1, scores.shape[1] + 1):
            bound = consistency_bound(problem, scores, k=k, u=u, shift=shift)
            assert bound.left <= bound.right + 1e-9
            assert bound.deferral_gap == pytest.approx(0, abs=1e-12)
            assert bound.surrogate_gap == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("u", [*US, 1.75, 2.0, 3.0])
def test_at_k_1_it_holds_for_every_u(u):
    rng = np.random.default_rng(7)
    for _ in range(300):
        problem = random_problem(rng)
        scores = hard_scores(rng, problem.weights("sum"), u)
        bound = consistency_bound(problem, scores, k=1, u=u, shift="sum")
        assert bound.left <= bound.right + 1e-9


@pytest.mark.parametrize("u", US)
def test_it_holds_with_gaps_for_policies_that_see_only_part_of_the_query(u):
    rng = np.random.default_rng(int(10 * u))
    gaps = []
    for _ in range(300):
        m, size = 4, rng.integers(2, 5)
        problem = FiniteProblem(rng.random((m, 2, size)), rng.dirichlet(np.ones(2), size=m), rng.dirichlet(np.ones(m)))
        cells = np.array([0, 0, 1, 1])
        scores = rng.normal(size=(2, size))[cells]
        for k in range(1, size + 1):
            bound = consistency_bound(problem, scores, k=k, u=u, cells=cells)
            assert bound.left <= bound.right + 1e-9
            assert min(bound.deferral_excess, bound.deferral_gap) >= -1e-12
            assert min(bound.surrogate_excess, bound.surrogate_gap) >= -1e-9
            gaps.append(bound.surrogate_gap)
    assert max(gaps) > 0.01


@pytest.mark.parametrize("u", US)
def test_a_base_that_could_be_better_adds_its_own_excess(u):
    rng = np.random.default_rng(5)
    for _ in range(200):
        problem = random_problem(rng)
        scores = rng.normal(size=problem.expected_costs.shape)
        better = problem.expected_costs[:, 0] * rng.random(len(scores))
        for k in range(1, scores.shape[1] + 1):
            bound = consistency_bound(problem, scores, k=k, u=u, best_base_costs=better)
            assert bound.base_excess >= 0
            assert bound.left <= bound.right + 1e-9


@pytest.mark.parametrize("t", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("u", US)
def test_at_k_1_it_is_tight_for_two_tied_entities(u, t):
    # Weights (1 ∓ t)/2: the worse entity comes first and wins the tie.
    problem, shift = single([1 - (1 - t) / 2, 1 - (1 + t) / 2])
    bound = consistency_bound(problem, np.zeros((1, 2)), k=1, u=u, shift=shift)
    assert bound.left == pytest.approx(t)
    assert bound.right == pytest.approx(t, rel=1e-6)


@pytest.mark.parametrize("u", [0.0, 0.5, 1.0])
def test_up_to_u_1_it_is_tight_for_any_number_of_entities(u):
    t = 0.4
    problem, shift = single([1 - (1 - t) / 2, 1 - (1 + t) / 2, 1.0, 1.0])
    bound = consistency_bound(problem, np.array([[0.0, 0.0, -60.0, -60.0]]), k=1, u=u, shift=shift)
    assert bound.right == pytest.approx(bound.left, rel=1e-6)


def test_at_u_2_the_surrogate_excess_vanishes_while_the_top_2_excess_stays():
    problem, shift = single([0.5, 0.7, 0.8])
    for epsilon in (1e-1, 1e-3, 1e-6):
        scores = np.log([[1 - epsilon, epsilon / 3, 2 * epsilon / 3]])
        bound = consistency_bound(problem, scores, k=2, u=2.0, shift=shift)
        assert bound.surrogate_excess == pytest.approx(0.8 / 3 * epsilon, rel=1e-6)
        assert bound.left == pytest.approx(0.1)
    assert bound.left > bound.right


@pytest.mark.parametrize("u", [1.6, 1.75, 1.9])
def test_between_one_and_a_half_and_2_the_rate_fails_at_k_2(u):
    # Two unlikely entities in the wrong order: their share shrinks like δ^{1/(2−u)}, faster than the bound allows.
    broken = []
    for delta in np.logspace(-1, -8, 15):
        weights = np.array([1 - delta, 0.45 * delta, 0.55 * delta])
        problem, shift = single(1 - weights)
        best = np.log(weights) / (2 - u)
        scores = np.array([[best[0], best[1:].mean(), best[1:].mean()]])
        bound = consistency_bound(problem, scores, k=2, u=u, shift=shift)
        broken.append(bound.left > bound.right)
    assert broken[-1]


@pytest.mark.parametrize("u", [*US, 1.9, 2.0, 2.5])
def test_the_least_surrogate_risk_is_a_lower_bound_that_is_reached(u):
    rng = np.random.default_rng(3)
    weights = rng.random((50, 4)) * (rng.random((50, 4)) < 0.8)
    least = least_surrogate_risk(weights, u=u)
    for _ in range(50):
        assert (surrogate_risk(rng.normal(scale=3, size=weights.shape), weights, u=u) >= least - 1e-9).all()
    near = np.log(weights + 1e-300) / (2 - u) if u < 2 else 1e3 * (weights == weights.max(axis=1, keepdims=True))
    np.testing.assert_allclose(surrogate_risk(near, weights, u=u), least, rtol=1e-6, atol=1e-6)


def test_the_papers_scale_is_the_sum_shifts():
    problem = random_problem(np.random.default_rng(11))
    size = problem.costs.shape[2]
    np.testing.assert_allclose(problem.weights("sum").sum(axis=1), (size - 1) * problem.expected_costs.sum(axis=1))

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from askwho import InvalidInputError, Panel  # noqa: E402
from askwho.core import select_top_k  # noqa: E402
from askwho.losses import comp_sum, deferral_surrogate, deferral_weights, weighted_comp_sum  # noqa: E402
from askwho.metrics import prefix_deferral_losses  # noqa: E402
from askwho.theory import psi  # noqa: E402

SHIFTS = ["max", "sum", 12.5]
US = [0.0, 0.5, 1.0, 1.5, 2.0]


@st.composite
def problems(draw):
    """Scores and costs of the same shape, costs up to 5."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(2, 6)))
    cells = shape[0] * shape[1]
    scores = draw(st.lists(st.floats(-6, 6), min_size=cells, max_size=cells))
    costs = draw(st.lists(st.floats(0, 5), min_size=cells, max_size=cells))
    return np.array(scores).reshape(shape), np.array(costs).reshape(shape)


def level_of(costs, shift):
    if isinstance(shift, float):
        return np.full(len(costs), shift)
    return costs.max(axis=1) if shift == "max" else costs.sum(axis=1)


@pytest.mark.parametrize("shift", SHIFTS)
@given(problem=problems())
def test_the_identity_of_the_lemma_holds_for_every_k(shift, problem):
    scores, costs = problem
    size = costs.shape[1]
    selection = select_top_k(scores, size, panel=Panel.two_stage([f"e{j}" for j in range(1, size)]))
    losses = prefix_deferral_losses(selection, costs)
    weights = deferral_weights(torch.tensor(costs), shift=shift).numpy()
    for k in range(1, size + 1):
        outside = np.ones(costs.shape)
        np.put_along_axis(outside, selection.order[:, :k], 0.0, axis=1)
        constant = (size - k) * level_of(costs, shift) - costs.sum(axis=1)
        np.testing.assert_allclose((weights * outside).sum(axis=1), losses[:, k - 1] + constant, atol=1e-9)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("u", US)
@given(problem=problems())
def test_the_normalised_upper_bound_of_the_lemma_holds_for_every_k(u, shift, problem):
    scores, costs = problem
    size = costs.shape[1]
    selection = select_top_k(scores, size, panel=Panel.two_stage([f"e{j}" for j in range(1, size)]))
    losses = prefix_deferral_losses(selection, costs)
    surrogate = deferral_surrogate(torch.tensor(scores), torch.tensor(costs), u=u, shift=shift).numpy()
    for k in range(1, size + 1):
        constant = (size - k) * level_of(costs, shift) - costs.sum(axis=1)
        for normaliser in (psi(1.0, u=u), psi(float(k), u=u)):
            assert (losses[:, k - 1] <= surrogate / normaliser - constant + 1e-9).all()


@given(problem=problems())
def test_the_papers_shift_weighs_by_the_costs_of_the_others(problem):
    _, costs = problem
    weights = deferral_weights(torch.tensor(costs), shift="sum").numpy()
    for j in range(costs.shape[1]):
        np.testing.assert_allclose(weights[:, j], np.delete(costs, j, axis=1).sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("shift", SHIFTS)
@given(problem=problems())
def test_it_is_the_weighted_sum_of_comp_sum_losses(shift, problem):
    scores, costs = map(torch.tensor, problem)
    expected = (deferral_weights(costs, shift=shift) * comp_sum(scores, u=0.5)).sum(dim=-1)
    torch.testing.assert_close(deferral_surrogate(scores, costs, u=0.5, shift=shift), expected)


def test_a_shift_may_be_one_number_a_row():
    costs = torch.tensor([[0.2, 0.4], [3.0, 1.0]])
    expected = torch.tensor([[0.8, 0.6], [2.0, 4.0]])
    for shift in (torch.tensor([1.0, 5.0]), torch.tensor([[1.0], [5.0]])):
        torch.testing.assert_close(deferral_weights(costs, shift=shift), expected)


def test_weightless_entities_add_nothing_even_past_the_dtype():
    scores = torch.tensor([[2000.0, -2000.0]], requires_grad=True)
    loss = weighted_comp_sum(scores, torch.tensor([[1.0, 0.0]]), u=0.0)
    loss.sum().backward()
    assert loss.item() == 0
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("u", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_gradients_are_finite_at_scores_of_200(u, dtype):
    scores = torch.tensor([[200.0, -200.0, 0.0, 200.0]], dtype=dtype, requires_grad=True)
    costs = torch.tensor([[0.0, 1.0, 0.5, float("nan")]], dtype=dtype)
    mask = torch.tensor([[True, True, True, False]])
    loss = deferral_surrogate(scores, costs, u=u, shift=1.5, mask=mask)
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("u", [0.0, 0.5, 1.0, 1.5, 2.0])
def test_analytic_gradients_equal_numerical_ones(u):
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(3, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    costs = torch.rand(3, 4, dtype=torch.float64, generator=generator)
    mask = torch.rand(3, 4, generator=generator) < 0.7
    mask[:, 0] = True
    assert torch.autograd.gradcheck(lambda s: deferral_surrogate(s, costs, u=u), (scores,))
    assert torch.autograd.gradcheck(lambda s: deferral_surrogate(s, costs, u=u, shift=2.0, mask=mask), (scores,))


def test_what_was_not_asked_has_neither_value_nor_gradient():
    scores = torch.tensor([[0.3, -0.2, 0.9]], requires_grad=True)
    costs = torch.tensor([[0.1, float("nan"), 0.6]])
    loss = deferral_surrogate(scores, costs, shift=1.0, mask=torch.tensor([[True, False, True]]))
    expected = deferral_surrogate(scores[:, [0, 2]], costs[:, [0, 2]], shift=1.0)
    torch.testing.assert_close(loss, expected)
    loss.sum().backward()
    assert scores.grad[0, 1] == 0


def test_leading_axes_are_free():
    scores, costs = torch.randn(2, 5, 3), torch.rand(2, 5, 3)
    torch.testing.assert_close(deferral_surrogate(scores, costs)[1], deferral_surrogate(scores[1], costs[1]))


@pytest.mark.parametrize("shape", [(2, 2), (1, 3), (3,)], ids=str)
def test_weights_are_not_stretched_to_the_scores(shape):
    with pytest.raises(InvalidInputError, match="must have the shape of `scores`"):
        weighted_comp_sum(torch.zeros(2, 3), torch.ones(shape))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.bool])
def test_costs_of_whole_numbers_are_refused(dtype):
    with pytest.raises(InvalidInputError, match="`costs` must be floating point"):
        deferral_weights(torch.tensor([[0, 1]], dtype=dtype))

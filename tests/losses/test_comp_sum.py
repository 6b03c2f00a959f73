import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from askwho.core import rank  # noqa: E402
from askwho.losses import comp_sum  # noqa: E402
from askwho.theory import psi  # noqa: E402

US = [0.0, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0]
scores_of = st.integers(2, 6).flatmap(
    lambda a: st.lists(st.lists(st.floats(-8, 8), min_size=a, max_size=a), min_size=1, max_size=4)
)


def tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


def by_hand(row, j, u):
    v = sum(math.exp(other - row[j]) for other in row) - 1
    return math.log1p(v) if u == 1 else ((1 + v) ** (1 - u) - 1) / (1 - u)


@pytest.mark.parametrize("u", US)
@given(rows=scores_of)
def test_it_is_the_papers_formula(u, rows):
    losses = comp_sum(tensor(rows), u=u)
    expected = [[by_hand(row, j, u) for j in range(len(row))] for row in rows]
    np.testing.assert_allclose(losses, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("u", "value"), [(0.0, 1.0), (1.0, math.log(2)), (2.0, 0.5)])
def test_the_normaliser_has_the_known_values(u, value):
    assert psi(1.0, u=u) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("u", US)
@given(rows=scores_of)
def test_normalised_it_bounds_the_top_k_indicator_for_every_k(u, rows):
    scores = tensor(rows)
    losses, order = comp_sum(scores, u=u).numpy(), rank(rows)
    np.testing.assert_allclose(comp_sum(scores, u=u, normalized=True), losses / psi(1.0, u=u))
    for k in range(1, scores.shape[1] + 1):
        outside = np.ones(scores.shape)
        np.put_along_axis(outside, order[:, :k], 0.0, axis=1)
        assert (losses / psi(float(k), u=u) >= outside - 1e-12).all()


def test_without_the_normaliser_the_papers_bound_fails():
    assert comp_sum(tensor([[0.0, 0.0]]))[0, 1] < 1.0


@pytest.mark.parametrize("u", US)
@given(rows=scores_of, constant=st.floats(-50, 50))
def test_a_constant_added_to_a_row_changes_nothing(u, rows, constant):
    scores = tensor(rows)
    np.testing.assert_allclose(comp_sum(scores + constant, u=u), comp_sum(scores, u=u), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("u", US)
@given(rows=scores_of, data=st.data())
def test_renaming_the_entities_renames_the_losses(u, rows, data):
    scores = tensor(rows)
    shuffle = data.draw(st.permutations(range(scores.shape[1])))
    np.testing.assert_allclose(comp_sum(scores[:, shuffle], u=u), comp_sum(scores, u=u)[:, shuffle], rtol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("u", [1.0, 1.25, 1.5, 2.0, 3.0])
def test_for_u_of_one_and_more_everything_is_finite_at_scores_of_200(u, dtype):
    scores = torch.tensor([[200.0, -200.0, 0.0], [-200.0, -200.0, 200.0]], dtype=dtype, requires_grad=True)
    losses = comp_sum(scores, u=u)
    losses.sum().backward()
    assert torch.isfinite(losses).all()
    assert torch.isfinite(scores.grad).all()
    assert (losses >= 0).all()


@pytest.mark.parametrize(("dtype", "reach"), [(torch.float32, 88.0), (torch.float64, 709.0)])
@pytest.mark.parametrize("u", [0.0, 0.5, 0.9])
def test_for_u_below_one_it_is_exact_as_far_as_the_dtype_reaches(u, dtype, reach):
    gap = (reach - 4) / (1 - u)
    scores = torch.tensor([[gap, 0.0]], dtype=dtype, requires_grad=True)
    loss = comp_sum(scores, u=u)[0, 1]
    loss.backward()
    log_loss = math.log(loss.item())
    assert log_loss == pytest.approx((1 - u) * gap - math.log(1 - u), rel=1e-5)
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("u", [0.0, 0.5])
def test_for_u_below_one_past_the_dtype_it_is_infinite_and_never_nan(u, dtype):
    losses = comp_sum(torch.tensor([[2000.0, -2000.0, 0.0]], dtype=dtype), u=u)
    assert losses[0, 0] == 0
    assert torch.isinf(losses[0, 1:]).all()


@given(rows=scores_of, step=st.sampled_from([1e-4, 1e-7, 1e-10, 1e-13]))
def test_it_is_continuous_in_u_through_one(rows, step):
    scores = tensor(rows)
    logistic = comp_sum(scores, u=1.0)
    for u in (1 - step, 1 + step):
        difference = (comp_sum(scores, u=u) - logistic).abs()
        assert (difference <= step * logistic**2 + 1e-12).all()


@pytest.mark.parametrize("u", US)
def test_analytic_gradients_equal_numerical_ones(u):
    scores = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: comp_sum(s, u=u), (scores,))


def test_leading_axes_are_free():
    scores = torch.randn(2, 5, 3)
    torch.testing.assert_close(comp_sum(scores)[1, 2], comp_sum(scores[1, 2]))

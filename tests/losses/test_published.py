"""Each published surrogate against its formula, written out for one row."""

import inspect
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from askwho import InvalidInputError, losses  # noqa: E402
from askwho.losses import SURROGATES  # noqa: E402

N_LABELS = 3


@st.composite
def rows(draw):
    """Scores, the right label, and which of the experts are right."""
    correct = draw(st.lists(st.booleans(), min_size=1, max_size=3))
    size = N_LABELS + len(correct)
    scores = draw(st.lists(st.floats(-6, 6), min_size=size, max_size=size))
    return scores, draw(st.integers(0, N_LABELS - 1)), correct


def errors_of(label, correct):
    return torch.tensor(
        [[float(j != label) for j in range(N_LABELS)] + [float(not c) for c in correct]], dtype=torch.float64
    )


def log_softmax(scores, j):
    return scores[j] - math.log(sum(math.exp(s) for s in scores))


def phi(z):
    return math.log1p(math.exp(-z))


def call(name, scores, table, **options):
    entry = SURROGATES[name]
    if "n_labels" in entry.options:
        options["n_labels"] = N_LABELS
    return entry.function(torch.tensor([scores], dtype=torch.float64), table, **options).item()


@given(rows())
def test_mozannar_and_sontag(row):
    scores, label, correct = row
    expected = -log_softmax(scores, label)
    expected -= sum(log_softmax(scores, N_LABELS + j) for j, right in enumerate(correct) if right)
    assert call("mozannar-sontag", scores, errors_of(label, correct)) == pytest.approx(expected)


@given(rows(), st.floats(0, 1))
def test_mozannar_and_sontag_with_a_weight_on_the_expert(row, alpha):
    scores, label, correct = row
    scores, correct = scores[: N_LABELS + 1], correct[:1]
    weight = alpha if correct[0] else 1.0
    expected = -weight * log_softmax(scores, label) - correct[0] * log_softmax(scores, N_LABELS)
    found = call("mozannar-sontag", scores, errors_of(label, correct), expert_weight=alpha)
    assert found == pytest.approx(expected)


@given(rows())
def test_one_vs_all(row):
    scores, label, correct = row
    expected = phi(scores[label]) + sum(phi(-scores[y]) for y in range(N_LABELS) if y != label)
    for j, right in enumerate(correct):
        score = scores[N_LABELS + j]
        expected += phi(-score) + right * (phi(score) - phi(-score))
    assert call("one-vs-all", scores, errors_of(label, correct)) == pytest.approx(expected)


@given(rows())
def test_asymmetric_softmax(row):
    scores, label, correct = row
    labels = scores[:N_LABELS]
    expected = -log_softmax(labels, label)
    for j, right in enumerate(correct):
        top = math.exp(scores[N_LABELS + j])
        share = top / (sum(map(math.exp, labels)) + top - math.exp(max(labels)))
        expected -= math.log(share) if right else math.log(1 - share)
    assert call("asymmetric-softmax", scores, errors_of(label, correct)) == pytest.approx(expected)


@given(rows(), st.data())
def test_mao_one_stage_with_general_costs(row, data):
    scores, label, correct = row
    costs = data.draw(st.lists(st.floats(0, 1), min_size=len(correct), max_size=len(correct)))
    table = errors_of(label, correct)
    table[0, N_LABELS:] = torch.tensor(costs)
    expected = -log_softmax(scores, label)
    expected -= sum((1 - cost) * log_softmax(scores, N_LABELS + j) for j, cost in enumerate(costs))
    assert call("mao-one-stage", scores, table) == pytest.approx(expected)


@st.composite
def two_stage_rows(draw):
    size = draw(st.integers(2, 5))
    scores = draw(st.lists(st.floats(-6, 6), min_size=size, max_size=size))
    return scores, draw(st.lists(st.floats(0, 1), min_size=size, max_size=size))


@given(two_stage_rows())
def test_mao_two_stage_for_classification(row):
    scores, costs = row
    expected = -sum((1 - cost) * log_softmax(scores, j) for j, cost in enumerate(costs))
    assert call("mao-two-stage", scores, torch.tensor([costs], dtype=torch.float64)) == pytest.approx(expected)


@given(two_stage_rows())
def test_mao_two_stage_for_regression(row):
    scores, costs = row
    costs = [7 * cost for cost in costs]
    expected = -sum((sum(costs) - cost) * log_softmax(scores, j) for j, cost in enumerate(costs))
    found = call("mao-two-stage-regression", scores, torch.tensor([costs], dtype=torch.float64))
    assert found == pytest.approx(expected, abs=1e-9)


@given(two_stage_rows())
def test_post_hoc(row):
    scores, costs = row
    expected = sum(
        costs[0] * phi(score - scores[0]) + cost * phi(scores[0] - score)
        for score, cost in zip(scores[1:], costs[1:], strict=True)
    )
    assert call("post-hoc", scores, torch.tensor([costs], dtype=torch.float64)) == pytest.approx(expected)


@given(two_stage_rows())
def test_post_hoc_for_one_expert_is_the_top_k_surrogate_with_the_papers_shift(row):
    scores, costs = torch.tensor([row[0][:2]], dtype=torch.float64), torch.tensor([row[1][:2]], dtype=torch.float64)
    torch.testing.assert_close(losses.post_hoc(scores, costs), losses.deferral_surrogate(scores, costs, shift="sum"))


@pytest.mark.parametrize("name", SURROGATES)
def test_every_surrogate_is_unreduced_finite_at_200_and_free_in_its_leading_axes(name):
    entry = SURROGATES[name]
    table = torch.cat([errors_of(0, [True, False]), errors_of(2, [False, False])]).float().expand(3, 2, 5)
    options = {"n_labels": N_LABELS} if "n_labels" in entry.options else {}
    scores = torch.tensor([200.0, -200.0, 0.0, 200.0, -200.0]).expand(3, 2, 5).clone().requires_grad_()
    values = entry.function(scores, table, **options)
    values.sum().backward()
    assert values.shape == (3, 2)
    assert torch.isfinite(values).all()
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("name", SURROGATES)
def test_every_entry_says_what_its_function_takes(name):
    entry = SURROGATES[name]
    parameters = inspect.signature(entry.function).parameters
    assert entry.options == {"n_labels", "u"} & set(parameters)
    assert list(parameters)[:2] == ["scores", entry.takes]
    assert entry.reference.endswith(tuple("0123456789")) or "Corollary" in entry.reference
    assert entry.multi_expert


@pytest.mark.parametrize("shape", [(2, 2), (1, 3), (3,)], ids=str)
@pytest.mark.parametrize(
    "loss",
    [
        losses.mao_two_stage,
        losses.mao_two_stage_regression,
        lambda scores, costs: losses.mao_one_stage(scores, costs, n_labels=2),
    ],
    ids=["two-stage", "two-stage regression", "one-stage"],
)
def test_costs_are_not_stretched_to_the_scores(loss, shape):
    with pytest.raises(InvalidInputError, match="must have the shape of `scores`"):
        loss(torch.zeros(2, 3), torch.ones(shape))


@pytest.mark.parametrize("name", SURROGATES)
def test_tables_of_whole_numbers_are_refused(name):
    with pytest.raises(InvalidInputError, match="must be floating point"):
        call(name, [0.0] * 4, torch.tensor([[0, 1, 1, 1]]))

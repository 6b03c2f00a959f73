import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askwho import Panel
from askwho.theory import bayes_cardinality, bayes_ranking, bayes_risk, chow_rule

tables = st.tuples(st.integers(1, 3), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(0, 3))
)


@given(tables)
def test_no_set_of_k_costs_less_than_the_bayes_set(costs):
    order, risk = bayes_ranking(costs), bayes_risk(costs)
    for i, row in enumerate(costs):
        for k in range(1, len(row) + 1):
            least = min(sum(row[list(some)]) for some in itertools.combinations(range(len(row)), k))
            assert np.isclose(row[order[i, :k]].sum(), least)
            assert np.isclose(risk[i, k - 1], least)


@given(tables, st.floats(0, 5))
def test_no_cardinality_beats_the_bayes_cardinality(errors, fee_weight):
    fees = np.cumsum(np.full(errors.shape, 0.25), axis=1)
    chosen = bayes_cardinality(errors, fees, fee_weight=fee_weight, fee_transform=np.square)
    for i, row in enumerate(errors):
        losses = [error + fee_weight * fee**2 for error, fee in zip(row, fees[i], strict=True)]
        assert chosen[i] == 1 + losses.index(min(losses))


@given(tables)
def test_dearer_fees_never_ask_for_more(errors):
    fees = np.cumsum(np.full(errors.shape, 0.5), axis=1)
    sizes = [bayes_cardinality(errors, fees, fee_weight=weight) for weight in (0.0, 0.1, 1.0, 10.0)]
    assert (np.diff(sizes, axis=0) <= 0).all()


def test_chows_rule_is_the_bayes_rule_of_the_selective_panel():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(4), size=500)
    panel = Panel.selective(["a", "b", "c", "d"], penalty=0.45)
    errors = np.concatenate([1 - probabilities, np.ones((500, 1))], axis=1)
    best = bayes_ranking(panel.error_weights * errors)[:, 0]
    decided = chow_rule(probabilities, penalty=0.45)
    assert (best == decided).all()
    assert 0 < (decided == 4).mean() < 1

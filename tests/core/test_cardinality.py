"""Committee error plus the price of its size."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho.core import cardinality_losses

NAN = math.nan
amounts = st.floats(0, 10)
rows = st.lists(st.tuples(*[st.tuples(amounts | st.just(NAN), amounts)] * 3), min_size=1, max_size=5)
whole_rows = st.lists(st.tuples(*[st.tuples(st.integers(0, 50), st.integers(0, 9))] * 3), min_size=1, max_size=5)
transforms = st.sampled_from([np.sqrt, np.square, np.log1p, np.ceil, np.ones_like, lambda sums: np.minimum(sums, 2.0)])


def split(cells):
    """Errors and summed fees, out of rows of (error, fee)."""
    errors = [[error for error, _ in row] for row in cells]
    return errors, np.cumsum([[fee for _, fee in row] for row in cells], axis=1)


def same(table, expected):
    np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12)


def test_losses_are_errors_plus_priced_fees():
    same(cardinality_losses([[0.3, 0.2]], [[0.1, 0.3]], fee_weight=2.0), [[0.5, 0.8]])


def test_a_fee_weight_of_0_leaves_the_errors():
    assert cardinality_losses([[0.3, 0.2]], [[0.1, 0.3]], fee_weight=0.0).tolist() == [[0.3, 0.2]]


def test_the_transform_is_of_the_sum():
    same(cardinality_losses([[0.0, 0.0]], [[1.0, 4.0]], fee_weight=0.5, fee_transform=np.sqrt), [[0.5, 1.0]])


def test_a_committee_that_cannot_be_scored_has_no_loss():
    same(cardinality_losses([[0.3, NAN]], [[0.1, 0.3]], fee_weight=1.0), [[0.4, NAN]])


def test_a_flat_transform_is_taken():
    losses = cardinality_losses([[0.3, 0.2]], [[0.1, 0.3]], fee_weight=1.0, fee_transform=np.ones_like)
    same(losses, [[1.3, 1.2]])


def test_a_transform_with_steps_is_taken():
    losses = cardinality_losses([[0.0, 0.0]], [[0.4, 1.4]], fee_weight=1.0, fee_transform=np.ceil)
    assert losses.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("fee_transform", [None, np.square])
def test_fees_are_left_as_they_were(fee_transform):
    fees = np.array([[0.1, 0.3]])
    cardinality_losses([[0.3, 0.2]], fees, fee_weight=2.0, fee_transform=fee_transform)
    assert fees.tolist() == [[0.1, 0.3]]


@given(rows, amounts, transforms)
def test_losses_agree_with_a_loop(cells, fee_weight, transform):
    errors, fees = split(cells)
    expected = [
        [error + fee_weight * float(transform(np.float64(fee))) for error, fee in zip(r, s, strict=True)]
        for r, s in zip(errors, fees, strict=True)
    ]
    same(cardinality_losses(errors, fees, fee_weight=fee_weight, fee_transform=transform), expected)


@given(rows, amounts)
def test_no_transform_is_the_identity(cells, fee_weight):
    errors, fees = split(cells)
    plain = cardinality_losses(errors, fees, fee_weight=fee_weight)
    identity = cardinality_losses(errors, fees, fee_weight=fee_weight, fee_transform=lambda sums: sums)
    assert np.array_equal(plain, identity, equal_nan=True)


@given(rows, amounts, amounts, st.floats(0, 1))
def test_losses_are_affine_in_the_fee_weight(cells, low, high, share):
    errors, fees = split(cells)

    def losses(fee_weight):
        return cardinality_losses(errors, fees, fee_weight=fee_weight)

    same(losses((1 - share) * low + share * high), (1 - share) * losses(low) + share * losses(high))


@given(rows, amounts, amounts, transforms)
def test_a_higher_fee_weight_never_lowers_a_loss(cells, fee_weight, more, transform):
    errors, fees = split(cells)
    low = cardinality_losses(errors, fees, fee_weight=fee_weight, fee_transform=transform)
    high = cardinality_losses(errors, fees, fee_weight=fee_weight + more, fee_transform=transform)
    assert not (high < low).any()


@given(whole_rows, st.integers(0, 9), st.integers(0, 9))
def test_a_higher_fee_weight_never_asks_more(cells, fee_weight, more):
    errors, fees = split(cells)
    cheap = cardinality_losses(errors, fees, fee_weight=fee_weight).argmin(axis=1)
    dear = cardinality_losses(errors, fees, fee_weight=fee_weight + more).argmin(axis=1)
    assert (dear <= cheap).all()

"""Money becomes whole numbers by its decimal spelling, and nothing else passes for money."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho._money import LARGEST, NANOS, amount, nanos
from askwho.exceptions import InvalidInputError


@pytest.mark.parametrize(
    ("given", "booked"),
    [
        (0, 0),
        (-0.0, 0),
        (1, NANOS),
        (0.1, NANOS // 10),
        ("0.1", NANOS // 10),
        (Decimal("2.5"), 5 * NANOS // 2),
        (np.float64(0.3), 3 * NANOS // 10),
        (np.float32(0.5), NANOS // 2),
        (np.int64(3), 3 * NANOS),
        (1e-9, 1),
        ("0.0000000005", 1),  # half a billionth goes up
        ("0.0000000015", 2),
        ("0.00000000049", 0),
        ("0.000000000" + "4" + "9" * 60, 0),  # rounded once, not twice
        (1e-30, 0),
        ("1e3", 1000 * NANOS),
        (LARGEST // NANOS, LARGEST // NANOS * NANOS),
    ],
)
def test_amounts_are_taken_as_they_are_spelt(given, booked):
    assert nanos(given) == booked


@pytest.mark.parametrize("given", [-1, -1e-12, "-0.1", math.nan, math.inf, "nan", "Infinity", "sNaN"])
def test_what_is_below_zero_or_not_finite_is_refused(given):
    with pytest.raises(InvalidInputError, match="finite number of at least 0, got"):
        nanos(given)


@pytest.mark.parametrize("given", ["", "free", "0,05", True])
def test_what_is_no_number_is_refused(given):
    with pytest.raises(InvalidInputError, match="must be a number, got"):
        nanos(given)


@pytest.mark.parametrize("given", [1e30, LARGEST // NANOS + 1, "9" * 40])
def test_more_than_a_database_holds_is_refused(given):
    with pytest.raises(InvalidInputError, match="take a larger unit"):
        nanos(given)


@given(st.integers(0, 10**9), st.integers(0, 9))
def test_every_decimal_of_nine_places_is_exact(digits, places):
    assert nanos(Decimal(digits).scaleb(-places)) == digits * 10 ** (9 - places)


@given(st.integers(0, 2**53))
def test_what_a_float_can_hold_comes_back(booked):
    assert nanos(amount(booked)) == pytest.approx(booked, abs=max(1, booked * 2**-52))


@given(st.integers(0, 10**14))
def test_up_to_a_hundred_thousand_units_floats_lose_nothing(booked):
    assert nanos(amount(booked)) == booked


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_order_is_kept(one, other):
    assert (nanos(one) <= nanos(other)) or one > other

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho.theory import calibration, inverse_calibration

US = [0.0, 0.25, 0.5, 0.9, 1.0, 1.1, 1.5, 1.9, 2.0, 2.5]
excesses = st.floats(0, 1)


@given(excesses)
def test_it_has_the_papers_values_at_0_1_and_2(t):
    half = lambda x: 0.0 if x == 0 else x / 2 * math.log(x)
    assert calibration(t, u=0.0, n_entities=5) == pytest.approx(1 - math.sqrt(1 - t * t), abs=1e-12)
    assert calibration(t, u=1.0, n_entities=5) == pytest.approx(half(1 + t) + half(1 - t), abs=1e-12)
    assert calibration(t, u=2.0, n_entities=5) == pytest.approx(t / 5)


@pytest.mark.parametrize("edge", [1.0, 2.0])
@given(t=excesses)
def test_it_is_continuous_in_u_from_the_left_of_its_edges(edge, t):
    near = calibration(t, u=edge - 1e-7, n_entities=2)
    assert near == pytest.approx(calibration(t, u=edge, n_entities=2), abs=1e-5)


@pytest.mark.parametrize("u", US)
@given(t=excesses)
def test_the_inverse_undoes_it(u, t):
    there = calibration(t, u=u, n_entities=4)
    assert calibration(inverse_calibration(there, u=u, n_entities=4), u=u, n_entities=4) == pytest.approx(
        there, rel=1e-9, abs=1e-15
    )


@pytest.mark.parametrize("u", US)
def test_it_grows_convexly_from_zero_and_the_inverse_ends_at_one(u):
    curve = np.array([calibration(t, u=u, n_entities=3) for t in np.linspace(0, 1, 101)])
    assert curve[0] == 0
    assert (np.diff(curve) > 0).all()
    assert (np.diff(curve, 2) > -1e-12).all()
    assert inverse_calibration(10.0, u=u, n_entities=3) == 1.0
    assert inverse_calibration(0.0, u=u, n_entities=3) == 0.0


@pytest.mark.parametrize("u", [0.0, 1e-9, 0.5, 0.999, 1.0, 1.001, 1.5])
def test_tiny_excesses_keep_their_digits(u):
    # To leading order Γ_u(t) is t² times a constant: what cancels on the way must not eat it.
    curvature = calibration(1e-4, u=u, n_entities=2) / 1e-8
    for t in (1e-6, 1e-9, 1e-12):
        assert calibration(t, u=u, n_entities=2) / t**2 == pytest.approx(curvature, rel=1e-6)

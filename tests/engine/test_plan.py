import itertools
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho.engine import Training


@given(epochs=st.integers(1, 300))
def test_the_cosine_starts_whole_and_falls_without_ever_reaching_nothing(epochs):
    plan = Training(epochs=epochs)
    shares = [plan.share(epoch) for epoch in range(epochs)]
    assert shares[0] == 1.0
    assert shares[-1] > 0
    assert all(later < earlier for earlier, later in itertools.pairwise(shares))


def test_the_cosine_is_half_way_down_half_way_through():
    assert Training(epochs=10).share(5) == pytest.approx(0.5)
    assert Training(epochs=10).share(10) == pytest.approx(0.0)
    assert Training(epochs=8).share(2) == pytest.approx(0.5 * (1 + math.sqrt(0.5)))


@given(epochs=st.integers(1, 50), epoch=st.integers(0, 49))
def test_a_constant_schedule_is_constant(epochs, epoch):
    assert Training(epochs=epochs, schedule="constant").share(epoch) == 1.0


def test_settings_are_had_without_torch():
    code = "import sys; from askwho.engine import Training; print(Training(epochs=3).epochs, 'torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["3", "False"]

"""From what is believed of a verdict to how often such verdicts are right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho._parts import State
from askwho.beliefs import Said, Sureness
from askwho.exceptions import InvalidInputError

LINES = Sureness(np.array([0.5, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]), np.array([0.3, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0]))


def said(own, answers=1, other=0.0):
    own = np.asarray(own, dtype=np.float64)
    return Said(own, np.broadcast_to(np.float64(other), own.shape), np.broadcast_to(answers, own.shape))


def test_lines_are_found_for_each_number_of_answers():
    rng = np.random.default_rng(0)
    own, answers = rng.uniform(0.3, 0.999, 40_000), rng.integers(0, 2, 40_000)
    right = rng.random(40_000) < LINES.of(Said(own, np.zeros(40_000), answers))
    found = Sureness.fit(Said(own, np.zeros(40_000), answers), right)
    assert found.slopes[:2] == pytest.approx(LINES.slopes[:2], abs=0.1)
    assert found.shifts[:2] == pytest.approx(LINES.shifts[:2], abs=0.1)
    # Of committees that nobody saw nothing is said.
    assert (found.slopes[2:] == 1).all()
    assert (found.shifts[2:] == 0).all()


def test_few_verdicts_tell_nothing():
    assert Sureness.fit(said(np.full(40, 0.9)), np.zeros(40, dtype=bool)).shifts[1] == 0
    # The same queries at four prices are no further evidence.
    many = said(np.full(160, 0.9))
    assert Sureness.fit(many, np.zeros(160, dtype=bool), copies=4).shifts[1] == 0


def test_who_is_right_as_often_as_is_believed_keeps_what_is_believed():
    rng = np.random.default_rng(1)
    own = rng.uniform(0.5, 0.99, 20_000)
    found = Sureness.fit(said(own), rng.random(20_000) < own)
    assert found.of(said(own)) == pytest.approx(own, abs=0.02)


def test_nothing_to_say_stays_nothing_to_say():
    assert LINES.of(said([0.0, 1e-9])).tolist()[0] == 0
    assert LINES.of(said([0.0, 1e-9]))[1] > 0


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5), st.integers(0, 12))
def test_the_likeliest_stays_so_and_more_is_never_less(weights, answers):
    shares = np.sort(np.array(weights) / sum(weights))[::-1]
    one = LINES.of(said(shares[:1], answers, shares[1]))[0]
    others = shares[1:] * (1 - one) / max(1 - shares[0], 1e-12)
    assert one >= others.max() - 1e-9
    more = LINES.of(said([min(shares[0] + 0.05, 1.0)], answers))[0]
    assert more >= LINES.of(said(shares[:1], answers))[0] - 1e-12


def test_it_is_read_back_and_damage_is_refused():
    state = LINES.to_state()
    again = Sureness.from_state(state)
    assert (again.slopes.tolist(), again.shifts.tolist()) == (LINES.slopes.tolist(), LINES.shifts.tolist())
    for slopes in (np.zeros(7), np.ones(6)):
        with pytest.raises(InvalidInputError, match="the artefact is damaged"):
            Sureness.from_state(State(arrays={"slopes": slopes, "shifts": np.zeros(7)}))

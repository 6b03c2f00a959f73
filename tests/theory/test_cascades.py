import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import Answers, Panel
from askwho.core import select_top_k
from askwho.theory import Cascade, cascade_scores


@st.composite
def cascades(draw):
    """An order, thresholds and confidences that often meet them exactly."""
    size = draw(st.integers(2, 6))
    level = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    order = draw(st.permutations(range(size)))
    thresholds = draw(st.lists(level, min_size=size, max_size=size))
    confidences = draw(st.lists(st.lists(level, min_size=size, max_size=size), min_size=1, max_size=5))
    return np.array(order), np.array(thresholds), np.array(confidences)


def build(case):
    order, thresholds, confidences = case
    panel = Panel.two_stage({f"e{j}": float(j) for j in range(1, len(order))})
    return Cascade(panel, order, thresholds), confidences


def run(cascade, confidence):
    asked = []
    for stage, entity in enumerate(cascade.order):
        asked.append(int(entity))
        if confidence[entity] >= cascade.thresholds[stage]:
            break
    return asked


@given(cascades())
def test_every_early_exit_cascade_is_a_top_k_of_x_selection(case):
    cascade, confidences = build(case)
    selection = cascade.select(confidences)
    for i, confidence in enumerate(confidences):
        assert selection.order[i, : selection.k[i]].tolist() == run(cascade, confidence)


@given(cascades(), st.data())
def test_every_fixed_cascade_is_a_top_k_selection(case, data):
    cascade, confidences = build(case)
    k = data.draw(st.integers(1, len(cascade.panel)))
    scores = cascade_scores(cascade.order, [k])
    selection = select_top_k(scores, k, panel=cascade.panel)
    assert selection.order[0].tolist() == cascade.order[:k].tolist()
    fixed = Cascade.fixed(cascade.panel, cascade.order, k).select(confidences)
    assert (fixed.k == k).all()
    assert (fixed.order == cascade.order[:k]).all()


@given(cascades())
def test_scores_outside_the_set_follow_the_order_too(case):
    cascade, confidences = build(case)
    k = cascade.cardinality(confidences)
    full = select_top_k(cascade_scores(cascade.order, k), len(cascade.panel), panel=cascade.panel)
    assert (full.order == cascade.order).all()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_papers_separating_example_fails_for_every_order(order):
    # Top-2 sets {0, 2} on one query and {0, 1} on another: no fixed order has both as prefixes of two.
    scores = np.array([[3.0, 1.0, 2.0], [3.0, 2.0, 1.0]])
    wanted = select_top_k(scores, 2, panel=Panel.two_stage(["a", "b"])).members
    possible = [set(order[:k]) for k in (1, 2, 3)]
    assert not all(set(np.flatnonzero(row)) in possible for row in wanted)


def test_a_cascade_says_what_its_last_stage_said():
    panel = Panel.two_stage({"a": 1.0, "b": 2.0})
    answers = Answers.from_table([["x", "y", "z"], ["x", "y", "z"]], panel)
    cascade = Cascade(panel, np.array([0, 2, 1]), np.array([0.9, 0.5, 0.0]))
    selection = cascade.select([[0.95, 0.0, 0.0], [0.1, 0.9, 0.2]])
    said, answered = cascade.predict(selection, answers)
    assert (said.tolist(), answered.all()) == (["x", "y"], True)
    assert selection.fee.tolist() == [0.0, 3.0]


@pytest.mark.parametrize("nulls", ["not-asked", "no-answer"])
def test_a_cascade_reports_where_its_last_stage_gave_no_answer(nulls):
    panel = Panel.two_stage(["a"])
    answers = Answers.from_table([["x", "y"], ["x", None], [None, "y"], [None, "y"]], panel, nulls=nulls)
    cascade = Cascade(panel, np.array([0, 1]), np.array([0.5, 0.5]))
    selection = cascade.select([[0.9, 0.0], [0.1, 0.9], [0.9, 0.0], [0.1, 0.9]])
    said, answered = cascade.predict(selection, answers)
    assert answered.tolist() == [True, False, False, True]
    assert said[answered].tolist() == ["x", "y"]

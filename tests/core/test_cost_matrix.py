"""What each mistake costs: pairs that are named and pairs that are not, numbers and texts, and what is refused."""

import re

import numpy as np
import pytest

from askwho.core import Answers, Cell, CostMatrix, Panel, cost_table, task_errors
from askwho.exceptions import InvalidInputError

TRIAGE = {"urgent": {"soon": 5, "home": 20}, "soon": {"home": 6.5}}


def test_pairs_cost_what_is_named_and_others_cost_one():
    costs = CostMatrix.of(TRIAGE)
    said = np.array(["home", "soon", "urgent", "home", "urgent", "later", "soon", "odd"])
    truth = np.array(["urgent", "urgent", "urgent", "soon", "home", "urgent", "odd", "odd"])
    np.testing.assert_array_equal(costs(said, truth), [20, 5, 0, 6.5, 1, 1, 1, 0])
    assert costs.most == 20
    assert CostMatrix.of({"a": {"b": 0.2}, "b": {"a": 0.1}}).most == 1


def test_the_shape_is_that_of_the_answers():
    costs = CostMatrix.of(TRIAGE)
    said = np.array([["home", "soon"], ["urgent", "home"]])
    np.testing.assert_array_equal(costs(said, np.array([["urgent"] * 2, ["soon"] * 2])), [[20, 5], [1, 6.5]])


@pytest.mark.parametrize("classes", [np.array([0, 1]), np.array([0.0, 1.0]), np.array([False, True])])
@pytest.mark.parametrize("mapping", [{"1": {"0": 20}}, {1: {0: 20}}, {"1.0": {"0": 20}}, {"true": {"False": 20}}])
def test_numbers_are_the_same_however_they_are_written(classes, mapping):
    np.testing.assert_array_equal(cost_table(classes, CostMatrix.of(mapping)), [[0, 1], [20, 0]])


def test_texts_are_not_numbers():
    assert CostMatrix.of({"007": {"7": 3}})(np.array(["7"]), np.array(["007"]))[0] == 3


def test_an_answer_that_cannot_be_used_costs_what_the_worst_mistake_does():
    panel = Panel.two_stage(["a"])
    values, states = np.array([["home", "x"], ["x", "x"], ["x", "soon"]]), np.full((3, 2), Cell.NO_ANSWER)
    states[0, 0], states[2, 1], states[1, 1] = Cell.ANSWERED, Cell.ANSWERED, Cell.NOT_ASKED
    answers = Answers(values, states.astype(np.int8))
    found = task_errors(answers, ["urgent", "soon", "odd"], panel=panel, error=CostMatrix.of(TRIAGE))
    np.testing.assert_array_equal(found, [[20, 20], [6.5, np.nan], [1, 1]])


def test_costs_that_are_all_one_are_the_zero_one_error():
    assert CostMatrix.of({"a": {"b": 1}, "b": {"a": 1.0, "b": 0}}).alike
    assert not CostMatrix.of({"a": {"b": 2}}).alike
    assert not CostMatrix.of({"a": {"b": 0}}).alike


def test_what_is_written_is_read():
    costs = CostMatrix.of(TRIAGE)
    again = CostMatrix.of(costs.to_json())
    assert again.classes == costs.classes
    np.testing.assert_array_equal(again.table, costs.table)
    table = np.array([[0.0, 3.0], [7.0, 0.0]])
    np.testing.assert_array_equal(cost_table(np.array([2, 10]), CostMatrix.on(np.array([2, 10]), table)), table)


def test_names_that_nothing_has_are_told():
    assert CostMatrix.of(TRIAGE).unknown(np.array(["urgent", "home", "odd"])) == ("soon",)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "`error` must be a name, or map each truth to what it costs to say each other class"),
        ({"a": 3}, "got {'a': 3}"),
        (7, "got 7"),
        ({"a": {"b": "much"}}, "`error` must be numbers, got 'much' for saying 'b' where 'a' is true."),
        ({"a": {"b": True}}, "got True"),
        ({"a": {"b": -1}}, "must be a finite number of at least 0, got -1.0."),
        ({"a": {"b": float("nan")}}, "must be a finite number"),
        ({"a": {"b": 1e7}}, "`error` must be of at most 1e+06, got 1e+07: take another unit."),
        ({"a": {"a": 2}}, "`error` must be 0 for a right answer, got 2 for 'a': subtract it from all of its row."),
        (
            {
                "a": {
                    "b": 1,
                },
                "1": {1: 0, "1": 0},
            },
            "`error` must name each mistake once, got ('1', '1') twice.",
        ),
    ],
)
def test_what_is_wrong_is_said(given, says):
    with pytest.raises(InvalidInputError, match=re.escape(says)):
        CostMatrix.of(given)


def test_an_answer_that_cannot_be_used_costs_the_most_that_its_truth_can():
    costs = CostMatrix.of({"bad": {"fine": 20, "odd": 3}, "fine": {"bad": 2}})
    truths = np.array([*costs.classes, "unheard of"])
    assert costs.unusable(truths).tolist() == [costs.table[i].max() for i in range(len(costs.classes))] + [1.0]


def test_one_truth_without_costs_of_its_own_is_refused():
    with pytest.raises(InvalidInputError, match="map each truth"):
        CostMatrix.of({"bad": {"fine": 20}, "fine": 2})

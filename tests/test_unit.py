"""One unit everywhere: what errors are called, and whether a root is taken."""

import json

import numpy as np
import pytest

from askwho._unit import Unit
from askwho.core import CostMatrix, unit_of


@pytest.mark.parametrize(
    ("error", "task", "unit"),
    [
        ("auto", "classification", Unit("error")),
        ("auto", "regression", Unit("RMSE", root=True, share=False, most=np.inf)),
        ("squared", "regression", Unit("RMSE", root=True, share=False, most=np.inf)),
        ("absolute", "regression", Unit("mean absolute error", share=False, most=np.inf)),
        ("pinball:0.9", "regression", Unit("pinball loss at 0.9", share=False, most=np.inf)),
        ("smooth-l1", "regression", Unit("mean smooth L1 error", share=False, most=np.inf)),
        ("own", "regression", Unit("error", share=False, most=np.inf)),
        (np.hypot, "regression", Unit("error", share=False, most=np.inf)),
        (np.hypot, "classification", Unit("cost", share=False, most=np.inf)),
        (CostMatrix.of({"fraud": {"fine": 20}}), "classification", Unit("cost", share=False, most=20.0)),
        (CostMatrix.of({"fraud": {"fine": 1}}), "classification", Unit("error")),
    ],
)
def test_an_error_has_one_unit(error, task, unit):
    assert unit_of(error, task) == unit
    assert Unit.from_json(json.loads(json.dumps(unit.to_json(), allow_nan=False))) == unit


def test_a_cost_is_called_one_and_all_else_an_error():
    assert [Unit(name).word for name in ("error", "cost", "RMSE")] == ["error", "cost", "error"]


def test_a_root_is_taken_of_squares_alone():
    squares, others = (
        Unit("RMSE", root=True, share=False, most=np.inf),
        Unit("mean absolute error", share=False, most=np.inf),
    )
    losses = np.array([4.0, 9.0])
    assert squares.shown(4.0) == 2.0
    assert squares.all_shown(losses).tolist() == [2.0, 3.0]
    assert squares.losses(squares.all_shown(losses)).tolist() == losses.tolist()
    assert others.shown(4.0) == 4.0
    assert others.all_shown(losses).tolist() == others.losses(losses).tolist() == [4.0, 9.0]


def test_names_have_their_article():
    names = ("RMSE", "error", "mean absolute error", "pinball loss at 0.9")
    assert [Unit(name).with_article for name in names] == [
        "an RMSE",
        "an error",
        "a mean absolute error",
        "a pinball loss at 0.9",
    ]
    assert Unit("mean absolute error").at_the_start == "Mean absolute error"

"""Classifiers that know what mistakes cost: a mapping or a function, and probabilities that stay probabilities."""

import re

import numpy as np
import pytest

from askwho.estimators import OneStageClassifier, TwoStageClassifier
from askwho.exceptions import InvalidInputError
from tests import costly

QUICK = {"base": None, "learner": "linear", "cv": 3, "random_state": 0}


def told(n=400, seed=0):
    """Features, labels, and what everybody said."""
    table = costly.desk(n, seed)
    X = np.column_stack([table["x_0"], table["x_1"]])
    return X, table["truth"], {name: table[f"answer_{name}"] for name in costly.FEES}


def function(answer, truth):
    return np.where(answer == truth, 0.0, np.where(truth == "fraud", 20.0, 1.0))


def test_the_prediction_costs_least_by_the_probabilities():
    X, y, answers = told()
    model = TwoStageClassifier(error=costly.COSTS, **QUICK).fit(X, y, answers=answers)
    new, right, heard = told(1000, 1)
    shares, said = model.predict_proba(new, answers=heard), model.predict(new, answers=heard)
    assert shares.shape == (1000, 2)
    assert model.classes_.tolist() == ["fine", "fraud"]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(said == "fraud", 20 * shares[:, 1] > shares[:, 0])
    # One in nine is fraud: recall is no longer nothing, and what is said to be likely is.
    assert ((said == "fraud") & (right == "fraud")).sum() > 0.5 * (right == "fraud").sum()
    assert shares[:, 1].mean() == pytest.approx((right == "fraud").mean(), abs=0.03)
    same = TwoStageClassifier(error=function, **QUICK).fit(X, y, answers=answers)
    np.testing.assert_array_equal(same.predict_proba(new, answers=heard), shares)
    turned = model.predict(new[:50], answers={name: each[:50] for name, each in heard.items()}, mode="sequential")
    assert costly.cost(turned, right[:50]) < costly.cost(np.full(50, "fine"), right[:50])


def test_where_nobody_says_anything_of_use_the_cheapest_class_is_said():
    X, y, answers = told(60)
    model = TwoStageClassifier(error=costly.COSTS, committee="majority", **QUICK).fit(X, y, answers=answers)
    nothing = dict.fromkeys(answers, np.full(3, None, dtype=object))
    assert model.predict(X[:3], answers=nothing).tolist() == ["fraud"] * 3


def test_numbers_are_labels_too_and_one_stage_ranks_by_costs():
    X, y, answers = told(150)
    codes = {name: (each == "fraud").astype(int) for name, each in answers.items()}
    model = OneStageClassifier(error={1: {0: 20}}, learner="linear", cv=3, random_state=0)
    model.fit(X, (y == "fraud").astype(int), answers=codes)
    # Free labels alone: to say fraud costs what is fine, less than twenty times what is not.
    errors = dict(zip(model.panel_.names, model.policy_.facts.entity_errors, strict=True))
    assert errors["0"] == pytest.approx(20 * (y == "fraud").mean())
    assert errors["1"] == pytest.approx((y == "fine").mean())


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ({"Fraud": {"fine": 2}}, "`error` must name labels of `y`, got 'Fraud': they are ['fine', 'fraud']."),
        ("nonsense", "`error` must be"),
        ({"fraud": {"fraud": 2}}, "`error` must be 0 for a right answer"),
        (7, "`error` must be"),
    ],
)
def test_what_is_wrong_is_said(error, says):
    X, y, answers = told(40)
    with pytest.raises(InvalidInputError, match=re.escape(says)):
        TwoStageClassifier(error=error, **QUICK).fit(X, y, answers=answers)

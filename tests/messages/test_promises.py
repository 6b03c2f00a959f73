"""Targets that cannot be promised, and promises that mean nothing."""

import numpy as np
import pytest
from askwho.router import Router, Rows
from askwho.router._promises import Promises

from askwho import InvalidInputError, Panel


def refused(call, message):
    with pytest.raises(InvalidInputError) as error:
        call()
    assert str(error.value) == message


@pytest.fixture(scope="module")
def router():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    errors = (rng.random((100, 2)) < [0.4, 0.1]).astype(float)
    fitted = Router(learner="linear", cv=3).fit(X, errors=errors, panel=Panel.two_stage({"a": 1.0}))
    # By price 10, 20 and 40 of 100 queries err; 80, 50 and 20 pay 1. So the bounds below are Clopper and Pearson's.
    wrong, paid = (np.arange(100) < np.array(counts)[:, None] for counts in ([10, 20, 40], [80, 50, 20]))
    ones = np.ones((3, 100), dtype=np.intp)
    fitted.rows_ = Rows(np.arange(3.0), wrong.astype(float), paid.astype(float), ones)
    return fitted


LESS = "Ask for less confidence, or calibrate on more rows."


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            {"budget": 0.1, "confidence": 0.95},
            f"`budget` must be at least 0.277201 for confidence 0.95, got 0.1: 100 rows cannot promise less. {LESS}",
        ),
        (
            {"accuracy": 0.05, "confidence": 0.95},
            f"`accuracy` must be at least 0.163718 for confidence 0.95, got 0.05: 100 rows cannot promise less. {LESS}",
        ),
        (
            {"accuracy": 0.05, "budget": 0.9, "confidence": 0.95},
            f"`accuracy` must be at least 0.176223 for confidence 0.95, got 0.05: 100 rows cannot promise less. {LESS}",
        ),
        (
            {"accuracy": 0.35, "budget": 0.3, "confidence": 0.95},
            (
                "`budget` must be at least 0.601679 beside an `accuracy` of 0.35 for confidence 0.95, got 0.3: "
                f"100 rows cannot promise less. {LESS}"
            ),
        ),
        ({"accuracy": 0.25, "budget": 0.3}, "`budget` must be at least 0.5 beside an `accuracy` of 0.25, got 0.3."),
        ({"accuracy": 0.05, "budget": 0.3}, "`accuracy` must be at least 0.1, got 0.05."),
        ({"budget": 0.5, "confidence": 0.0}, "`confidence` must be above 0 and below 1, got 0.0."),
        ({"budget": 0.5, "confidence": 1}, "`confidence` must be above 0 and below 1, got 1."),
        ({"budget": 0.5, "confidence": 95}, "`confidence` must be above 0 and below 1, got 95."),
        ({"budget": 0.5, "confidence": np.nan}, "`confidence` must be a finite number, got nan."),
        ({"budget": 0.5, "confidence": "high"}, "`confidence` must be a number, got 'high'."),
        ({"budget": -0.5, "confidence": 0.9}, "`budget` must be a finite number of at least 0, got -0.5."),
        ({"accuracy": "good", "confidence": 0.9}, "`accuracy` must be a number, got 'good'."),
        (
            {"k": 1, "confidence": 0.9},
            "`confidence` must come with `budget` or `accuracy`, of which it is the promise; got `k`.",
        ),
        (
            {"confidence": 0.9},
            (
                "One target must be given: `k` (with or without `fee_weight`), `fee_weight`, `budget`, `accuracy`, or "
                "`budget` and `accuracy`; got none."
            ),
        ),
        (
            {"budget": 0.5, "confidence": 0.9, "fees": [0.0, 2.0]},
            (
                "`budget` and `accuracy` were validated at the fitted fees with everybody there: "
                "pass `fee_weight` with other fees or fewer entities."
            ),
        ),
    ],
)
def test_targets(router, target, message):
    refused(lambda: router.select(np.zeros((1, 2)), **target), message)


def test_nothing_to_promise(router):
    refused(
        lambda: router.setting_for(confidence=0.9),
        "`budget` or `accuracy` must be given: there is nothing to aim at.",
    )


def test_groups_are_counted_where_rows_are_not_alone():
    rows = Rows(
        np.zeros(1), np.zeros((1, 60)), np.full((1, 60), 0.5), np.ones((1, 60), dtype=np.intp), np.arange(60) // 3
    )
    with pytest.raises(InvalidInputError, match=r"got 0\.1: 20 groups of rows cannot promise less"):
        Promises(rows, most_fee=1.0, squared=False).choose(budget=0.1, accuracy=None, confidence=0.9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "`errors` must be given: the policy was fitted on errors, without answers."),
        ({"errors": [[0.0, 1.0]] * 3}, "`errors` must have a row for each of the 2 queries, got 3."),
        ({"errors": [[0.0, -1.0]] * 2}, "`errors` must not be below zero, got -1.0 at index (0, 1)."),
        (
            {"errors": [[0.0, 1.0]] * 2, "groups": np.arange(5)},
            "`groups` must have a row for each of the 2 queries, got 5.",
        ),
        (
            {"errors": [[0.0, 1.0]] * 2, "fees": [[1.0, 1.0]]},
            "`fees` must have shape (2, 2), got (1, 2): one row for each query.",
        ),
    ],
)
def test_rows_to_calibrate_on(router, given, message):
    refused(lambda: router.calibrate(np.zeros((2, 2)), **given), message)


def test_fees_that_differ_by_query_must_be_told():
    rng = np.random.default_rng(0)
    X, errors = rng.normal(size=(60, 2)), (rng.random((60, 2)) < 0.3).astype(float)
    fitted = Router(learner="linear", cv=3)
    fitted.fit(
        X, errors=errors, panel=Panel.two_stage({"a": 1.0}), fees=np.column_stack([np.zeros(60), rng.random(60)])
    )
    refused(
        lambda: fitted.calibrate(X, errors=errors),
        "`fees` must be given: they differ by query, and were foreseen from the features.",
    )

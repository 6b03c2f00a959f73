"""Settings of networks that cannot be used, of the wrong type too; and numbers of other libraries, which can."""

import math

import numpy as np
import pytest

from askwho import InvalidInputError, Panel
from askwho.engine import Training
from askwho.fitting import SurrogateCardinality
from askwho.learners import CompSum


def refused(call, message):
    with pytest.raises(InvalidInputError) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "`epochs` must be a whole number of at least 1, got 0."),
        ({"epochs": 2.0}, "`epochs` must be a whole number of at least 1, got 2.0."),
        ({"epochs": True}, "`epochs` must be a whole number of at least 1, got True."),
        ({"batch": -3}, "`batch` must be a whole number of at least 1, got -3."),
        ({"batch": "all"}, "`batch` must be a whole number of at least 1, got 'all'."),
        ({"patience": 0}, "`patience` must be a whole number of at least 1, got 0."),
        ({"patience": 1.5}, "`patience` must be a whole number of at least 1, got 1.5."),
        ({"rate": 0.0}, "`rate` must be above 0, got 0: nothing would be learned."),
        ({"rate": -0.1}, "`rate` must be a finite number of at least 0, got -0.1."),
        ({"rate": math.nan}, "`rate` must be a finite number of at least 0, got nan."),
        ({"rate": (0.1, math.inf)}, "`rate` must be a finite number of at least 0, got inf."),
        ({"rate": (0.1, 0.0)}, "`rate` must be above 0, got 0: nothing would be learned."),
        ({"rate": "fast"}, "`rate` must be a number, got 'fast'."),
        ({"rate": [0.1, 0.2]}, "`rate` must be a number, got [0.1, 0.2]."),
        ({"weight_decay": -1.0}, "`weight_decay` must be a finite number of at least 0, got -1.0."),
        ({"weight_decay": math.inf}, "`weight_decay` must be a finite number of at least 0, got inf."),
        ({"schedule": "linear"}, "`schedule` must be one of 'cosine', 'constant', got 'linear'."),
        ({"precision": "float16"}, "`precision` must be one of 'auto', 'float32', 'bfloat16', got 'float16'."),
    ],
)
def test_how_to_train(settings, message):
    refused(lambda: Training(**settings), message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"u": "1"}, "`u` must be a finite number of at least 0, got '1': 1 is the logistic loss."),
        ({"u": None}, "`u` must be a finite number of at least 0, got None: 1 is the logistic loss."),
        (
            {"surrogate": None},
            (
                "`surrogate` must be one of 'top-k', 'mozannar-sontag', 'one-vs-all', 'mao-one-stage', "
                "'asymmetric-softmax', 'mao-two-stage', 'mao-two-stage-regression', 'post-hoc', or a function of "
                "scores and costs, got None."
            ),
        ),
        ({"shift": "mean"}, "`shift` must be one of 'max', 'sum', got 'mean'."),
        ({"shift": None}, "`shift` must be a number, got None."),
        ({"shift": [1.0]}, "`shift` must be a number, got [1.0]."),
        ({"fee_weight": "dear"}, "`fee_weight` must be a number, got 'dear'."),
        ({"error_bound": "none"}, "`error_bound` must be a number, got 'none'."),
    ],
)
def test_the_papers_policy(settings, message):
    refused(lambda: CompSum(**settings), message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"u": "1"}, "`u` must be a finite number of at least 0, got '1': 1 is the logistic loss."),
        ({"fee_weights": ("free",)}, "`fee_weights` must be a number, got 'free'."),
    ],
)
def test_the_papers_number_of_entities(settings, message):
    refused(lambda: SurrogateCardinality(**settings), message)


def test_seeds_of_numpy_are_seeds():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, errors, settings = (
        rng.normal(size=(60, 2)),
        rng.random((60, 3)),
        CompSum(hidden=(4,), training=Training(epochs=2)),
    )
    plain, other = (
        settings.fit(X, errors, panel=Panel.two_stage(["a", "b"]), random_state=seed).scores(X)
        for seed in (3, np.int64(3))
    )
    np.testing.assert_array_equal(plain, other)

"""Targets of the wrong type, and what is no target at all; numbers of other libraries, which can be aimed at."""

import numpy as np
import pytest

from askwho import InvalidInputError, Target
from askwho.data import read_log
from askwho.fitting import fit
from tests import policies, synthetic


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0.5, "confidence": "high"}, "`confidence` must be a number, got 'high'."),
        ({"max_error": "good", "confidence": 0.9}, "`max_error` must be a number, got 'good'."),
        ({"budget": [0.1]}, "`budget` must be a number, got [0.1]."),
        ({"budget": 1, "confidence": 0.9, "max_fee": "much"}, "`max_fee` must be a number, got 'much'."),
        (
            {"budget": 1, "confidence": 0.9, "max_group": 2.5},
            "`max_group` must be a whole number of at least 1, got 2.5.",
        ),
        ({"max_error": 1, "confidence": 0.9, "max_loss": "much"}, "`max_loss` must be a number, got 'much'."),
        ({"fee_weight": "dear"}, "`fee_weight` must be a number, got 'dear'."),
        ({"k": 1.5}, "`k` must be a whole number of at least 1, got 1.5."),
        ({"k": True}, "`k` must be a whole number of at least 1, got True."),
        ({"k": "two"}, "`k` must be a whole number of at least 1, got 'two'."),
    ],
)
def test_values_of_the_wrong_type(given, message):
    with pytest.raises(InvalidInputError) as error:
        Target(**given)
    assert str(error.value) == message


@pytest.mark.parametrize(("given", "shown"), [(0.3, "float: 0.3"), ({"budget": 0.3}, "dict: {'budget': 0.3}")])
def test_what_is_no_target(given, shown):
    policy, table = policies.fitted("classes"), policies.queries("classes")
    message = f"`target` must be a `Target`, such as Target(budget=0.1), got {shown}."
    for ask in (policy.decide, lambda queries, target: policy.next(queries, None, target)):
        with pytest.raises(InvalidInputError) as error:
            ask(table, given)
        assert str(error.value) == message
    with pytest.raises(InvalidInputError) as error:
        policy.setting(given)
    assert str(error.value) == message


def test_a_step_needs_a_target():
    policy, table = policies.fitted("classes"), policies.queries("classes")
    with pytest.raises(InvalidInputError) as error:
        policy.next(table)
    assert str(error.value) == "`target` must be a `Target`, such as Target(budget=0.1), got NoneType: None."


@pytest.mark.parametrize(
    ("explore", "message"),
    [
        (1.5, "`explore` must be between 0 and 1, got 1.5: it is the share of queries."),
        (-0.1, "`explore` must be a finite number of at least 0, got -0.1."),
        (np.nan, "`explore` must be a finite number of at least 0, got nan."),
        ("some", "`explore` must be a number, got 'some'."),
    ],
)
def test_how_often_to_explore(explore, message):
    policy, table = policies.fitted("classes"), policies.queries("classes")
    for ask in (policy.decide, lambda queries, target, **given: policy.next(queries, None, target, **given)):
        with pytest.raises(InvalidInputError) as error:
            ask(table, Target(fee_weight=0.1), explore=explore)
        assert str(error.value) == message


def test_numbers_of_other_libraries_are_numbers():
    target = Target(budget=np.float32(0.5), confidence=np.float64(0.9))
    assert type(target.budget) is type(target.confidence) is float
    assert Target(k=np.int64(2)).k == 2


def test_why_no_more_can_be_asked_is_said():
    policy, queries = policies.fitted("classes"), policies.queries("classes", 3)
    log = read_log(synthetic.classification(200), synthetic.COLUMNS)
    two = fit(log, learner="linear", base="none", cv=2, max_k=2)
    with pytest.raises(InvalidInputError, match="between 1 and 2, got 3: no more were learned of together"):
        two.decide(queries, Target(k=3))
    with pytest.raises(InvalidInputError, match="between 1 and 2, got 3: no more are available"):
        policy.decide(queries, Target(k=3), available=["left", "both"])
    with pytest.raises(InvalidInputError, match="between 1 and 4, got 5: the panel has 4 entities"):
        policy.decide(queries, Target(k=5))

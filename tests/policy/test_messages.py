"""Targets of the wrong type, and what is no target at all; numbers of other libraries, which can be aimed at."""

import numpy as np
import pandas as pd
import pytest

from askwho import InvalidInputError, Target
from askwho.data import read_log
from askwho.fitting import fit
from askwho.policy import told_there
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
    ("given", "cells", "message"),
    [
        ("ann", [True, True], "`available` must name entities of ['left', 'right', 'both', 'noise'], got ['ann']."),
        (
            "left,!both",
            [True, True],
            (
                "`available` must be who is there, such as 'left', or who is away, such as '!left', or columns of the "
                "queries, such as 'there_*', got 'left,!both'."
            ),
        ),
        ("at_*", [True, True], "`available` must match columns of the queries, got 'at_*': they have id, there_left."),
        (
            "there_*",
            [True, None],
            (
                "`available` must be true or false for each query, got an empty cell in 'there_left': write false "
                "where somebody is away."
            ),
        ),
        (
            "there_*",
            [0, 2],
            "`available` must be true or false for each query, got something else in 'there_left'.",
        ),
        (
            "there_*",
            [1, 0],
            "`available` must leave somebody to ask, got 'there_*': nobody is there for the query 'b'.",
        ),
    ],
)
def test_who_is_there_is_not_understood(given, cells, message):
    table = {"id": np.array(["a", "b"]), "there_left": np.array(cells)}
    with pytest.raises(InvalidInputError) as error:
        told_there(policies.fitted("classes"), given, table, somebody=True)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([True, None, True, True], "`available` must be names, or true or false for each entity, or for each query"),
        ([1.0, np.nan, 0.0, 1.0], "and entity, got float64 of shape (4,)."),
        ([2, 0, 0, 1], "`available` must be names, or true or false for each entity, or for each query and entity"),
        ([True, False], "`available` must have shape (4,)"),
        ({"left": [True, None]}, "`available['left']` must be true or false, for all queries or for each of 2, got"),
        (pd.DataFrame({"ann": [True, False]}), "`available` must name entities of ['left', 'right', 'both', 'noise']"),
        (pd.DataFrame({"left": [True, None]}), "`available['left']` must be true or false, for all queries or for"),
    ],
)
def test_a_mask_with_gaps_is_no_mask(mask, message):
    policy, table = policies.fitted("classes"), policies.queries("classes", 2)
    with pytest.raises(InvalidInputError) as error:
        policy.decide(table, Target(k=1), available=mask)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "names", ["both", ["both"], {"both"}, {"both": 1}.keys(), np.array(["both"]), np.array(["both"], dtype=object)]
)
def test_names_are_taken_whatever_holds_them(names):
    policy, table = policies.fitted("classes"), policies.queries("classes", 2)
    assert policy.decide(table, Target(k=1), available=names)[0].ask == ("both",)


def test_fees_of_some_are_said_by_name():
    policy, table = policies.fitted("classes"), policies.queries("classes", 2)
    plain = policy.decide(table, Target(fee_weight=0.1)).seen.fees
    seen = policy.decide(table, Target(fee_weight=0.1), fees={"both": 0.5, "left": [0.2, 0.3]}).seen.fees
    assert seen[:, 2].tolist() == [0.5, 0.5]
    assert seen[:, 0].tolist() == [0.2, 0.3]
    assert (seen[:, [1, 3]] == plain[:, [1, 3]]).all()


@pytest.mark.parametrize(
    ("fees", "message"),
    [
        ({"ann": 1.0}, "`fees` must name entities of ['left', 'right', 'both', 'noise'], got 'ann'."),
        ({"both": [1.0]}, "`fees['both']` must be a number, or one for each of 2 queries, got shape (1,)."),
        ({"both": -1.0}, "`fees` must not be below zero, got -1.0"),
        ({"both": "dear"}, "`fees['both']` must"),
    ],
)
def test_fees_by_name_that_are_none(fees, message):
    policy, table = policies.fitted("classes"), policies.queries("classes", 2)
    with pytest.raises(InvalidInputError) as error:
        policy.decide(table, Target(fee_weight=0.1), fees=fees)
    assert message in str(error.value)


def test_a_frame_says_by_its_columns_who_is_there():
    policy, table = policies.fitted("classes"), policies.queries("classes", 2)
    there = pd.DataFrame({"both": [True, False], "left": [False, True]})
    made = policy.decide(table, Target(k=1), available=there)
    assert [one.ask for one in made] == [("both",), ("left",)]


def test_our_own_base_is_there_unless_it_is_said_not_to_be():
    policy = policies.fitted("numbers, own base")
    own, table = policy.panel.names[0], {"id": np.array(["a", "b"]), "there_both": np.array([0, 1])}
    for given, there in (("both", True), ("there_*", True), (f"!{own}", False)):
        assert told_there(policy, given, table, somebody=True)[:, 0].tolist() == [there, there]
    assert told_there(policy, None, table, somebody=True) is None


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

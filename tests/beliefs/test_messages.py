"""Beliefs without what they begin from, and what is not of the shape that they were taught."""

import numpy as np
import pytest

from askwho import InvalidInputError, Target
from tests import policies
from tests.beliefs.worlds import taught, told

ERRORS = np.array([0.3, 0.25, 0.1])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 240)
    said = np.where(rng.random((240, 3)) < (0.7, 0.75, 0.9), truth[:, None], 1 - truth[:, None])
    shares = np.where(np.arange(2) == said[:, :1], 0.7, 0.3)
    return taught(said, truth, base=0, shares=shares)[0], said


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "`shares` must be given: what the base thinks of each class is where beliefs begin."),
        (
            {"shares": np.ones((2, 3))},
            "`shares` must have shape (2, 2), got (2, 3): one row for each query, one share for each class.",
        ),
        (
            {"shares": np.full((2, 2), 0.5), "info": np.ones((2, 1))},
            "`info` must have shape (2, 3), got (2, 1): one row for each query, one column for each entity.",
        ),
    ],
    ids=["none", "shares", "info"],
)
def test_what_beliefs_need(problem, given, message):
    beliefs, said = problem
    with pytest.raises(InvalidInputError) as error:
        told(beliefs, said[:2], ERRORS, **given)
    assert str(error.value) == message


def test_what_came_back_is_of_the_panels_shape():
    policy, table = policies.fitted("classes"), policies.queries("classes", 200)
    with pytest.raises(InvalidInputError) as error:
        policy.next(table, policies.said(policy, table), Target(fee_weight=1.0), info=np.ones((200, 1)))
    assert str(error.value) == (
        "`info` must have shape (200, 4), got (200, 1): one for each query and entity, as the answers have."
    )

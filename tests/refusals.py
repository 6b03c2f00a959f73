"""What tests of messages share: a small panel, what was said, and calls that must be refused."""

import math
import re

import numpy as np
import pytest

from askwho import theory
from askwho.aggregation import Committee
from askwho.core import Answers, Entity, Panel, select_top_k
from askwho.exceptions import InvalidInputError

PANEL = Panel.two_stage(["a"])


WITH_REJECT = Panel((Entity("base", "base"), Entity("stop", "reject")))


ONE_STAGE = Panel.one_stage([0, 1], ["e"])


NAN, INF = math.nan, math.inf


def refuses(call, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        call()


def case(name, call, message):
    return pytest.param(call, message, id=name)


def answers(*rows, panel=PANEL, nulls="not-asked"):
    return Answers.from_table(list(rows), panel, nulls=nulls)


def selection(n=1, k=1):
    return select_top_k([[0.9, 0.1]] * n, k, panel=PANEL)


def committee(*rows, k=2):
    return Committee.of(selection(len(rows), k), answers(*rows))


def problem(costs=1.0, queries=2):
    return theory.FiniteProblem(np.full((queries, 1, 2), costs), np.ones((queries, 1)), np.full(queries, 1 / queries))

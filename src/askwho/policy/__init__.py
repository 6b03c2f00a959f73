"""The policy: what is aimed at, what is seen, what is decided, and the parts that decide it."""

from askwho.aggregation import Combine
from askwho.beliefs import (
    Asking,
    Beliefs,
    Case,
    Grades,
    Intervals,
    NumberCase,
    Numbers,
    Said,
    Sureness,
    in_turn,
    named_answers,
)
from askwho.policy._assign import Assigned, Given, Limit, Online, assign
from askwho.policy._calibration import Calibration
from askwho.policy._cardinality import Cardinality, CardinalityNetworks
from askwho.policy._chances import Chances, effective
from askwho.policy._combiner import POSTERIOR, SPREAD, Combiner, check_rule, rule_names
from askwho.policy._coverage import Coverage
from askwho.policy._curve import Curve
from askwho.policy._decision import Decision, Decisions, Outcome
from askwho.policy._errors import mean_error
from askwho.policy._facts import Facts
from askwho.policy._fees import Fees
from askwho.policy._fixed import Fixed, in_front
from askwho.policy._given_chances import GivenChances
from askwho.policy._judge import Judge
from askwho.policy._learned_chances import LearnedChances, learn_looked_up
from askwho.policy._leaving import most_alike, unpromised
from askwho.policy._needed import answer_columns, query_columns, route_columns, step_columns
from askwho.policy._newcomers import Newcomers
from askwho.policy._outcomes import Outcomes, Setting, grouped
from askwho.policy._overlap import SHARES, overlaps
from askwho.policy._policy import FEWEST_ROWS, Policy
from askwho.policy._rationing import Rationing, doubts
from askwho.policy._seats import Seats
from askwho.policy._seen import Judgement, Seen, answers_of_all
from askwho.policy._shrinkage import Shrinkage
from askwho.policy._target import Target
from askwho.policy._told import told_columns, told_there
from askwho.policy._turns import InTurn
from askwho.policy._why import Past, Reason, Why

__all__ = [
    "FEWEST_ROWS",
    "POSTERIOR",
    "SHARES",
    "SPREAD",
    "Asking",
    "Assigned",
    "Beliefs",
    "Calibration",
    "Cardinality",
    "CardinalityNetworks",
    "Case",
    "Chances",
    "Combine",
    "Combiner",
    "Coverage",
    "Curve",
    "Decision",
    "Decisions",
    "Facts",
    "Fees",
    "Fixed",
    "Given",
    "GivenChances",
    "Grades",
    "InTurn",
    "Intervals",
    "Judge",
    "Judgement",
    "LearnedChances",
    "Limit",
    "Newcomers",
    "NumberCase",
    "Numbers",
    "Online",
    "Outcome",
    "Outcomes",
    "Past",
    "Policy",
    "Rationing",
    "Reason",
    "Said",
    "Seats",
    "Seen",
    "Setting",
    "Shrinkage",
    "Sureness",
    "Target",
    "Why",
    "answer_columns",
    "answers_of_all",
    "assign",
    "check_rule",
    "doubts",
    "effective",
    "grouped",
    "in_front",
    "in_turn",
    "learn_looked_up",
    "mean_error",
    "most_alike",
    "named_answers",
    "overlaps",
    "query_columns",
    "route_columns",
    "rule_names",
    "step_columns",
    "told_columns",
    "told_there",
    "unpromised",
]

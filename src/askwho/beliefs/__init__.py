"""What is believed after some have answered, and whom to ask next: committees that know their members."""

from askwho.beliefs._asking import NEVER, Asking, Basis, worth_asking
from askwho.beliefs._beliefs import Beliefs
from askwho.beliefs._by_sets import BySets
from askwho.beliefs._cascade import Cascade, efficient, orders_of
from askwho.beliefs._evidence import Evidence, Heard
from askwho.beliefs._grades import Grades, named_answers
from askwho.beliefs._intervals import Intervals
from askwho.beliefs._kept import Kept
from askwho.beliefs._members import asking_without, with_answers, with_member, without_member
from askwho.beliefs._number_pool import NumberCase, NumberPool, NumberState
from askwho.beliefs._numbers import Numbers
from askwho.beliefs._pool import Case, Pool, State, random_masks
from askwho.beliefs._pooled import Pooled, World
from askwho.beliefs._sets import Sets
from askwho.beliefs._stacked import MOST_MEMBERS, Stacked
from askwho.beliefs._sureness import Said, Sureness
from askwho.beliefs._telling import Telling
from askwho.beliefs._turns import Turns, in_turn

__all__ = [
    "MOST_MEMBERS",
    "NEVER",
    "Asking",
    "Basis",
    "Beliefs",
    "BySets",
    "Cascade",
    "Case",
    "Evidence",
    "Grades",
    "Heard",
    "Intervals",
    "Kept",
    "NumberCase",
    "NumberPool",
    "NumberState",
    "Numbers",
    "Pool",
    "Pooled",
    "Said",
    "Sets",
    "Stacked",
    "State",
    "Sureness",
    "Telling",
    "Turns",
    "World",
    "asking_without",
    "efficient",
    "in_turn",
    "named_answers",
    "orders_of",
    "random_masks",
    "with_answers",
    "with_member",
    "without_member",
    "worth_asking",
]

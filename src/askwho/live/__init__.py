"""Asking live: a policy that asks real experts, within a deadline, and pays to the cent."""

from askwho.live._answered import Answered, Asked, Came
from askwho.live._asker import DEADLINE, Asker, Mode
from askwho.live._books import Books, NoBooks
from askwho.live._breaker import COOLDOWN, FAILURES, Breaker, State
from askwho.live._collect import Collected, Design, collect
from askwho.live._door import AT_A_TIME, ask_all, run_anywhere
from askwho.live._grading import RULES, Grader, grader

__all__ = [
    "AT_A_TIME",
    "COOLDOWN",
    "DEADLINE",
    "FAILURES",
    "RULES",
    "Answered",
    "Asked",
    "Asker",
    "Books",
    "Breaker",
    "Came",
    "Collected",
    "Design",
    "Grader",
    "Mode",
    "NoBooks",
    "State",
    "ask_all",
    "collect",
    "grader",
    "run_anywhere",
]

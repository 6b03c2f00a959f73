"""What came of asking: the decision, every call that was made for it, and what was paid."""

from dataclasses import dataclass
from typing import Any, Literal

from askwho._money import amount
from askwho.policy import Decision

Came = Literal["answered", "unusable", "failed", "late", "withdrawn", "not asked"]
"""What came of a call: an answer; something that is none; an error; nothing in time; it was given up, or never made."""


@dataclass(frozen=True)
class Asked:
    """One call to one expert, his retries included.

    Args:
        expert: who was asked.
        came: what came of it.
        answer: None where there is no usable one.
        info: what came with the answer.
        booked: in nanos, what was booked: what he charged, or the worst case where nobody can tell.
        certain: whether that is what he charged.
        attempts: how often the call was sent.
        seconds: how long it all took.
        why: the reason, where there is no usable answer or the charge is a guess.
        over: whether he charged more than was held for him.
    """

    expert: str
    came: Came
    answer: Any = None
    info: float | None = None
    booked: int = 0
    certain: bool = True
    attempts: int = 0
    seconds: float = 0.0
    why: str = ""
    over: bool = False

    @property
    def paid(self) -> float:
        """What was booked, in the user's unit."""
        return amount(self.booked)


@dataclass(frozen=True)
class Answered:
    """What came of one query.

    Args:
        decision: who was asked, whose usable answers there are, the verdict, its probability and what was paid.
        calls: one for each expert who was to be asked, in that order.
        booked: in nanos, what all of them were booked at.
        seconds: from the question to the verdict.
        answer: what the verdict says: of grades the answer of whoever is believed, else the verdict itself.
    """

    decision: Decision
    calls: tuple[Asked, ...]
    booked: int
    seconds: float
    answer: Any = None

    @property
    def paid(self) -> float:
        """What was booked, in the user's unit."""
        return amount(self.booked)

    @property
    def late(self) -> tuple[str, ...]:
        """Who did not answer in time."""
        return tuple(call.expert for call in self.calls if call.came == "late")

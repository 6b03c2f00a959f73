"""A call to an expert as it stands in the books, and how it may move from one state to the next."""

from dataclasses import dataclass
from typing import Any, Literal

from askwho import _validation as check
from askwho._money import LARGEST
from askwho.exceptions import InvalidInputError
from askwho.ledger._text import name_of

Status = Literal["held", "settled", "freed", "unknown", "reconciled"]
"""What a call is in the books: in flight, answered and charged, not charged, perhaps charged, set by other books."""


@dataclass(frozen=True)
class Call:
    """One call to one expert, as it is to be held for. All money is in billionths of the user's unit.

    Args:
        id: of the call; no other has it.
        decision: the id of the decision that it is made for.
        expert: who is asked.
        key: the idempotency key: that of all attempts of this call.
        worst: what it can charge at the most.
        until: when the hold expires, in seconds since 1970: after the last moment at which the call may be charged.
    """

    id: str
    decision: str
    expert: str
    key: str
    worst: int
    until: float

    def __post_init__(self) -> None:
        for name in ("id", "decision", "expert", "key"):
            name_of(getattr(self, name), name)
        check.whole_number(self.worst, "worst", minimum=0, maximum=LARGEST)
        check.finite_number(self.until, "until")


# The fields of a call, in the order of its row.
_FIELDS = tuple(Call.__dataclass_fields__)


@dataclass(frozen=True)
class Booked:
    """A call as it stands in the books.

    Args:
        call: what was held for.
        status: where it stands.
        charged: what is booked as spent: the charge, the worst case of an unknown one, 0 of one in flight.
        why: what is said of it: why there is no usable answer, or why nobody knows.
        at: when it was held for, in seconds since 1970.
    """

    call: Call
    status: Status
    charged: int
    why: str
    at: float

    @property
    def over(self) -> int:
        """What was charged above the hold."""
        return max(0, self.charged - self.call.worst)


@dataclass
class Booking:
    """A call within a transaction: a row of the table of calls, which may be changed.

    Args:
        call: what is held for.
        pledged: the budgets that it is booked on, each with its span of time, that of the hold.
        at: when it was held for.
        status: where it stands.
        charged: what is booked as spent.
        answer: what was answered, as JSON; None where there is no usable answer.
        info: what came with the answer.
        why: what is said of it.
        ended: when it left the flight.
    """

    call: Call
    pledged: tuple[tuple[str, str], ...]
    at: float
    status: Status = "held"
    charged: int = 0
    answer: str | None = None
    info: float | None = None
    why: str = ""
    ended: float | None = None

    @property
    def held(self) -> int:
        """What is held for it: the worst case, while it is in flight."""
        return self.call.worst if self.status == "held" else 0

    @property
    def over(self) -> int:
        """What was charged above the hold."""
        return max(0, self.charged - self.call.worst)

    def must_not_be(self, *statuses: Status, to: str) -> None:
        """Raise where the call is in one of these states, which what is to be done cannot follow on."""
        if self.status in statuses:
            raise InvalidInputError(
                f"A call to be {to} must be in flight or unknown, got {self.call.id!r}, which is {self.status}: what "
                "other books say of it is told by `reconcile`."
            )


def row_of(booking: Booking) -> tuple[Any, ...]:
    """Return a booking as a row of the table of calls, but for its budgets, which the caller writes as JSON."""
    call = booking.call
    said = (booking.status, booking.charged, booking.answer, booking.info, booking.why, booking.at, booking.ended)
    return (call.id, call.decision, call.expert, call.key, call.worst, call.until, *said)


def booking_of(row: tuple[Any, ...], pledged: tuple[tuple[str, str], ...]) -> Booking:
    """Return the booking that `row_of` made a row of."""
    call = object.__new__(Call)
    # What is in the books was looked at when it was held for: to do so again takes as long as to read it.
    call.__dict__.update(zip(_FIELDS, row[:6], strict=True))
    status, charged, answer, info, why, at, ended = row[6:]
    return Booking(call, pledged, at, status, charged, answer, info, why, ended)

"""An expert: whoever answers one question at a time, for a fee, and may fail."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from askwho import _validation as check
from askwho.exceptions import AskwhoError, InvalidInputError

Charged = Literal["no", "unknown"]
"""Whether a call that failed was paid for: certainly not, or nobody can tell."""


@dataclass(frozen=True)
class Question:
    """What one expert is asked.

    Args:
        id: of the query.
        known: what is known of it, by column.
        key: the idempotency key of this call, the same for its retries: who honours it charges once.
        timeout: seconds that are left for this attempt.
    """

    id: str
    known: Mapping[str, Any]
    key: str
    timeout: float


@dataclass(frozen=True)
class Reply:
    """What came back.

    Args:
        answer: None where there is no usable one.
        info: what came with it, such as a confidence.
        charged: in nanos; None for what the expert's fee says.
        why: the reason, where there is no usable answer or the charge is a guess.
        guessed: whether the charge is a guess, because the reply did not tell it: the worst case is booked.
    """

    answer: Any
    info: float | None = None
    charged: int | None = None
    why: str = ""
    guessed: bool = False


@dataclass(frozen=True)
class Limits:
    """What an expert can bear, and how long he is waited for.

    Args:
        timeout: seconds after which an attempt has failed.
        concurrency: how many calls at a time.
        rate: how many calls a second; None for as many as there are.
        retries: how often a call is tried again, where that is safe and in time.
        idempotent: whether calls with one key are charged once: only then is a call tried again that may have been
            charged.
    """

    timeout: float = 10.0
    concurrency: int = 16
    rate: float | None = None
    retries: int = 2
    idempotent: bool = False

    def __post_init__(self) -> None:
        for name in ("timeout", "rate"):
            value = getattr(self, name)
            if value is not None and check.finite_number(value, name, minimum=0.0) == 0.0:
                raise InvalidInputError(f"`{name}` must be above 0, got {value!r}.")
        check.whole_number(self.concurrency, "concurrency", minimum=1)
        check.whole_number(self.retries, "retries", minimum=0)


@runtime_checkable
class Expert(Protocol):
    """Whoever can be asked. A kind of your own needs no more than this; `limits` beside it are heeded.

    Two members are optional. `limits`: `Limits`, where the usual ones do not fit. `worst_of(known)`: the most that a
    call about this query can charge, in nanos, where that is less than `worst`.
    """

    @property
    def name(self) -> str:
        """Who it is in the policy's panel."""
        ...

    @property
    def worst(self) -> int:
        """The most that one call can charge, in nanos."""
        ...

    async def ask(self, question: Question) -> Reply:
        """Return what he says; raise `ExpertError` where nothing came, or `TimeoutError` where nothing came in time."""
        ...

    async def close(self) -> None:
        """Let go of what he holds."""
        ...


class ExpertError(AskwhoError):
    """A call that brought nothing.

    Args:
        message: why, without secrets.
        charged: "no" where certainly nothing was charged; "unknown" where the call was sent and may have been.
        retry: whether the same call may succeed if it is made again.
        after: seconds that the expert asks to be left alone.
    """

    def __init__(
        self, message: str, *, charged: Charged = "unknown", retry: bool = False, after: float | None = None
    ) -> None:
        super().__init__(message)
        self.charged: Charged = charged
        self.retry = retry
        self.after = after


def limits_of(expert: Expert) -> Limits:
    """Return what an expert can bear, or what is usual where he does not say."""
    found = getattr(expert, "limits", None)
    return found if isinstance(found, Limits) else Limits()


def worst_of(expert: Expert, known: Mapping[str, Any]) -> int:
    """Return the most that a call about this query can charge, in nanos."""
    tell = getattr(expert, "worst_of", None)
    return expert.worst if tell is None else min(int(tell(known)), expert.worst)

"""What the Asker needs of a ledger, and what stands in where there is none."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from askwho.ledger import Call


@runtime_checkable
class Books(Protocol):
    """A ledger, as far as asking needs one; `askwho.ledger.open_ledger` returns such.

    What is told is awaited later, or never: it must be written all the same. A `hold` that is cancelled, or of which
    nobody learned in time, gives back what it held.
    """

    def decided(
        self, decision_id: str, *, query: Mapping[str, Any], decision: Mapping[str, Any], again: bool = False
    ) -> Awaitable[Any]:
        """Write down a decision before anybody is asked; `again`, in the place of one that may be there."""
        ...

    async def hold(self, calls: Sequence[Call], *, budgets: Sequence[str] = ()) -> Sequence[bool]:
        """Put money aside for calls; return for which of them the budgets had it."""
        ...

    def settle(
        self,
        call_id: str,
        *,
        charged: int,
        answer: Any = None,  # noqa: ANN401 - of any type
        info: float | None = None,
        why: str = "",
    ) -> Awaitable[Any]:
        """Book what a call charged, and what came of it."""
        ...

    def free(self, call_id: str, why: str) -> Awaitable[Any]:
        """Give back what was held: certainly nothing was charged."""
        ...

    def unknown(self, call_id: str, why: str) -> Awaitable[Any]:
        """Book the worst case: something may have been charged."""
        ...

    def closed(
        self,
        decision_id: str,
        *,
        verdict: Any,  # noqa: ANN401
        probability: float | None,
        paid: int,
    ) -> Awaitable[Any]:
        """Write down what came of a decision."""
        ...

    async def outcome(self, decision_id: str, truth: Any) -> Any:  # noqa: ANN401
        """Write down what was right."""
        ...


class NoBooks:
    """Nothing is written down, and everybody may be asked."""

    async def decided(
        self, decision_id: str, *, query: Mapping[str, Any], decision: Mapping[str, Any], again: bool = False
    ) -> None:
        """Nothing."""

    async def hold(self, calls: Sequence[Call], *, budgets: Sequence[str] = ()) -> list[bool]:
        """Return that there is money for every call."""
        del budgets
        return [True] * len(calls)

    async def settle(
        self,
        call_id: str,
        *,
        charged: int,
        answer: Any = None,  # noqa: ANN401
        info: float | None = None,
        why: str = "",
    ) -> None:
        """Nothing."""

    async def free(self, call_id: str, why: str) -> None:
        """Nothing."""

    async def unknown(self, call_id: str, why: str) -> None:
        """Nothing."""

    async def closed(self, decision_id: str, *, verdict: Any, probability: float | None, paid: int) -> None:  # noqa: ANN401
        """Nothing."""

    async def outcome(self, decision_id: str, truth: Any) -> None:  # noqa: ANN401
        """Nothing."""

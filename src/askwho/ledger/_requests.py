"""What can be asked of the books, each a change of what lies on the desk. All checks come before the first change."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from askwho.exceptions import InvalidInputError
from askwho.ledger._booking import Booking, Call
from askwho.ledger._budgets import Balance, Budget, span_of
from askwho.ledger._desk import Desk, Needs

GIVEN_BACK = "given back: nobody was told that it was held, so nobody asked"
"""Why a call is freed whose asker was cancelled before he learned that he may ask."""


@runtime_checkable
class Request(Protocol):
    """Something to be done within a transaction."""

    durable: ClassVar[bool]
    """Whether it must outlast the loss of power, in a ledger that is durable. What is lost of the others is no money:
    a settlement that is undone leaves its hold, which expires at the worst case."""

    @property
    def needs(self) -> Needs:
        """What must lie on the desk."""
        ...

    def apply(self, desk: Desk) -> Any:  # noqa: ANN401 - each returns its own
        """Do it, and return what came of it; raise before anything is changed."""
        ...


@dataclass(frozen=True)
class Decide:
    """Write down a query and what was decided about it, both as JSON; `again`, in the place of one that is there."""

    durable: ClassVar[bool] = False
    id: str
    at: float | None
    query: str
    decision: str
    again: bool = False

    @property
    def needs(self) -> Needs:
        """The decision, which must not be there, as a rule."""
        return Needs(decisions=(self.id,))

    def apply(self, desk: Desk) -> None:
        """Write it down."""
        before = desk.decisions.get(self.id)
        if before is not None and not self.again:
            raise InvalidInputError(f"`decision_id` must be new, got {self.id!r}, which is in the books.")
        at = desk.now if self.at is None else self.at
        truth = None if before is None else before[-1]
        desk.decisions[self.id] = [self.id, at, self.query, self.decision, None, None, None, truth]
        desk.changed["decision", self.id] = None


@dataclass(frozen=True)
class Fill:
    """Fill in what came of a decision later: the verdict, or the truth."""

    id: str
    values: dict[int, Any]
    durable: ClassVar[bool] = False

    @property
    def needs(self) -> Needs:
        """The decision."""
        return Needs(decisions=(self.id,))

    def apply(self, desk: Desk) -> None:
        """Fill the cells of its row, by their places."""
        if self.id not in desk.decisions:
            raise InvalidInputError(f"`decision_id` must be in the books, got {self.id!r}: tell `decided` first.")
        for place, value in self.values.items():
            desk.decisions[self.id][place] = value
        desk.changed["decision", self.id] = None


class Outcome(Fill):
    """Fill in the truth: somebody may have worked for it, so it is kept like money."""

    durable: ClassVar[bool] = True


@dataclass
class Hold:
    """Hold the worst case of calls on budgets, first come first served.

    Args:
        calls: to be held for.
        budgets: that must cover each.
        granted: those that were, once it is done: what to give back if nobody learns of it.
    """

    durable: ClassVar[bool] = True
    calls: Sequence[Call]
    budgets: tuple[str, ...]
    granted: list[Call] = field(default_factory=list[Call])

    @property
    def needs(self) -> Needs:
        """The calls, which must not be there, and the budgets."""
        return Needs(calls=tuple(call.id for call in self.calls), budgets=self.budgets)

    def apply(self, desk: Desk) -> list[bool]:
        """Hold for each call that all budgets cover; return for which."""
        self.granted = []
        for call in self.calls:
            if call.id in desk.calls:
                raise InvalidInputError(f"`calls` must have new ids, got {call.id!r}, which is in the books.")
        budgets = [(name, _known(desk, name)) for name in self.budgets]
        pledged = tuple((name, span_of(budget.period, desk.now)) for name, budget in budgets)
        spends = [(budget.limit, desk.spend(*pledge)) for (_, budget), pledge in zip(budgets, pledged, strict=True)]
        for call in self.calls:
            if all(limit - spend.spent - spend.held >= call.worst for limit, spend in spends):
                desk.hold(Booking(call, pledged, desk.now))
                self.granted.append(call)
        held = {call.id for call in self.granted}
        return [call.id in held for call in self.calls]


@dataclass(frozen=True)
class GiveBack:
    """Free what a request held of which nobody learned: no call was made, so nothing was charged."""

    durable: ClassVar[bool] = False
    hold: Hold

    @property
    def needs(self) -> Needs:
        """The calls that may be held."""
        return Needs(calls=tuple(call.id for call in self.hold.calls))

    def apply(self, desk: Desk) -> None:
        """Free those that are there and are the very same; one may have expired on the way, and is unknown."""
        for call in self.hold.granted:
            booking = desk.calls.get(call.id)
            if booking is not None and booking.status in ("held", "unknown") and booking.call == call:
                desk.book(booking, "freed", 0, why=GIVEN_BACK)


@dataclass(frozen=True)
class Settle:
    """Book what a call charged, and what it answered."""

    durable: ClassVar[bool] = False
    id: str
    charged: int
    answer: str | None
    info: float | None
    why: str

    @property
    def needs(self) -> Needs:
        """The call."""
        return Needs(calls=(self.id,))

    def apply(self, desk: Desk) -> int:
        """Book it; return what was charged above the hold. What other books said of the charge stands."""
        booking = _call(desk, self.id)
        booking.must_not_be("settled", "freed", to="settled")
        desk.check_sums(booking, self.charged)
        if booking.status == "reconciled":
            booking.why = self.why
            desk.touch(booking)
        else:
            desk.book(booking, "settled", self.charged, why=self.why)
        booking.answer, booking.info = self.answer, self.info
        return booking.over


@dataclass(frozen=True)
class End:
    """Free a call that certainly was not charged, or give up one that may have been."""

    durable: ClassVar[bool] = False
    id: str
    free: bool
    why: str

    @property
    def needs(self) -> Needs:
        """The call."""
        return Needs(calls=(self.id,))

    def apply(self, desk: Desk) -> None:
        """Give the hold back, or book it as spent."""
        booking = _call(desk, self.id)
        booking.must_not_be("settled", "freed", "reconciled", to="freed" if self.free else "given up")
        desk.book(booking, "freed" if self.free else "unknown", 0 if self.free else booking.call.worst, why=self.why)


@dataclass(frozen=True)
class Reconcile:
    """Book what the provider's own books say of a call, whatever stands in ours."""

    durable: ClassVar[bool] = True
    id: str
    charged: int

    @property
    def needs(self) -> Needs:
        """The call."""
        return Needs(calls=(self.id,))

    def apply(self, desk: Desk) -> int:
        """Book it; return what was charged above the hold."""
        booking = _call(desk, self.id)
        desk.check_sums(booking, self.charged)
        desk.book(booking, "reconciled", self.charged, why=booking.why)
        return booking.over


@dataclass(frozen=True)
class SetBudget:
    """Set a budget, or remove it."""

    durable: ClassVar[bool] = True
    name: str
    budget: Budget | None

    @property
    def needs(self) -> Needs:
        """The budget."""
        return Needs(budgets=(self.name,))

    def apply(self, desk: Desk) -> None:
        """Set it; what is spent and held stands."""
        desk.budgets[self.name] = self.budget
        desk.changed["budget", self.name] = None


@dataclass(frozen=True)
class Look:
    """Tell how a budget stands."""

    durable: ClassVar[bool] = False
    name: str

    @property
    def needs(self) -> Needs:
        """The budget."""
        return Needs(budgets=(self.name,))

    def apply(self, desk: Desk) -> Balance:
        """Return its balance."""
        budget = _known(desk, self.name)
        spend = desk.spend(self.name, span_of(budget.period, desk.now))
        return Balance(budget.limit, spend.spent, spend.held, spend.over)


def _known(desk: Desk, name: str) -> Budget:
    budget = desk.budgets.get(name)
    if budget is None:
        raise InvalidInputError(f"`budgets` must be set before they are held on, got {name!r}: call `set_budget`.")
    return budget


def _call(desk: Desk, id_: str) -> Booking:
    if id_ not in desk.calls:
        raise InvalidInputError(f"`call_id` must be of a call that was held for, got {id_!r}, which is not there.")
    return desk.calls[id_]

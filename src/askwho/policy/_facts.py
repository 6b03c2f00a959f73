"""What was found while fitting, for people to read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from askwho import _validation as check
from askwho._parts import State, part
from askwho.data import moment


@part("facts")
@dataclass(frozen=True)
class Facts:
    """What was found while fitting, for people to read.

    Args:
        entity_errors: each entity's mean error in training, by its place in the panel.
        learners: the area under the validated frontier of each learner that was tried.
        committees: likewise of each committee.
        base: the name of our own base, where there is one.
        until: the last moment that anything of the policy comes from; None where its log did not say.
        dated: whether that is a date, in seconds since 1970.
        drawn: how many rows were drawn to learn from, and of how many; None where all were learned from.
    """

    entity_errors: tuple[float, ...]
    learners: Mapping[str, float] = field(default_factory=dict[str, float])
    committees: Mapping[str, float] = field(default_factory=dict[str, float])
    base: str | None = None
    until: float | None = None
    dated: bool = False
    drawn: tuple[int, int] | None = None

    @property
    def sample(self) -> str | None:
        """In words that a sample was learned from; None where all rows were."""
        return None if self.drawn is None else f"{self.drawn[0]:,} of {self.drawn[1]:,} rows, a stratified sample"

    @property
    def last(self) -> str:
        """The last moment that anything of the policy comes from, as it is shown."""
        return "nothing that is known" if self.until is None else moment(self.until, dated=self.dated)

    def left_out(self, rows: int) -> str:
        """Return in words that so many rows of a log were left out, and why."""
        return f"{rows:,} rows left out: not after {self.last}, the last moment that the policy comes from"

    def to_state(self) -> State:
        """Return the facts as JSON."""
        return State(
            plain={
                "entity_errors": list(self.entity_errors),
                "learners": dict(self.learners),
                "committees": dict(self.committees),
                "base": self.base,
                "until": self.until,
                "dated": self.dated,
                "drawn": None if self.drawn is None else list(self.drawn),
            }
        )

    @classmethod
    def from_state(cls, state: State) -> "Facts":
        """Return the facts that `to_state` wrote."""
        plain = state.plain
        errors = tuple(check.finite_number(error, "entity_errors") for error in plain["entity_errors"])
        until = None if plain["until"] is None else check.finite_number(plain["until"], "until")
        # Policies that were written before there were samples learned from all rows.
        drawn = plain.get("drawn")
        if drawn is not None:
            few, all_rows = (check.whole_number(count, "drawn", minimum=1) for count in drawn)
            drawn = few, all_rows
        return cls(errors, plain["learners"], plain["committees"], plain["base"], until, bool(plain["dated"]), drawn)

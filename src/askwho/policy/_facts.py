"""What was found while fitting, for people to read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from askwho import _validation as check
from askwho._parts import State, part


@part("facts")
@dataclass(frozen=True)
class Facts:
    """What was found while fitting, for people to read.

    Args:
        entity_errors: each entity's mean error in training, by its place in the panel.
        learners: the area under the validated frontier of each learner that was tried.
        committees: likewise of each committee.
        base: the name of our own base, where there is one.
    """

    entity_errors: tuple[float, ...]
    learners: Mapping[str, float] = field(default_factory=dict[str, float])
    committees: Mapping[str, float] = field(default_factory=dict[str, float])
    base: str | None = None

    def to_state(self) -> State:
        """Return the facts as JSON."""
        return State(
            plain={
                "entity_errors": list(self.entity_errors),
                "learners": dict(self.learners),
                "committees": dict(self.committees),
                "base": self.base,
            }
        )

    @classmethod
    def from_state(cls, state: State) -> "Facts":
        """Return the facts that `to_state` wrote."""
        plain = state.plain
        errors = tuple(check.finite_number(error, "entity_errors") for error in plain["entity_errors"])
        return cls(errors, plain["learners"], plain["committees"], plain["base"])

"""What is aimed at: said once, and checked once."""

from dataclasses import dataclass, fields

from askwho import _validation as check
from askwho.exceptions import InvalidInputError

# What can be aimed at together, in the order of the fields: k, fee_weight, budget, max_error.
_TOGETHER = {
    (True, False, False, False),
    (True, True, False, False),
    (False, True, False, False),
    (False, False, True, False),
    (False, False, False, True),
    (False, False, True, True),
}


@dataclass(frozen=True)
class Target:
    """How much an error is worth, or what must be met.

    One of `fee_weight`, `k` (ranked at `fee_weight`, 0 unless given), `budget`, `max_error`, or the last two together.
    With `confidence` a budget or an error is a promise about the queries to come, not only about the rows that it was
    tried on.

    Args:
        k: ask exactly so many.
        fee_weight: λ, how much error one unit of money is worth.
        budget: the mean fee to stay within; of 0, nobody is asked who ever charged anything, if there are others.
        max_error: the mean error to stay within: a share of wrong answers, or the root of the mean squared error.
        confidence: the probability with which a promise is kept, such as 0.95.
        max_fee: where fees differ by query, what none to come will be charged more than: a promise of a budget needs
            it, for rows alone cannot exclude a bill that none of them saw.
        max_loss: where answers are numbers, what no error to come will be above, in their unit: a promise of an error
            needs it likewise.
        max_group: where rows come in groups, how many rows none to come will have: any promise needs it.

    >>> Target(budget=0.1, confidence=0.95)
    Target(budget=0.1, confidence=0.95)
    """

    k: int | None = None
    fee_weight: float | None = None
    budget: float | None = None
    max_error: float | None = None
    confidence: float | None = None
    max_fee: float | None = None
    max_loss: float | None = None
    max_group: int | None = None

    def __post_init__(self) -> None:
        asked = (self.k is not None, self.fee_weight is not None, self.budget is not None, self.max_error is not None)
        if asked not in _TOGETHER:
            names = [field.name for field in fields(self) if getattr(self, field.name) is not None]
            raise InvalidInputError(
                "One target must be given: `k` (with or without `fee_weight`), `fee_weight`, `budget`, `max_error`, or "
                f"`budget` and `max_error`; got {names or 'none'}."
            )
        if self.k is not None:
            check.whole_number(self.k, "k", minimum=1)
        if self.max_group is not None:
            check.whole_number(self.max_group, "max_group", minimum=1)
        for name in ("fee_weight", "budget", "max_error", "max_fee", "max_loss"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check.finite_number(value, name, minimum=0.0))
        if self.confidence is None:
            caps = [name for name in ("max_fee", "max_loss", "max_group") if getattr(self, name) is not None]
            if caps:
                raise InvalidInputError(f"`{caps[0]}` must come with `confidence`: only a promise needs a cap.")
            return
        if not self.searched:
            given = "`k`" if self.fee_weight is None else "`fee_weight`"
            raise InvalidInputError(
                f"`confidence` must come with `budget` or `max_error`, of which it is the promise; got {given}."
            )
        object.__setattr__(self, "confidence", check.finite_number(self.confidence, "confidence"))
        if not 0.0 < self.confidence < 1.0:
            raise InvalidInputError(f"`confidence` must be above 0 and below 1, got {self.confidence:g}.")

    def __repr__(self) -> str:
        return f"Target({str(self).replace(' ', ', ')})"

    def __str__(self) -> str:
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return " ".join(f"{name}={value:g}" for name, value in given if value is not None)

    @property
    def searched(self) -> bool:
        """Whether a setting must be found that meets it: a budget, an error, or both."""
        return self.budget is not None or self.max_error is not None


def checked_target(target: object) -> Target:
    """Return the target, or say that it is none."""
    if isinstance(target, Target):
        return target
    raise InvalidInputError(
        f"`target` must be a `Target`, such as Target(budget=0.1), got {type(target).__name__}: {target!r}."
    )

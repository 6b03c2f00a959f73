"""What is believed about a number, whoever has answered: a verdict, how far off it may be, and intervals around it."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from askwho import _validation as check
from askwho._parts import State, part
from askwho.aggregation import Committee, Verdicts
from askwho.beliefs._intervals import Intervals
from askwho.beliefs._number_pool import NumberCase, NumberPool
from askwho.beliefs._pool import random_masks
from askwho.core import Answers, Cell
from askwho.exceptions import InvalidInputError


@part("numbers")
@dataclass(frozen=True, eq=False)
class Numbers:
    """A committee of numbers that knows how far off it may be.

    Args:
        pool: what several say together, and the scale of what that is off.
        at_once: how far truths lay from the verdicts of committees that were asked at once; None where nothing tells.
        in_turn: the same where questions were asked in turn.
    """

    pool: NumberPool
    at_once: Intervals | None = None
    in_turn: Intervals | None = None

    @classmethod
    def fit(
        cls,
        answers: Answers,
        truth: Shaped[np.ndarray, " n"],
        *,
        expected: Float[np.ndarray, "n a"],
        error: str,
        random_state: int = 0,
    ) -> "tuple[Numbers, NumberCase]":
        """Return what past answers teach, and the past queries as a case.

        Args:
            answers: what everybody said.
            truth: shape (n,).
            expected: shape (n, |A|), expected errors, out of fold.
            error: how answers are scored, by name.
            random_state: the seed of who is heard.
        """
        case = _case(answers, expected)
        masks = random_masks(answers.states != Cell.NOT_ASKED, random_state=random_state)
        return cls(NumberPool.fit(case, truth.astype(np.float64), masks, error)), case

    @property
    def silent(self) -> Bool[np.ndarray, " a"]:
        """Whose answers are no evidence, shape (|A|,): nobody's."""
        return np.zeros(self.pool.size, dtype=bool)

    def case(
        self,
        answers: Answers,
        *,
        expected: Float[np.ndarray, "n a"],
        shares: Float[np.ndarray, "n t"] | None = None,  # noqa: ARG002 - as beliefs about classes take it
        info: Float[np.ndarray, "n a"] | None = None,  # noqa: ARG002 - likewise
    ) -> NumberCase:
        """Return queries with everything that was answered."""
        return _case(answers, expected)

    def taught(
        self, case: NumberCase, truth: Shaped[np.ndarray, " n"], masks: list[Bool[np.ndarray, "n a"]]
    ) -> NumberPool:
        """Return the pool that these rows teach."""
        return NumberPool.fit(case, truth.astype(np.float64), masks, self.pool.error)

    def verdicts(self, committee: Committee, case: NumberCase) -> tuple[Verdicts, Float[np.ndarray, "n K"]]:
        """Return what the committees of every size decide, and how far off each may be, shape (n, K)."""
        state = self.pool.nothing(case, np.arange(len(case)))
        values, scale = np.zeros(committee.order.shape), np.empty(committee.order.shape)
        for r in range(committee.order.shape[1]):
            state = self.pool.hear(case, state, committee.order[:, r])
            believed = self.pool.probabilities(case, state)
            values[:, r], scale[:, r] = np.nan_to_num(believed[:, 0]), believed[:, 1]
        return Verdicts(values=values, decided=committee.decided), scale

    def decide(
        self, believed: Float[np.ndarray, "n 3"]
    ) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Return verdicts, shape (n,), whether there is one, and what each is expected to err."""
        known = ~np.isnan(believed[:, 0])
        return np.where(known, believed[:, 0], 0.0), known, believed[:, 2]

    def around(
        self,
        values: Float[np.ndarray, " n"],
        case: NumberCase,
        heard: Bool[np.ndarray, "n a"],
        coverage: float,
        *,
        in_turn: bool = False,
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Return the lower and the upper ends of intervals around verdicts, each of shape (n,).

        Args:
            values: shape (n,), the verdicts.
            case: what was answered.
            heard: shape (n, |A|), whose answers they are made of.
            coverage: how often the truth is to be within, between 0 and 1.
            in_turn: whether questions were asked in turn.
        """
        if not 0.0 < check.finite_number(coverage, "coverage") < 1.0:
            raise InvalidInputError(f"`coverage` must be between 0 and 1, got {coverage:g}.")
        known = self.in_turn if in_turn else self.at_once
        if known is None:
            raise InvalidInputError(
                "`coverage` must stand on held-out rows, got a policy without any that tell: calibrate it first."
            )
        scale = self.scales(case, heard)
        below, above = known.bounds(scale, heard.sum(axis=1), coverage)
        return values + below * scale, values + above * scale

    def scales(self, case: NumberCase, heard: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, " n"]:
        """Return how far off verdicts of those who were heard may be, shape (n,)."""
        return self.pool.scale(self.pool.centre(case, self.pool.hear_all(case, heard))[1])

    def only(self, kept: Int[np.ndarray, " b"]) -> "Numbers":
        """Return what is believed of some of the entities; the intervals were of other committees."""
        return Numbers(self.pool.only(kept))

    def joined(self) -> "Numbers":
        """Return the same with one more behind the others, who is like their mean."""
        members, levels = self.pool.members, self.pool.levels
        pool = replace(self.pool, members=np.append(members, members.mean()), levels=np.append(levels, levels.mean()))
        return Numbers(pool)

    def to_state(self) -> State:
        """Return the parts."""
        return State().hold(pool=self.pool, at_once=self.at_once, in_turn=self.in_turn)

    @classmethod
    def from_state(cls, state: State) -> "Numbers":
        """Return what `to_state` wrote."""
        return cls(state.need("pool"), state.read("at_once"), state.read("in_turn"))


def _case(answers: Answers, expected: Float[np.ndarray, "n a"]) -> NumberCase:
    spoke = answers.states == Cell.ANSWERED
    values = np.where(spoke, check.numeric(np.where(spoke, answers.values, 0), "answers"), 0.0)
    return NumberCase(values, spoke, expected)

"""What is thought of everybody before asking: expected errors or scores, whom the log knows, what each charges."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import FloatTable
from askwho.exceptions import InvalidInputError
from askwho.learners import Learner, Scorer
from askwho.policy._calibration import Calibration
from askwho.policy._coverage import Coverage
from askwho.policy._fees import Fees
from askwho.policy._newcomers import Newcomers
from askwho.policy._seen import Judgement
from askwho.policy._shrinkage import Shrinkage


@part("judge")
@dataclass(frozen=True, eq=False)
class Judge:
    """From features to what is thought of each entity.

    Args:
        name: of the learner, or of the paper's surrogate.
        learner: of expected errors, or the paper's policy, whose scores have a price baked in.
        calibration: from what the learner says to expected errors.
        error_weights: α, shape (|A|,).
        fees: what everybody is expected to charge.
        coverage: who is asked about queries of which kind; None where everybody is known everywhere.
        overlap: shape (|A|, |A|), who repeats whom, where the ranking minds it; else None.
        shrinkage: how much of expected errors is borne out; None where they stay as they are.
        newcomers: who came, left or changed since: what the learner knows is then another panel; None where nobody did.
    """

    name: str
    learner: Learner | Scorer
    calibration: Calibration
    error_weights: Float[np.ndarray, " a"]
    fees: Fees
    coverage: Coverage | None = None
    overlap: Float[np.ndarray, "a a"] | None = None
    shrinkage: Shrinkage | None = None
    newcomers: Newcomers | None = None

    # Asked once: for one query it would take as long as a graph does to look a protocol's methods up.
    @cached_property
    def priced(self) -> bool:
        """Whether a price is baked into the ranking: it answers for any k, and for no other fees."""
        return isinstance(self.learner, Scorer)

    @cached_property
    def by_errors_alone(self) -> bool:
        """Whether expected errors and fees rank, and nothing else."""
        return self.coverage is None and self.overlap is None and not self.priced

    def judge(self, X: Float[np.ndarray, "n d"]) -> Judgement:
        """Return what is thought of each entity: expected errors, and scores where a price is baked into them."""
        learner: Any = self.learner
        if self.priced:
            scores = learner.scores(X)[0]
            expected = self.calibration.apply(-scores)
            if self.newcomers is not None:
                expected, scores = expected[:, self.newcomers.places], scores[:, self.newcomers.places]
            return Judgement(expected, self.error_weights, scores)
        expected = self.learned(X)
        if self.newcomers is not None:
            one = len(X) == 1
            expected = (
                np.array([self.newcomers.of_one(expected[0].tolist())]) if one else self.newcomers.apply(expected)
            )
        return Judgement(expected, self.error_weights, overlap=self.overlap, covered=self._covered(X))

    def learned(self, X: Float[np.ndarray, "n d"]) -> FloatTable:
        """Return what is expected of those whom the learner knows, shape (n, L): the panel, unless it has changed."""
        learner: Any = self.learner
        if self.priced:
            return self.calibration.apply(-learner.scores(X)[0])
        said = check_said(learner.predict(X), (len(X), len(self.calibration.raw)))
        if len(said) == 1:
            one = self.calibration.of_one(said[0].tolist())
            return np.array([one if self.shrinkage is None else self.shrinkage.of_one(one)])
        expected = self.calibration.apply(said)
        return expected if self.shrinkage is None else self.shrinkage.apply(expected)

    def deviations(self, X: Float[np.ndarray, "n d"]) -> FloatTable:
        """Return how far off what is expected of newcomers may be, shape (n, |A|); NaN of those who were learned."""
        if self.newcomers is None or self.priced:
            return np.full((len(X), len(self.error_weights)), np.nan)
        return self.newcomers.deviations(self.learned(X))

    def only(self, kept: Int[np.ndarray, " b"], *, most: float) -> "Judge":
        """Return the judge of some of the panel."""
        newcomers = self.newcomers or Newcomers.nobody(len(self.error_weights), most=most)
        return replace(
            self,
            error_weights=self.error_weights[kept],
            fees=self.fees.only(kept),
            overlap=None if self.overlap is None else self.overlap[np.ix_(kept, kept)],
            newcomers=newcomers.only(kept),
        )

    def _covered(self, X: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, "n a"] | None:
        """Whom the log knows on queries like these, shape (n, |A|); nothing tells against a newcomer."""
        if self.coverage is None:
            return None
        covered = self.coverage.of(X)
        if self.newcomers is None:
            return covered
        places = self.newcomers.places
        covered = covered[:, np.maximum(places, 0)] | (places < 0)
        return covered | ~covered.any(axis=1, keepdims=True)

    def to_state(self) -> State:
        """Return the judge as its parts and arrays."""
        arrays = {"error_weights": self.error_weights}
        if self.overlap is not None:
            arrays["overlap"] = self.overlap
        return State(plain={"name": self.name}, arrays=arrays).hold(
            learner=self.learner,
            calibration=self.calibration,
            fees=self.fees,
            coverage=self.coverage,
            shrinkage=self.shrinkage,
            newcomers=self.newcomers,
        )

    @classmethod
    def from_state(cls, state: State) -> "Judge":
        """Return the judge that `to_state` wrote."""
        weights, *overlap = state.pick(error_weights="a", **({"overlap": "a a"} if "overlap" in state.arrays else {}))
        calibration, fees, coverage = state.need("calibration"), state.need("fees"), state.read("coverage")
        newcomers, learned = state.read("newcomers"), weights.shape
        if newcomers is not None:
            check.same_shape(newcomers.places, "newcomers", weights.shape, "one for each entity")
            learned = (newcomers.learned,)
        check.same_shape(fees.usual, "fees", weights.shape, "one for each entity")
        check.same_shape(calibration.raw[:, 0], "calibration", learned, "one for each entity")
        if coverage is not None:
            check.same_shape(coverage.usual, "coverage", learned, "one for each entity")
        shrinkage = state.read("shrinkage")
        if shrinkage is not None:
            check.same_shape(shrinkage.own, "shrinkage", learned, "one for each entity")
        learner = state.need("learner")
        repeats = overlap[0] if overlap else None
        name = str(state.plain["name"])
        return cls(name, learner, calibration, weights, fees, coverage, repeats, shrinkage, newcomers)


def check_said(expected: FloatTable, shape: tuple[int, int]) -> FloatTable:
    """Return what a learner predicts, or say what is wrong with it: it may be the user's own."""
    if not isinstance(expected, np.ndarray) or expected.shape != shape:  # pyright: ignore[reportUnnecessaryIsInstance]
        got = np.shape(expected)
        raise InvalidInputError(f"`learner.predict` must return an array of shape {shape}, one row a query, got {got}.")
    return expected if expected.dtype == np.float64 else check.table(expected, "learner.predict").astype(np.float64)

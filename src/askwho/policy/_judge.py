"""What is thought of everybody before asking: expected errors or scores, whom the log knows, what each charges."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import FloatTable
from askwho.exceptions import InvalidInputError
from askwho.learners import Learner, Scorer
from askwho.policy._calibration import Calibration
from askwho.policy._coverage import Coverage
from askwho.policy._fees import Fees
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
    """

    name: str
    learner: Learner | Scorer
    calibration: Calibration
    error_weights: Float[np.ndarray, " a"]
    fees: Fees
    coverage: Coverage | None = None
    overlap: Float[np.ndarray, "a a"] | None = None
    shrinkage: Shrinkage | None = None

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
            return Judgement(self.calibration.apply(-scores), self.error_weights, scores)
        said = check_said(learner.predict(X), (len(X), len(self.error_weights)))
        if len(said) == 1:
            one = self.calibration.of_one(said[0].tolist())
            expected = np.array([one if self.shrinkage is None else self.shrinkage.of_one(one)])
        else:
            expected = self.calibration.apply(said)
            expected = expected if self.shrinkage is None else self.shrinkage.apply(expected)
        covered = None if self.coverage is None else self.coverage.of(X)
        return Judgement(expected, self.error_weights, overlap=self.overlap, covered=covered)

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
        )

    @classmethod
    def from_state(cls, state: State) -> "Judge":
        """Return the judge that `to_state` wrote."""
        weights, *overlap = state.pick(error_weights="a", **({"overlap": "a a"} if "overlap" in state.arrays else {}))
        calibration, fees, coverage = state.need("calibration"), state.need("fees"), state.read("coverage")
        for name, array in (("calibration", calibration.raw[:, 0]), ("fees", fees.usual)):
            check.same_shape(array, name, weights.shape, "one for each entity")
        if coverage is not None:
            check.same_shape(coverage.usual, "coverage", weights.shape, "one for each entity")
        shrinkage = state.read("shrinkage")
        if shrinkage is not None:
            check.same_shape(shrinkage.own, "shrinkage", weights.shape, "one for each entity")
        learner = state.need("learner")
        repeats = overlap[0] if overlap else None
        return cls(str(state.plain["name"]), learner, calibration, weights, fees, coverage, repeats, shrinkage)


def check_said(expected: FloatTable, shape: tuple[int, int]) -> FloatTable:
    """Return what a learner predicts, or say what is wrong with it: it may be the user's own."""
    if not isinstance(expected, np.ndarray) or expected.shape != shape:  # pyright: ignore[reportUnnecessaryIsInstance]
        got = np.shape(expected)
        raise InvalidInputError(f"`learner.predict` must return an array of shape {shape}, one row a query, got {got}.")
    return expected if expected.dtype == np.float64 else check.table(expected, "learner.predict").astype(np.float64)

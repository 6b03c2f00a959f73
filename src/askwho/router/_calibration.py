"""Calibration of expected errors: so that 0.2 means one in five, for every entity alike."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from sklearn.isotonic import IsotonicRegression

_FEWEST_ROWS = 200
_MOST_KNOTS = 64
# Past its outermost knots the map goes on with slope one for this far, so that order is never lost.
_REACH = 1e6
# So few rows are looked up all at once: calling a function for each entity would take longer than its work.
_FEW_ROWS = 16


@dataclass(frozen=True, eq=False)
class Calibration:
    """A rising piecewise-linear map an entity, from raw to calibrated expected error.

    Args:
        raw: shape (|A|, knots), rising in each row.
        calibrated: shape (|A|, knots).
    """

    raw: Float[np.ndarray, "a t"]
    calibrated: Float[np.ndarray, "a t"]

    @classmethod
    def fit(cls, expected: Float[np.ndarray, "n a"], errors: Float[np.ndarray, "n a"]) -> "Calibration":
        """Return the map learned from out-of-fold expected errors and the errors that came."""
        size = expected.shape[1]
        raw, calibrated = np.empty((size, _MOST_KNOTS)), np.empty((size, _MOST_KNOTS))
        for j in range(size):
            asked = ~np.isnan(errors[:, j])
            scores, outcomes = expected[asked, j], errors[asked, j]
            raw[j] = (
                np.quantile(scores, np.linspace(0, 1, _MOST_KNOTS)) if asked.any() else np.linspace(0, 1, _MOST_KNOTS)
            )
            if asked.sum() < _FEWEST_ROWS:
                calibrated[j] = raw[j]
                continue
            rising = IsotonicRegression(out_of_bounds="clip").fit(scores, outcomes)
            # Half-way to the raw estimate: isotonic steps are rough, and flat stretches would tie what is not tied.
            calibrated[j] = 0.5 * rising.predict(raw[j]) + 0.5 * raw[j]
        ends = np.array([-_REACH, _REACH])
        raw, calibrated = (
            np.column_stack([knots[:, :1] + ends[0], knots, knots[:, -1:] + ends[1]]) for knots in (raw, calibrated)
        )
        return cls(raw, calibrated)

    def apply(self, expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a"]:
        """Return calibrated expected errors, at least 0, shape (n, |A|)."""
        if len(expected) <= _FEW_ROWS:
            return np.maximum(self._between(expected), 0.0)
        out = np.empty_like(expected)
        for j in range(expected.shape[1]):
            out[:, j] = np.interp(expected[:, j], self.raw[j], self.calibrated[j])
        return np.maximum(out, 0.0, out=out)

    @cached_property
    def _lines(self) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"], Int[np.ndarray, " a"]]:
        """Slope and intercept between every two knots, entity after entity, and where each entity begins."""
        run = np.diff(self.raw)
        slope = np.divide(np.diff(self.calibrated), run, out=np.zeros_like(run), where=run > 0)
        intercept = self.calibrated[:, :-1] - slope * self.raw[:, :-1]
        return slope.ravel(), intercept.ravel(), np.arange(len(self.raw)) * run.shape[1]

    def _between(self, expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a"]:
        """The same line between two knots as `np.interp` draws, for every entity in one step."""
        slope, intercept, begins = self._lines
        line = (self.raw[:, 1:-1] <= expected[:, :, None]).sum(axis=2) + begins
        return intercept.take(line) + slope.take(line) * expected

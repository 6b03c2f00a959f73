"""Calibration of expected errors: so that 0.2 means one in five, for every entity alike."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from sklearn.isotonic import IsotonicRegression

_FEWEST_ROWS = 200
_MOST_KNOTS = 64
# Past its outermost knots the map goes on with slope one for this far, so that order is never lost.
_REACH = 1e6


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
        out = np.empty_like(expected)
        for j in range(expected.shape[1]):
            out[:, j] = np.interp(expected[:, j], self.raw[j], self.calibrated[j])
        return np.maximum(out, 0.0, out=out)

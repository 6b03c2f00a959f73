"""Calibration of expected errors: so that 0.2 means one in five, for every entity alike."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from askwho._fast import loops
from askwho._parts import State, part

# With fewer outcomes a step of an isotonic regression rests on a handful of rows: the raw estimate stays.
_FEWEST_ROWS = 200
# Knots of the map: the 64 quantiles of what was expected; more of them would follow single rows.
_MOST_KNOTS = 64
# Past its outermost knots the map goes on with slope one for this far, so that order is never lost.
_REACH = 1e6


@part("calibration")
@dataclass(frozen=True, eq=False)
class Calibration:
    """A rising piecewise-linear map an entity, from raw to calibrated expected error.

    Isotonic regression (Zadrozny and Elkan 2002), read at quantiles of what was expected.

    Args:
        raw: shape (|A|, knots), rising in each row.
        calibrated: shape (|A|, knots).
    """

    raw: Float[np.ndarray, "a t"]
    calibrated: Float[np.ndarray, "a t"]

    @classmethod
    def fit(
        cls, expected: Float[np.ndarray, "n a"], errors: Float[np.ndarray, "n a"], *, in_errors: bool = True
    ) -> "Calibration":
        """Return the map learned from out-of-fold expected errors and the errors that came.

        Args:
            expected: shape (n, |A|).
            errors: shape (n, |A|), NaN where an entity was not asked.
            in_errors: whether `expected` is in units of error already; else it only rises with it.
        """
        from sklearn.isotonic import IsotonicRegression  # noqa: PLC0415 - to learn alone: it takes long to import

        size = expected.shape[1]
        raw, calibrated = np.empty((size, _MOST_KNOTS)), np.empty((size, _MOST_KNOTS))
        for j in range(size):
            asked = ~np.isnan(errors[:, j])
            scores, outcomes = expected[asked, j], errors[asked, j]
            raw[j] = (
                np.quantile(scores, np.linspace(0, 1, _MOST_KNOTS)) if asked.any() else np.linspace(0, 1, _MOST_KNOTS)
            )
            if asked.sum() < _FEWEST_ROWS:
                calibrated[j] = raw[j] if in_errors else _line(scores, outcomes, raw[j])
                continue
            rising = IsotonicRegression(out_of_bounds="clip").fit(scores, outcomes)
            calibrated[j] = rising.predict(raw[j])
            if in_errors:
                # Half-way to the raw estimate: isotonic steps are rough, and flat stretches would tie what is not tied.
                calibrated[j] = 0.5 * calibrated[j] + 0.5 * raw[j]
        return cls(_with_ends(raw, _REACH), _with_ends(calibrated, _REACH if in_errors else 0.0))

    def apply(self, expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a"]:
        """Return calibrated expected errors, at least 0, shape (n, |A|)."""
        if len(expected) == 1:
            return np.array([self.of_one(expected[0].tolist())])
        out, fast = np.empty_like(expected), loops(len(expected))
        if fast is not None:
            fast.interpolated(expected, self.raw, self.calibrated, out)
        else:
            for j in range(expected.shape[1]):
                out[:, j] = np.interp(expected[:, j], self.raw[j], self.calibrated[j])
        return np.maximum(out, 0.0, out=out)

    def of_one(self, expected: list[float]) -> list[float]:
        """Return the same for one query, in plain numbers: on so few of them NumPy's calls would take longest."""
        found: list[float] = []
        for value, (knots, begins, levels, slopes) in zip(expected, self._lines, strict=True):
            at = bisect_right(knots, value)
            error = slopes[at] * (value - begins[at]) + levels[at]
            found.append(error if error > 0.0 else 0.0)
        return found

    def to_state(self) -> State:
        """Return the map as arrays."""
        return State(arrays={"raw": self.raw, "calibrated": self.calibrated})

    @classmethod
    def from_state(cls, state: State) -> "Calibration":
        """Return the map that `to_state` wrote."""
        return cls(*state.pick(raw="a t", calibrated="a t"))

    @cached_property
    def _lines(self) -> list[tuple[list[float], list[float], list[float], list[float]]]:
        """By entity: its knots; where the lines between them, and level beyond, begin; their heights and slopes."""
        run = np.diff(self.raw)
        slopes = np.pad(
            np.divide(np.diff(self.calibrated), run, out=np.zeros_like(run), where=run > 0), ((0, 0), (1, 1))
        )
        begins, levels = (np.column_stack([knots[:, :1], knots]) for knots in (self.raw, self.calibrated))
        return [tuple(part[j].tolist() for part in (self.raw, begins, levels, slopes)) for j in range(len(self.raw))]


def _line(scores: np.ndarray, outcomes: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """A rising line through few rows, never beyond the errors that were seen."""
    if not len(outcomes):
        return np.full(len(knots), 0.5)
    centred = scores - scores.mean()
    slope = max(0.0, float(centred @ outcomes)) / max(float(centred @ centred), 1e-12)
    return np.clip(outcomes.mean() + slope * (knots - scores.mean()), outcomes.min(), outcomes.max())


def _with_ends(knots: np.ndarray, reach: float) -> np.ndarray:
    return np.column_stack([knots[:, :1] - reach, knots, knots[:, -1:] + reach])

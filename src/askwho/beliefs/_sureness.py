"""How likely verdicts are to be right, by what held-out committees of as many answers came to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho._parts import State, part
from askwho.exceptions import InvalidInputError

# Committees of 0 (a base of our own alone), 1, 2, 3, 4-5, 6-8 and more answers each have a line of their own.
_BANDS = np.array([0, 1, 2, 3, 4, 4, 5, 5, 5, 6])
# As many lines.
_COUNT = int(_BANDS.max()) + 1
# A line of two numbers is not learned from fewer verdicts than this.
_FEWEST = 50
# How strongly lines are drawn to what is believed, in all and not a row. By hand, on seven made and recorded logs of
# 400 and of 1,500 rows: with 10 or 30 probabilities are off by as much, but for a few thousandths, and by a hundredth
# more where a base of our own is far too humble.
_RIDGE = 3.0
# Log-odds further from 0 than this are no longer told apart by the rows that there are.
_MOST = 9.0
# By so much the likeliest is at least ahead of all others: more than probabilities are rounded by.
_AHEAD = 1e-6


@dataclass(frozen=True, eq=False)
class Said:
    """Verdicts, and what is believed of them.

    Args:
        own: shape (n,), the probability of each.
        other: shape (n,), of the likeliest of all others.
        answers: shape (n,), how many answered.
    """

    own: Float[np.ndarray, " n"]
    other: Float[np.ndarray, " n"]
    answers: Int[np.ndarray, " n"]


@part("sureness")
@dataclass(frozen=True, eq=False)
class Sureness:
    """From what is believed of a verdict to how often such verdicts are right, for each number of answers.

    Platt's (1999) line through the log-odds. The pool is the likeliest for all sets of members, drawn at random; whom a
    policy asks is chosen, and a base's own probabilities are those of its trees. Which verdict is given stays as it is.

    Args:
        slopes: shape (7,), of committees of 0, 1, 2, 3, 4-5, 6-8 and more answers.
        shifts: shape (7,).
    """

    slopes: Float[np.ndarray, " b"]
    shifts: Float[np.ndarray, " b"]

    @classmethod
    def fit(cls, said: Said, right: Bool[np.ndarray, " n"], *, copies: float = 1.0) -> "Sureness":
        """Return the lines that held-out verdicts teach; what is believed stays as it is where they are few.

        Args:
            said: the verdicts.
            right: shape (n,), whether each was right.
            copies: how often the same query is among them for a number of answers.
        """
        from scipy.optimize import minimize  # noqa: PLC0415 - to learn alone: it takes long to import

        slopes, shifts = np.ones(_COUNT), np.zeros(_COUNT)
        odds, band = _log_odds(said.own), _band(said.answers)
        for b in range(_COUNT):
            z, y = odds[band == b], right[band == b].astype(np.float64)
            if len(z) < _FEWEST * copies:
                continue

            def loss(at: np.ndarray, z: np.ndarray = z, y: np.ndarray = y) -> tuple[float, np.ndarray]:
                score = np.exp(at[0]) * z + at[1]
                off = (1.0 / (1.0 + np.exp(-score)) - y) / copies
                value = float((np.logaddexp(0.0, score) - y * score).sum()) / copies + _RIDGE * float(at @ at)
                return value, np.array([off @ (np.exp(at[0]) * z), off.sum()]) + 2.0 * _RIDGE * at

            solved: Any = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B")
            slopes[b], shifts[b] = np.exp(solved.x[0]), solved.x[1]
        return cls(slopes, shifts)

    def of(self, said: Said) -> Float[np.ndarray, " n"]:
        """Return how likely verdicts are to be right, shape (n,); 0 where there is none.

        A verdict that is the likeliest stays so: the others share what is left as they did.
        """
        band = _band(said.answers)
        score = self.slopes[band] * _log_odds(said.own) + self.shifts[band]
        share = np.clip(said.other / np.maximum(1.0 - said.own, 1e-12), 0.0, 1.0)
        least = np.where(said.own >= said.other, share / (1.0 + share) + _AHEAD, 0.0)
        return np.where(said.own > 0, np.minimum(np.maximum(1.0 / (1.0 + np.exp(-score)), least), 1.0), 0.0)

    def to_state(self) -> State:
        """Return the lines as arrays."""
        return State(arrays={"slopes": self.slopes, "shifts": self.shifts})

    @classmethod
    def from_state(cls, state: State) -> "Sureness":
        """Return the lines that `to_state` wrote."""
        made = cls(*state.pick(slopes=str(_COUNT), shifts=str(_COUNT)))
        if (made.slopes <= 0).any():
            raise InvalidInputError("`slopes` must be above 0, got others: the artefact is damaged.")
        return made


def _band(answers: np.ndarray) -> np.ndarray:
    return _BANDS[np.minimum(answers, len(_BANDS) - 1)]


def _log_odds(own: np.ndarray) -> np.ndarray:
    share = np.clip(own.astype(np.float64), 1e-12, 1.0 - 1e-12)
    return np.clip(np.log(share) - np.log1p(-share), -_MOST, _MOST)

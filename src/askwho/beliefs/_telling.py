"""What one answer tells of itself: how much better or worse it is than was expected, by what came back with it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from askwho._parts import State, part
from askwho.beliefs._evidence import spread_of
from askwho.beliefs._logistic import likeliest

# Expected errors are kept so far from 0 and 1, or their log-odds, where odds begin, would be infinite.
_CLIP = 1e-3
# Odds of one answer beyond e^6 are taken for e^6: a few hundred rows cannot tell more.
_MOST_ODDS = 6.0
# How strongly weights are drawn to what was expected without any telling, by hand, in all and not a row.
_RIDGE = 1.0
# The fields and their shapes, in order.
_ARRAYS = {"weights": "a f", "bias": "a", "before": "a 2", "centre": "a", "scale": "a", "knots": "a q"}


@part("telling")
@dataclass(frozen=True, eq=False)
class Telling:
    """A logistic model an entity of its answer's grade, by what was expected and what came back.

    Args:
        weights: shape (|A|, 7), of the odds before asking, of `info`, of where its line bends, and of there being none.
        bias: shape (|A|,).
        before: shape (|A|, 2), weight and bias of the odds before asking, where nothing came back yet.
        centre: shape (|A|,), of `info`.
        scale: shape (|A|,), likewise.
        knots: shape (|A|, 4), where the line through `info` may bend.
    """

    weights: Float[np.ndarray, "a f"]
    bias: Float[np.ndarray, " a"]
    before: Float[np.ndarray, "a 2"]
    centre: Float[np.ndarray, " a"]
    scale: Float[np.ndarray, " a"]
    knots: Float[np.ndarray, "a q"]

    @classmethod
    def fit(
        cls, errors: Float[np.ndarray, "n a"], expected: Float[np.ndarray, "n a"], info: Float[np.ndarray, "n a"]
    ) -> "Telling":
        """Return what past answers teach.

        Args:
            errors: shape (n, |A|), 1 − grade; NaN where there is none.
            expected: shape (n, |A|), before asking, out of fold.
            info: shape (n, |A|), what came back; NaN where nothing did.
        """
        size = errors.shape[1]
        centre, scale, knots = spread_of(np.where(np.isnan(errors), np.nan, info))
        blank = cls(np.zeros((size, 0)), np.zeros(size), np.zeros((size, 2)), centre, scale, knots)
        inputs = blank.inputs(expected, info)
        start = np.zeros(inputs.shape[2] + 1)
        # Without a word more is believed what was expected.
        start[0] = 1.0
        found, before = np.tile(start, (size, 1)), np.tile([1.0, 0.0], (size, 1))
        for j in range(size):
            rows = np.flatnonzero(~np.isnan(errors[:, j]))
            design, grades = np.column_stack([inputs[rows, j], np.ones(len(rows))]), 1.0 - errors[rows, j]
            found[j] = likeliest(design, grades, start, ridge=_RIDGE)
            before[j] = likeliest(design[:, [0, -1]], grades, before[j], ridge=_RIDGE)
        return cls(found[:, :-1], found[:, -1], before, centre, scale, knots)

    @property
    def silent(self) -> Bool[np.ndarray, " a"]:
        """Whose answers are no evidence, shape (|A|,): nobody's."""
        return np.zeros(len(self.bias), dtype=bool)

    def of(
        self, expected: Float[np.ndarray, "n a"], info: Float[np.ndarray, "n a"]
    ) -> tuple[Float32[np.ndarray, "n a"], Float32[np.ndarray, "n a"]]:
        """Return the log-odds of each answer before it is asked for, and what its telling adds, each of shape (n, |A|).

        Args:
            expected: shape (n, |A|).
            info: shape (n, |A|).
        """
        before = np.clip(_odds(expected) * self.before[:, 0] + self.before[:, 1], -_MOST_ODDS, _MOST_ODDS)
        after = np.einsum("naf,af->na", self.inputs(expected, info), self.weights) + self.bias
        after = np.clip(after, -_MOST_ODDS, _MOST_ODDS)
        return before.astype(np.float32), (after - before).astype(np.float32)

    def inputs(self, expected: Float[np.ndarray, "n a"], info: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a f"]:
        """Return what the odds of an answer go by, shape (n, |A|, f)."""
        nothing = ~np.isfinite(info)
        told = np.where(nothing, 0.0, (np.where(nothing, 0.0, info) - self.centre) / self.scale)
        bends = np.where(nothing[:, :, None], 0.0, np.maximum(told[:, :, None] - self.knots, 0.0))
        return np.concatenate([np.stack([_odds(expected), told], axis=2), bends, nothing[:, :, None]], axis=2)

    def only(self, entities: Int[np.ndarray, " b"]) -> "Telling":
        """Return the same of some of the entities."""
        return Telling(*(getattr(self, name)[entities] for name in _ARRAYS))

    def with_one_more(self) -> "Telling":
        """Return the same with one more behind the others, of whom is believed what is expected, whatever is told."""
        size = self.weights.shape[1]
        stranger = Telling(
            np.eye(1, size), np.zeros(1), np.eye(1, 2), np.zeros(1), np.ones(1), np.zeros((1, self.knots.shape[1]))
        )
        return Telling(*(np.concatenate([getattr(self, name), getattr(stranger, name)]) for name in _ARRAYS))

    def to_state(self) -> State:
        """Return the models as arrays."""
        return State(arrays={name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_state(cls, state: State) -> "Telling":
        """Return what `to_state` wrote."""
        return cls(*state.pick(**_ARRAYS))


def _odds(expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a"]:
    """The log-odds of being right."""
    right = np.clip(1.0 - expected, _CLIP, 1.0 - _CLIP)
    return np.log(right / (1.0 - right))

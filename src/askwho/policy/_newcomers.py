"""Who came, left or changed after the fit: everybody's expected error as a line in those that were learned."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho import _validation as check
from askwho._parts import State, part
from askwho.exceptions import InvalidInputError

# The arrays and their shapes, in the order of the fields.
_ARRAYS = {"places": "a", "coefficients": "a f", "covariance": "a f f", "beside": "a"}


@part("newcomers")
@dataclass(frozen=True, eq=False)
class Newcomers:
    """What is expected of today's panel, given what is expected of the L entities that a learner knows.

    Who was learned and never changed is expected what the learner says. Of anybody else the error is a line in what is
    expected of the learned, whose coefficients are normal: as far as his answers tell them. What is expected of him is
    the mean of that normal's part above zero: of somebody of whom little is known it is never nothing.

    Args:
        places: shape (|A|,), which of the learned each is; −1 for who is none of them.
        coefficients: shape (|A|, 1 + L), of a constant and of what is expected of each of the learned.
        covariance: shape (|A|, 1 + L, 1 + L), of the coefficients; nothing for who is as he was learned.
        beside: shape (|A|,), the variance of what no line in the others tells of him; likewise.
        most: the largest error that can be; infinite where nothing says.
    """

    places: Int[np.ndarray, " a"]
    coefficients: Float[np.ndarray, "a f"]
    covariance: Float[np.ndarray, "a f f"]
    beside: Float[np.ndarray, " a"]
    most: float

    @classmethod
    def nobody(cls, size: int, *, most: float) -> "Newcomers":
        """Return a panel of `size` that is as it was learned."""
        one_each = np.eye(size, size + 1, k=1)
        return cls(np.arange(size), one_each, np.zeros((size, size + 1, size + 1)), np.zeros(size), most)

    @property
    def learned(self) -> int:
        """How many were learned."""
        return self.coefficients.shape[1] - 1

    @cached_property
    def moved(self) -> Bool[np.ndarray, " a"]:
        """Who came or changed after the fit, shape (|A|,)."""
        return np.any(self.covariance != 0, axis=(1, 2)) | (self.places < 0)

    def only(self, kept: Int[np.ndarray, " b"]) -> "Newcomers":
        """Return the same of some of the panel."""
        return replace(
            self,
            places=self.places[kept],
            coefficients=self.coefficients[kept],
            covariance=self.covariance[kept],
            beside=self.beside[kept],
        )

    def put(
        self, j: int, mean: Float[np.ndarray, " f"], covariance: Float[np.ndarray, "f f"], beside: float
    ) -> "Newcomers":
        """Return the same with what is now known of entity j; the first after the last is a newcomer."""
        grown = self
        if j == len(self.places):
            blank = Newcomers(np.array([-1]), mean[None], covariance[None], np.zeros(1), self.most)
            grown = replace(
                self, **{name: np.concatenate([getattr(self, name), getattr(blank, name)]) for name in _ARRAYS}
            )
        arrays = {name: getattr(grown, name).copy() for name in _ARRAYS}
        arrays["coefficients"][j], arrays["covariance"][j], arrays["beside"][j] = mean, covariance, beside
        return replace(grown, **arrays)

    def apply(self, learned: Float[np.ndarray, "n l"]) -> Float[np.ndarray, "n a"]:
        """Return what is expected of today's panel, shape (n, |A|)."""
        found = learned[:, np.maximum(self.places, 0)]
        columns = [np.ones(len(learned)), *learned.T]
        for j in np.flatnonzero(self.moved).tolist():
            mean, variance = self._line(j, columns)
            found[:, j] = [self._above_zero(m, v) for m, v in zip(mean.tolist(), variance.tolist(), strict=True)]
        return found

    def of_one(self, learned: list[float]) -> list[float]:
        """Return the same for one query, in plain numbers, to the last bit."""
        moved, columns = self.moved.tolist(), [1.0, *learned]
        return [
            self._above_zero(*self._line(j, columns)) if moved[j] else learned[place]
            for j, place in enumerate(self.places.tolist())
        ]

    def deviations(self, learned: Float[np.ndarray, "n l"]) -> Float[np.ndarray, "n a"]:
        """Return how far off what is expected of each may be: a standard deviation, shape (n, |A|).

        It is NaN for those who are as they were learned: held-out rows tell of them, not a variance.
        """
        found = np.full((len(learned), len(self.places)), np.nan)
        columns = [np.ones(len(learned)), *learned.T]
        for j in np.flatnonzero(self.moved).tolist():
            found[:, j] = np.sqrt(np.maximum(self._line(j, columns)[1], 0.0))
        return found

    def to_state(self) -> State:
        """Return the lines as arrays."""
        plain = {"most": self.most if self.most < np.inf else None}
        return State(plain=plain, arrays={name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_state(cls, state: State) -> "Newcomers":
        """Return what `to_state` wrote."""
        places, coefficients, covariance, beside = state.pick(**_ARRAYS)
        learned = coefficients.shape[1] - 1
        if places.dtype.kind != "i" or learned < 1 or not np.isin(places, np.arange(-1, learned)).all():
            raise InvalidInputError("`places` must be of those who were learned, got others: the artefact is damaged.")
        most = state.plain["most"]
        bound = float("inf") if most is None else check.finite_number(most, "most", minimum=0.0)
        return cls(places.astype(np.intp), coefficients, covariance, beside, bound)

    @cached_property
    def _numbers(self) -> list[tuple[list[float], list[list[float]]]]:
        """Coefficients and covariance, by entity."""
        return list(zip(self.coefficients.tolist(), self.covariance.tolist(), strict=True))

    def _line(self, j: int, columns: list) -> tuple:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        """Mean and variance of entity j's error; columns of numbers or of arrays, summed in one order, to one bit."""
        coefficients, covariance = self._numbers[j]
        mean, variance = 0.0, float(self.beside[j])
        for one, weight, row in zip(columns, coefficients, covariance, strict=True):
            mean = mean + weight * one
            inner = 0.0
            for other, shared in zip(columns, row, strict=True):
                inner = inner + shared * other
            variance = variance + one * inner
        return mean, variance

    def _above_zero(self, mean: float, variance: float) -> float:
        """The mean of a normal whatever of it is below zero being zero: by its density and its distribution."""
        found = max(mean, 0.0)
        if variance > 0.0:
            deviation = math.sqrt(variance)
            ratio = mean / deviation
            density = math.exp(-0.5 * ratio * ratio) / math.sqrt(2.0 * math.pi)
            found = mean * 0.5 * math.erfc(-ratio / math.sqrt(2.0)) + deviation * density
        return min(found, self.most)

"""Nearest neighbours and linear models of expected error."""

import numpy as np
from jaxtyping import Float
from sklearn.neighbors import NearestNeighbors


class _Scaled:
    """Features at mean zero and deviation one, as distances and penalties need them."""

    def _fit_scale(self, X: np.ndarray) -> np.ndarray:
        self.mean_ = X.mean(axis=0)
        deviation = X.std(axis=0)
        self.deviation_ = np.where(deviation > 1e-12, deviation, 1.0)
        return self._scale(X)

    def _scale(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) / self.deviation_


class Neighbours(_Scaled):
    """The mean error on the most similar past queries, shrunk to the entity's own mean."""

    def __init__(self, random_state: int = 0, *, neighbours: int = 60, prior: float = 5.0) -> None:
        self.random_state = random_state
        self.neighbours = neighbours
        self.prior = prior

    def fit(self, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"]) -> "Neighbours":
        """Learn from errors of shape (n, |A|), NaN where an entity was not asked."""
        self.asked_ = ~np.isnan(errors)
        self.errors_ = np.where(self.asked_, errors, 0.0)
        asked = self.asked_.sum(axis=0)
        self.means_ = np.where(asked > 0, self.errors_.sum(axis=0) / np.maximum(1, asked), np.nanmean(errors))
        self.seen_ = X
        self.index_ = NearestNeighbors(n_neighbors=min(self.neighbours, len(X))).fit(self._fit_scale(X))
        return self

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        near = self.index_.kneighbors(self._scale(X), return_distance=False)
        total = self.prior * self.means_ + self.errors_[near].sum(axis=1)
        return total / (self.prior + self.asked_[near].sum(axis=1))


class Linear(_Scaled):
    """Ridge regression of the error, one row of weights an entity."""

    def __init__(self, random_state: int = 0, *, penalty: float = 10.0) -> None:
        self.random_state = random_state
        self.penalty = penalty

    @classmethod
    def of(cls, *, weights: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> "Linear":
        """Return a fitted model from its parts: weights (d + 1, |A|), the features' means and deviations (d,)."""
        made = cls()
        made.weights_, made.mean_, made.deviation_ = weights, mean, deviation
        return made

    def fit(self, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"]) -> "Linear":
        """Learn from errors of shape (n, |A|), NaN where an entity was not asked."""
        scaled = self._fit_scale(np.asarray(X, dtype=np.float64))
        asked = ~np.isnan(errors)
        self.weights_ = np.empty((X.shape[1] + 1, errors.shape[1]))
        patterns, which = np.unique(asked, axis=1, return_inverse=True)
        for p in range(patterns.shape[1]):
            entities, rows = np.flatnonzero(which.ravel() == p), patterns[:, p]
            if not rows.any():
                self.weights_[:, entities] = np.append(np.zeros(X.shape[1]), np.nanmean(errors))[:, None]
                continue
            design = np.hstack([scaled[rows], np.ones((rows.sum(), 1))])
            penalty = np.diag([self.penalty] * X.shape[1] + [1e-9])
            self.weights_[:, entities] = np.linalg.solve(
                design.T @ design + penalty, design.T @ errors[np.ix_(rows, entities)]
            )
        return self

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        return self._scale(np.asarray(X, dtype=np.float64)) @ self.weights_[:-1] + self.weights_[-1]

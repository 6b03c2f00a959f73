"""Nearest neighbours and linear models of expected error."""

import numpy as np
from jaxtyping import Float, Int

from askwho._parts import State, part
from askwho.learners._scale import LEAST_DEVIATION

# The intercept is not shrunk; this much keeps the equations solvable where all features are constants.
_INTERCEPT_PENALTY = 1e-9


class _Scaled:
    """Features at mean zero and deviation one, as distances and penalties need them."""

    def _fit_scale(self, X: np.ndarray) -> np.ndarray:
        self.mean_ = X.mean(axis=0)
        deviation = X.std(axis=0)
        self.deviation_ = np.where(deviation > LEAST_DEVIATION, deviation, 1.0)
        return self._scale(X)

    def _scale(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) / self.deviation_


@part("neighbours")
class Neighbours(_Scaled):
    """The mean error on the most similar past queries: k-nearest-neighbour regression, shrunk to the entity's own mean.

    Args:
        random_state: none is needed; every learner takes one.
        neighbours: how many past queries, whoever answered them.
        prior: how many answers the entity's own mean counts as.

    References:
        Cover, Hart. Nearest neighbor pattern classification. IEEE Transactions on Information Theory 13, 1967.
    """

    def __init__(self, random_state: int = 0, *, neighbours: int = 60, prior: float = 5.0) -> None:
        self.random_state = random_state
        self.neighbours = neighbours
        self.prior = prior

    def fit(self, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"]) -> "Neighbours":
        """Learn from errors of shape (n, |A|), NaN where an entity was not asked."""
        from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415 - no other learner decides by it

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

    def to_state(self) -> State:
        """Return what is written: the past queries, and who erred how much on each."""
        return State(
            plain={"random_state": int(self.random_state), "neighbours": self.neighbours, "prior": self.prior},
            arrays={"seen": self.seen_, "errors": np.where(self.asked_, self.errors_, np.nan)},
        )

    @classmethod
    def from_state(cls, state: State) -> "Neighbours":
        """Return the neighbours that were written."""
        return cls(**state.plain).fit(*state.pick(seen="n d", errors="n a", gaps=("errors",)))


@part("linear")
class Linear(_Scaled):
    """Ridge regression of the error, one row of weights an entity.

    Args:
        random_state: none is needed; every learner takes one.
        penalty: what the squares of the weights cost, of features at deviation one.

    References:
        Hoerl, Kennard. Ridge regression: biased estimation for nonorthogonal problems. Technometrics 12, 1970.
    """

    def __init__(self, random_state: int = 0, *, penalty: float = 10.0) -> None:
        self.random_state = random_state
        self.penalty = penalty

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
            penalty = np.diag([self.penalty] * X.shape[1] + [_INTERCEPT_PENALTY])
            self.weights_[:, entities] = np.linalg.solve(
                design.T @ design + penalty, design.T @ errors[np.ix_(rows, entities)]
            )
        return self

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        return self._scale(np.asarray(X, dtype=np.float64)) @ self.weights_[:-1] + self.weights_[-1]

    def only(self, kept: Int[np.ndarray, " b"]) -> "Linear":
        """Return the model of some of the entities."""
        return self._with(self.weights_[:, kept])

    def put(self, j: int, level: float) -> "Linear":
        """Return the model with entity j at one level, whatever the query; the first after the last is new."""
        line = np.append(np.zeros(len(self.weights_) - 1), level)[:, None]
        return self._with(np.hstack([self.weights_[:, :j], line, self.weights_[:, j + 1 :]]))

    def _with(self, weights: np.ndarray) -> "Linear":
        made = Linear(self.random_state, penalty=self.penalty)
        made.mean_, made.deviation_, made.weights_ = self.mean_, self.deviation_, weights
        return made

    def to_state(self) -> State:
        """Return what is written: weights (d + 1, |A|), and the features' means and deviations (d,)."""
        return State(
            plain={"random_state": int(self.random_state), "penalty": self.penalty},
            arrays={"weights": self.weights_, "mean": self.mean_, "deviation": self.deviation_},
        )

    @classmethod
    def from_state(cls, state: State) -> "Linear":
        """Return the model that was written."""
        made = cls(**state.plain)
        made.mean_, made.deviation_ = state.pick(mean="d", deviation="d")
        (made.weights_,) = state.pick(weights=f"{len(made.mean_) + 1} a")
        return made

"""Forests and boosted trees of expected error."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.ensemble import ExtraTreesRegressor

from askwho.exceptions import missing_dependency

# Numbers in a table above which a second thread pays for what it waits; the trees are the same.
_WORTH_THREADS = 2_000_000


class Forest:
    """Extremely randomised trees: one forest for all entities, or one each where answers are missing."""

    def __init__(self, random_state: int = 0, *, trees: int = 100, leaf: int = 5) -> None:
        self.random_state = random_state
        self.trees = trees
        self.leaf = leaf

    def fit(self, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"]) -> "Forest":
        """Learn from errors of shape (n, |A|), NaN where an entity was not asked."""
        self.n_entities_ = errors.shape[1]
        asked = ~np.isnan(errors)
        # Entities that were asked on the same rows share a forest: it is as good and many times cheaper.
        patterns, which = np.unique(asked, axis=1, return_inverse=True)
        self.forests_ = [
            (
                np.flatnonzero(which.ravel() == p),
                self._one(X, errors, patterns[:, p], np.flatnonzero(which.ravel() == p)),
            )
            for p in range(patterns.shape[1])
        ]
        return self

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        out = np.empty((len(X), self.n_entities_))
        for entities, forest in self.forests_:
            out[:, entities] = forest.predict(X).reshape(len(X), -1)
        return out

    def _one(self, X: np.ndarray, errors: np.ndarray, rows: np.ndarray, entities: np.ndarray) -> ExtraTreesRegressor:
        # Of a handful of features a share would be one, drawn blindly: all are tried then.
        share = 1.0 if X.shape[1] <= 5 else 0.4
        forest = ExtraTreesRegressor(
            self.trees, min_samples_leaf=self.leaf, max_features=share, random_state=self.random_state, n_jobs=2
        )
        targets = errors[np.ix_(rows, entities)]
        if not rows.any():
            # Never asked on these rows: everybody's mean error is all there is to say.
            rows, targets = np.arange(len(X)) < 1, np.full((1, len(entities)), np.nanmean(errors))
        forest.fit(X[rows], targets[:, 0] if len(entities) == 1 else targets)
        # Threads add the trees up in any order, and sums of floats depend on it: one thread repeats itself.
        return forest.set_params(n_jobs=1)


class Boosting:
    """Gradient-boosted trees, one ensemble an entity; needs LightGBM."""

    def __init__(self, random_state: int = 0, *, trees: int = 120, rate: float = 0.05, leaves: int = 15) -> None:
        self.random_state = random_state
        self.trees = trees
        self.rate = rate
        self.leaves = leaves

    def fit(self, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"]) -> "Boosting":
        """Learn from errors of shape (n, |A|), NaN where an entity was not asked."""
        try:
            import lightgbm  # noqa: PLC0415 - the one seam to this optional dependency
        except ImportError:
            raise missing_dependency("learner='boosting'", "lightgbm", "boost") from None
        options: dict[str, Any] = {
            "objective": "regression",
            "learning_rate": self.rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": 20,
            "feature_fraction": 0.6,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "seed": self.random_state,
            "deterministic": True,
            "num_threads": 2 if X.size > _WORTH_THREADS else 1,
            "verbosity": -1,
        }
        self.boosters_ = []
        for j in range(errors.shape[1]):
            rows = ~np.isnan(errors[:, j])
            if not rows.any():
                # Never asked on these rows: everybody's mean error is all there is to say.
                data = lightgbm.Dataset(X, np.full(len(X), np.nanmean(errors)))
            else:
                data = lightgbm.Dataset(X[rows], errors[rows, j])
            self.boosters_.append(lightgbm.train(options, data, num_boost_round=self.trees))
        return self

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        return np.column_stack([np.asarray(booster.predict(X)) for booster in self.boosters_])

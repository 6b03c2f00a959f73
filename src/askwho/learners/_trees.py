"""Forests and boosted trees of expected error."""

from typing import Any

import numpy as np
from jaxtyping import Float

from askwho._parts import State, part
from askwho.exceptions import InvalidInputError, missing_dependency
from askwho.learners._grow import grow
from askwho.learners._tree_graph import TreeModel, graph_of_boosters, graph_of_forest

# LightGBM draws four fifths of the rows for each tree, and stops where that is none of one.
_FEWEST_ROWS = 2
# Numbers in a table above which a second thread pays for what it waits; the trees are the same.
_WORTH_THREADS = 2_000_000


@part("forest")
class Forest:
    """Extremely randomised trees: one forest for all entities, or one each where answers are missing.

    Args:
        random_state: the seed.
        trees: how many.
        leaf: the fewest queries in a leaf.

    References:
        Geurts, Ernst, Wehenkel. Extremely randomized trees. Machine Learning 63, 2006.
    """

    def __init__(self, random_state: int = 0, *, trees: int = 100, leaf: int = 5) -> None:
        self.random_state = random_state
        self.trees = trees
        self.leaf = leaf

    def fit(self, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"]) -> "Forest":
        """Learn from errors of shape (n, |A|), NaN where an entity was not asked."""
        asked = ~np.isnan(errors)
        # Entities that were asked on the same rows share a forest: it is as good and many times cheaper.
        patterns, which = np.unique(asked, axis=1, return_inverse=True)
        shared = [np.flatnonzero(which.ravel() == p) for p in range(patterns.shape[1])]
        self.forests_: list[tuple[np.ndarray, Any]] = [
            (entities, self._one(X, errors, patterns[:, p], entities)) for p, entities in enumerate(shared)
        ]
        return self

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        if len(self.forests_) == 1:
            return self.forests_[0][1].predict(X).reshape(len(X), -1)
        out = np.empty((len(X), sum(len(entities) for entities, _ in self.forests_)))
        for entities, forest in self.forests_:
            out[:, entities] = forest.predict(X).reshape(len(X), -1)
        return out

    def to_state(self) -> State:
        """Return what is written: settings, whose forest is whose, and a graph each."""
        return State(
            plain={
                "random_state": int(self.random_state),
                "trees": self.trees,
                "leaf": self.leaf,
                "entities": [entities.tolist() for entities, _ in self.forests_],
            },
            graphs={f"forest-{i}": graph_of_forest(forest) for i, (_, forest) in enumerate(self.forests_)},
        )

    @classmethod
    def from_state(cls, state: State) -> "Forest":
        """Return the forest that was written, its trees at work in a graph."""
        plain = state.plain
        made = cls(plain["random_state"], trees=plain["trees"], leaf=plain["leaf"])
        everybody = sorted(j for entities in plain["entities"] for j in entities)
        if everybody != list(range(len(everybody))):
            raise InvalidInputError(f"`entities` must be each in one forest, got {plain['entities']}.")
        made.forests_ = [
            (np.array(entities), TreeModel(state.graphs[f"forest-{i}"])) for i, entities in enumerate(plain["entities"])
        ]
        return made

    def _one(self, X: np.ndarray, errors: np.ndarray, rows: np.ndarray, entities: np.ndarray) -> Any:  # noqa: ANN401
        from sklearn.ensemble import ExtraTreesRegressor  # noqa: PLC0415 - to learn alone: it takes long to import

        # Of a handful of features a share would be one, drawn blindly: all are tried then.
        share = 1.0 if X.shape[1] <= 5 else 0.4
        forest: Any = ExtraTreesRegressor(
            self.trees, min_samples_leaf=self.leaf, max_features=share, random_state=self.random_state
        )
        targets = errors[np.ix_(rows, entities)]
        if not rows.any():
            # Never asked on these rows: everybody's mean error is all there is to say.
            rows, targets = np.arange(len(X)) < 1, np.full((1, len(entities)), np.nanmean(errors))
        return grow(forest, X[rows], targets[:, 0] if len(entities) == 1 else targets)


@part("boosting")
class Boosting:
    """Gradient-boosted trees, one ensemble an entity; needs LightGBM to learn, and not to predict once it was read.

    Args:
        random_state: the seed.
        trees: how many an entity.
        rate: what each adds of what it has learned.
        leaves: the most that a tree has.

    References:
        Friedman. Greedy function approximation: a gradient boosting machine. Annals of Statistics 29, 2001.
        Ke, Meng, Finley, Wang, Chen, Ma, Ye, Liu. LightGBM: a highly efficient gradient boosting decision tree.
        NeurIPS 2017.
    """

    boosters_: list[Any]
    graph_: TreeModel | None = None

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
        self.boosters_, self.graph_ = [], None
        for j in range(errors.shape[1]):
            rows = ~np.isnan(errors[:, j])
            if rows.sum() < _FEWEST_ROWS:
                # Hardly ever asked on these rows: the mean of what came, or everybody's, is all there is to say.
                mean = errors[rows, j].mean() if rows.any() else np.nanmean(errors)
                data = lightgbm.Dataset(X, np.full(len(X), mean))
            else:
                data = lightgbm.Dataset(X[rows], errors[rows, j])
            self.boosters_.append(lightgbm.train(options, data, num_boost_round=self.trees))
        return self

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        if self.graph_ is not None:
            return self.graph_.predict(X)
        return np.column_stack([np.asarray(booster.predict(X)) for booster in self.boosters_])

    def to_state(self) -> State:
        """Return what is written: settings, and one graph for all entities."""
        graph = graph_of_boosters(self.boosters_) if self.graph_ is None else self.graph_.model
        return State(
            plain={
                "random_state": int(self.random_state),
                "trees": self.trees,
                "rate": self.rate,
                "leaves": self.leaves,
            },
            graphs={"boosting": graph},
        )

    @classmethod
    def from_state(cls, state: State) -> "Boosting":
        """Return the ensembles that were written, at work in a graph."""
        made = cls(**state.plain)
        made.graph_ = TreeModel(state.graphs["boosting"])
        return made

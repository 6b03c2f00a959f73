"""The parts of a policy as JSON, arrays and graphs, and back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from askwho.exceptions import InvalidInputError
from askwho.learners import (
    Boosting,
    Exportable,
    Forest,
    Learner,
    Linear,
    Neighbours,
    OwnBase,
    Perceptrons,
    Scorer,
    Shares,
    Words,
    weigh_words,
)
from askwho.persistence._networks import NetworkGraph, perceptrons_graph
from askwho.persistence._trees import READ_ONLY, TreeModel, booster_trees, forest_trees, graph


@dataclass(eq=False)
class State:
    """What is written: plain JSON, arrays by name, ONNX graphs by name."""

    plain: dict[str, Any] = field(default_factory=dict[str, Any])
    arrays: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    graphs: dict[str, bytes] = field(default_factory=dict[str, bytes])


class GraphLearner:
    """A learner read back from graphs: each predicts some of the entities."""

    def __init__(self, entities: list[list[int]], models: list[TreeModel], size: int) -> None:
        self.entities = entities
        self.models = models
        self.size = size

    def fit(self, X: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"]) -> "GraphLearner":  # noqa: ARG002
        """Refuse: what was read from an artefact only decides."""
        raise InvalidInputError("A learner read from an artefact cannot be fitted: fit a new policy and save it.")

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors, shape (n, |A|)."""
        if len(self.models) == 1:
            return self.models[0].predict(X)
        out = np.empty((len(X), self.size))
        for entities, model in zip(self.entities, self.models, strict=True):
            out[:, entities] = model.predict(X)
        return out


def learner_state(learner: Learner, n_features: int) -> State:
    """Return a fitted learner as it is written."""
    if isinstance(learner, GraphLearner):
        raise InvalidInputError(READ_ONLY)
    if isinstance(learner, Forest):
        graphs = {f"learner-{i}": graph(list(forest_trees(f)), n_features) for i, (_, f) in enumerate(learner.forests_)}
        return State({"kind": "trees", "entities": [e.tolist() for e, _ in learner.forests_]}, {}, graphs)
    if isinstance(learner, Boosting):
        trees = list(booster_trees(learner.boosters_))
        return State(
            {"kind": "trees", "entities": [list(range(len(learner.boosters_)))]},
            {},
            {"learner-0": graph(trees, n_features)},
        )
    if isinstance(learner, Linear):
        return State(
            {"kind": "linear"}, {"weights": learner.weights_, "mean": learner.mean_, "deviation": learner.deviation_}
        )
    if isinstance(learner, Neighbours):
        return State(
            {"kind": "neighbours", "neighbours": learner.neighbours, "prior": learner.prior},
            {"seen": learner.seen_, "errors": np.where(learner.asked_, learner.errors_, np.nan)},
        )
    raise InvalidInputError(f"`learner` must be one that can be saved, got {type(learner).__name__}.")


def read_learner(state: State, size: int) -> Learner:
    """Return the learner that `learner_state` wrote."""
    kind = state.plain["kind"]
    if kind == "trees":
        entities = state.plain["entities"]
        models = [TreeModel(state.graphs[f"learner-{i}"]) for i in range(len(entities))]
        return GraphLearner(entities, models, size)
    if kind == "linear":
        return Linear.of(**{name: state.arrays[name] for name in ("weights", "mean", "deviation")})
    if kind == "neighbours":
        learner = Neighbours(neighbours=int(state.plain["neighbours"]), prior=float(state.plain["prior"]))
        return learner.fit(state.arrays["seen"], state.arrays["errors"])
    raise InvalidInputError(f"The artefact's learner must be of a known kind, got {kind!r}: it is newer or damaged.")


def scorer_state(scorer: Scorer, n_features: int) -> State:
    """Return a fitted policy of the paper as it is written."""
    labels, inner = (scorer.n_labels, scorer.scorer) if isinstance(scorer, Shares) else (None, scorer)
    return State({"kind": "network", "n_labels": labels}, {}, {"learner-0": network_graph(inner, n_features)})


def read_scorer(state: State) -> Scorer:
    """Return the policy that `scorer_state` wrote."""
    graph_ = NetworkGraph(state.graphs["learner-0"])
    labels = state.plain["n_labels"]
    return graph_ if labels is None else Shares(graph_, int(labels))


def network_graph(scorer: Scorer, n_features: int) -> bytes:
    """Return the graph of fitted networks, or say that there is none."""
    if isinstance(scorer, Perceptrons):
        return perceptrons_graph(scorer)
    if isinstance(scorer, NetworkGraph):
        return scorer.model
    if isinstance(scorer, Exportable):
        return scorer.graph(n_features)
    raise InvalidInputError(f"`learner` must be one that can be saved, got {type(scorer).__name__}.")


@dataclass(frozen=True, eq=False)
class LinearBase:
    """A linear base: scaled features or hashed words, times weights."""

    mean: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, "c d"]
    bias: Float[np.ndarray, " c"]
    classes: Shaped[np.ndarray, " k"] | None

    def predict(self, X: Any) -> np.ndarray:  # noqa: ANN401 - dense features or sparse words
        """Return the base's answers, shape (n,)."""
        scores = self._scores(X)
        if self.classes is None:
            return scores[:, 0]
        place = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes[place]

    def predict_proba(self, X: Any) -> Float[np.ndarray, "n k"]:  # noqa: ANN401 - as above
        """Return the probability of each class, shape (n, k)."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def _scores(self, X: Any) -> np.ndarray:  # noqa: ANN401 - as above
        words = not isinstance(X, np.ndarray)
        inputs = weigh_words(X, self.scale.astype(np.float32)) if words else (X - self.mean) / self.scale
        return np.asarray(inputs @ self.weights.T) + self.bias


@dataclass(frozen=True, eq=False)
class TreeBase:
    """A forest base, read back as a graph."""

    model: TreeModel
    classes: Shaped[np.ndarray, " k"] | None

    def predict(self, X: Float[np.ndarray, "n d"]) -> np.ndarray:
        """Return the base's answers, shape (n,)."""
        said = self.model.predict(X)
        return said[:, 0] if self.classes is None else self.classes[said.argmax(axis=1)]

    def predict_proba(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """Return the probability of each class, shape (n, k)."""
        return self.model.predict(X)


def base_state(base: OwnBase, n_features: int) -> State:
    """Return a fitted base as it is written."""
    model = base.model
    state = State({"name": base.name, "reads": base.reads})
    if isinstance(model, LinearBase | TreeBase):
        raise InvalidInputError(READ_ONLY)
    classes = getattr(model, "classes_", None)
    state.plain["classes"] = None if classes is None else classes.tolist()
    if base.name.startswith("forest"):
        state.graphs["base"] = graph(list(forest_trees(model)), n_features)
        return state
    if isinstance(model, Words):
        state.arrays = {
            "weights": model.linear_.coef_.astype(np.float32),
            "bias": model.linear_.intercept_,
            "mean": np.zeros(0),
            "scale": model.weights_,
        }
        return state
    scaler, linear = model[0], model[-1]
    state.arrays = {
        "weights": np.atleast_2d(linear.coef_).astype(np.float64),
        "bias": np.atleast_1d(linear.intercept_).astype(np.float64),
        "mean": scaler.mean_,
        "scale": scaler.scale_,
    }
    return state


def read_base(state: State) -> OwnBase:
    """Return the base that `base_state` wrote."""
    given = state.plain["classes"]
    classes = None if given is None else np.array(given)
    if "base" in state.graphs:
        return OwnBase(state.plain["name"], TreeBase(TreeModel(state.graphs["base"]), classes), state.plain["reads"])
    arrays: Mapping[str, np.ndarray] = state.arrays
    model = LinearBase(arrays["mean"], arrays["scale"], arrays["weights"], arrays["bias"], classes)
    return OwnBase(state.plain["name"], model, state.plain["reads"])

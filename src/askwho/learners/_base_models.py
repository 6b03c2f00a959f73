"""Models of a base as they are written, and as they decide once they are read: arrays or a graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from askwho import _validation as check
from askwho._parts import State, array_of_classes, part, plain_classes
from askwho.exceptions import InvalidInputError
from askwho.learners._tree_graph import TreeModel, graph_of_forest
from askwho.learners._words import Words, weigh_words

_LINEAR, _TREES = "linear-base", "tree-base"
"""The kinds they are written under; scikit-learn's own models, which are none of our classes, are written as these."""


@part(_LINEAR)
@dataclass(frozen=True, eq=False)
class LinearBase:
    """Logistic or ridge regression of scaled features, or of weighed words.

    Args:
        mean: of the features, shape (d,); of words there is none, shape (0,).
        scale: what features are divided by, or words multiplied with, shape (d,).
        weights: shape (c, d), one row for two classes.
        bias: shape (c,).
        classes: shape (k,), sorted; None for numbers.
    """

    mean: Float[np.ndarray, " m"]
    scale: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, "c d"]
    bias: Float[np.ndarray, " c"]
    classes: Shaped[np.ndarray, " k"] | None

    def predict(self, X: Any) -> Shaped[np.ndarray, " n"]:  # noqa: ANN401 - dense features or sparse words
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

    def to_state(self) -> State:
        """Return what is written: arrays, and the classes."""
        arrays = {"mean": self.mean, "scale": self.scale, "weights": self.weights, "bias": self.bias}
        return State(_LINEAR, _plain(self.classes), arrays)

    @classmethod
    def from_state(cls, state: State) -> "LinearBase":
        """Return the model that was written."""
        mean, scale, weights, bias = state.pick(mean="m", scale="d", weights="c d", bias="c")
        # Of two classes the first is what the second is not.
        return cls(mean, scale, weights, bias, _classes(state, len(bias) + 1 if len(bias) == 1 else len(bias)))

    def _scores(self, X: Any) -> np.ndarray:  # noqa: ANN401 - as above
        words = not isinstance(X, np.ndarray)
        inputs = weigh_words(X, self.scale.astype(np.float32)) if words else (X - self.mean) / self.scale
        return np.asarray(inputs @ self.weights.T) + self.bias


@part(_TREES)
@dataclass(frozen=True, eq=False)
class TreeBase:
    """A forest at work in a graph.

    Args:
        model: of shares of the classes, or of one number.
        classes: shape (k,), sorted; None for numbers.
    """

    model: TreeModel
    classes: Shaped[np.ndarray, " k"] | None

    def predict(self, X: Float[np.ndarray, "n d"]) -> Shaped[np.ndarray, " n"]:
        """Return the base's answers, shape (n,)."""
        said = self.model.predict(X)
        return said[:, 0] if self.classes is None else self.classes[said.argmax(axis=1)]

    def predict_proba(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """Return the probability of each class, shape (n, k)."""
        return self.model.predict(X)

    def to_state(self) -> State:
        """Return what is written: the graph, and the classes."""
        return _tree_state(self.model, self.classes)

    @classmethod
    def from_state(cls, state: State) -> "TreeBase":
        """Return the forest that was written."""
        model = TreeModel(state.graphs["forest"])
        return cls(model, _classes(state, model.outputs))


def base_model_state(model: Any) -> State:  # noqa: ANN401 - any model of `own_base`, fitted or read
    """Return a base's model as it is written."""
    if isinstance(model, LinearBase | TreeBase):
        return model.to_state()
    classes = getattr(model, "classes_", None)
    if hasattr(model, "estimators_"):
        return _tree_state(model, classes)
    if isinstance(model, Words):
        weights, bias = model.linear_.coef_.astype(np.float32), model.linear_.intercept_
        return LinearBase(np.zeros(0), model.weights_, weights, bias, classes).to_state()
    from sklearn.pipeline import Pipeline  # noqa: PLC0415 - what was read never comes here, and is spared its import

    if not isinstance(model, Pipeline):
        raise InvalidInputError(
            f"`base` must be one that `own_base` made to be saved, got a model of {type(model).__name__}."
        )
    steps: list[Any] = [step for _, step in model.steps]
    scaler, linear = steps
    weights = np.atleast_2d(linear.coef_).astype(np.float64)
    bias = np.atleast_1d(linear.intercept_).astype(np.float64)
    return LinearBase(scaler.mean_, scaler.scale_, weights, bias, classes).to_state()


def _tree_state(forest: Any, classes: np.ndarray | None) -> State:  # noqa: ANN401 - scikit-learn's, or a graph
    return State(_TREES, _plain(classes), graphs={"forest": graph_of_forest(forest)})


def _plain(classes: np.ndarray | None) -> dict[str, Any]:
    return {"classes": None if classes is None else plain_classes(classes)}


def _classes(state: State, count: int) -> np.ndarray | None:
    """The classes that a model of so many shares tells apart; None for numbers."""
    if state.plain["classes"] is None:
        return None
    classes = array_of_classes(state.plain["classes"])
    check.same_shape(classes, "classes", (count,), "one for each share of the base")
    return classes

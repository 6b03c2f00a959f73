"""A base predictor of our own, trained on the log's features: often the best free expert."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float, Int, Shaped

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import Task
from askwho.core import ErrorFunction, each_fold, error_function, quantile_of, unit_of, zero_one
from askwho.learners._base_models import base_model_state
from askwho.learners._crossed import Crossed
from askwho.learners._grow import grow
from askwho.learners._text_base import text_base
from askwho.learners._words import words_of

Reads = Literal["features", "words", "characters"]
"""What a base takes: features, the words of texts, or their words and characters."""

# Past this many classes a linear model of a million words costs more than it can tell.
_MOST_TEXT_CLASSES = 5
# Where more than this share of the rows has a truth of its own, as free answers have, there is no class to learn.
_MOST_DIFFERENT = 0.5
# A base must take so much of a constant's error away: one that hardly knows more would only stand in the way.
_LEAST_GAIN = 0.03
_NAMES: dict[Task, tuple[str, ...]] = {
    "classification": ("logistic", "forest-classifier"),
    "regression": ("ridge", "forest-regressor"),
}
"""The bases that take features: a smooth one and one of trees."""
_QUANTILE = "forest-quantile"
"""The one beside them where the best answer is a quantile: trees whose leaves answer with theirs."""
# Rows of such a leaf: the quantile of a handful is their largest.
_QUANTILE_LEAF = 10
_READS: dict[str, Reads] = {"words": "words", "words-and-characters": "characters"}
"""What the others take."""


@part("own-base")
@dataclass(frozen=True, eq=False)
class OwnBase:
    """A fitted base predictor.

    Args:
        name: `"logistic"`, `"forest-classifier"`, `"words"`, `"words-and-characters"`, `"ridge"`,
            `"forest-regressor"` or `"forest-quantile"`.
        model: with `predict`, and for classes `predict_proba`.
        reads: what the model takes: of a text its words, or its characters too.
        shift: what is added to a number, so that the truth is below it as often as its error wants.
        costs: shape (T, T), what it costs to say [said] where [truth] is true; None where all mistakes are alike.
    """

    name: str
    model: Any
    reads: Reads
    shift: float = 0.0
    costs: Float[np.ndarray, "t t"] | None = None

    @property
    def classes(self) -> Shaped[np.ndarray, " t"] | None:
        """The sorted classes, shape (T,); None for numbers."""
        return getattr(self.model, "classes_", getattr(self.model, "classes", None))

    def say(
        self, X: Float[np.ndarray, "n d"], texts: Sequence[str] | None
    ) -> tuple[Shaped[np.ndarray, " n"], Float[np.ndarray, "n t"] | None]:
        """Return the base's answers, shape (n,), and its probabilities of the sorted classes, shape (n, T), or None."""
        classes = self.classes
        inputs = X if self.reads == "features" else words_of(texts, characters=self.reads == "characters")
        if classes is None:
            said = self.model.predict(inputs)
            return said + self.shift if self.shift else said, None
        shares = self.model.predict_proba(inputs)
        place = shares.argmax(axis=1) if self.costs is None else (shares @ self.costs).argmin(axis=1)
        return classes[place], shares

    def to_state(self) -> State:
        """Return what is written: which base it is, and its model as arrays or a graph."""
        arrays = {} if self.costs is None else {"costs": self.costs}
        plain = {"name": self.name, "reads": self.reads, "shift": self.shift}
        return State(plain=plain, arrays=arrays, parts={"model": base_model_state(self.model)})

    @classmethod
    def from_state(cls, state: State) -> "OwnBase":
        """Return the base that was written, its model at work without scikit-learn."""
        check.one_of(state.plain["reads"], "reads", get_args(Reads))
        shift = check.finite_number(state.plain["shift"], "shift")
        made = cls(state.plain["name"], state.need("model"), state.plain["reads"], shift)
        if "costs" not in state.arrays:
            return made
        size = 0 if made.classes is None else len(made.classes)
        return replace(made, costs=state.pick(costs=f"{size} {size}")[0])


@dataclass(frozen=True, eq=False)
class Trial:
    """What cross-fitting found: the base, its out-of-fold answers (n,), and each candidate's error.

    And of classes the out-of-fold probabilities (n, T); None for numbers.
    """

    base: OwnBase
    answers: Shaped[np.ndarray, " n"]
    errors: dict[str, float]
    shares: Float[np.ndarray, "n t"] | None


def own_base(
    X: Float[np.ndarray, "n d"],
    texts: Sequence[str] | None,
    truth: Shaped[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
    *,
    task: Task,
    error: str | ErrorFunction = "auto",
    random_state: int = 0,
) -> Trial | None:
    """Return the best base that the features give, or None where none is clearly better than a constant answer.

    Of classes: logistic regression, extremely randomised trees, and `text_base` where there are texts; of numbers:
    ridge regression and extremely randomised trees; where the error is least at a quantile, their answers are moved by
    that of what they are off out of fold, and there are trees that answer with quantiles beside them. Each is
    cross-fitted, and the least error wins.

    Args:
        X: shape (n, d).
        texts: n of them, or None.
        truth: shape (n,).
        fold: shape (n,), from `folds`.
        task: what the truth is.
        error: how answers are scored.
        random_state: the seed.
    """
    scored = error_function(("zero-one" if task == "classification" else "squared") if error == "auto" else error)
    scored = zero_one if unit_of(error, task).share else scored
    quantile = quantile_of(scored) if task == "regression" else None
    if task == "regression":
        truth = truth.astype(np.float64)
    elif any(not 2 <= len(np.unique(truth[seen])) <= _MOST_DIFFERENT * len(seen) for seen, _ in each_fold(fold)):
        return None
    trials = {
        name: Crossed(
            name, partial(_fit, name, random_state, quantile=quantile), X, truth, fold, task=task, error=scored
        ).finish()
        for name in (*_NAMES[task], *(() if quantile is None else (_QUANTILE,)))
    }
    shifts = {} if quantile is None else {name: trial.moved(quantile) for name, trial in trials.items()}
    if texts is not None and task == "classification" and len(np.unique(truth)) <= _MOST_TEXT_CLASSES:
        found = text_base(texts, truth, fold, scored)
        trials[found.name] = found
    best = min(trials.values(), key=lambda trial: trial.losses.mean())
    constant = scored(_constant(truth, fold, task, quantile, best.costs), truth)
    gain = constant - best.losses
    if gain.mean() <= max(2 * gain.std() / np.sqrt(len(gain)), _LEAST_GAIN * constant.mean()):
        return None
    model, reads = best.fit(best.inputs, truth), _READS.get(best.name, "features")
    base = OwnBase(best.name, model, reads, shifts.get(best.name, 0.0), best.costs)
    errors = {name: float(trial.losses.mean()) for name, trial in trials.items()}
    return Trial(base, best.answers, errors, best.shares)


def _fit(
    name: str,
    random_state: int,
    inputs: Any,  # noqa: ANN401 - as in _make
    truth: np.ndarray,
    *,
    quantile: float | None = None,
) -> Any:  # noqa: ANN401 - as in _make
    made = _make(name, random_state)
    if not name.startswith("forest"):
        return made.fit(inputs, truth)
    grown = grow(made, inputs, truth)
    return grown if name != _QUANTILE or quantile is None else _answering(grown, inputs, truth, quantile)


def _answering(forest: Any, inputs: np.ndarray, truth: np.ndarray, quantile: float) -> Any:  # noqa: ANN401 - as in _make
    """A forest whose leaves answer with a quantile of the truths that fell into them (Meinshausen 2006)."""
    for tree, leaves in zip(forest.estimators_, forest.apply(inputs).T, strict=True):
        order = np.argsort(leaves, kind="stable")
        inside, starts = np.unique(leaves[order], return_index=True)
        for leaf, rows in zip(inside, np.split(order, starts[1:]), strict=True):
            tree.tree_.value[leaf, 0, 0] = np.quantile(truth[rows], quantile)
    return forest


def _make(name: str, random_state: int) -> Any:  # noqa: ANN401 - any scikit-learn predictor
    # To learn alone: they take long to import.
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression, Ridge  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    # One setting each: `own_base` chooses among models, and a finer choice would be chance on a small log.
    forest: dict[str, Any] = {"n_estimators": 150, "random_state": random_state}
    return {
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=300)),
        "forest-classifier": lambda: ExtraTreesClassifier(min_samples_leaf=2, **forest),
        "ridge": lambda: make_pipeline(StandardScaler(), Ridge(10.0)),
        "forest-regressor": lambda: ExtraTreesRegressor(min_samples_leaf=3, **forest),
        _QUANTILE: lambda: ExtraTreesRegressor(min_samples_leaf=_QUANTILE_LEAF, **forest),
    }[name]()


def _constant(
    truth: np.ndarray, fold: np.ndarray, task: str, quantile: float | None, costs: np.ndarray | None
) -> np.ndarray:
    answers = np.empty_like(truth)
    for seen, held in each_fold(fold):
        if task == "regression":
            answers[held] = truth[seen].mean() if quantile is None else np.quantile(truth[seen], quantile)
        elif costs is not None:
            every = np.unique(truth)
            counts = np.bincount(np.searchsorted(every, truth[seen]), minlength=len(every))
            answers[held] = every[(counts @ costs).argmin()]
        else:
            classes, counts = np.unique(truth[seen], return_counts=True)
            answers[held] = classes[counts.argmax()]
    return answers

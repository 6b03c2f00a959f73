"""Rivals that learn the answer itself: from everybody's answers and the features, or from the features alone."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from askwho.core import Cell, folds
from askwho.data import Log
from askwho.evaluation import Point
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._split import MOST_CLASSES, Split

# Words and pairs of words, there or not: in 2^18 buckets those of a log seldom meet.
_WORDS: Any = HashingVectorizer(n_features=2**18, ngram_range=(1, 2), alternate_sign=False, norm="l2", binary=True)
# Of more classes words alone do not tell, by hand: a rival that cannot win would only take long.
_MOST_TEXT_CLASSES = 5
# Strengths of a linear rival, a decade apart, of which training rows choose.
_PENALTIES = (0.01, 0.1, 1.0)
# Rounds of boosting, of which training rows choose, by hand: more take longer in proportion.
_ROUNDS = (25.0, 75.0)


def stacking_linear(split: Split) -> list[Point]:
    """A logistic model of one-hot answers and features, or ridge regression of answers and features; asks everyone."""
    _needs_classes(split)
    train, test = _design(split)
    return [_point(split, _tuned(split, train, test, _linear, _PENALTIES), asks=True)]


def stacking_boosted(split: Split) -> list[Point]:
    """Boosted trees of answers, as categories, and features; asks everyone."""
    if not split.classes:
        return [_point(split, _boosted_numbers(split), asks=True)]
    _needs_classes(split)
    votes = split.votes(split.train)
    train, test = (
        np.hstack([np.where(codes < 0, np.nan, codes), X])
        for codes, X in ((votes, split.X_train), (split.votes(split.test), split.X_test))
    )
    return [_point(split, _tuned(split, train, test, _boosted, _ROUNDS), asks=True)]


def features_linear(split: Split) -> list[Point]:
    """A logistic or ridge model of the features alone: asks nobody."""
    _needs_truth(split)
    scaler = StandardScaler().fit(split.X_train)
    said = _tuned(split, scaler.transform(split.X_train), scaler.transform(split.X_test), _linear, _PENALTIES)
    return [_point(split, said, asks=False)]


def features_forest(split: Split) -> list[Point]:
    """Extremely randomised trees of the features alone: asks nobody."""
    _needs_truth(split)
    make: Any = ExtraTreesClassifier if split.classes else ExtraTreesRegressor
    model = make(200, min_samples_leaf=2, random_state=split.seed, n_jobs=2)
    return [_point(split, _quietly(model, split.X_train, _truths(split)).predict(split.X_test), asks=False)]


def features_words(split: Split) -> list[Point]:
    """A logistic model of hashed words and pairs of words: asks nobody."""
    _needs_truth(split)
    text = split.train.columns.text
    if text is None:
        raise SkippedError("the log has no text")
    if not split.classes or len(split.labels) > _MOST_TEXT_CLASSES:
        raise SkippedError(f"more than {_MOST_TEXT_CLASSES} classes: words alone do not tell them apart")
    train, test = (_WORDS.transform(log.known[text].tolist()) for log in (split.train, split.test))
    return [_point(split, _tuned(split, train, test, _words, (3.0, 30.0)), asks=False)]


Fit = Callable[[Split, Any, np.ndarray, float], Any]
"""From a split, inputs, truths and a strength to a fitted model."""


def _tuned(split: Split, train: Any, test: Any, fit: Fit, grid: Sequence[float]) -> np.ndarray:  # noqa: ANN401
    """Predictions at the strength that does best on a held-out quarter of the training rows."""
    fold, truths = folds(split.train.groups, 4, random_state=split.seed), _truths(split)
    seen, held = np.flatnonzero(fold > 0), np.flatnonzero(fold == 0)

    def loss(strength: float) -> float:
        said = fit(split, train[seen], truths[seen], strength).predict(train[held])
        return float(np.mean(said != truths[held] if split.classes else np.square(said - truths[held])))

    return np.asarray(fit(split, train, truths, min(grid, key=loss)).predict(test))


def _linear(split: Split, inputs: np.ndarray, truths: np.ndarray, strength: float) -> Any:  # noqa: ANN401
    if not split.classes:
        return Ridge(10 / strength).fit(inputs, truths)
    return _quietly(LogisticRegression(C=strength, max_iter=300), inputs, truths)


def _boosted(split: Split, inputs: np.ndarray, truths: np.ndarray, rounds: float) -> Any:  # noqa: ANN401
    # No early stopping: its own validation split fails where a class has one row.
    make: Any = HistGradientBoostingClassifier
    model = make(
        learning_rate=0.1,
        max_iter=int(rounds),
        max_leaf_nodes=15,
        early_stopping=False,
        categorical_features=np.arange(inputs.shape[1]) < len(split.price),
        random_state=split.seed,
    )
    return _quietly(model, inputs, truths)


def _words(_: Split, inputs: sparse.csr_matrix, truths: np.ndarray, strength: float) -> Any:  # noqa: ANN401
    return _quietly(LogisticRegression(C=strength, max_iter=100), inputs, truths)


def _quietly(model: Any, inputs: Any, truths: np.ndarray) -> Any:  # noqa: ANN401
    # A rival that stops a little before its optimum is no news; where it stops is stated above. Nor is it that free
    # answers are many classes.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        return model.fit(inputs, truths)


def _design(split: Split) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "m p"]]:
    """Answers and features side by side: one-hot, or numbers with the row's median in empty cells."""
    _needs_truth(split)
    scaler = StandardScaler().fit(split.X_train)
    known = scaler.transform(split.X_train), scaler.transform(split.X_test)
    if split.classes:
        votes = split.votes(split.train), split.votes(split.test)
        encoder: Any = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(votes[0])
        blocks = encoder.transform(votes[0]), encoder.transform(votes[1])
    else:
        blocks = _numbers(split.train)[0], _numbers(split.test)[0]
    return np.hstack([blocks[0], known[0]]), np.hstack([blocks[1], known[1]])


def _numbers(log: Log) -> tuple[Float[np.ndarray, "n a"], Float[np.ndarray, " n"]]:
    """Answers as numbers, the row's median in empty cells, and that median; 0 where nobody answered."""
    if log.answers is None:
        raise SkippedError("the log has no answers")
    values = np.where(log.answers.states == Cell.ANSWERED, log.answers.values, np.nan)
    nobody = np.isnan(values).all(axis=1, keepdims=True)
    middle = np.nanmedian(np.where(nobody, 0.0, values), axis=1)
    return np.where(np.isnan(values), middle[:, None], values), middle


def _boosted_numbers(split: Split) -> Float[np.ndarray, " m"]:
    """Trees cannot follow a line: they learn what to add to the median of the answers."""
    _needs_truth(split)
    (train, middle), (test, base) = _numbers(split.train), _numbers(split.test)
    make: Any = HistGradientBoostingRegressor
    model = make(learning_rate=0.05, max_iter=150, max_leaf_nodes=15, early_stopping=True, random_state=split.seed)
    inputs = np.hstack([train - middle[:, None], middle[:, None], split.X_train])
    model.fit(inputs, _truths(split) - middle)
    return base + model.predict(np.hstack([test - base[:, None], base[:, None], split.X_test]))


def _truths(split: Split) -> np.ndarray:
    _needs_truth(split)
    return split.truths(split.train) if split.classes else np.asarray(split.train.truth, dtype=np.float64)


def _needs_truth(split: Split) -> None:
    if split.train.answers is None or split.train.truth is None:
        raise SkippedError("grades do not say what the right answer is")


def _needs_classes(split: Split) -> None:
    """Free answers have no models of each, whatever stacks them: see `MOST_CLASSES`."""
    _needs_truth(split)
    if split.classes and len(split.labels) > MOST_CLASSES:
        raise SkippedError(f"more than {MOST_CLASSES} labels: there is no model of each")


def _point(split: Split, said: np.ndarray, *, asks: bool) -> Point:
    log = split.test
    if split.classes:
        errors = (said != split.truths(log)).astype(np.float64)
    else:
        errors = np.square(said - np.asarray(log.truth, dtype=np.float64))
    fees = split.everyone(log) if asks else np.zeros(len(log))
    return Point(errors, fees, {"k": len(split.price) if asks else 0})

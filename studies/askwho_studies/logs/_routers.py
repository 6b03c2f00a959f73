"""Rivals that look at the query and choose before asking: neighbours, a forest, and one threshold between two."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from askwho.core import folds
from askwho.evaluation import Point
from askwho.learners import Forest, Learner, Neighbours, cross_fit
from askwho.metrics import Frontier, area, stated_budgets
from askwho_studies.logs._committees import SkippedError, routed
from askwho_studies.logs._split import Split

# Scikit-learn's own number for a forest: a rival is not tuned down.
_TREES = 100
# Twentieths of the queries that go to the better of two: its frontier in between is a mixture of neighbours.
_SHARES = np.linspace(0.0, 1.0, 21)


def neighbour_router(split: Split) -> list[Point]:
    """Expected errors of the nearest past queries; how many of them is tuned in training, by squared error."""
    fold = folds(split.train.groups, 3, random_state=split.seed)
    errors = split.train.errors

    def loss(count: int) -> float:
        out = cross_fit(_neighbours(count), split.X_train, errors, fold, random_state=split.seed)
        return float(np.nanmean(np.square(out - errors)))

    best = min((15, 50, 150), key=loss)
    learner = _neighbours(best)(split.seed).fit(split.X_train, errors)
    return routed(split, learner.predict(split.X_test))


def forest_router(split: Split) -> list[Point]:
    """Expected errors of extremely randomised trees."""
    forest = Forest(split.seed, trees=_TREES).fit(split.X_train, split.train.errors)
    return routed(split, forest.predict(split.X_test))


def threshold_linear(split: Split) -> list[Point]:
    """A cheap entity or the best one, by a threshold on a logistic model of who is better."""
    return _threshold(split, _logistic_gain)


def threshold_forest(split: Split) -> list[Point]:
    """A cheap entity or the best one, by a threshold on a forest of the gain."""
    return _threshold(split, _forest_gain)


Gain = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""From features, gains of training rows, features of other rows and a seed, to the gains expected there."""


def _threshold(split: Split, gain: Gain) -> list[Point]:
    """The pair whose out-of-fold frontier has the least area in training, at every share of queries upgraded."""
    errors, best = split.train.errors, split.best
    cheaper = np.flatnonzero(split.price < split.price[best])
    if not cheaper.size:
        raise SkippedError("nobody is cheaper than the best single entity")
    # The most promising four: cheap in money and in errors. All would take long and change nothing.
    promising = cheaper[np.argsort(split.entity_errors[cheaper], kind="stable")][:3].tolist()
    pairs = sorted({*promising, split.cheapest} & set(cheaper.tolist()))
    fold = folds(split.train.groups, 2, random_state=split.seed)
    budgets = stated_budgets(split.price, float(split.price[best]))
    areas: list[float] = []
    for cheap in pairs:
        gains = errors[:, cheap] - errors[:, best]
        held, known = np.flatnonzero(fold == 0), np.flatnonzero((fold == 1) & ~np.isnan(gains))
        scores = gain(split.X_train[known], gains[known], split.X_train[held], split.seed)
        points = _switch(errors[held], split.train.fees[held], cheap, best, scores, np.quantile(scores, _SHARES))
        areas.append(_area(points, budgets))
    cheap = pairs[int(np.argmin(areas))]
    gains = errors[:, cheap] - errors[:, best]
    known = np.flatnonzero(~np.isnan(gains))
    both = np.concatenate([split.X_train, split.X_test])
    scores = gain(split.X_train[known], gains[known], both, split.seed)
    # Thresholds are shares of the rows to be decided: no truth is needed for them.
    test = scores[len(split.X_train) :]
    return _switch(split.test.errors, split.test.fees, cheap, best, test, np.quantile(test, _SHARES))


def _switch(
    errors: np.ndarray, fees: np.ndarray, cheap: int, best: int, scores: np.ndarray, thresholds: np.ndarray
) -> list[Point]:
    levels = [*thresholds.tolist(), float("inf")]
    points: list[Point] = []
    for level in levels:
        chosen = np.where(scores >= level, best, cheap)
        rows = np.arange(len(errors))
        points.append(Point(errors[rows, chosen], fees[rows, chosen], {"k": 1, "threshold": min(level, 1e9)}))
    return points


def _area(points: list[Point], budgets: np.ndarray) -> float:
    fees = [float(point.fees.mean()) for point in points]
    return area(Frontier.of(fees, [float(np.nanmean(point.errors)) for point in points]), budgets)


def _logistic_gain(X: np.ndarray, gains: np.ndarray, queries: np.ndarray, _: int) -> Float[np.ndarray, " m"]:
    better = gains > 0
    if better.all() or not better.any():
        return np.zeros(len(queries))
    scaler = StandardScaler().fit(X)
    model = LogisticRegression(C=0.1, max_iter=2000).fit(scaler.transform(X), better)
    return model.predict_proba(scaler.transform(queries))[:, 1]


def _forest_gain(X: np.ndarray, gains: np.ndarray, queries: np.ndarray, seed: int) -> Float[np.ndarray, " m"]:
    return Forest(seed, trees=_TREES).fit(X, gains[:, None]).predict(queries)[:, 0]


def _neighbours(count: int) -> Callable[[int], Learner]:
    return lambda seed: Neighbours(seed, neighbours=count)

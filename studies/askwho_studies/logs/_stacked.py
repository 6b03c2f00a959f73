"""Stacking with everything: a model of the right class from all that is known and heard of a set, for many sets."""

import importlib
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from askwho.evaluation import Point
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._everything import Everything, best_strength, logistic, shares_of, sides
from askwho_studies.logs._split import MOST_CLASSES, Split

# Sets of so many of each order, and everybody: between neighbours the frontier is a mixture.
_SIZES = (0, 1, 2, 3, 4, 6, 8, 12)
# Every set of so many entities is tried: 32 at the most.
_SMALL = 5
# Rounds of boosting, leaves and rate, by hand: the usual ones for thousands of rows.
_BOOSTED = {"n_estimators": 120, "num_leaves": 15, "learning_rate": 0.06, "min_child_samples": 10, "subsample": 0.8}

Model = Callable[[np.ndarray, np.ndarray], Any]
"""From inputs and truths to a fitted model with `predict_proba` and `classes_`."""


def stacking_everything(split: Split) -> list[Point]:
    """Logistic models of features, base, answers and confidences, for sets of entities of all sizes."""
    split, train, test = _sides(split)
    everybody = train.design(range(len(split.price)), len(split.labels))
    strength = best_strength(split, everybody, split.truths(split.train))
    return _of_sets(split, train, test, lambda inputs, truths: logistic(inputs, truths, strength))


def lightgbm_everything(split: Split) -> list[Point]:
    """Boosted trees of the same, for the same sets."""
    try:
        lightgbm: Any = importlib.import_module("lightgbm")
    except ImportError:
        raise SkippedError("LightGBM is not installed: askwho[boost]") from None
    split, train, test = _sides(split)

    def boosted(inputs: np.ndarray, truths: np.ndarray) -> Any:  # noqa: ANN401 - a fitted model
        # One thread: beside other processes more only wait for each other, and the sum would differ by their number.
        model = lightgbm.LGBMClassifier(**_BOOSTED, random_state=split.seed, n_jobs=1, verbose=-1)
        return model.fit(inputs, truths)

    return _of_sets(split, train, test, boosted)


def _sides(split: Split) -> tuple[Split, Everything, Everything]:
    if not split.classes:
        raise SkippedError("numbers are stacked as they are: stacking (linear), stacking (boosted)")
    split, train, test = sides(split)
    if len(split.labels) > MOST_CLASSES:
        raise SkippedError(f"more than {MOST_CLASSES} labels: there is no model of each")
    return split, train, test


def _sets(split: Split) -> Iterator[tuple[int, ...]]:
    """Sets to ask: all of a small panel; else the first of the best, of the cheapest, of the best for their price."""
    price, error = split.price, split.entity_errors
    value = (1 - error) / np.maximum(price, 1e-3 * max(float(price.max()), 1e-12))
    found: set[tuple[int, ...]] = set()
    outside = np.flatnonzero(~split.train.panel.own)
    if len(outside) <= _SMALL:
        yield from (each for m in range(len(outside) + 1) for each in combinations(outside.tolist(), m))
        return
    for key in (error, price, -value):
        order = outside[np.lexsort((error[outside], key[outside]))]
        found |= {tuple(sorted(order[:m].tolist())) for m in (*_SIZES, len(order))}
    yield from sorted(found)


def _of_sets(split: Split, train: Everything, test: Everything, fit: Model) -> list[Point]:
    """Every set is a setting: which of them a budget buys is chosen as for all methods."""
    truths, classes = split.truths(split.train), len(split.labels)
    points: list[Point] = []
    for members in _sets(split):
        model = fit(train.design(members, classes), truths)
        said = shares_of(model, test.design(members, classes), classes).argmax(axis=1)
        wrong = (said != split.truths(split.test)).astype(np.float64)
        points.append(Point(wrong, _paid(split.test.fees, split.test.asked, members), {"k": len(members)}))
    return points


def _paid(fees: np.ndarray, asked: np.ndarray, members: tuple[int, ...]) -> np.ndarray:
    """What a set charged, shape (n,); whoever was not asked charged nothing."""
    return np.where(asked, fees, 0.0)[:, list(members)].sum(axis=1)

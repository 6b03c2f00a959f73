"""The confidence cascade: ask up to three, one after another, until a posterior of everything heard is sure enough."""

from itertools import combinations, permutations

import numpy as np
from jaxtyping import Float

from askwho.core import each_fold
from askwho.evaluation import Point
from askwho.metrics import Frontier
from askwho_studies.logs._base import tuning_folds
from askwho_studies.logs._cascade import efficient
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._everything import (
    Everything,
    best_strength,
    logistic,
    shares_of,
    sides,
)
from askwho_studies.logs._split import MOST_CLASSES, Split

# Who may be in a cascade: those that stand highest at some price; every order of three of six is tried.
_AMONG, _LONGEST = 6, 3
# Where to stop, as probabilities that the verdict is right: finer where most queries lie.
_SURE = (0.0, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 1.01)

Posteriors = dict[tuple[int, ...], np.ndarray]
"""For each set of entities, the probability of each label after all of them answered, shape (n, C)."""


def confidence_cascade(split: Split) -> list[Point]:
    """The cascades on the training rows' frontier, on the test rows; posteriors are logistic, out of fold in training.

    Orders of up to three of the six that stand highest at some price, after the base where there is one, and a
    probability at which to stop: all of it is tuned in training.
    """
    if not split.classes:
        raise SkippedError("a confidence needs classes")
    split, train, test = sides(split)
    classes = len(split.labels)
    if classes > MOST_CLASSES:
        raise SkippedError(f"more than {MOST_CLASSES} labels: there is no model of each")
    # The base is known from the beginning: its shares are among what is known.
    among = [j for j in efficient(split.price, split.entity_errors).tolist() if not split.train.panel.own[j]][:_AMONG]
    held, seen = posteriors(split, train, test, among)
    truths, log = split.truths(split.train), split.train
    kept: list[tuple[tuple[int, ...], float]] = []
    fees: list[float] = []
    errors: list[float] = []
    for order in _orders(among):
        for sure in _SURE:
            wrong, paid = _walked(held, order, sure, truths, log.fees, log.asked)
            kept.append((order, sure))
            fees.append(float(np.nanmean(paid)))
            errors.append(float(np.nanmean(wrong)))
    chosen = [kept[i] for i in Frontier.of(fees, errors).settings]
    truths, log = split.truths(split.test), split.test
    return [
        Point(*_walked(seen, order, sure, truths, log.fees, log.asked), {"length": len(order), "sure": sure})
        for order, sure in chosen
    ]


def posteriors(
    split: Split, train: Everything, test: Everything, among: list[int], longest: int = _LONGEST
) -> tuple[Posteriors, Posteriors]:
    """Return the posteriors of every set of up to so many, of training rows out of fold and of test rows."""
    truths, classes, fold = split.truths(split.train), len(split.labels), tuning_folds(split)
    strength = best_strength(split, train.design(among, classes), truths)
    held: Posteriors = {}
    seen: Posteriors = {}
    for size in range(longest + 1):
        for members in combinations(sorted(among), size):
            inputs, others = train.design(members, classes), test.design(members, classes)
            found = np.zeros((len(inputs), classes))
            for rows, out in each_fold(fold):
                found[out] = shares_of(logistic(inputs[rows], truths[rows], strength), inputs[out], classes)
            held[members] = found
            seen[members] = shares_of(logistic(inputs, truths, strength), others, classes)
    return held, seen


def _orders(among: list[int]) -> list[tuple[int, ...]]:
    return [order for size in range(_LONGEST + 1) for order in permutations(among, min(size, len(among)))]


def _walked(
    posterior: Posteriors, order: tuple[int, ...], sure: float, truths: np.ndarray, fees: np.ndarray, asked: np.ndarray
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Errors and fees (n,) of one cascade; NaN where it asked somebody whose answer the log does not have."""
    n = len(truths)
    wrong, paid, known, open_ = np.empty(n), np.zeros(n), np.ones(n, dtype=bool), np.ones(n, dtype=bool)
    for place in range(len(order) + 1):
        if place:
            j = order[place - 1]
            paid[open_] += fees[open_, j]
            known &= asked[:, j] | ~open_
        shares = posterior[tuple(sorted(order[:place]))]
        wrong[open_] = (shares.argmax(axis=1) != truths)[open_]
        open_ &= shares.max(axis=1) < sure
    return np.where(known, wrong, np.nan), paid

"""Conformal sets of experts: ask as many as it takes for one of them to be right with a stated probability.

In the spirit of conformal routing among models (RACER, arXiv 2603.06616), calibrated as conformal predictors are (Vovk,
Gammerman and Shafer 2005): an entity's score is its probability of being right less λ times its price, and the set of a
query holds all whose score is at or above a threshold. The threshold is the α-quantile, over training rows, of the best
score of those who were right, told out of fold: a new query's set lacks anybody who is right about α of the time.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from askwho.core import in_order, rank
from askwho.evaluation import Point
from askwho.learners import Forest, Learner, Linear, cross_fit
from askwho.replay import price_grid
from askwho_studies.logs._base import tuning_folds
from askwho_studies.logs._committees import SkippedError, committee_errors
from askwho_studies.logs._everything import known_before, logistic, sides
from askwho_studies.logs._split import MOST_CLASSES, Split

# How often nobody in the set may be right: from next to never, to where one alone is in the set.
_ALPHAS = np.geomspace(0.005, 0.8, 16)
# Prices that are weighed against being right, for each of them: together as many settings as any rival has.
_PRICES = 12
# One strength for every entity, as for cascade routing.
_STRENGTH = 0.1
# Models of who is right, of which the out-of-fold squared error chooses.
_MODELS: tuple[Callable[[int], Learner], ...] = (Linear, lambda seed: Linear(seed, penalty=300.0), Forest)


def conformal_sets(split: Split) -> list[Point]:
    """The sets for many α and λ, voting by log-odds of what is thought of each once it has answered.

    Of grades only the best in the set can be had, and so only it is asked.
    """
    if not split.classes:
        raise SkippedError("numbers are near or far: no set holds one that is right")
    whole, known, known_test = known_before(split)
    errors, fold = whole.train.errors, tuning_folds(split)
    crossed = [cross_fit(make, known, errors, fold, random_state=split.seed) for make in _MODELS]
    best = int(np.argmin([np.nanmean(np.square(each - errors)) for each in crossed]))
    told = _MODELS[best](split.seed).fit(known, errors).predict(known_test)
    chance, chance_test = (1.0 - np.clip(each, 0.0, 1.0) for each in (crossed[best], told))
    # A grade of half or more is right; whoever was not asked is not known to be.
    right, heard = errors <= 0.5, _heard(split, 1.0 - chance_test)
    points: list[Point] = []
    for price in price_grid(whole.price, 1.0 - chance, _PRICES).tolist():
        score = chance_test - price * whole.price
        order = rank(score)
        wrong = committee_errors(whole.test, order, heard, "log-odds-vote")
        paid = np.cumsum(in_order(whole.test.fees, order), axis=1)
        for least in sorted({threshold(chance - price * whole.price, right, alpha) for alpha in _ALPHAS.tolist()}):
            # The best is asked even where nobody is good enough.
            size = np.clip((score >= least).sum(axis=1), 1, wrong.shape[1])[:, None] - 1
            taken, charged = (np.take_along_axis(each, size, axis=1)[:, 0] for each in (wrong, paid))
            points.append(Point(taken, charged, {"fee_weight": price, "least": max(least, -1e9)}))
            if wrong.shape[1] == 1:
                break
    return points


def threshold(score: Float[np.ndarray, "n a"], right: Bool[np.ndarray, "n a"], alpha: float) -> float:
    """Return the largest threshold whose sets lack anybody who is right with probability `alpha` at most.

    The ⌊α(n + 1)⌋-th smallest of the rows' best right scores; −∞, so that everybody is asked, where there is none.

    Args:
        score: shape (n, |A|), of rows that it was not learned from.
        right: shape (n, |A|).
        alpha: between 0 and 1.
    """
    covered = np.sort(np.where(right, score, -np.inf).max(axis=1))
    place = int(alpha * (len(covered) + 1))
    return float(covered[place - 1]) if place else -np.inf


def _heard(split: Split, before: Float[np.ndarray, "m a"]) -> Float[np.ndarray, "m a"]:
    """Expected errors of test rows once each has answered: by its label and its confidence too, where there are any."""
    if split.train.answers is None or len(split.labels) > MOST_CLASSES:
        return before
    whole, train, test = sides(split)
    found, classes = before.copy(), len(whole.labels)
    for j in range(found.shape[1]):
        asked = whole.train.asked[:, j]
        wrong = whole.train.errors[asked, j] > 0.5
        if wrong.any() and not wrong.all():
            model = logistic(train.design((j,), classes)[asked], wrong, _STRENGTH)
            found[:, j] = model.predict_proba(test.design((j,), classes))[:, 1]
    return found

"""How likely each is asked, by what is known of a query: out of fold, and true to size."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logit

from askwho.core import each_fold
from askwho.learners import Linear, grow

LEAST = 0.02
"""Less than this is not learned but imagined: a row that stands for fifty others stands for none of them."""
# A richer account is taken where it is better by so many standard errors (Breiman et al. 1984 take one): each of many
# entities is looked at.
_ERRORS_BETTER = 2.0
# Trees of being asked, and rows a leaf: a share is worth its name over a score of them.
_TREES, _LEAF = 32, 20
# A tree is shown so many rows: four hundred leaves and more tell any rule by which people are asked, and no log takes
# longer than that.
_MOST_ROWS = 10_000
# Of many features, as text has, so many are tried at a split: asking mostly goes by one, which must be found. A line in
# more of them is drawn by least squares, which takes a tenth of the time of a logistic one.
_MOST_TRIED = 64
# Of a few features every other is tried, so that trees differ.
_TRIED = 0.5
# Two numbers are weighed against each other by all the rows there are: hardly held back.
_FREELY = 10.0

# Features come as they are: where one's numbers are a hundred times another's a line settles after 300 steps and more.
_STEPS = 3000


def being_asked(X: np.ndarray, asked: np.ndarray, fold: np.ndarray, random_state: int) -> np.ndarray:
    """Return how likely each unit is asked, out of fold: its mean, or a line and trees where those are clearly better.

    Line and trees are put together by a logistic model of both, which was fitted on other folds (stacking, Wolpert
    1992): trees of leaves that are large enough are drawn to the mean, and of those who were hardly ever asked too few
    rows would then stand for all. Splits are the best ones, and not drawn: asking mostly changes at one place.

    Args:
        X: shape (n, d), what was known.
        asked: shape (n, u), who was asked, as numbers.
        fold: shape (n,).
        random_state: the seed of the trees.
    """
    plain = _out_of_fold(lambda rows: lambda held: np.tile(asked[rows].mean(axis=0), (len(held), 1)), X, asked, fold)
    if len(np.unique(fold)) < 2 or not X.shape[1]:
        return plain
    if X.shape[1] <= _MOST_TRIED:
        line = np.stack([logistic(X, each, fold) for each in asked.T], axis=1)
    else:
        line = _out_of_fold(lambda rows: Linear().fit(X[rows], asked[rows]).predict, X, asked, fold)
    trees = _out_of_fold(lambda rows: _forest(X[rows], asked[rows], random_state), X, asked, fold)
    found = plain.copy()
    for u, each in enumerate(asked.T):
        both = logit(np.clip(np.stack([line[:, u], trees[:, u]], axis=1), LEAST, 1.0 - LEAST))
        found[:, u] = logistic(both, each, fold, C=_FREELY)
    won = better(np.square(found - asked), np.square(plain - asked))
    return np.clip(np.where(won, found, plain), LEAST, 1.0)


def better(losses: np.ndarray, than: np.ndarray) -> np.ndarray:
    """Return which columns lose less by more than chance would have it."""
    gain = than - losses
    return gain.mean(axis=0) > _ERRORS_BETTER * gain.std(axis=0) / np.sqrt(len(gain))


def logistic(design: np.ndarray, asked: np.ndarray, fold: np.ndarray, *, C: float = 1.0) -> np.ndarray:
    """Return how likely somebody is asked, by a logistic line, out of fold, shape (n,)."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - to learn alone: it takes long to import

    found = np.empty(len(asked))
    for rows, held in each_fold(fold):
        if asked[rows].all() or not asked[rows].any():
            found[held] = asked[rows].mean()
            continue
        model: Any = LogisticRegression(C=C, max_iter=_STEPS).fit(design[rows], asked[rows] > 0)
        found[held] = model.predict_proba(design[held])[:, 1]
    return found


def _out_of_fold(
    learn: Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]],
    X: np.ndarray,
    asked: np.ndarray,
    fold: np.ndarray,
) -> np.ndarray:
    if len(np.unique(fold)) < 2:
        return np.clip(learn(np.arange(len(X)))(X), LEAST, 1.0)
    found = np.empty(asked.shape)
    for rows, held in each_fold(fold):
        found[held] = learn(rows)(X[held])
    return np.clip(found, LEAST, 1.0)


def _forest(X: np.ndarray, asked: np.ndarray, random_state: int) -> Callable[[np.ndarray], np.ndarray]:
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - likewise

    trees: Any = RandomForestRegressor(
        _TREES,
        min_samples_leaf=min(_LEAF, max(1, len(X) // 10)),
        max_features=min(_MOST_TRIED, max(1, round(_TRIED * X.shape[1]))),
        max_samples=min(_MOST_ROWS, len(X)),
        random_state=random_state,
    )
    trees = grow(trees, X, asked if asked.shape[1] > 1 else asked[:, 0])
    return lambda held: trees.predict(held).reshape(len(held), -1)

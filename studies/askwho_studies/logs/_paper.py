"""The paper's method on a log: its policy at several prices, any fixed k, and its k(x) at the same prices."""

import importlib.util

import numpy as np

from askwho.core import each_fold, folds, in_order, rank
from askwho.engine import Training
from askwho.evaluation import Point
from askwho.fitting import SurrogateCardinality
from askwho.learners import CompSum, Scorer
from askwho.replay import price_grid
from askwho_studies.logs._committees import SkippedError, committee_errors
from askwho_studies.logs._split import Split

# A policy is trained for each price, on all rows and on two folds: so few that the study ends.
_PRICES = 6
# As many as a policy of ours asks at most: `max_k` of `fit`.
_WIDEST = 12
# Squared errors beyond this share of the training cells count as much as this: else a few rows outweigh all others.
_BOUND = 0.95
# Shorter than the paper's 100 epochs, at twice its rate, with an early stop: there are many logs, seeds and prices.
_TRAINING = Training(epochs=60, batch=256, rate=1e-3, patience=10)


def topk(split: Split) -> list[Point]:
    """Algorithms 1 and 2: perceptrons on the features, `shift="max"`; policies of all prices train side by side.

    For every price of a grid: the ranking that it is baked into, all fixed k, and k(x) trained at that λ on scores of
    two folds; votes by majority and by softmax weights, or plain and weighted means.
    """
    if importlib.util.find_spec("torch") is None:
        raise SkippedError("torch is not installed")
    prices = price_grid(split.price, split.train.errors[~np.isnan(split.train.errors)], _PRICES)
    everything = np.arange(len(split.train))
    scores = _policies(split, prices, everything).scores(split.X_test)
    width = 1 if split.test.answers is None else min(_WIDEST, len(split.price))
    orders = [rank(each)[:, :width] for each in scores]
    paid = [np.cumsum(in_order(split.test.fees, order), axis=1) for order in orders]
    held = np.empty((len(prices), *split.train.errors.shape))
    if width > 1:
        for seen, rest in each_fold(folds(split.train.groups, 2, random_state=split.seed)):
            held[:, rest] = _policies(split, prices, seen).scores(split.X_train[rest])
    points: list[Point] = []
    for combine in ("majority", "weighted-vote") if split.classes else ("mean", "weighted-mean"):
        errors = [
            committee_errors(split.test, order, np.zeros(len(split.price)), combine, scores=each)
            for order, each in zip(orders, scores, strict=True)
        ]
        for p, price in enumerate(prices):
            points += [
                Point(errors[p][:, k], paid[p][:, k], {"k": k + 1, "fee_weight": float(price)}) for k in range(width)
            ]
        if width > 1:
            points += _adaptive(split, prices, held, combine, errors, paid)
    return points


def _adaptive(
    split: Split,
    prices: np.ndarray,
    held: np.ndarray,
    combine: str,
    errors: list[np.ndarray],
    paid: list[np.ndarray],
) -> list[Point]:
    width = errors[0].shape[1]
    orders = [rank(each)[:, :width] for each in held]
    taught = [
        committee_errors(split.train, order, np.zeros(len(split.price)), combine, scores=each)
        for order, each in zip(orders, held, strict=True)
    ]
    fees = np.broadcast_to(split.price, split.train.errors.shape)
    found = SurrogateCardinality(training=_TRAINING).fit(
        split.X_train,
        taught,
        [np.cumsum(in_order(fees, order), axis=1) for order in orders],
        fee_weights=prices,
        groups=split.train.groups,
        random_state=split.seed,
    )
    best = found.networks.scores(split.X_test).argmax(axis=2)
    points: list[Point] = []
    for p, price in enumerate(prices):
        size = best[p][:, None]
        points.append(
            Point(in_order(errors[p], size)[:, 0], in_order(paid[p], size)[:, 0], {"fee_weight": float(price)})
        )
    return points


def _policies(split: Split, prices: np.ndarray, rows: np.ndarray) -> Scorer:
    """One policy a price, trained side by side on these rows; a tenth of their groups chooses the epoch."""
    errors = split.train.errors
    bound = None if split.classes else float(np.nanquantile(errors, _BOUND))
    settings = CompSum(error_bound=bound, training=_TRAINING)
    panel, fees = split.train.panel, np.broadcast_to(split.price, errors.shape)
    tables = np.stack(
        [CompSum(error_bound=bound, fee_weight=float(price)).table(errors, panel=panel, fees=fees) for price in prices]
    )
    asked = (~np.isnan(errors[rows])).any(axis=1)
    fold = folds(split.train.groups[rows], 10, random_state=split.seed)
    return settings.fit_tables(
        split.X_train,
        tables,
        panel=panel,
        rows=rows[asked & (fold != 0)],
        held=rows[asked & (fold == 0)],
        seeds=[split.seed] * len(prices),
    )

"""The agreement cascade: ask one after the other until m answers agree, or the list ends; then the majority."""

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from jaxtyping import Float, Int

from askwho.data import Log
from askwho.evaluation import Point
from askwho.metrics import Frontier
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._compare import SCORED
from askwho_studies.logs._split import MOST_CLASSES, Split

# Entities of a sorted list, by hand: two or three agree before the tenth, or hardly ever.
_LONGEST = 10
# Entities that may start a list: every order of three of eight is 336 cascades; of twelve they would be 1,320.
_EFFICIENT = 8
# Three places are searched through; the efficient that remain follow by their errors.
_START = 3
# Where the start is searched through, lists are shorter: there are hundreds of them.
_NEXT_LONGEST = 6


def agreement_cascade(split: Split) -> list[Point]:
    """The cascades on the training rows' frontier, on the test rows: orders, m and lengths are tuned in training."""
    if not split.classes or split.train.answers is None:
        raise SkippedError("agreement needs answers that can be equal")
    kept = tuned_cascades(split)
    if not kept:
        raise SkippedError("too few rows have everybody's answers")
    return cascade_points(split, kept)


def tuned_cascades(split: Split) -> list[tuple[Int[np.ndarray, " L"], int, int]]:
    """Return the cascades on the training rows' frontier: an order, how many must agree, and how many are asked."""
    votes, truths, log = usable_votes(split, split.train), split.truths(split.train), split.train
    settings: list[tuple[np.ndarray, int, int]] = []
    fees: list[float] = []
    errors: list[float] = []
    for order in orders(split):
        for m in (2, 3):
            stops, said = cascade(votes[:, order], m, split.entity_errors[order])
            for length in range(1, len(order) + 1):
                error, fee = _scored(stops, said, length, truths, log.errors[:, order], log.fees[:, order])
                unknown = np.isnan(error)
                if unknown.mean() > 1 - SCORED:
                    continue
                # As in the report: where nobody knows, the best single entity stands in.
                settings.append((order, m, length))
                fees.append(float(np.where(unknown, log.fees[:, split.best], fee).mean()))
                errors.append(float(np.nanmean(np.where(unknown, log.errors[:, split.best], error))))
    return [settings[i] for i in Frontier.of(fees, errors).settings] if settings else []


def cascade_points(split: Split, kept: list[tuple[np.ndarray, int, int]]) -> list[Point]:
    """Return what cascades get and pay on the test rows."""
    votes, truths, log = usable_votes(split, split.test), split.truths(split.test), split.test
    points: list[Point] = []
    for order, m, length in kept:
        stops, said = cascade(votes[:, order], m, split.entity_errors[order])
        error, fee = _scored(stops, said, length, truths, log.errors[:, order], log.fees[:, order])
        points.append(Point(error, fee, {"m": m, "length": length}))
    return points


def usable_votes(split: Split, log: Log) -> Int[np.ndarray, "n a"]:
    """Return answers as codes, −1 for none.

    An answer that was never right ("no digit heard") is none: two of them do not agree on anything. Of free answers
    hardly any was ever right before, and all count.
    """
    votes = split.votes(log)
    if len(split.labels) > MOST_CLASSES:
        return votes
    return np.where(np.isin(votes, np.unique(split.truths(split.train))), votes, -1)


def orders(split: Split) -> Iterator[np.ndarray]:
    """Yield the orders to try: by price, by error, by accuracy for the price, and every start among the efficient."""
    price, error = split.price, split.entity_errors
    value = (1 - error) / np.maximum(price, 1e-3 * max(float(price.max()), 1e-12))
    everyone, fair = np.arange(len(price)), np.flatnonzero(error <= np.median(error))
    for key, among in ((price, everyone), (price, fair), (error, everyone), (-value, everyone), (-value, fair)):
        yield among[np.lexsort((error[among], key[among]))][:_LONGEST]
    good = efficient(price, error)
    for start in permutations(good.tolist(), min(_START, len(good))):
        rest = [entity for entity in good[np.argsort(error[good], kind="stable")].tolist() if entity not in start]
        yield np.array([*start, *rest])[:_NEXT_LONGEST]


def efficient(price: Float[np.ndarray, " a"], error: Float[np.ndarray, " a"]) -> Int[np.ndarray, " e"]:
    """Return the entities that stand highest by error + λ price at some λ, at most eight."""
    spread = float(np.ptp(error)) / max(float(np.ptp(price)), 1e-12)
    ranks = [np.argsort(np.argsort(error + rate * price)) for rate in (0.0, *np.geomspace(0.05, 20, 12) * spread)]
    return np.lexsort((error, np.min(ranks, axis=0)))[:_EFFICIENT]


def cascade(
    votes: Int[np.ndarray, "n L"], m: int, errors: Float[np.ndarray, " L"]
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, "n L"]]:
    """Return how many are asked until m agree, and what the majority of the first 1, 2, ..., L says.

    Args:
        votes: shape (n, L), in the order of asking, −1 for no answer.
        m: how many must agree.
        errors: shape (L,), the entities' own errors: a tie goes to the more accurate supporters.

    Returns:
        Stops (n,), L + 1 where m never agree; and decisions (n, L), −1 where nobody has answered.
    """
    rows, length = votes.shape
    same = (votes[:, :, None] == votes[:, None, :]) & (votes >= 0)[:, :, None]
    before = np.tril(np.ones((length, length), dtype=bool))
    agreeing = (same & before).sum(axis=2)
    stopped = agreeing >= m
    stops = np.where(stopped.any(axis=1), stopped.argmax(axis=1) + 1, length + 1)
    weights = 1 + 1e-3 * (1 - errors)
    said = np.full((rows, length), -1)
    for last in range(length):
        support = (same[:, : last + 1, : last + 1] * weights[: last + 1]).sum(axis=2)
        leader = support.argmax(axis=1)
        said[:, last] = np.where(support.max(axis=1) > 0, votes[np.arange(rows), leader], -1)
    return stops, said


def _scored(
    stops: np.ndarray, said: np.ndarray, length: int, truths: np.ndarray, errors: np.ndarray, fees: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Errors and fees (n,) of the cascade that ends after `length`; NaN where it asked somebody who was not asked."""
    last = np.minimum(stops, length) - 1
    rows = np.arange(len(stops))
    unknown = np.logical_or.accumulate(np.isnan(errors), axis=1)[rows, last]
    wrong = (said[rows, last] != truths).astype(np.float64)
    return np.where(unknown, np.nan, wrong), np.cumsum(fees, axis=1)[rows, last]

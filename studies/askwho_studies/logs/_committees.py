"""Plain rivals: one entity, votes that never look at the query, committees at random; and the oracle."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from askwho.aggregation import Committee, aggregation, best_of_k
from askwho.core import Answers, Cell, Selection, in_order, rank
from askwho.data import Log
from askwho.evaluation import Point
from askwho.metrics import prefix_errors
from askwho.replay import price_grid
from askwho_studies.logs._split import Split

# As many as a policy of ours asks at most: `max_k` of `fit`.
_WIDEST = 12


class SkippedError(Exception):
    """A method that this log does not allow; the message says why."""


def best_single(split: Split) -> list[Point]:
    """Always the entity with the least error in training."""
    return [_single(split, split.best)]


def cheapest_single(split: Split) -> list[Point]:
    """Always the cheapest entity."""
    return [_single(split, split.cheapest)]


def plain_votes(split: Split) -> list[Point]:
    """The majority, or the mean, of the best m in training and of all."""
    return _votes(split, "majority" if split.classes else "mean")


def weighted_votes(split: Split) -> list[Point]:
    """The vote weighed by log-odds of training errors, or the mean weighed by them, of the best m and of all."""
    return _votes(split, "log-odds-vote" if split.classes else "inverse-error-mean")


def medians(split: Split) -> list[Point]:
    """The median of the best m in training and of all."""
    if split.classes:
        raise SkippedError("classes have no median")
    return _votes(split, "median")


def random_committees(split: Split, *, repeats: int = 5) -> list[Point]:
    """Committees of k drawn at random, the mean over repeats, by k."""
    rng = np.random.default_rng(split.seed)
    width = 1 if split.test.answers is None else min(_WIDEST, len(split.price))
    combine = "majority" if split.classes else "mean"
    errors: list[np.ndarray] = []
    fees: list[np.ndarray] = []
    for _ in range(repeats):
        order = rng.random(split.test.errors.shape).argsort(axis=1)[:, :width]
        errors.append(committee_errors(split.test, order, split.entity_errors, combine))
        fees.append(np.cumsum(in_order(split.test.fees, order), axis=1))
    stacked = np.stack(errors)
    scored = ~np.isnan(stacked)
    total = np.where(scored, stacked, 0.0).sum(axis=0)
    mean = np.divide(total, scored.sum(axis=0), out=np.full(total.shape, np.nan), where=scored.any(axis=0))
    paid = np.mean(fees, axis=0)
    return [Point(mean[:, k], paid[:, k], {"k": k + 1}) for k in range(width)]


def oracle(split: Split) -> list[Point]:
    """The best of the k truly best, cheapest first among equals, by k: needs the truth."""
    key = np.where(np.isnan(split.test.errors), np.inf, split.test.errors)
    order = np.lexsort((split.test.fees, key), axis=1)[:, :_WIDEST]
    best, paid = best_of_k(in_order(split.test.errors, order)), np.cumsum(in_order(split.test.fees, order), axis=1)
    return [Point(best[:, k], paid[:, k], {"k": k + 1}) for k in range(order.shape[1])]


def routed(
    split: Split, expected: Float[np.ndarray, "m a"], *, sizes: Sequence[int] = (1, 2, 3, 4, 5), prices: int = 12
) -> list[Point]:
    """Return the top k by expected error + λ fee, voting by log-odds of expected errors, for every k and λ.

    Args:
        split: whose test rows are decided.
        expected: shape (m, |A|), each entity's expected error on the test rows.
        sizes: the committees' sizes; one alone where the log has no answers.
        prices: how many λ.
    """
    expected = np.clip(expected, 0.0, 1.0 if split.classes else None)
    width = 1 if split.test.answers is None else min(max(sizes), len(split.price))
    combine = "log-odds-vote" if split.classes else "inverse-error-mean"
    points: list[Point] = []
    for price in price_grid(split.price, expected, prices):
        order = rank(-(expected + price * split.price))[:, :width]
        errors = committee_errors(split.test, order, expected, combine)
        paid = np.cumsum(in_order(split.test.fees, order), axis=1)
        labels = {"fee_weight": float(price)}
        points += [Point(errors[:, k - 1], paid[:, k - 1], {"k": k, **labels}) for k in sizes if k <= width]
    return points


def committee_errors(
    log: Log,
    order: np.ndarray,
    expected: np.ndarray,
    combine: str,
    *,
    absent: str = "unknown",
    scores: np.ndarray | None = None,
) -> Float[np.ndarray, "n K"]:
    """Return the errors of the first k of an order, shape (n, K); of grades, the first entity's own.

    Args:
        log: whose rows are decided.
        order: shape (n, K).
        expected: expected errors, shape (n, |A|) or (|A|,).
        combine: a name in `AGGREGATIONS`.
        absent: a member that was not asked makes a decision `"unknown"` (NaN), or is `"silent"`.
        scores: shape (n, |A|), for aggregations that weigh by them.
    """
    if log.answers is None or log.truth is None:
        return in_order(log.errors, order)[:, :1]
    answers = log.answers
    if absent == "silent":
        states = np.where(answers.states == Cell.NOT_ASKED, Cell.NO_ANSWER, answers.states).astype(np.int8)
        answers = Answers(answers.values, states)
    ones, given = np.ones(len(log), dtype=np.intp), np.zeros(log.errors.shape) if scores is None else np.array(scores)
    chosen = Selection(log.panel, order, ones, given, np.array(log.fees))
    top = 1.0 if log.task == "classification" else None
    weighed = np.clip(np.broadcast_to(expected, log.errors.shape), 1e-6, top)
    members = Committee.of(chosen, answers, expected_errors=weighed)
    error = "zero-one" if log.task == "classification" else "squared"
    return prefix_errors(members, log.truth, combine=aggregation(combine), error=error)


def _single(split: Split, entity: int) -> Point:
    return Point(split.test.errors[:, entity], split.test.fees[:, entity], {"entity": entity})


def _votes(split: Split, combine: str) -> list[Point]:
    log, count = split.test, len(split.price)
    if log.answers is None:
        raise SkippedError("grades cannot vote")
    by_error = np.argsort(split.entity_errors, kind="stable")
    order = np.array(np.broadcast_to(by_error, (len(log), count)))
    errors = committee_errors(log, order, split.entity_errors, combine)
    paid = np.cumsum(in_order(log.fees, order), axis=1)
    points = [Point(errors[:, m - 1], paid[:, m - 1], {"k": m}) for m in range(3, count, 2)]
    everybody = committee_errors(log, order, split.entity_errors, combine, absent="silent")[:, -1]
    return [*points, Point(everybody, split.everyone(log), {"k": count})]

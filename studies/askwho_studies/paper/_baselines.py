"""Orders and stops that need no policy: the oracle's, a fixed one with the in-house answer first, and agreement."""

import numpy as np
from jaxtyping import Float, Int, Shaped

from askwho._types import FloatTable, Order
from askwho.core import Panel


def oracle_order(errors: FloatTable, fees: Float[np.ndarray, " a"]) -> Order:
    """Return the entities by their true errors, the cheaper of equals first, shape (n, |A|)."""
    return np.lexsort((np.broadcast_to(fees, errors.shape), errors), axis=1)


def in_house_first(panel: Panel, scores: FloatTable) -> Int[np.ndarray, "n s"]:
    """Return one column a seat, shape (n, seats): the best label where there are labels, then everybody else.

    A one-stage model gives one answer by itself, the label that it scores highest; the others are no advice.
    """
    labels = panel.is_kind("label")
    others = np.flatnonzero(~labels & ~panel.is_kind("reject"))
    seats = np.broadcast_to(others, (len(scores), len(others)))
    if not labels.any():
        return np.array(seats)
    best = np.flatnonzero(labels)[scores[:, labels].argmax(axis=1)]
    return np.column_stack([best, seats])


def agreement_stops(
    choose: Shaped[np.ndarray, "n s"], test: Shaped[np.ndarray, "m s"], task: str, *, count: int
) -> tuple[Float[np.ndarray, " t"], tuple[Int[np.ndarray, "t n"], Int[np.ndarray, "t m"]]]:
    """Return thresholds, shape (t,), and after how many answers each row stops on both sides, (t, n) and (t, m).

    For labels: once so many answers agree. For numbers: once the answers so far, two at the least, deviate from their
    mean by no more than a threshold; thresholds are quantiles of the deviations on the rows to choose by.

    Args:
        choose: what was said, in the order of asking, on the rows that settings are chosen by.
        test: on test rows.
        task: `"classification"` or `"regression"`.
        count: how many thresholds for numbers.
    """
    if task == "classification":
        thresholds = np.arange(1.0, choose.shape[1] + 1)
        first, second = (_stops(-_agreeing(side), -thresholds) for side in (choose, test))
    else:
        deviations = _deviations(choose)
        thresholds = np.quantile(deviations[:, 1:], np.linspace(0, 1, count))
        first, second = (_stops(side, thresholds) for side in (deviations, _deviations(test)))
    return thresholds, (first, second)


def _stops(doubt: Float[np.ndarray, "n s"], thresholds: Float[np.ndarray, " t"]) -> Int[np.ndarray, "t n"]:
    """The first place where doubt is no more than the threshold, the last where it never is, counted from 1."""
    passed = doubt[None] <= thresholds[:, None, None]
    passed[:, :, -1] = True
    return passed.argmax(axis=2) + 1


def _agreeing(said: np.ndarray) -> Float[np.ndarray, "n s"]:
    """How many of the answers so far are the one just given."""
    same = said[:, :, None] == said[:, None, :]
    return np.tril(same).sum(axis=2).astype(np.float64)


def _deviations(said: np.ndarray) -> Float[np.ndarray, "n s"]:
    """The standard deviation of the answers so far; infinite after the first, which agrees with nobody yet."""
    numbers = said.astype(np.float64)
    count = np.arange(1, numbers.shape[1] + 1)
    mean = np.cumsum(numbers, axis=1) / count
    variance = np.cumsum(numbers**2, axis=1) / count - mean**2
    variance[:, 0] = np.inf
    return np.sqrt(np.maximum(variance, 0.0))

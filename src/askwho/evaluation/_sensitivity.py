"""How far figures may be off where asking went by something that is not in the log."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from askwho.evaluation._points import Point, Resamples, interval, ratio


@dataclass(frozen=True)
class Bound:
    """What an error can be where the odds of having been asked may be off by a factor.

    Args:
        gamma: Γ, the factor: 1 where everything that asking went by is in the log.
        low: the least that the error can be, as it is shown.
        high: the most.
        interval: of 95%, of the one and the other over resamples.
    """

    gamma: float
    low: float
    high: float
    interval: tuple[float, float]


def sensitivity(point: Point, resamples: Resamples, gammas: Sequence[float]) -> list[Bound]:
    """Return the bounds of a setting's error under the marginal sensitivity model (Tan 2006).

    The odds that a row has what it has may be Γ times, or a Γth of, what the features and the answers before say. The
    bounds are exact for the weights that this allows, and the interval that of the percentile bootstrap (Zhao, Small
    and Bhattacharya 2019), of what came beyond what was expected.

    Args:
        point: the setting, query by query; rows that can be scored weigh one by their probability, at least 1.
        resamples: of the queries.
        gammas: each at least 1.
    """
    known = np.flatnonzero(~np.isnan(point.errors))
    weights = np.ones(len(known)) if point.weights is None else point.weights[known]
    expected = np.zeros(len(point.errors)) if point.expected is None else point.expected
    beyond = point.errors[known] - expected[known]
    drawn = resamples.weights
    hoped = ratio(drawn @ expected, drawn.sum(axis=1))
    found: list[Bound] = []
    for gamma in gammas:
        # Weights below 1 are of rows that stand for less than themselves: no odds make them so.
        above = np.maximum(weights - 1.0, 0.0)
        least, most = 1.0 + above / gamma, 1.0 + above * gamma
        high = hoped + _largest(beyond, least, most, drawn[:, known])
        low = hoped - _largest(-beyond, least, most, drawn[:, known])
        shown = [resamples.shown(np.maximum(each, 0.0)) for each in (low, high)]
        span = interval(shown[0][1:])[0], interval(shown[1][1:])[1]
        found.append(Bound(float(gamma), float(shown[0][0]), float(shown[1][0]), span))
    return found


def _largest(
    values: Float[np.ndarray, " m"],
    least: Float[np.ndarray, " m"],
    most: Float[np.ndarray, " m"],
    drawn: Float[np.ndarray, "b m"],
) -> Float[np.ndarray, " b"]:
    """The largest weighed mean, in the sample and in each resample: the largest values weigh most, the others least."""
    order = np.argsort(-values, kind="stable")
    values, least, most, drawn = values[order], least[order], most[order], drawn[:, order]

    def sums(each: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the first so many with most, and over those after them with least."""
        first = np.cumsum(drawn * (most * each), axis=1)
        rest = np.cumsum((drawn * (least * each))[:, ::-1], axis=1)[:, ::-1]
        none = np.zeros((len(drawn), 1))
        return np.hstack([none, first]), np.hstack([rest, none])

    total, weight = (a + b for a, b in (sums(values), sums(np.ones(len(values)))))
    return np.nanmax(np.where(weight > 0, ratio(total, weight), -np.inf), axis=1)

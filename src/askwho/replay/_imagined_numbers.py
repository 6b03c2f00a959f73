"""Numbers that those who were not asked would have said: drawn beside the truth, and what was heard of a query."""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

from askwho.core import Answers, Cell, ErrorFunction, elementwise_error, task_errors
from askwho.data import Log
from askwho.replay._weighed import quantiles, ranks

# A correlation over fewer common rows has a standard error above 0.14: the mean of the others stands in.
_FEWEST_ROWS = 50
# What two numbers mostly share, where no rows have both: forecasts of one series .57 beyond how hard it is (m3), and it
# is believed as so many rows are.
_USUAL = 0.57
# No query is taken to be easier than this part of an entity's mean.
_LEAST_PART = 0.05
# How far off an entity is in the mean is drawn to nothing as if by so many rows.
_PRIOR_ROWS = 10.0
# How hard a query is beyond what its features tell: one of so many, equally likely before anybody is heard.
_HARD = 15
# A square of an error counts as no less than this part of the usual one: exact answers are no sign of any size.
_LEAST_SQUARE = 1e-4
# Normal numbers are told by their part below, between these; no query's errors are so much larger than the usual.
_NORMAL = np.linspace(-12.0, 12.0, 961)
# Rows are solved together, so many at a time: their matrices fit into a few megabytes.
_TOGETHER = 4096


def imagined_numbers(
    log: Log,
    expected: Float[np.ndarray, "n a"],
    counted: Float[np.ndarray, "n a"],
    keep: Bool[np.ndarray, "n a"],
    rng: np.random.Generator,
) -> Log:
    """Return the log with an answer of everybody.

    Errors are of the size that is expected, as those were that were heard; normal numbers behind them go together. And
    some queries are harder than their features tell, for all alike: who is far off there tells that others would be.

    Args:
        log: with holes.
        expected: shape (n, |A|), expected errors, of models that did not see the row.
        counted: shape (n, |A|), as how many rows each answer counts; 0 where nobody was asked.
        keep: shape (n, |A|), which answers stay.
        rng: where chance comes from.
    """
    assert log.answers is not None  # noqa: S101 - there are answers to be drawn
    assert log.truth is not None  # noqa: S101 - likewise
    spoke = log.answers.states == Cell.ANSWERED
    truth, values = log.truth[:, None].astype(np.float64), log.answers.values.astype(np.float64)
    counted = np.where(spoke, counted, 0.0)
    count = counted.sum(axis=0)
    errors = np.where(spoke & log.asked, log.errors, 0.0)
    usual = np.divide((counted * errors).sum(axis=0), count, out=np.zeros_like(count), where=count > 0)
    # An expected error of nothing is a line that went too far down, and no scale.
    least = np.maximum(np.maximum(expected, _LEAST_PART * usual), 1e-12)
    scale = least ** (1.0 / _degree(log.scored_by))
    beyond = np.where(spoke, (values - truth) / scale, 0.0)
    level = (counted * beyond).sum(axis=0) / (count + _PRIOR_ROWS)
    beyond = np.where(spoke, beyond - level, 0.0)
    shape = _Shape.of(beyond, counted)
    behind = np.where(spoke, shape.behind(beyond), 0.0)
    moments = _moments(behind, counted)
    drawn = rng.standard_normal(beyond.shape) @ np.linalg.cholesky(moments + 1e-6 * np.eye(len(moments))).T
    heard, filled = keep & spoke, np.empty(beyond.shape)
    for start in range(0, len(log), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        there = heard[some].astype(np.float64)
        system = moments * there[:, :, None] * there[:, None, :] + np.eye(len(moments)) * (
            1.0 - there[:, :, None] + 1e-6
        )
        both = np.stack([behind[some] * there, drawn[some] * there], axis=2)
        solved = np.linalg.solve(system, both) * there[:, :, None]
        size = _sizes((both[:, :, 0] * solved[:, :, 0]).sum(axis=1), there.sum(axis=1), shape.squares, rng)
        # Conditioning by kriging: a free draw, moved by what its error at the known places says of the others.
        filled[some] = size * drawn[some] + (solved[:, :, 0] - size * solved[:, :, 1]) @ moments
    values = np.where(keep, values, truth + (level + shape.beyond(filled)) * scale)
    states = np.where(keep, log.answers.states, Cell.ANSWERED).astype(np.int8)
    answers = Answers(values, states)
    came = task_errors(answers, log.truth, panel=log.panel, error=log.scored_by)
    return replace(log, answers=answers, errors=np.where(keep, log.errors, came))


@dataclass(frozen=True, eq=False)
class _Shape:
    """How errors are spread, beside normal numbers of which some queries have larger ones than others.

    Args:
        squares: how many times the usual the squared errors of a query are, beyond what its features tell: one of
            these, equally likely.
        parts: what part of the normal numbers lies below each of `_NORMAL`.
        came: errors in order, in parts of what was expected.
    """

    squares: Float[np.ndarray, " s"]
    parts: Float[np.ndarray, " g"]
    came: Float[np.ndarray, " m"]

    @classmethod
    def of(cls, beyond: Float[np.ndarray, "n a"], counted: Float[np.ndarray, "n a"]) -> "_Shape":
        """Return what errors tell of it that were heard.

        Args:
            beyond: shape (n, |A|), how far off each was, in parts of what was expected.
            counted: shape (n, |A|), as how many rows each answer counts; 0 where there is none.
        """
        there = counted > 0
        if not there.any():
            return cls(np.ones(1), ndtr(_NORMAL), _NORMAL)
        scores = np.zeros(beyond.shape)
        scores[there] = ndtri(ranks(beyond[there], counted[there]))
        hard = math.sqrt(_unforeseen(beyond, counted, _moments(scores, counted)))
        squares = np.exp(hard * ndtri((np.arange(_HARD) + 0.5) / _HARD))
        squares /= squares.mean()
        parts = ndtr(_NORMAL[:, None] / np.sqrt(squares)).mean(axis=1)
        return cls(squares, parts, quantiles(beyond[there], counted[there]))

    def behind(self, beyond: np.ndarray) -> np.ndarray:
        """Return the normal numbers behind errors, each of a query's size."""
        place = (np.searchsorted(self.came, beyond) + np.searchsorted(self.came, beyond, side="right")) / 2
        part = np.clip(place, 0.5, len(self.came) - 0.5) / len(self.came)
        return np.interp(part, self.parts, _NORMAL)

    def beyond(self, behind: np.ndarray) -> np.ndarray:
        """Return the errors before normal numbers, each of a query's size."""
        part = np.interp(behind, _NORMAL, self.parts)
        return np.interp(part * len(self.came) - 0.5, np.arange(len(self.came)), self.came)


def _degree(error: str | ErrorFunction) -> float:
    """The power with which an error grows with how far off an answer is: 2 of squares, 1 of what is absolute."""
    one, two = elementwise_error(np.array([1.0, 2.0]), np.zeros(2), error)
    return min(max(math.log2(two / one), 0.5), 4.0) if 0.0 < one < two else 2.0


def _sizes(
    told: Float[np.ndarray, " m"],
    count: Float[np.ndarray, " m"],
    squares: Float[np.ndarray, " s"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "m 1"]:
    """How many times the usual the errors of each query are, drawn by Bayes' rule from those that were heard."""
    likely = -0.5 * (count[:, None] * np.log(squares) + told[:, None] / squares)
    upto = np.cumsum(np.exp(likely - likely.max(axis=1, keepdims=True)), axis=1)
    place = (upto < rng.random(len(told))[:, None] * upto[:, -1:]).sum(axis=1)
    return np.sqrt(squares[np.minimum(place, len(squares) - 1)])[:, None]


def _unforeseen(beyond: np.ndarray, counted: np.ndarray, moments: np.ndarray) -> float:
    """How far the logarithm of a query's squared errors varies beyond its features, for all alike.

    Squares of correlated normal numbers go together, too: their logarithms by twice the square of the arcsine of the
    correlation. What comes beyond is drawn to nothing as far as it is in doubt.
    """
    count, deviation = counted.sum(axis=0), np.sqrt(np.diag(moments))
    usual = float((counted * np.square(beyond)).sum()) / max(float(count.sum()), 1e-12)
    if usual <= 0:
        return 0.0
    size = np.log(np.maximum(np.square(beyond) / usual, _LEAST_SQUARE))
    mean = np.divide((counted * size).sum(axis=0), count, out=np.zeros_like(count), where=count > 0)
    off = counted * (size - mean)
    # Pairs of a row are what its sum's square has beside each one's own.
    pairs = np.square(counted.sum(axis=1)) - np.square(counted).sum(axis=1)
    total = float(pairs.sum())
    if total <= 0:
        return 0.0
    alike = 2.0 * np.square(np.arcsin(np.clip(moments / np.outer(deviation, deviation), -1.0, 1.0)))
    np.fill_diagonal(alike, 0.0)
    anyhow = ((counted @ alike) * counted).sum(axis=1)
    each = np.square(off.sum(axis=1)) - np.square(off).sum(axis=1) - anyhow
    found = float(each.sum()) / total
    doubt = float(np.square(each - found * pairs).sum()) / total**2
    return max(0.0, found - doubt / found) if found > 0 else 0.0


def _moments(beyond: np.ndarray, counted: Float[np.ndarray, "n a"]) -> np.ndarray:
    """Second moments of the errors, in units of what was expected, made positive definite."""
    # Of an entity's own errors its rows count once, of two who err together by both.
    own = np.einsum("na,na->a", counted, np.square(beyond))
    both, total = counted.T @ counted, (counted * beyond).T @ (counted * beyond)
    np.fill_diagonal(both, counted.sum(axis=0))
    np.fill_diagonal(total, own)
    apart = ~np.eye(len(both), dtype=bool)
    # How far one is off from what was expected of him is his luck on the rows that he was asked about: what all are off
    # together is not; nor is how far two of them are off together, where few rows have both.
    usual = float(np.trace(total)) / max(1.0, float(np.trace(both))) or 1.0
    together = (float(total[apart].sum()) / usual + _FEWEST_ROWS * _USUAL) / (float(both[apart].sum()) + _FEWEST_ROWS)
    size = np.sqrt(np.divide(np.diag(total), np.diag(both), out=np.full(len(both), usual), where=np.diag(both) > 0))
    size = np.where(size > 0, size, 1.0)
    found = np.divide(total, both, out=np.zeros(both.shape), where=both > 0) / np.outer(size, size)
    link = np.where((both >= _FEWEST_ROWS) & apart, found, np.clip(together, -1.0, 1.0))
    np.fill_diagonal(link, 1.0)
    values, vectors = np.linalg.eigh(link)
    link = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    deviation = np.sqrt(np.diag(link))
    return usual * link / np.outer(deviation, deviation)

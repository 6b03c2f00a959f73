"""What those who were not asked would have said: drawn from what is known of them, of the query, and of its answers.

A committee can be scored only where all its members were asked, which with holes is on few rows, or on none. So the
holes are filled, once, by draws from a model: multiple imputation (Rubin 1987) with one draw a row, which is enough for
what is learned from many rows. Errors of one query go together: a query has a difficulty of its own (Rasch 1960), told
by who erred on it; numbers go together by the correlations of their errors.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr, ndtri

from askwho.core import Answers, Cell, task_errors
from askwho.data import Log

# Expected errors are kept so far from 0 and 1: nobody is known to be always right.
_CLIP = 0.005
# A class moves an entity's expected error as far as its rows say, beside so many at the mean.
_PRIOR_ROWS = 10.0
# Places of a query's difficulty, and their weights: Gauss-Hermite quadrature, exact for what is as smooth as this.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
# How much of an error is the query's own, tried in steps that some thousand rows can tell apart.
_SHARED = np.linspace(0.0, 0.9, 10)
# A correlation over fewer common rows has a standard error above 0.14: the mean of the others stands in.
_FEWEST_ROWS = 50
# No query is taken to be easier than this part of an entity's mean.
_LEAST_PART = 0.05
# Classes beyond this are free answers, of which each is wrong in its own way.
_MOST_CLASSES = 64
# Rows are solved together, so many at a time: their matrices fit into a few megabytes.
_TOGETHER = 4096


def imagined(log: Log, expected: Float[np.ndarray, "n a"], rng: np.random.Generator, *, anew: bool = False) -> Log:
    """Return the log with an answer of everybody.

    Args:
        log: with holes.
        expected: shape (n, |A|), expected errors, of models that did not see the row; of classes, as shares.
        rng: where chance comes from.
        anew: whether answers that are there are drawn as well, as if nobody had been asked: what the model alone says.
    """
    asked = log.asked
    keep = asked & log.panel.own if anew else asked
    if log.answers is None or log.truth is None:
        return replace(log, errors=np.where(keep, log.errors, expected))
    if log.task == "regression":
        return _numbers(log, expected, keep, rng)
    return _classes(log, expected, keep, rng)


def _classes(log: Log, expected: np.ndarray, keep: np.ndarray, rng: np.random.Generator) -> Log:
    assert log.answers is not None  # noqa: S101 - there are answers to be drawn
    assert log.truth is not None  # noqa: S101 - likewise
    asked, wrong = log.asked, np.where(log.asked, log.errors, 0.0) > 0
    if log.weighed:
        # A mistake that costs nothing is one all the same.
        right = (log.answers.values == log.truth[:, None]) & (log.answers.states == Cell.ANSWERED)
        wrong = asked & ~right
    kinds, truth = np.unique(log.truth, return_inverse=True)
    truth = truth.reshape(-1)
    named = len(kinds) <= _MOST_CLASSES
    level = ndtri(_by_class(np.clip(expected, _CLIP, 1 - _CLIP), wrong, asked, truth if named else truth * 0))
    shared = _shared(level, wrong, asked)
    given = _wrong_given(level, shared)
    # Where a row's difficulty lies, by who erred on it.
    heard = np.where(keep[:, :, None], np.where(wrong[:, :, None], given, 1.0 - given), 1.0)
    belief = np.exp(np.log(np.maximum(heard, 1e-12)).sum(axis=1)) * _WEIGHTS
    belief = belief.cumsum(axis=1) / np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    place = np.minimum((belief < rng.random(len(log))[:, None]).sum(axis=1), len(_NODES) - 1)
    chance = np.take_along_axis(given, place[:, None, None], axis=2)[:, :, 0]
    erred = np.where(keep, wrong, rng.random(wrong.shape) < chance)
    donor = _donors(erred, wrong, asked, truth if named else truth * 0, keep, rng)
    rows = np.arange(len(log))
    values, states, info = log.answers.values.copy(), log.answers.states.copy(), log.info.copy()
    popular, together = np.full(len(log), -1), _together(log.answers, wrong, asked)
    follow = rng.random(wrong.shape) < together
    for j in range(len(log.panel)):
        draw, source = ~keep[:, j], donor[:, j]
        right = draw & ~erred[:, j]
        values[right, j] = log.truth[right].astype(values.dtype)
        states[right, j] = Cell.ANSWERED
        lost = draw & erred[:, j]
        values[lost, j] = log.answers.values[source[lost], j]
        states[lost, j] = log.answers.states[source[lost], j]
        info[draw, j] = log.info[source[draw], j]
        # Who errs with others often says what they say.
        led = lost & follow[:, j] & (popular >= 0)
        values[led, j] = values[rows[led], popular[led]]
        states[led, j] = Cell.ANSWERED
        # A wrong answer that was borrowed from another query may be right here: then there is none.
        lucky = lost & (states[:, j] == Cell.ANSWERED) & (values[:, j] == log.truth.astype(values.dtype))
        states[lucky | (lost & (states[:, j] == Cell.NOT_ASKED)), j] = Cell.NO_ANSWER
        first = erred[:, j] & (states[:, j] == Cell.ANSWERED) & (popular < 0)
        popular[first] = j
    answers, came = Answers(values, states), erred.astype(np.float64)
    if log.weighed:
        came = task_errors(answers, log.truth, panel=log.panel, error=log.scored_by)
    return replace(log, answers=answers, errors=np.where(keep, log.errors, came), info=info)


def _by_class(expected: np.ndarray, wrong: np.ndarray, asked: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Expected errors moved by how often each entity errs on each class."""
    found = expected.copy()
    for each in np.unique(truth):
        rows = truth == each
        count = asked[rows].sum(axis=0)
        thought = np.where(asked[rows], expected[rows], 0.0).sum(axis=0)
        mean = np.where(count > 0, thought / np.maximum(count, 1), expected.mean(axis=0))
        came = ((wrong & asked)[rows].sum(axis=0) + _PRIOR_ROWS * mean) / (count + _PRIOR_ROWS)
        came, mean = np.clip(came, _CLIP, 1 - _CLIP), np.clip(mean, _CLIP, 1 - _CLIP)
        odds = expected[rows] / (1 - expected[rows]) * (came / (1 - came)) / (mean / (1 - mean))
        found[rows] = odds / (1 + odds)
    return np.clip(found, _CLIP, 1 - _CLIP)


def _wrong_given(level: np.ndarray, shared: float) -> np.ndarray:
    """How likely each errs at each difficulty, shape (n, |A|, nodes)."""
    return ndtr((level[:, :, None] + np.sqrt(shared) * _NODES) / np.sqrt(1.0 - shared))


def _shared(level: np.ndarray, wrong: np.ndarray, asked: np.ndarray) -> float:
    """How much of an error is the query's: the share at which rows with several answers are likeliest."""
    rows = np.flatnonzero(asked.sum(axis=1) > 1)
    if not len(rows):
        return 0.0
    rows = rows[:: max(1, len(rows) // _TOGETHER)]
    best, share = -np.inf, 0.0
    for tried in _SHARED:
        given = _wrong_given(level[rows], float(tried))
        heard = np.where(wrong[rows][:, :, None], given, 1.0 - given)
        each = np.where(asked[rows][:, :, None], np.log(np.maximum(heard, 1e-12)), 0.0).sum(axis=1)
        top = each.max(axis=1, keepdims=True)
        likely = float((np.log((np.exp(each - top) * _WEIGHTS).sum(axis=1)) + top[:, 0]).sum())
        if likely > best:
            best, share = likely, float(tried)
    return share


def _donors(
    erred: np.ndarray,
    wrong: np.ndarray,
    asked: np.ndarray,
    truth: np.ndarray,
    keep: np.ndarray,
    rng: np.random.Generator,
) -> Int[np.ndarray, "n a"]:
    """A row of the same entity for each cell, right or wrong likewise, of the same class where there is one."""
    n, size = erred.shape
    found = np.tile(np.arange(n)[:, None], (1, size))
    for j in range(size):
        for lost in (False, True):
            there = asked[:, j] & (wrong[:, j] == lost)
            wanted = ~keep[:, j] & (erred[:, j] == lost)
            pool = np.flatnonzero(there)
            if not len(pool) or not wanted.any():
                continue
            found[wanted, j] = rng.choice(pool, int(wanted.sum()))
            for each in np.unique(truth[wanted]):
                same, here = np.flatnonzero(there & (truth == each)), wanted & (truth == each)
                if len(same):
                    found[here, j] = rng.choice(same, int(here.sum()))
    return found


def _together(answers: Answers, wrong: np.ndarray, asked: np.ndarray) -> float:
    """How often who errs with others says what the first of them says, beyond what would coincide anyhow."""
    said = wrong & asked & (answers.states == Cell.ANSWERED)
    rows = np.flatnonzero(said.sum(axis=1) > 1)
    if not len(rows):
        return 0.0
    first = said[rows].argmax(axis=1)
    lead = answers.values[rows, first]
    others = said[rows].copy()
    others[np.arange(len(rows)), first] = False
    same = (answers.values[rows] == lead[:, None]) & others
    seen = float(same.sum() / others.sum())
    # By chance: what others said of other queries.
    shifted = np.roll(answers.values[rows], 1, axis=0)
    other = np.roll(others, 1, axis=0)
    by_chance = float(((shifted == lead[:, None]) & other).sum() / max(1, other.sum()))
    return float(np.clip((seen - by_chance) / max(1.0 - by_chance, 1e-9), 0.0, 1.0))


def _numbers(log: Log, expected: np.ndarray, keep: np.ndarray, rng: np.random.Generator) -> Log:
    assert log.answers is not None  # noqa: S101 - there are answers to be drawn
    assert log.truth is not None  # noqa: S101 - likewise
    spoke = log.answers.states == Cell.ANSWERED
    values = log.answers.values.astype(np.float64)
    usual = np.where(log.asked, log.errors, 0.0).sum(axis=0) / np.maximum(log.asked.sum(axis=0), 1)
    # An expected error of nothing is a line that went too far down, and no scale.
    scale = np.sqrt(np.maximum(np.maximum(expected, _LEAST_PART * usual), 1e-12))
    beyond = np.where(spoke, (values - log.truth[:, None]) / scale, 0.0)
    moments = _moments(beyond, spoke)
    root = np.linalg.cholesky(moments + 1e-6 * np.eye(len(moments)))
    drawn = rng.standard_normal(beyond.shape) @ root.T
    heard = keep & spoke
    filled = drawn.copy()
    for start in range(0, len(log), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        there = heard[some].astype(np.float64)
        # Conditioning by kriging: a free draw, moved by what its error at the known places says of the others.
        system = moments * there[:, :, None] * there[:, None, :] + np.eye(len(moments)) * (
            1.0 - there[:, :, None] + 1e-6
        )
        gap = ((beyond - drawn)[some] * there)[:, :, None]
        filled[some] += (np.linalg.solve(system, gap)[:, :, 0] * there) @ moments
    values = np.where(keep, values, log.truth[:, None] + filled * scale)
    states = np.where(keep, log.answers.states, Cell.ANSWERED).astype(np.int8)
    errors = np.where(keep, log.errors, np.square(filled * scale))
    return replace(log, answers=Answers(values, states), errors=errors)


def _moments(beyond: np.ndarray, spoke: Bool[np.ndarray, "n a"]) -> np.ndarray:
    """Second moments of the errors, in units of what was expected, made positive definite."""
    both = spoke.astype(np.float64).T @ spoke
    total = beyond.T @ beyond
    apart = ~np.eye(len(both), dtype=bool)
    # How far one is off from what was expected of him is his luck on the rows that he was asked about: what all are off
    # together is not; nor is how far two of them are off together, where few rows have both.
    usual = float(np.trace(total)) / max(1.0, float(np.trace(both))) or 1.0
    together = float(total[apart].sum()) / max(1.0, float(both[apart].sum())) / usual
    size = np.sqrt(np.divide(np.diag(total), np.diag(both), out=np.full(len(both), usual), where=np.diag(both) > 0))
    size = np.where(size > 0, size, 1.0)
    found = np.divide(total, both, out=np.zeros(both.shape), where=both > 0) / np.outer(size, size)
    link = np.where((both >= _FEWEST_ROWS) & apart, found, np.clip(together, -1.0, 1.0))
    np.fill_diagonal(link, 1.0)
    values, vectors = np.linalg.eigh(link)
    link = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    deviation = np.sqrt(np.diag(link))
    return usual * link / np.outer(deviation, deviation)

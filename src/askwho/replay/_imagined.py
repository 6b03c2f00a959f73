"""What those who were not asked would have said: drawn from what is known of them, of the query, and of its answers.

A committee can be scored only where all its members were asked, which with holes is on few rows, or on none. So the
holes are filled, once, by draws from a model: multiple imputation (Rubin 1987) with one draw a row, which is enough for
what is learned from many rows. Errors of one query go together, two entities' by their own correlation: of numbers that
of their errors; of classes the tetrachoric one (Pearson 1900), of what lies behind who errs. And who errs with others
often says what they say.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho.core import Answers, Cell, task_errors
from askwho.data import Log
from askwho.policy import Chances
from askwho.replay._correlated import correlations, erring, with_told
from askwho.replay._imagined_numbers import imagined_numbers
from askwho.replay._told import Told

# Expected errors are kept so far from 0 and 1: nobody is known to be always right.
_CLIP = 0.005
# A class moves an entity's expected error as far as its rows say, beside so many at the mean.
_PRIOR_ROWS = 10.0
# Wrong answers coincide by chance no less often than this: of free ones none ever might.
_LEAST_CHANCE = 0.01
# Those who err are not taken to say the same more often than this: somebody always differs.
_MOST_ALIKE = 0.95
# Heard so often an answer misleads beyond doubt.
_MOST_TIMES = 20
# Classes beyond this are free answers, of which each is wrong in its own way.
_MOST_CLASSES = 64


class Before(NamedTuple):
    """Other rows, which tell who errs together with whom.

    Args:
        likely: shape (m, |A|), how likely each was to err, of models that did not see the row.
        wrong: shape (m, |A|), who erred, where somebody was asked.
        counted: shape (m, |A|), as how many rows each answer counts; 0 where nobody was asked.
    """

    likely: Float[np.ndarray, "m a"]
    wrong: Bool[np.ndarray, "m a"]
    counted: Float[np.ndarray, "m a"]


def imagined(
    log: Log,
    expected: Float[np.ndarray, "n a"],
    rng: np.random.Generator,
    *,
    chances: Chances | None = None,
    before: Before | None = None,
    anew: bool = False,
) -> Log:
    """Return the log with an answer of everybody.

    Args:
        log: with holes.
        expected: shape (n, |A|), expected errors, of models that did not see the row; of classes, as shares.
        rng: where chance comes from.
        chances: with what probability those were asked who were: where more is asked about hard queries, who was asked
            would seem to err more often than he does. All the same, unless said.
        before: rows before these, beside which errors of classes are seen to go together, or not.
        anew: whether answers that are there are drawn as well, as if nobody had been asked: what the model alone says.
    """
    asked = log.asked
    keep = asked & log.panel.own if anew else asked
    if log.answers is None or log.truth is None:
        return replace(log, errors=np.where(keep, log.errors, expected))
    counted = _counted(asked, None if chances is None else chances.of_asking)
    beside = _counted(asked, None if chances is None else chances.stabilised)
    if log.task == "regression":
        return imagined_numbers(log, expected, beside, keep, rng)
    return _classes(log, expected, counted, beside, keep, before, rng)


def _counted(asked: np.ndarray, weights: np.ndarray | None) -> Float[np.ndarray, "n a"]:
    """As how many rows each answer counts: an entity's together as its effective ones (Kish 1965)."""
    if weights is None:
        return asked.astype(np.float64)
    weights = np.where(asked, weights, 0.0)
    total, squares = weights.sum(axis=0), np.square(weights).sum(axis=0)
    return weights * np.divide(total, squares, out=np.zeros_like(total), where=squares > 0)


def _classes(
    log: Log,
    expected: np.ndarray,
    of_all: np.ndarray,
    counted: np.ndarray,
    keep: np.ndarray,
    before: Before | None,
    rng: np.random.Generator,
) -> Log:
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
    classes = truth if named else truth * 0
    likely = _by_class(np.clip(expected, _CLIP, 1 - _CLIP), wrong, of_all, counted, classes)
    seen = Before(likely, wrong, counted)
    if before is not None:
        before = before._replace(likely=np.clip(before.likely, _CLIP, 1 - _CLIP))
        seen = Before(*(np.concatenate(pair) for pair in zip(before, seen, strict=True)))
    told = Told.of(log.info, likely, wrong, counted, classes)
    link = with_told(correlations(*seen), told.beyond, told.entities, likely, wrong, counted)
    beside = np.where(keep[:, told.entities], told.beyond, np.nan)
    erred, beyond = erring(likely, link, wrong, keep, rng, beside)
    donor = _donors(erred, wrong, counted, classes, keep, rng)
    values, states, info = log.answers.values.copy(), log.answers.states.copy(), log.info.copy()
    # What misleads is nobody's own wrong answer: it is borrowed once more.
    another = _donors(erred, wrong, counted, classes, keep, rng)
    follow, place, leads = _led(log.answers, wrong & asked, keep, erred, another, classes, rng)
    said = log.answers.values[place]
    back = told.drawn(beyond, erred)
    for j in range(len(log.panel)):
        draw, source = ~keep[:, j], donor[:, j]
        right = draw & ~erred[:, j]
        values[right, j] = log.truth[right].astype(values.dtype)
        states[right, j] = Cell.ANSWERED
        lost = draw & erred[:, j]
        values[lost, j] = log.answers.values[source[lost], j]
        states[lost, j] = log.answers.states[source[lost], j]
        info[draw, j] = log.info[source[draw], j]
        led = lost & follow[:, j] & leads & (states[:, j] == Cell.ANSWERED)
        values[led, j] = said[led]
        # A wrong answer that was borrowed from another query may be right here: then there is none.
        lucky = lost & (states[:, j] == Cell.ANSWERED) & (values[:, j] == log.truth.astype(values.dtype))
        states[lucky | (lost & (states[:, j] == Cell.NOT_ASKED)), j] = Cell.NO_ANSWER
    # Where something would have come back at all, it goes by how hard the query is, and by who errs.
    for t, j in enumerate(told.entities):
        draw = ~keep[:, j] & np.isfinite(info[:, j])
        info[draw, j] = back[draw, t]
    answers, came = Answers(values, states), erred.astype(np.float64)
    if log.weighed:
        came = task_errors(answers, log.truth, panel=log.panel, error=log.scored_by)
    return replace(log, answers=answers, errors=np.where(keep, log.errors, came), info=info)


def _by_class(
    expected: np.ndarray, wrong: np.ndarray, counted: np.ndarray, beside: np.ndarray, truth: np.ndarray
) -> np.ndarray:
    """Expected errors moved by how often each entity errs in all, and beyond that on each class.

    Args:
        expected: shape (n, |A|).
        wrong: shape (n, |A|), who erred.
        counted: shape (n, |A|), as how many rows each answer counts of all queries.
        beside: shape (n, |A|), as how many beside its row's features: classes tell apart queries that are alike else.
        truth: shape (n,), the class, as a number.
    """
    found = _moved(expected, _odds_moved(expected, wrong, counted))
    usual = _odds_moved(found, wrong, beside)
    for each in np.unique(truth):
        rows = truth == each
        found[rows] = _moved(found[rows], _odds_moved(found[rows], wrong[rows], beside[rows]) / usual)
    return np.clip(found, _CLIP, 1 - _CLIP)


def _odds_moved(expected: np.ndarray, wrong: np.ndarray, counted: np.ndarray) -> Float[np.ndarray, " a"]:
    """How many times the odds that were expected of each entity came, drawn to once by so many rows at the mean."""
    count, thought = counted.sum(axis=0), (counted * expected).sum(axis=0)
    mean = np.divide(thought, count, out=expected.mean(axis=0), where=count > 0)
    came = ((wrong * counted).sum(axis=0) + _PRIOR_ROWS * mean) / (count + _PRIOR_ROWS)
    came, mean = np.clip(came, _CLIP, 1 - _CLIP), np.clip(mean, _CLIP, 1 - _CLIP)
    return came / (1 - came) / (mean / (1 - mean))


def _moved(expected: np.ndarray, times: np.ndarray) -> np.ndarray:
    odds = expected / (1 - expected) * times
    return odds / (1 + odds)


def _donors(
    erred: np.ndarray,
    wrong: np.ndarray,
    counted: np.ndarray,
    truth: np.ndarray,
    keep: np.ndarray,
    rng: np.random.Generator,
) -> Int[np.ndarray, "n a"]:
    """A row of the same entity for each cell, right or wrong likewise, of the same class where there is one."""
    n, size = erred.shape
    found = np.tile(np.arange(n)[:, None], (1, size))
    for j in range(size):
        for lost in (False, True):
            there = (counted[:, j] > 0) & (wrong[:, j] == lost)
            wanted = ~keep[:, j] & (erred[:, j] == lost)
            pool = np.flatnonzero(there)
            if not len(pool) or not wanted.any():
                continue
            found[wanted, j] = _drawn(pool, counted[pool, j], int(wanted.sum()), rng)
            for each in np.unique(truth[wanted]):
                same, here = np.flatnonzero(there & (truth == each)), wanted & (truth == each)
                if len(same):
                    found[here, j] = _drawn(same, counted[same, j], int(here.sum()), rng)
    return found


def _drawn(rows: np.ndarray, weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Some rows, each as often as it weighs."""
    return rng.choice(rows, count, p=weights / weights.sum())


def _led(
    answers: Answers,
    wrong: np.ndarray,
    keep: np.ndarray,
    erred: np.ndarray,
    donor: np.ndarray,
    truth: np.ndarray,
    rng: np.random.Generator,
) -> tuple[Bool[np.ndarray, "n a"], tuple[np.ndarray, np.ndarray], Bool[np.ndarray, " n"]]:
    """Who of those that err would say what misleads most on the query, the cell that says it, and whether there is one.

    A query has one wrong answer that misleads: who errs says it, or what he would say of another query. How often is
    told by how often two who err say the same, beyond what would coincide anyhow.
    """
    spoke, size = answers.states == Cell.ANSWERED, wrong.shape[1]
    labels = np.unique(answers.values[wrong & spoke], return_inverse=True)[1]
    codes = np.full(wrong.shape, -1)
    codes[wrong & spoke] = labels.reshape(-1)
    count = (codes >= 0).sum(axis=1)
    # Pairs that say the same beyond what would coincide anyhow, those that could, and all.
    beyond = possible = pairs = 0.0
    for each in np.unique(truth):
        said, often = codes[truth == each], count[truth == each].astype(np.float64)
        known = np.bincount(said[said >= 0]).astype(np.float64)
        anyhow = (known * (known - 1)).sum() / max(1.0, known.sum() * (known.sum() - 1))
        same = float(sum(((said == said[:, [j]]) & (said >= 0)).sum() for j in range(size))) - often.sum()
        these = float((often * (often - 1)).sum())
        beyond, possible, pairs = beyond + same - anyhow * these, possible + (1.0 - anyhow) * these, pairs + these
    share = math.sqrt(min(max(beyond / max(possible, 1e-9), 0.0), _MOST_ALIKE))
    chance = max(_LEAST_CHANCE, 1.0 - possible / pairs) if pairs else _LEAST_CHANCE
    heard = np.where(keep, codes, -1)
    follow = rng.random(wrong.shape) < share
    return follow, *_leader(heard, share, chance, erred & ~keep, donor, spoke, rng)


def _leader(
    heard: np.ndarray,
    share: float,
    chance: float,
    lost: np.ndarray,
    donor: np.ndarray,
    spoke: np.ndarray,
    rng: np.random.Generator,
) -> tuple[tuple[np.ndarray, np.ndarray], Bool[np.ndarray, " n"]]:
    """Where the answer stands that misleads most on each query, and whether there is one.

    Args:
        heard: shape (n, |A|), which wrong answers were heard, by number; −1 where none was.
        share: how likely one who errs says what misleads.
        chance: how likely what he says else is a given answer.
        lost: shape (n, |A|), who errs and is not heard.
        donor: shape (n, |A|), the rows that their own wrong answers come from.
        spoke: shape (n, |A|), where there is an answer.
        rng: where chance comes from.
    """
    n, size = heard.shape
    rows = np.arange(n)
    count = np.stack([((heard == heard[:, [j]]) & (heard >= 0)).sum(axis=1) for j in range(size)], axis=1)
    # Bayes' rule: what was heard m times misleads, or nothing that was heard does, in parts of the latter's likelihood.
    times = 1.0 + share / ((1.0 - share) * chance)
    weight = np.where(count > 0, chance * times ** np.minimum(count, _MOST_TIMES) / np.maximum(count, 1), 0.0)
    distinct = np.divide(1.0, count, out=np.zeros(count.shape), where=count > 0).sum(axis=1)
    total = weight.sum(axis=1) + np.maximum(1.0 - chance * distinct, 0.0)
    drawn = (np.cumsum(weight, axis=1) < (rng.random(n) * total)[:, None]).sum(axis=1)
    ready = lost & spoke[donor, np.arange(size)]
    other = np.where(ready, rng.random(ready.shape), -1.0).argmax(axis=1)
    old = drawn < size
    column = np.where(old, np.minimum(drawn, size - 1), other)
    return (np.where(old, rows, donor[rows, other]), column), old | ready.any(axis=1)

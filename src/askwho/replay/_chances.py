"""With what probability the rows of a log tell what they tell: as it says itself, or as it teaches."""

import numpy as np
from jaxtyping import Float

from askwho._types import FloatTable
from askwho.core import Answers, Cell
from askwho.data import Log
from askwho.policy import Chances, GivenChances, LearnedChances, learn_looked_up


def with_fees(log: Log, X: Float[np.ndarray, "n d"], foretold: FloatTable, chances: Chances | None) -> Log:
    """Return the log with fees that nobody told as its queries foretell them; itself where all were told.

    Mostly a fee is told where somebody was asked: then it is known how likely that was, or it was learned already.

    Args:
        log: its rows.
        X: shape (n, d), the same encoded.
        foretold: shape (n, |A|), what each is expected to charge, by models that did not see the row.
        chances: with what probability those were asked who were; None where everybody was.
    """
    if not log.charged.guessed or log.charged.untold is None:
        return log
    told, own = ~log.charged.untold, log.panel.own
    if chances is not None and log.audited.all() and np.array_equal(told[:, ~own], log.asked[:, ~own]):
        weights = chances.cells
    else:
        learned = LearnedChances.learn(X, told, log.groups)
        weights = told.astype(np.float64) if learned is None else learned.cells
    return log.charging(log.charged.foretold(foretold, weights))


def looked_up(log: Log, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"] | None:
    """Return how likely each truth was looked up, shape (n,): learned, or 1 where the log tells it with who was asked.

    None where every truth is known.
    """
    audited = log.audited
    if audited.all():
        return None
    if log.sampling.propensity is not None:
        return np.ones(len(log))
    return learn_looked_up(X, audited, log.groups, answers=log.answers)


def chances_of(
    log: Log, X: Float[np.ndarray, "n d"], looked_up: Float[np.ndarray, " n"] | None = None
) -> Chances | None:
    """Return with what probability those were asked who were: told, or learned; None where everybody was.

    Args:
        log: its rows.
        X: shape (n, d), the same encoded.
        looked_up: shape (n,), how likely each truth was looked up; None where every truth is known.
    """
    told, own = log.sampling.propensity, log.panel.own
    if told is not None:
        return GivenChances.of(log.asked, told, own=own, looked_up=looked_up is not None)
    if looked_up is not None and not log.audited.all():
        rows = np.flatnonzero(log.audited)
        if not len(rows):
            # A batch of a longer log that nobody looked at.
            return LearnedChances(log.asked, np.ones((len(log), 0)), np.full(len(own), -1), looked_up=looked_up)
        known = chances_of(log.rows(rows), X[rows], looked_up[rows])
        assert isinstance(known, LearnedChances)  # noqa: S101 - the truth has a probability of its own
        return known.among(rows, len(log), looked_up)
    answers = log.answers
    if answers is None:
        # Of grades it is the grade that the next may have been asked by.
        answers = Answers(np.nan_to_num(log.errors), np.where(log.asked, Cell.ANSWERED, Cell.NOT_ASKED).astype(np.int8))
    return LearnedChances.learn(X, log.asked, log.groups, answers=answers, own=own, looked_up=looked_up)

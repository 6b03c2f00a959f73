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
    return learn_looked_up(X, audited, log.groups, answers=log.answers, info=log.info)


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
    answers = log.answers
    if answers is None:
        # Of grades it is the grade that the next may have been asked by.
        answers = Answers(np.nan_to_num(log.errors), np.where(log.asked, Cell.ANSWERED, Cell.NOT_ASKED).astype(np.int8))
    # Who was asked is known of every row, also where no error is.
    asked = log.asked if looked_up is None else answers.states != Cell.NOT_ASKED
    learned = LearnedChances.learn(X, asked, log.groups, answers=answers, info=log.info, own=own, looked_up=looked_up)
    return learned if learned is None or looked_up is None else learned.where(log.audited)

"""Small worlds whose best decisions are known, and what is learned from them."""

import numpy as np

from askwho.beliefs import Beliefs
from askwho.core import Answers, Cell

ANSWERED, NOT_ASKED, NO_ANSWER = (np.int8(cell) for cell in (Cell.ANSWERED, Cell.NOT_ASKED, Cell.NO_ANSWER))


def habits(rights, classes, seed=0):
    """Confusions [truth, answer] of experts who are right so often, and wrong in ways of their own."""
    rng = np.random.default_rng(seed)
    tables = []
    for right in rights:
        table = rng.dirichlet(np.full(classes, 0.5), classes)
        np.fill_diagonal(table, 0.0)
        table *= (1 - right) / table.sum(axis=1, keepdims=True)
        np.fill_diagonal(table, right)
        tables.append(table)
    return np.stack(tables)


def independent(n, confusions, seed=0):
    """Truths, and answers that depend on nothing else: shapes (n,) and (n, experts)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, confusions.shape[1], n)
    steps = confusions.cumsum(axis=2)[:, truth].transpose(1, 0, 2)
    said = (rng.random((n, len(confusions), 1)) > steps).sum(axis=2)
    return truth, np.minimum(said, confusions.shape[1] - 1)


def exact_bayes(said, confusions, heard):
    """The probability of each class by the confusions that made the answers, after those heard: (n, classes)."""
    each = np.log(np.maximum(confusions, 1e-12)).transpose(0, 2, 1)
    scores = sum(np.where(heard[:, j, None], each[j][said[:, j]], 0.0) for j in range(said.shape[1]))
    shares = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def answers(said, states=None):
    return Answers(said, np.zeros(said.shape, dtype=np.int8) if states is None else states.astype(np.int8))


def taught(said, truth, *, states=None, **given):
    """Beliefs that know of each expert only how often it errs, and the case they were taught."""
    expected = np.broadcast_to((said != truth[:, None]).mean(axis=0), said.shape).copy()
    return Beliefs.fit(answers(said, states), truth, expected=expected, fold=np.arange(len(truth)) % 3, **given)


def told(beliefs, said, errors, *, states=None, **given):
    """New answers as a case; `errors` are expected of each expert."""
    return beliefs.case(answers(said, states), expected=np.tile(errors, (len(said), 1)), **given)


def after(beliefs, case, heard):
    """What is believed of every class after hearing some."""
    return beliefs.pool.probabilities(case, beliefs.pool.hear_all(case, heard))

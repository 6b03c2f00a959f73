"""The base that askwho would train, for everybody: one more entity, for nothing, heard out of fold in training."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int

from askwho.core import Entity, Panel, folds
from askwho.data import Log
from askwho.learners import own_base
from askwho.policy import answers_of_all
from askwho_studies.logs._split import Split

# As `fit` crosses its own base, and as rivals are tuned: five folds by group.
_FOLDS = 5
BASE = "askwho-base"
"""What the base is called among the entities."""


def tuning_folds(split: Split) -> Int[np.ndarray, " n"]:
    """Return the folds in which the base is crossed and rivals are tuned on training rows, shape (n,)."""
    return folds(split.train.groups, _FOLDS, random_state=split.seed)


@lru_cache(maxsize=2)
def with_base(split: Split) -> tuple[Split, tuple[Float[np.ndarray, "n t"], Float[np.ndarray, "m t"]] | None]:
    """Return the split with the base in front of all entities, and its shares, of training rows and of test rows.

    The split itself, and None, where askwho would have no base: of grades, and where none is worth having.
    """
    log = split.train
    if log.answers is None or log.truth is None or any(each.kind in ("base", "label") for each in log.panel.entities):
        return split, None
    column = log.columns.text
    texts = [None if column is None else each.known[column].tolist() for each in (split.train, split.test)]
    trial = own_base(split.X_train, texts[0], log.truth, tuning_folds(split), task=log.task, random_state=split.seed)
    if trial is None:
        return split, None
    said, shares = trial.base.say(split.X_test, texts[1])
    train, test = (
        _behind(log, answers, sure)
        for log, answers, sure in ((split.train, trial.answers, trial.shares), (split.test, said, shares))
    )
    both = None if trial.shares is None or shares is None else (trial.shares, shares)
    return replace(split, train=train, test=test), both


def _behind(log: Log, said: np.ndarray, shares: np.ndarray | None) -> Log:
    panel = Panel((Entity(BASE, "base", own=True), *log.panel.entities))
    whole = log.behind(panel, answers_of_all(panel, len(log), said=said, given=log.answers))
    if shares is None:
        return whole
    return replace(whole, info=np.hstack([shares.max(axis=1, keepdims=True), log.info]))

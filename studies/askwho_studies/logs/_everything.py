"""What every rival may know that askwho knows: features, confidences, and the same base, heard out of fold."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from askwho.core import each_fold
from askwho.data import Log
from askwho_studies.logs._base import tuning_folds, with_base
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._split import Split

# Strengths of logistic models, a decade apart, of which training rows choose.
_STRENGTHS = (0.01, 0.1, 1.0)
# A base is never surer than this: its log-odds would drown all else.
_SUREST = 1e-3


@dataclass(frozen=True, eq=False)
class Everything:
    """The rows of one side of a split, as a rival sees them.

    Args:
        known: shape (n, d), standardised features and, where askwho would have a base, log-odds of its classes.
        votes: shape (n, |A|), answers as places among the labels, −1 for none.
        info: shape (n, |A|), what came back with them, standardised by entity; 0 where nothing did.
    """

    known: Float[np.ndarray, "n d"]
    votes: Int[np.ndarray, "n a"]
    info: Float[np.ndarray, "n a"]

    def design(self, entities: Sequence[int], classes: int) -> Float[np.ndarray, "n p"]:
        """Return what a model of the right class takes: what is known, and what each of some said and how surely."""
        blocks = [self.known]
        for j in entities:
            said = (self.votes[:, j, None] == np.arange(classes)).astype(np.float64)
            blocks += [said, said * self.info[:, j, None]] if self.info[:, j].any() else [said]
        return np.hstack(blocks)


@lru_cache(maxsize=2)
def sides(split: Split) -> tuple[Split, Everything, Everything]:
    """Return the split with the base among its entities, and what a rival sees of its training and of its test rows."""
    if split.train.answers is None or split.train.truth is None:
        raise SkippedError("grades do not say what the right answer is")
    split, *known = known_before(split)
    centre, scale = _spread(split.train)
    logs = (split.train, split.test)
    info = [np.nan_to_num((log.info - centre) / scale) for log in logs]
    train, test = (Everything(known[i], split.votes(logs[i]), info[i]) for i in (0, 1))
    return split, train, test


def known_before(split: Split) -> tuple[Split, Float[np.ndarray, "n d"], Float[np.ndarray, "m d"]]:
    """Return the split with the base among its entities, and what is known of its rows before anybody is asked."""
    split, shares = with_base(split)
    scaler = StandardScaler().fit(split.X_train)
    known = [np.asarray(scaler.transform(X)) for X in (split.X_train, split.X_test)]
    if shares is not None:
        known = [np.hstack([each, _log_odds(share)]) for each, share in zip(known, shares, strict=True)]
    return split, known[0], known[1]


def logistic(inputs: np.ndarray, truths: np.ndarray, strength: float) -> Any:  # noqa: ANN401 - a fitted model
    """Return a logistic model; that it stops a little early is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(C=strength, max_iter=200).fit(inputs, truths)


def shares_of(model: Any, inputs: np.ndarray, classes: int) -> Float[np.ndarray, "n c"]:  # noqa: ANN401 - as above
    """Return the probability of each label, shape (n, C); 0 of those that training never saw."""
    found = np.zeros((len(inputs), classes))
    found[:, model.classes_] = model.predict_proba(inputs)
    return found


def best_strength(split: Split, inputs: np.ndarray, truths: np.ndarray) -> float:
    """Return the strength whose log-loss on a held-out fold of training rows is least."""
    seen, held = next(each_fold(tuning_folds(split)))
    classes = int(truths.max()) + 1

    def loss(strength: float) -> float:
        shares = shares_of(logistic(inputs[seen], truths[seen], strength), inputs[held], classes)
        return -float(np.log(np.maximum(shares[np.arange(len(held)), truths[held]], 1e-9)).mean())

    return min(_STRENGTHS, key=loss)


def _log_odds(shares: np.ndarray) -> np.ndarray:
    held = np.clip(shares, _SUREST, 1 - _SUREST)
    return np.log(held / (1 - held))


def _spread(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of what came back with each entity's answers; 0 and 1 where nothing ever did."""
    there = ~np.isnan(log.info)
    count = np.maximum(there.sum(axis=0), 1)
    centre = np.where(there, log.info, 0.0).sum(axis=0) / count
    variance = np.where(there, np.square(log.info - centre), 0.0).sum(axis=0) / count
    return centre, np.where(variance > 0, np.sqrt(variance), 1.0)

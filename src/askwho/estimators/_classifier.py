"""What all classifiers share: the truth is one of the labels of y, and the score is the accuracy."""

# ruff: noqa: ANN401 - by scikit-learn's contract `score` takes anything

from abc import ABC
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets

from askwho.estimators._lesson import told_of
from askwho.estimators._system import DeferralSystem
from askwho.estimators._targets import Labels, Truths
from askwho.policy import Target

# More than rounding, less than anybody reads.
_HAIR = 1e-9


class Classifier(ClassifierMixin, DeferralSystem, ABC):
    """A deferral system whose members answer with labels."""

    @property
    def classes_(self) -> Shaped[np.ndarray, " C"]:
        """The labels of y, sorted, shape (C,)."""
        live = vars(self).get("live_")
        if live is None:
            raise AttributeError("`classes_` is there after `fit`.")
        return live.truths.classes

    # The parameters of `predict` again, and below those of the regressor's `score`: what can be routed to a method,
    # scikit-learn reads off its signature, which must be there whole.
    def predict_proba(
        self,
        X: Any,
        *,
        answers: Any = None,
        info: Any = None,
        target: Target | None = None,
        mode: str = "at-once",
        **options: Any,
    ) -> Float[np.ndarray, "n C"]:
        """Return the probability of each class, shape (n, C), after those chosen were heard; as in `predict`.

        What the beliefs say, or naive Bayes by the members' expected errors where there are none; how often each class
        was true in training where nobody gave a usable answer. The prediction is always the likeliest, unless some
        mistakes are worse than others (`error`): then it is the one of least expected cost, where the beliefs decide.
        """
        said, decisions, heard = self._predict(X, answers, info, target, mode, options)
        truths = self.live_.truths
        assert isinstance(truths, Labels)  # noqa: S101 - a classifier's
        told = told_of(info, self.panel_, len(said))
        shares = self.policy_.probabilities(decisions, heard, truths.plain(truths.classes), info=told)
        place = np.searchsorted(truths.classes, said)
        rows = np.arange(len(said))
        shares[shares.sum(axis=1) == 0] = truths.shares
        if truths.costs is not None:
            return shares / shares.sum(axis=1, keepdims=True)
        # Where the vote and naive Bayes disagree the prediction takes the larger share.
        best = shares.argmax(axis=1)
        own, top = shares[rows, place].copy(), shares[rows, best].copy()
        shares[rows, best], shares[rows, place] = own, top
        # Of equal shares `argmax` takes the first: the prediction's is larger by a hair.
        tied = shares.argmax(axis=1) != place
        shares[tied, place[tied]] *= 1 + _HAIR
        return shares / shares.sum(axis=1, keepdims=True)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, answers: Any = None, info: Any = None) -> float:
        """Return the accuracy of `predict`.

        Args:
            X: shape (n, d).
            y: shape (n,).
            sample_weight: shape (n,).
            answers: shape (n, J), as in `predict`.
            info: shape (n, J), as in `predict`.
        """
        return float(accuracy_score(y, self.predict(X, answers=answers, info=info), sample_weight=sample_weight))

    def _truths(self, y: np.ndarray) -> Truths:
        check_classification_targets(y)
        return Labels.of(y, self.error)

"""What all classifiers share: the truth is one of the labels of y, and the score is the accuracy."""

# ruff: noqa: ANN401 - by scikit-learn's contract `score` takes anything

from abc import ABC
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets

from askwho import _validation as check
from askwho.estimators._system import DeferralSystem
from askwho.estimators._targets import Labels, Target


class Classifier(ClassifierMixin, DeferralSystem, ABC):
    """A deferral system whose members answer with labels."""

    _default_error = "zero-one"

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, answers: Any = None) -> float:
        """Return the accuracy of `predict`.

        Args:
            X: shape (n, d).
            y: shape (n,).
            sample_weight: shape (n,).
            answers: shape (n, J), as in `predict`.
        """
        return float(accuracy_score(y, self.predict(X, answers=answers), sample_weight=sample_weight))

    def _target(self, y: np.ndarray) -> Target:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        check.two_classes(self.classes_.tolist(), "y")
        return Labels(self.classes_)

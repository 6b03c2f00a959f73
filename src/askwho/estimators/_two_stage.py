"""The two faces of the two-stage system: a classifier and a regressor."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets

from askwho import _validation as check
from askwho.estimators._system import TwoStage
from askwho.estimators._targets import Labels, Numbers, Target


class TwoStageClassifier(ClassifierMixin, TwoStage):
    """Ask the base or the experts that are worth their fee, and let them vote.

    Args:
        experts: estimators or (name, estimator) pairs. Fitted ones are used as they are (wrap them in scikit-learn's
            `FrozenEstimator` to stay so in `clone` and cross-validation); others are cross-fitted, so that what they
            say of unseen rows teaches, then fitted on everything. None: `fit` and `predict` take `answers=`, or,
            where they get none, a linear model, three nearest neighbours and a small tree stand in.
        fees: what the experts charge, by name or in their order; nothing unless said.
        base: `"auto"`, a free predictor trained on X where one beats a constant answer; an estimator; or None.
        learner: of expected errors, or the paper's policy, as in `Router`.
        committee: how to combine answers, as in `Router`.
        cardinality: how many to ask, as in `Router`.
        cv: how many folds, fewer where there are fewer than four rows for each.
        fee_weight: λ, how much error one unit of money is worth, where `predict` and `select` get no target.
        error: what ranks the experts: `"auto"` (zero-one), a name in `ERRORS`, or a function of answers and truths.
            How many to ask always minds the zero-one error.
        random_state: the seed of everything, also of experts that have none.

    Attributes:
        classes_: the labels of y, sorted.
        router_: the fitted `Router`.
        panel_: who can be asked.

    An answer that is no class of y is unusable: it is an error, its fee is paid, it casts no vote. Where a committee
    has no usable answer at all, the base answers; without a base, the commonest class is the prediction.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> answers = {"good": y, "always-yes": np.full(40, "yes")}
    >>> model = TwoStageClassifier(base=None, learner="linear", fees={"good": 0.1, "always-yes": 0.0}, fee_weight=1.0)
    >>> model.fit(X, y, answers=answers).select([[-0.9], [0.9]]).names(0)
    ('good',)
    """

    _default_error = "zero-one"

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, answers: Any = None) -> float:  # noqa: ANN401
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


class TwoStageRegressor(RegressorMixin, TwoStage):
    """Ask the base or the experts that are worth their fee, and average them.

    Args:
        experts: as in `TwoStageClassifier`.
        fees: as in `TwoStageClassifier`.
        base: as in `TwoStageClassifier`.
        learner: of expected errors, or the paper's policy, as in `Router`.
        committee: how to combine answers, as in `Router`.
        cardinality: how many to ask, as in `Router`.
        cv: how many folds, fewer where there are fewer than four rows for each.
        fee_weight: λ, how much squared error one unit of money is worth.
        error: what ranks the experts: `"auto"` (squared), a name in `ERRORS`, or a function of answers and truths.
            How many to ask always minds the squared error.
        random_state: the seed of everything, also of experts that have none.

    Attributes:
        router_: the fitted `Router`.
        panel_: who can be asked.

    An answer that is not finite is unusable. Where a committee has no usable answer at all, the base answers; without
    a base, the mean of y is the prediction.
    """

    _default_error = "squared"

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, answers: Any = None) -> float:  # noqa: ANN401
        """Return the coefficient of determination R² of `predict`.

        Args:
            X: shape (n, d).
            y: shape (n,).
            sample_weight: shape (n,).
            answers: shape (n, J), as in `predict`.
        """
        return float(r2_score(y, self.predict(X, answers=answers), sample_weight=sample_weight))

    def _target(self, y: np.ndarray) -> Target:  # noqa: ARG002 - numbers need no learning
        return Numbers()

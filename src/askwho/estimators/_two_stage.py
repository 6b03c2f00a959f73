"""The two-stage system of the paper (Section 3): a base, then experts. A classifier and a regressor."""

# ruff: noqa: ANN401 - by scikit-learn's contract the constructor takes anything

from abc import ABC
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from askwho.estimators._classifier import Classifier
from askwho.estimators._lesson import told_of
from askwho.estimators._system import DeferralSystem
from askwho.estimators._targets import Numbers, Truths
from askwho.exceptions import InvalidInputError
from askwho.policy import Target


class TwoStage(DeferralSystem, ABC):
    """A system with a main predictor, the base, that is fitted beforehand or beside the policy."""

    base: Any

    def __init__(
        self,
        *,
        experts: Any = None,
        fees: Any = None,
        base: Any = "auto",
        learner: Any = "auto",
        committee: Any = "auto",
        cardinality: Any = "curve",
        cv: Any = 5,
        fee_weight: Any = 0.0,
        error: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.experts = experts
        self.fees = fees
        self.base = base
        self.learner = learner
        self.committee = committee
        self.cardinality = cardinality
        self.cv = cv
        self.fee_weight = fee_weight
        self.error = error
        self.random_state = random_state

    def _given_base(self) -> Any:
        named = self.base is None or (isinstance(self.base, str) and self.base in ("auto", "none"))
        if not named and (not callable(getattr(self.base, "predict", None)) or isinstance(self.base, type)):
            raise InvalidInputError(
                f"`base` must be 'auto', None, or an estimator that has `predict`, got {self.base!r}."
            )
        return self.base


class TwoStageClassifier(Classifier, TwoStage):
    """Ask the base or the experts that are worth their fee, and let them vote.

    Args:
        experts: estimators or (name, estimator) pairs. Fitted ones are used as they are (wrap them in scikit-learn's
            `FrozenEstimator` to stay so in `clone` and cross-validation); others are cross-fitted, so that what they
            say of unseen rows teaches, then fitted on everything. None: `fit` and `predict` take `answers=`, or,
            where they get none, a linear model, three nearest neighbours and a small tree stand in.
        fees: what the experts charge, by name or in their order; nothing unless said.
        base: `"auto"`, a free predictor trained on X where one beats a constant answer; an estimator; or None.
        learner: of expected errors, or the paper's policy, as in `askwho.fit`.
        committee: how to combine answers, as in `askwho.fit`.
        cardinality: how many to ask, as in `askwho.fit`.
        cv: how many folds, fewer where there are fewer than four rows for each.
        fee_weight: λ, how much error one unit of money is worth, where `predict` and `decide` get no target. It is
            baked into `learner` and `cardinality` where the name of a surrogate is given; objects have their own.
        error: what a mistake costs: `"auto"` (all alike), a mapping from the truth to what was said to its cost,
            `{"fraud": {"fine": 20}}`, a name in `ERRORS`, or a function of answers and truths, elementwise. Whom to
            ask, how many, and what the beliefs say of it all mind it.
        random_state: the seed of everything, also of experts that have none.

    Attributes:
        classes_: the labels of y, sorted.
        policy_: the fitted `Policy`: it saves, loads and decides by itself, of queries `{"X": ...}`.
        panel_: who can be asked.

    An answer that is no class of y is unusable: it is an error, its fee is paid, it casts no vote. Where a committee
    has no usable answer at all, the base answers; without a base, the commonest class is the prediction.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> answers = {"good": y, "always-yes": np.full(40, "yes")}
    >>> model = TwoStageClassifier(base=None, learner="linear", fees={"good": 0.1, "always-yes": 0.0}, fee_weight=1.0)
    >>> model.fit(X, y, answers=answers).decide([[-0.9], [0.9]]).ask(0)
    ('good',)
    """


class TwoStageRegressor(RegressorMixin, TwoStage):
    """Ask the base or the experts that are worth their fee, and average them.

    Args:
        experts: as in `TwoStageClassifier`.
        fees: as in `TwoStageClassifier`.
        base: as in `TwoStageClassifier`.
        learner: of expected errors, or the paper's policy, as in `askwho.fit`.
        committee: how to combine answers, as in `askwho.fit`.
        cardinality: how many to ask, as in `askwho.fit`.
        cv: how many folds, fewer where there are fewer than four rows for each.
        fee_weight: λ, how much of `error` one unit of money is worth, as in `TwoStageClassifier`.
        error: how answers and verdicts are scored: `"auto"` (squared), a name in `ERRORS`, `"pinball:0.9"`, or a
            function of answers and truths.
        random_state: the seed of everything, also of experts that have none.

    Attributes:
        policy_: the fitted `Policy`: it saves, loads and decides by itself, of queries `{"X": ...}`.
        panel_: who can be asked.

    An answer that is not finite is unusable. Where a committee has no usable answer at all, the base answers; without
    a base, the mean of y is the prediction.
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, answers: Any = None, info: Any = None) -> float:
        """Return the coefficient of determination R² of `predict`.

        Args:
            X: shape (n, d).
            y: shape (n,).
            sample_weight: shape (n,).
            answers: shape (n, J), as in `predict`.
            info: shape (n, J), as in `predict`.
        """
        return float(r2_score(y, self.predict(X, answers=answers, info=info), sample_weight=sample_weight))

    def predict_interval(
        self,
        X: Any,
        *,
        coverage: float = 0.9,
        answers: Any = None,
        info: Any = None,
        target: Target | None = None,
        **options: Any,
    ) -> np.ndarray:
        """Return an interval around each prediction, shape (n, 2); NaN where a committee has no usable answer.

        Args:
            X: shape (n, d).
            coverage: how often the truth is to be within, between 0 and 1.
            answers: shape (n, J), as in `predict`.
            info: shape (n, J), as in `predict`.
            target: as in `predict`.
            options: as in `decide`.
        """
        _, done, said = self._predict(X, answers, info, target, "at-once", options)
        told = told_of(info, self.panel_, len(done))
        outcome = self.policy_.combine(done, said, info=told, coverage=coverage).outcome
        assert outcome is not None and outcome.low is not None and outcome.high is not None  # noqa: S101, PT018 - asked for
        return np.column_stack([outcome.low, outcome.high])

    def _truths(self, y: np.ndarray) -> Truths:
        return Numbers(np.asarray(y, dtype=np.float64).mean())

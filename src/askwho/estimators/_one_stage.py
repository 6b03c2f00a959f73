"""The one-stage system of the paper (Section 3): labels, then experts, ranked by one model."""

# ruff: noqa: ANN401 - by scikit-learn's contract the constructor takes anything

from typing import Any

from askwho.estimators._classifier import Classifier
from askwho.estimators._system import LABELS


class OneStageClassifier(Classifier):
    """Predict a label, or ask the experts that are worth their fee: one model learns both together.

    The entities are the labels of y, each of which always answers itself for nothing, and behind them the experts. To
    rank a label first is to predict it. Votes on a committee that ties go to its higher-ranked member.

    Args:
        experts: as in `TwoStageClassifier`.
        fees: what the experts charge, by name or in their order; nothing unless said. Labels are free.
        learner: `"top-k"`, the paper's policy, or another surrogate for labels and experts by its name; a `CompSum`
            with its settings; or a learner of expected errors, as in `askwho.fit`: of a label that is P(y ≠ j | x).
            Surrogates need torch.
        committee: how to combine answers, as in `askwho.fit`.
        cardinality: how many to ask, as in `askwho.fit`.
        cv: how many folds, fewer where there are fewer than four rows for each.
        fee_weight: λ, how much error one unit of money is worth, where `predict` and `decide` get no target. It is
            baked into `learner` and `cardinality` where the name of a surrogate is given; objects have their own. A
            `CompSum` ranks at its own, then, and this one says how many to ask.
        error: what a mistake costs, as in `TwoStageClassifier`.
        random_state: the seed of everything, also of experts that have none.

    Attributes:
        classes_: the labels of y, sorted.
        policy_: the fitted `Policy`.
        panel_: who can be asked: the labels, then the experts.

    An answer that is no class of y is unusable: it is an error, its fee is paid, it casts no vote. Where a committee
    has no usable answer at all, the best-ranked label is the prediction.

    >>> import numpy as np
    >>> from askwho import Target
    >>> X = np.linspace(-1, 1, 80)[:, None]
    >>> y = np.where(X[:, 0] > 0, np.where(np.arange(80) % 2, "cat", "dog"), "fox")
    >>> model = OneStageClassifier(learner="linear", fees={"vet": 0.1}, fee_weight=1.0, random_state=0)
    >>> decisions = model.fit(X, y, answers={"vet": y}).decide([[-0.9], [0.9]], Target(k=1))
    >>> decisions.selection.names(0), decisions.ask(1)
    (('fox',), ('vet',))
    """

    def __init__(
        self,
        *,
        experts: Any = None,
        fees: Any = None,
        learner: Any = "top-k",
        committee: Any = "auto",
        cardinality: Any = "curve",
        cv: Any = 5,
        fee_weight: Any = 0.0,
        error: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.experts = experts
        self.fees = fees
        self.learner = learner
        self.committee = committee
        self.cardinality = cardinality
        self.cv = cv
        self.fee_weight = fee_weight
        self.error = error
        self.random_state = random_state

    def _given_base(self) -> Any:
        return LABELS

"""The two-stage deferral system of the paper (Section 3), between scikit-learn's conventions and the router."""

# ruff: noqa: ANN401 - by scikit-learn's contract the constructor takes anything, and `fit` says what is wrong with it

from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from askwho import _validation as check
from askwho.aggregation import AGGREGATIONS
from askwho.answers import Cell
from askwho.costs import ERRORS, task_errors
from askwho.estimators._experts import Queries, Source
from askwho.estimators._fees import expert_fees
from askwho.estimators._folds import fold_count, group_column, training_folds
from askwho.estimators._log import TrainingLog, gather, own_or_given_base, pool_answers, recorded_answers
from askwho.estimators._routing import Lesson, fit_router, verdicts
from askwho.estimators._targets import Target
from askwho.exceptions import InvalidInputError
from askwho.learners import LEARNERS, SURROGATE_NAMES, CompSum
from askwho.panel import Panel
from askwho.router import Router
from askwho.selection import Selection

_FLOATS = [np.float64, np.float32]

# Not `Self`: the type checker of the tests does not take it.
Fitted = TypeVar("Fitted", bound="TwoStage")


class TwoStage(BaseEstimator, ABC):
    """What the classifier and the regressor share; the decisions are `router_`'s."""

    _default_error: str

    def __init__(
        self,
        *,
        experts: Any = None,
        fees: Any = None,
        base: Any = "auto",
        learner: Any = "forest",
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

    @abstractmethod
    def _target(self, y: np.ndarray) -> Target:
        """Learn what y is made of."""

    def fit(
        self: Fitted,
        X: Any,
        y: Any,
        *,
        answers: Any = None,
        fees: Any = None,
        groups: Any = None,
    ) -> Fitted:
        """Learn whom to ask.

        Args:
            X: shape (n, d), numbers: what is known of each query before asking; a data frame too.
            y: shape (n,), the truth.
            answers: shape (n, J), what each expert answered, where `experts` is None; an array, a data frame, or a
                mapping of columns. An empty cell is an expert that was not asked.
            fees: what the experts charge, in place of the constructor's: by name, shape (J,), or shape (n, J).
            groups: shape (n,), what must stay on one side of a split.
        """
        checked: Any = validate_data(self, X, y, dtype=_FLOATS, y_numeric=self._default_error == "squared")
        known, truth = checked
        grouped = group_column(groups, len(known))
        count = fold_count(self.cv, len(known), grouped)
        target = self._target(truth)
        error = self._validate(target)
        if answers is not None and self.experts is not None:
            raise InvalidInputError("`answers` must not be given beside `experts`: these are asked themselves.")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        labels = truth if target.task == "classification" else None
        fold = training_folds(labels, grouped, len(known), count, seed=seed)

        log = TrainingLog(Queries.of(X, known), truth, fold, target, seed)
        if answers is None:
            sources, experts, said = pool_answers(self.experts, log)
        else:
            sources, (experts, said) = [], recorded_answers(answers, log)
        charged = expert_fees(self.fees if fees is None else fees, experts, len(known))
        base, panel, said, charged = own_or_given_base(self.base, experts, said, charged, log)
        errors = task_errors(log.decoded(said), truth, panel=panel, error=error)
        self.router_ = fit_router(
            Router(
                learner=self.learner,
                committee=self.committee,
                cardinality=self.cardinality,
                cv=count,
                random_state=seed,
            ),
            known,
            Lesson(panel, errors, said, log.encoded_truth, charged, grouped, target.task),
        )
        self.base_: Source | None = base
        self.experts_: list[Source] = sources
        self.target_: Target = target
        self.fallback_ = log.commonest
        return self

    @property
    def panel_(self) -> Panel:
        """Who can be asked: the base first, where there is one, then the experts."""
        return self.router_.panel_

    def select(self, X: Any, **target: Any) -> Selection:
        """Return whom to ask about each query.

        Args:
            X: shape (n, d).
            target: as in `Router.select`: `k`, `fee_weight`, `budget`, `accuracy`, `available`, `fees`. The price is
                the constructor's `fee_weight` unless a target is given.
        """
        return self._select(self._known(X), target)

    def combine(self, selection: Selection, answers: Any, *, X: Any = None) -> np.ndarray:
        """Return what each committee decides, shape (n,).

        Args:
            selection: from `select`.
            answers: shape (n, J), what the experts that were asked said, empty elsewhere; the base is not among them.
            X: shape (n, d), the same queries: where there is a base, or members are weighed by their expected errors.
        """
        check_is_fitted(self)
        if selection.panel != self.panel_:
            raise InvalidInputError(f"`selection` must be of the panel {self.panel_.names}, from `select`.")
        if X is None and (self.base_ is not None or AGGREGATIONS[str(self.router_.committee_)].needs != "answers"):
            raise InvalidInputError("`X` must be given: the base answers from it, or members are weighed by it.")
        return self._decide(selection, None if X is None else self._known(X), answers)

    def predict(self, X: Any, *, answers: Any = None, **target: Any) -> np.ndarray:
        """Return what the committees decide, shape (n,); each live expert sees only the rows it was chosen for.

        Args:
            X: shape (n, d).
            answers: shape (n, J), what the experts would say, where recorded ones taught; only the chosen are heard.
            target: as in `select`.
        """
        rows = self._known(X)
        if self.experts_ and answers is not None:
            raise InvalidInputError("`answers` must not be given beside live experts: those chosen are asked.")
        if not self.experts_ and answers is None:
            raise InvalidInputError(
                "`answers` must be given to `predict`: recorded answers taught, there is nobody to ask. "
                "Use `select` to learn whom to ask, and `combine` with what they say."
            )
        return self._decide(self._select(rows, target), rows, answers)

    def _known(self, X: Any) -> Queries:
        check_is_fitted(self)
        checked: Any = validate_data(self, X, reset=False, dtype=_FLOATS)
        return Queries.of(X, checked)

    def _select(self, rows: Queries, target: dict[str, Any]) -> Selection:
        if all(target.get(name) is None for name in ("fee_weight", "budget", "accuracy")):
            target = {**target, "fee_weight": self.fee_weight}
        return self.router_.select(rows.array, **target)

    def _decide(self, selection: Selection, rows: Queries | None, answers: Any) -> np.ndarray:
        members = selection.members
        sources = ([] if self.base_ is None else [self.base_]) + ([] if answers is not None else self.experts_)
        said = gather(sources, rows, members, recorded=answers, panel=self.panel_, target=self.target_)
        X = None if rows is None else rows.array
        values, decided = verdicts(self.router_, selection, said, X, self.target_).at(selection.k)
        if not decided.all():
            silent = ~decided
            values = np.array(values)
            values[silent] = self.fallback_
            if self.base_ is not None:
                alone = np.zeros_like(members)
                alone[silent, 0] = True
                own = gather([self.base_], rows, alone, recorded=None, panel=self.panel_, target=self.target_)
                values[silent] = np.where(own.states[silent, 0] == Cell.ANSWERED, own.values[silent, 0], self.fallback_)
        return self.target_.decode(values)

    def _validate(self, target: Target) -> Any:
        """Refuse what the constructor only stored; return the error."""
        if not isinstance(self.learner, CompSum):
            check.one_of(self.learner, "learner", ["auto", *LEARNERS, *SURROGATE_NAMES])
        ours = [name for name, entry in AGGREGATIONS.items() if entry.task == target.task]
        check.one_of(self.committee, "committee", ["auto", *ours])
        check.finite_number(self.fee_weight, "fee_weight", minimum=0.0)
        if callable(self.error):
            return self.error
        check.one_of(self.error, "error", ["auto", *ERRORS])
        return self._default_error if self.error == "auto" else self.error

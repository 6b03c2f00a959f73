"""A deferral system of the paper (Section 3), between scikit-learn's conventions and the router."""

# ruff: noqa: ANN401 - by scikit-learn's contract the constructor takes anything, and `fit` says what is wrong with it

from abc import ABC, abstractmethod
from typing import Any, TypeVar, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from askwho import _validation as check
from askwho.aggregation import AGGREGATIONS
from askwho.answers import Answers, Cell
from askwho.costs import ERRORS, task_errors
from askwho.engine import require_torch
from askwho.estimators._experts import Queries, Source
from askwho.estimators._fees import expert_fees
from askwho.estimators._folds import fold_count, group_column, training_folds
from askwho.estimators._in_house import Pool
from askwho.estimators._log import TrainingLog, gather, pool_answers, recorded_answers
from askwho.estimators._routing import Lesson, fit_router, priced_cardinality, priced_learner, verdicts
from askwho.estimators._targets import Target
from askwho.exceptions import InvalidInputError
from askwho.learners import LEARNERS, SURROGATE_NAMES, CompSum
from askwho.panel import Panel
from askwho.router import POSTERIOR, Mode, Router
from askwho.selection import Selection, in_order

_FLOATS = [np.float64, np.float32]

# Not `Self`: the type checker of the tests does not take it.
Fitted = TypeVar("Fitted", bound="DeferralSystem")


class DeferralSystem(BaseEstimator, ABC):
    """What one-stage and two-stage systems share; the decisions are `router_`'s."""

    experts: Any
    fees: Any
    learner: Any
    committee: Any
    cardinality: Any
    cv: Any
    fee_weight: Any
    error: Any
    random_state: Any
    _default_error: str

    @abstractmethod
    def _target(self, y: np.ndarray) -> Target:
        """Learn what y is made of."""

    @abstractmethod
    def _in_house(self, experts: Pool, log: TrainingLog) -> tuple[Source | None, Pool]:
        """Return a base to ask, if there is one, and the experts behind whoever answers in-house."""

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
        error, price = self._validate(target)
        if answers is not None and self.experts is not None:
            raise InvalidInputError("`answers` must not be given beside `experts`: these are asked themselves.")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        labels = truth if target.task == "classification" else None
        fold = training_folds(labels, grouped, len(known), count, seed=seed)

        log = TrainingLog(Queries.of(X, known), truth, fold, target, seed)
        if answers is None:
            sources, names, said = pool_answers(self.experts, log)
        else:
            sources, (names, said) = [], recorded_answers(answers, log)
        charged = expert_fees(self.fees if fees is None else fees, names, len(known))
        base, pool = self._in_house(Pool.of_experts(names, said, charged), log)
        shown = log.decoded(pool.answers)
        errors = task_errors(shown, truth, panel=pool.panel, error=error)
        # Votes are counted on the numbers of classes; but where labels are entities, the truth must be one of these.
        said, right = (shown, truth) if pool.panel.labels else (pool.answers, log.encoded_truth)
        self.router_ = fit_router(
            Router(
                learner=priced_learner(self.learner, price),
                committee=self.committee,
                cardinality=priced_cardinality(self.cardinality, price),
                cv=count,
                random_state=seed,
            ),
            known,
            Lesson(pool.panel, errors, said, right, pool.fees, grouped, target.task),
        )
        self.base_: Source | None = base
        self.experts_: list[Source] = sources
        self.target_: Target = target
        self.fallback_ = log.commonest
        return self

    @property
    def panel_(self) -> Panel:
        """Who can be asked: the base or the labels first, where there are any, then the experts."""
        return self.router_.panel_

    def select(self, X: Any, **target: Any) -> Selection:
        """Return whom to ask about each query.

        Args:
            X: shape (n, d).
            target: as in `Router.select`: `k`, `fee_weight`, `budget`, `accuracy`, `confidence`, `available`, `fees`.
                The price is the constructor's `fee_weight` unless a target is given; a surrogate ranks at the price it
                was trained with.
        """
        return self._select(self._known(X), target)

    def combine(self, selection: Selection, answers: Any, *, X: Any = None) -> np.ndarray:
        """Return what each committee decides, shape (n,).

        Args:
            selection: from `select`.
            answers: shape (n, J), what the experts that were asked said, empty elsewhere; in-house nobody has a column.
            X: shape (n, d), the same queries: where there is a base, or members are weighed by their expected errors.
        """
        check_is_fitted(self)
        if selection.panel != self.panel_:
            raise InvalidInputError(f"`selection` must be of the panel {self.panel_.names}, from `select`.")
        committee = str(self.router_.committee_)
        weighed = committee == POSTERIOR or AGGREGATIONS[committee].needs == "expected errors"
        if X is None and (self.base_ is not None or weighed):
            raise InvalidInputError("`X` must be given: the base answers from it, or members are weighed by it.")
        return self._decide(selection, None if X is None else self._known(X), answers)

    def predict(self, X: Any, *, answers: Any = None, mode: str = "at-once", **target: Any) -> np.ndarray:
        """Return what the committees decide, shape (n,); each live expert sees only the rows it was chosen for.

        Args:
            X: shape (n, d).
            answers: shape (n, J), what the experts would say, where recorded ones taught; only the chosen are heard.
            mode: `"at-once"`, or `"sequential"`: ask one, look at the answer, and ask the next only if it is worth its
                fee.
            target: as in `select`; in turn, `fee_weight`, `budget`, `accuracy`, `available` and `fees`.
        """
        check.one_of(mode, "mode", get_args(Mode))
        rows = self._known(X)
        if self.experts_ and answers is not None:
            raise InvalidInputError("`answers` must not be given beside live experts: those chosen are asked.")
        if not self.experts_ and answers is None:
            raise InvalidInputError(
                "`answers` must be given to `predict`: recorded answers taught, there is nobody to ask. "
                "Use `select` to learn whom to ask, and `combine` with what they say."
            )
        if mode == "sequential":
            return self._in_turn(rows, answers, target)
        return self._decide(self._select(rows, target), rows, answers)

    def _in_turn(self, rows: Queries, answers: Any, target: dict[str, Any]) -> np.ndarray:
        if all(target.get(name) is None for name in ("fee_weight", "budget", "accuracy")):
            target = {**target, "fee_weight": self.fee_weight}
        own = [] if self.base_ is None else [self.base_]
        sources = [*own, *([] if answers is not None else self.experts_)]
        wanted = np.zeros((len(rows), len(self.panel_)), dtype=bool)
        wanted[:, self.panel_.is_kind("base")] = True
        values, states = None, np.full(wanted.shape, Cell.NOT_ASKED, dtype=np.int8)
        while wanted.any() or values is None:
            said = self._hear(sources, rows, wanted, answers)
            values = said.values if values is None else np.where(wanted, said.values, values)
            # Whoever is asked and does not answer is not asked again.
            spoke = np.where(said.states == Cell.NOT_ASKED, np.int8(Cell.NO_ANSWER), said.states)
            states = np.where(wanted, spoke, states).astype(np.int8)
            step = self.router_.next_step(rows.array, Answers(values, states), **target)
            wanted = step.entity[:, None] == np.arange(len(self.panel_))
        decided, sure = self.router_.believe(rows.array, Answers(values, states))
        return self.target_.decode(np.where(sure > 0, decided, self.fallback_))

    def _known(self, X: Any) -> Queries:
        check_is_fitted(self)
        checked: Any = validate_data(self, X, reset=False, dtype=_FLOATS)
        return Queries.of(X, checked)

    def _select(self, rows: Queries, target: dict[str, Any]) -> Selection:
        # A ranking with a price baked in takes `k` alone: there is no other price to rank at.
        baked = self.router_.scorer_ is not None and target.get("k") is not None
        if not baked and all(target.get(name) is None for name in ("fee_weight", "budget", "accuracy")):
            target = {**target, "fee_weight": self.fee_weight}
        return self.router_.select(rows.array, **target)

    def _decide(self, selection: Selection, rows: Queries | None, answers: Any) -> np.ndarray:
        own = [] if self.base_ is None else [self.base_]
        said = self._hear([*own, *([] if answers is not None else self.experts_)], rows, selection.members, answers)
        X = None if rows is None else rows.array
        values, decided = verdicts(self.router_, selection, said, X, self.target_).at(selection.k)
        if not decided.all():
            values = np.where(decided, values, self._stand_in(selection, rows, ~decided))
        return self.target_.decode(values)

    def _stand_in(self, selection: Selection, rows: Queries | None, silent: np.ndarray) -> np.ndarray:
        """The best-ranked of those in-house answers where a committee is silent, encoded, shape (n,)."""
        in_house = np.flatnonzero(self.panel_.is_kind("label", "base"))
        if not in_house.size:
            return np.full(len(selection), self.fallback_)
        alone = np.zeros_like(selection.members)
        chosen = in_house[selection.scores[:, in_house].argmax(axis=1)]
        alone[silent, chosen[silent]] = True
        said = self._hear([] if self.base_ is None else [self.base_], rows, alone, None)
        usable = in_order(said.states, chosen[:, None])[:, 0] == Cell.ANSWERED
        return np.where(usable, in_order(said.values, chosen[:, None])[:, 0], self.fallback_)

    def _hear(self, sources: list[Source], rows: Queries | None, wanted: np.ndarray, recorded: Any) -> Answers:
        return gather(sources, rows, wanted, recorded=recorded, panel=self.panel_, target=self.target_)

    def _validate(self, target: Target) -> tuple[Any, float]:
        """Refuse what the constructor only stored; return the error and the price."""
        surrogate = self.learner.surrogate if isinstance(self.learner, CompSum) else self.learner
        check.one_of(surrogate, "learner", ["auto", *LEARNERS, *SURROGATE_NAMES])
        if surrogate in SURROGATE_NAMES:
            # Said before anybody is asked: asking may cost.
            require_torch(f"The surrogate {surrogate!r}")
        ours = [name for name, entry in AGGREGATIONS.items() if entry.task == target.task]
        ours += [POSTERIOR] if target.task == "classification" else []
        check.one_of(self.committee, "committee", ["auto", *ours])
        price = check.finite_number(self.fee_weight, "fee_weight", minimum=0.0)
        if callable(self.error):
            return self.error, price
        check.one_of(self.error, "error", ["auto", *ERRORS])
        return self._default_error if self.error == "auto" else self.error, price

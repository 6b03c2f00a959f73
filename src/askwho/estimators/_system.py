"""A deferral system of the paper (Section 3), between scikit-learn's conventions and the policy."""

# ruff: noqa: ANN401 - by scikit-learn's contract the constructor takes anything, and `fit` says what is wrong with it

from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from askwho import _validation as check
from askwho.core import Answers, Cell, Panel, check_error, in_order
from askwho.estimators._experts import Queries
from askwho.estimators._lesson import KNOWN, Live, expert_folds, group_column, lesson, told_of
from askwho.estimators._targets import Truths
from askwho.exceptions import InvalidInputError
from askwho.fitting import check_learner, checked_cardinality, fit, fold_count, priced, priced_cardinality
from askwho.policy import Decisions, Policy, Target, check_rule

# What scikit-learn may hand over without a copy.
_FLOATS = [np.float64, np.float32]
LABELS = "labels"
"""What stands for a base in one stage: the labels answer for themselves."""

# Not `Self`: the type checker of the tests does not take it.
Fitted = TypeVar("Fitted", bound="DeferralSystem")


class DeferralSystem(BaseEstimator, ABC):
    """What one-stage and two-stage systems share; the decisions are `policy_`'s."""

    experts: Any
    fees: Any
    learner: Any
    committee: Any
    cardinality: Any
    cv: Any
    fee_weight: Any
    error: Any
    random_state: Any

    @abstractmethod
    def _truths(self, y: np.ndarray) -> Truths:
        """Learn what y is made of."""

    def _given_base(self) -> Any:
        """Return the base: `"auto"`, an estimator, or None."""
        return None

    def fit(
        self: Fitted,
        X: Any,
        y: Any,
        *,
        answers: Any = None,
        fees: Any = None,
        groups: Any = None,
        info: Any = None,
    ) -> Fitted:
        """Learn whom to ask.

        Args:
            X: shape (n, d), numbers: what is known of each query before asking; a data frame too.
            y: shape (n,), the truth.
            answers: shape (n, J), what each expert answered, where `experts` is None; an array, a data frame, or a
                mapping of columns. An empty cell is an expert that was not asked.
            fees: what the experts charge, in place of the constructor's: by name, shape (J,), or shape (n, J).
            groups: shape (n,), what must stay on one side of a split.
            info: shape (n, J), what came back with recorded answers, such as a confidence; NaN where nothing did.
        """
        numbers = not hasattr(self, "predict_proba")
        checked: Any = validate_data(self, X, y, dtype=_FLOATS, y_numeric=numbers)
        known, truth = checked
        grouped = group_column(groups, len(known))
        count = fold_count(self.cv, len(known), np.arange(len(known)) if grouped is None else grouped, what="X")
        truths = self._truths(truth)
        price = self._checked(truths)
        if answers is not None and self.experts is not None:
            raise InvalidInputError("`answers` must not be given beside `experts`: these are asked themselves.")
        seed = _seed(self.random_state)
        base = self._given_base()
        log, live = lesson(
            Queries.of(X, known),
            truth,
            truths,
            experts=self.experts,
            base=base,
            answers=answers,
            fees=self.fees if fees is None else fees,
            groups=grouped,
            info=info,
            fold=expert_folds(truth, grouped, count, truths=truths, seed=seed),
            error=self.error,
            one_stage=base == LABELS if isinstance(base, str) else False,
            seed=seed,
        )
        self.policy_: Policy = fit(
            log,
            base="auto" if isinstance(base, str) and base == "auto" else "none",
            learner=priced(self.learner, price),
            committee=self.committee,
            cardinality=priced_cardinality(self.cardinality, price),
            cv=count,
            # Whoever passes arrays passes what is to be learned from.
            max_rows=0,
            random_state=seed,
        )
        self.live_: Live = live
        return self

    @property
    def panel_(self) -> Panel:
        """Who can be asked: the base or the labels first, where there are any, then the experts."""
        return self.policy_.panel

    def decide(self, X: Any, target: Target | None = None, **options: Any) -> Decisions:
        """Return whom to ask about each query.

        Args:
            X: shape (n, d).
            target: the constructor's `fee_weight` unless given; a surrogate ranks at the price it was trained with.
            options: as in `Policy.decide`: `available`, `fees`, `explore`, `random_state`, `ids`.
        """
        return self._decide(self._known(X), target, options)

    def combine(self, decisions: Decisions, answers: Any, *, X: Any = None, info: Any = None) -> np.ndarray:
        """Return what each committee decides, shape (n,).

        Args:
            decisions: from `decide`.
            answers: shape (n, J), what the experts that were asked said, empty elsewhere; in-house nobody has a column.
            X: shape (n, d), the same queries again, where `base` is an estimator: it is asked now.
            info: shape (n, J), what came back with the answers, where it taught.
        """
        check_is_fitted(self)
        if self.live_.experts:
            raise InvalidInputError("`answers` must not be given beside live experts: `predict` asks those chosen.")
        if self.live_.sources and X is None:
            raise InvalidInputError("`X` must be given where `base` is an estimator, got None: it is asked now.")
        rows = self._known(X) if self.live_.sources else Queries(decisions.seen.X, decisions.seen.X)
        check.same_shape(rows.array, "X", (len(decisions), rows.array.shape[1]), "one row for each decision")
        said = self.live_.hear(rows, decisions.members, self.panel_, answers)
        return self._verdicts(decisions, rows, said, told_of(info, self.panel_, len(decisions)))[0]

    def predict(
        self,
        X: Any,
        *,
        answers: Any = None,
        info: Any = None,
        target: Target | None = None,
        mode: str = "at-once",
        **options: Any,
    ) -> np.ndarray:
        """Return what the committees decide, shape (n,); each live expert sees only the rows it was chosen for.

        Args:
            X: shape (n, d).
            answers: shape (n, J), what the experts would say, where recorded ones taught; only the chosen are heard.
            info: shape (n, J), what came back with them, where it taught; NaN where nothing did.
            target: as in `decide`; in turn, any but `k`.
            mode: `"at-once"`, or `"sequential"`: ask one, look at the answer, and ask the next only if it is worth its
                fee.
            options: as in `decide`.
        """
        return self._predict(X, answers, info, target, mode, options)[0]

    def _predict(
        self, X: Any, answers: Any, info: Any, target: Target | None, mode: str, options: dict[str, Any]
    ) -> tuple[np.ndarray, Decisions, Answers]:
        check.one_of(mode, "mode", ["at-once", "sequential"])
        rows = self._known(X)
        if self.live_.experts and answers is not None:
            raise InvalidInputError("`answers` must not be given beside live experts: those chosen are asked.")
        if not self.live_.experts and answers is None:
            raise InvalidInputError(
                "`answers` must be given to `predict`: recorded answers taught, there is nobody to ask. "
                "Use `decide` to learn whom to ask, and `combine` with what they say."
            )
        told = told_of(info, self.panel_, len(rows))
        if mode == "sequential":
            return self._in_turn(rows, answers, told, target, options)
        decisions = self._decide(rows, target, options)
        said = self.live_.hear(rows, decisions.members, self.panel_, answers)
        return self._verdicts(decisions, rows, said, told)

    def _in_turn(
        self, rows: Queries, answers: Any, told: np.ndarray | None, target: Target | None, options: dict[str, Any]
    ) -> tuple[np.ndarray, Decisions, Answers]:
        policy, aim = self.policy_, Target(fee_weight=self.fee_weight) if target is None else target
        seen = policy.see({KNOWN: rows.array})
        wanted = np.zeros((len(rows), len(self.panel_)), dtype=bool)
        wanted[:, self.panel_.is_kind("base") & ~self.panel_.own] = True
        said = self.live_.hear(rows, wanted, self.panel_, None)
        values, states = said.values, said.states
        while True:
            step = policy.next(seen, Answers(values, states), aim, info=told, **options)
            wanted = step.members
            if not wanted.any():
                break
            heard = self.live_.hear(rows, wanted, self.panel_, answers)
            values = np.where(wanted, heard.values, values)
            # Whoever is asked and does not answer is not asked again.
            spoke = np.where(heard.states == Cell.NOT_ASKED, np.int8(Cell.NO_ANSWER), heard.states)
            states = np.where(wanted, spoke, states).astype(np.int8)
        outcome = step.outcome
        assert outcome is not None  # noqa: S101 - a step says what is believed
        decided = np.where(outcome.decided, outcome.values, self.live_.truths.fallback)
        return self.live_.truths.shown(decided), step, Answers(values, states)

    def _known(self, X: Any) -> Queries:
        check_is_fitted(self)
        checked: Any = validate_data(self, X, reset=False, dtype=_FLOATS)
        return Queries.of(X, checked)

    def _decide(self, rows: Queries, target: Target | None, options: dict[str, Any]) -> Decisions:
        # A ranking with a price baked in takes `k` alone: there is no other price to rank at.
        aim = Target(fee_weight=self.fee_weight) if target is None else target
        if aim.k is not None and aim.fee_weight is None and not self.policy_.judge.priced:
            aim = Target(k=aim.k, fee_weight=self.fee_weight)
        return self.policy_.decide({KNOWN: rows.array}, aim, **options)

    def _verdicts(
        self, decisions: Decisions, rows: Queries, said: Answers, told: np.ndarray | None
    ) -> tuple[np.ndarray, Decisions, Answers]:
        done = self.policy_.combine(decisions, said, info=told)
        outcome = done.outcome
        assert outcome is not None  # noqa: S101 - combined
        values = outcome.values
        if not outcome.decided.all():
            values = np.where(outcome.decided, values, self._stand_in(decisions, rows, ~outcome.decided))
        return self.live_.truths.shown(values), done, said

    def _stand_in(self, decisions: Decisions, rows: Queries, silent: np.ndarray) -> np.ndarray:
        """The best-ranked of those in-house answers where a committee is silent, shape (n,)."""
        panel, fallback = self.panel_, self.live_.truths.fallback
        in_house = np.flatnonzero(panel.is_kind("label", "base"))
        if not in_house.size:
            return np.full(len(decisions), fallback)
        chosen = in_house[decisions.seen.judged.ranking[:, in_house].argmax(axis=1)]
        alone = np.zeros((len(decisions), len(panel)), dtype=bool)
        alone[silent, chosen[silent]] = True
        said = decisions.seen.answers(panel, self.live_.hear(rows, alone, panel, None))
        usable = in_order(said.states, chosen[:, None])[:, 0] == Cell.ANSWERED
        return np.where(usable, in_order(said.values, chosen[:, None])[:, 0], fallback)

    def _checked(self, truths: Truths) -> float:
        """Refuse what the constructor only stored; return the price."""
        # Said before anybody is asked: asking may cost.
        check_learner(self.learner)
        checked_cardinality(self.cardinality)
        check_rule(self.committee, truths.task)
        if truths.task == "regression":
            check_error(self.error)
        return check.finite_number(self.fee_weight, "fee_weight", minimum=0.0)


def _seed(random_state: Any) -> int:
    """A whole number as it is, so that `fit` on the same log decides the same; else one that is drawn."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return check.whole_number(int(random_state), "random_state", minimum=0, maximum=2**32 - 1)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

"""The router: learners, calibration, committee and cardinality, and the decisions they make together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import FloatTable, Order
from askwho.aggregation import Committee, Verdicts, aggregation
from askwho.answers import Answers, Cell
from askwho.exceptions import InvalidInputError
from askwho.learners import (
    LEARNERS,
    SURROGATE_NAMES,
    CompSum,
    Learner,
    Linear,
    Scorer,
    candidates,
    cross_fit,
    each_fold,
    folds,
)
from askwho.panel import Panel
from askwho.router._calibration import Calibration
from askwho.router._cardinality import Curve
from askwho.router._scoring import Judgement, Lessons, Scoring, Task, mean_error, probabilities
from askwho.router._surrogate import CardinalityNetwork, SurrogateCardinality
from askwho.selection import Selection, fees_table, in_order

COMMITTEES = {
    "classification": ("majority", "log-odds-vote"),
    "regression": ("mean", "median", "inverse-error-mean"),
}
# The paper's own, weighed by the softmax of scores, which only a policy trained by its surrogate has.
_OF_SCORES = {"classification": "weighted-vote", "regression": "weighted-mean"}
_SURROGATE_PRICES = 17


@dataclass(frozen=True, eq=False)
class Rows:
    """What the adaptive policy did on out-of-fold rows at each price: enough to meet a target without a refit.

    Args:
        prices: λ, shape (p,).
        errors: shape (p, n), zero-one or squared; NaN where a committee cannot be scored.
        fees: shape (p, n), what was really charged.
        sizes: shape (p, n), how many were asked.
    """

    prices: Float[np.ndarray, " p"]
    errors: Float[np.ndarray, "p n"]
    fees: Float[np.ndarray, "p n"]
    sizes: Int[np.ndarray, "p n"]


class Router:
    """Errors in, decisions out: whom to ask about each query, how many, and how to combine them.

    Args:
        learner: `"auto"`, or a name in `LEARNERS`: of all, the one with the least area under its validated frontier;
            or the paper's policy: a name in `losses.SURROGATES`, or a `CompSum` with its settings.
        committee: `"auto"`, or a name in `AGGREGATIONS`: likewise.
        cardinality: how many to ask: `"curve"`, expected committee errors learned once for every price; or the paper's
            Algorithm 2, `"surrogate"` or a `SurrogateCardinality` with its settings, for the prices it is trained at.
        cv: how many folds to cross-fit in.
        max_k: the largest committee.
        random_state: the seed of everything.
        progress: called with a line of text as the fit goes on.
    """

    def __init__(
        self,
        *,
        learner: str | CompSum = "auto",
        committee: str = "auto",
        cardinality: str | SurrogateCardinality = "curve",
        cv: int = 5,
        max_k: int = 12,
        random_state: int = 0,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.learner = learner
        self.committee = committee
        self.cardinality = cardinality
        self.cv = cv
        self.max_k = max_k
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        X: ArrayLike,
        *,
        errors: ArrayLike,
        panel: Panel,
        answers: Answers | None = None,
        truth: np.ndarray | None = None,
        fees: ArrayLike | None = None,
        groups: np.ndarray | None = None,
        task: Task = "classification",
    ) -> "Router":
        """Learn from a log.

        Args:
            X: shape (n, d), what is known before asking.
            errors: shape (n, |A|), NaN where an entity was not asked; squared errors for regression.
            panel: who can be asked.
            answers: what they said; without answers (grades only) nothing is combined, and the first is believed.
            truth: shape (n,), with `answers`.
            fees: what each charged, shape (n, |A|), where it differs from the panel's.
            groups: shape (n,), what must stay on one side of a split.
            task: what the truth is.
        """
        known = check.table(X, "X").astype(np.float32)
        observed = check.nonnegative(check.table(errors, "errors", entities=panel.names, allow_nan=True), "errors")
        check.same_shape(observed, "errors", (len(known), len(panel)), "one row for each query")
        if (answers is None) != (truth is None):
            raise InvalidInputError("`answers` and `truth` must be given together: one is nothing without the other.")
        if len(known) < 4 * self.cv:
            raise InvalidInputError(
                f"`X` must have {4 * self.cv} queries at the least for {self.cv} folds, got {len(known)}."
            )
        unasked = np.isnan(observed).all(axis=0)
        if unasked.any():
            raise InvalidInputError(
                f"`errors` must hold something of everybody, got nothing of {panel.names[int(unasked.argmax())]!r}."
            )
        self.panel_ = panel
        self.n_classes_ = 0 if answers is None or task != "classification" else _different_answers(answers)
        self.task_: Task = task
        charged = fees_table(fees, panel, len(known))
        # Fees that differ by query are known only after the call: decisions use what the features lead to expect.
        self.fees_ = np.array(charged[0]) if (charged == charged[0]).all() else charged.mean(axis=0)
        self.n_features_ = known.shape[1]
        self.width_ = 1 if answers is None else min(self.max_k, len(panel))
        fold = folds(np.arange(len(known)) if groups is None else groups, self.cv, random_state=self.random_state)
        self.fee_learner_: Linear | None = None
        foreseen = np.broadcast_to(self.fees_, charged.shape)
        if not (charged == charged[0]).all():
            foreseen = np.maximum(cross_fit(Linear, known, charged, fold), 0.0)
            self.fee_learner_ = Linear().fit(known, charged)
        score = Scoring(panel, answers, truth, charged, self.fees_, foreseen, task, observed, self.n_classes_)
        judged = (
            self._learn_scores(score, known, observed, charged, fold, groups)
            if isinstance(self.learner, CompSum) or self.learner in SURROGATE_NAMES
            else self._learn_errors(score, known, observed, fold)
        )
        # Where an entity was not asked its expected error stands in: else it would be judged on other rows than others.
        self.entity_errors_ = np.where(np.isnan(observed), judged.expected, observed).mean(axis=0)
        self.committee_ = self._choose_committee(score, judged, answers)
        self.rows_ = self._learn_cardinality(score, known, judged, fold, groups)
        return self

    def judge(self, known: Float[np.ndarray, "n d"]) -> Judgement:
        """Return what is thought of each entity: expected errors, and scores where a price is baked into them."""
        if self.scorer_ is None:
            return Judgement(self.calibration_.apply(self.learner_.predict(known)), self.panel_.error_weights)
        scores = self.scorer_.scores(known)[0]
        return Judgement(self.calibration_.apply(-scores), self.panel_.error_weights, scores)

    def expected_errors(self, X: ArrayLike) -> FloatTable:
        """Return each entity's expected error, shape (n, |A|)."""
        return self.judge(self._known(X)).expected

    def expected_fees(self, known: Float[np.ndarray, "n d"]) -> FloatTable:
        """Return what each entity is expected to charge, shape (n, |A|): its fee, or what the features foretell."""
        if self.fee_learner_ is None:
            return np.broadcast_to(self.fees_, (len(known), len(self.fees_)))
        return np.maximum(self.fee_learner_.predict(known), 0.0)

    def select(
        self,
        X: ArrayLike,
        *,
        k: int | None = None,
        fee_weight: float | None = None,
        budget: float | None = None,
        accuracy: float | None = None,
        available: Bool[np.ndarray, " a"] | None = None,
        fees: ArrayLike | None = None,
    ) -> Selection:
        """Return whom to ask about each query.

        Exactly one of `budget`, `accuracy` and `fee_weight` says how much an error is worth; `k` asks a fixed number,
        ranked at `fee_weight` (0 unless given).

        Args:
            X: shape (n, d).
            k: ask exactly so many.
            fee_weight: λ, how much error one unit of money is worth.
            budget: the mean fee to stay within, on held-out rows.
            accuracy: the error to reach, on held-out rows.
            available: shape (|A|,), who can be asked today.
            fees: shape (|A|,), what they charge today.
        """
        given = [
            name
            for name, value in (("fee_weight", fee_weight), ("budget", budget), ("accuracy", accuracy), ("k", k))
            if value is not None
        ]
        if not given or len(set(given) - {"k"}) > 1 or ("k" in given and set(given) - {"k", "fee_weight"}):
            raise InvalidInputError(
                "One target must be given: `k` (with or without `fee_weight`), `fee_weight`, `budget` or `accuracy`; "
                f"got {given or 'none'}."
            )
        if budget is not None or accuracy is not None:
            if fees is not None or available is not None:
                raise InvalidInputError(
                    "`budget` and `accuracy` were validated at the fitted fees with everybody there: "
                    "pass `fee_weight` with other fees or fewer entities."
                )
            fee_weight = self.fee_weight_for(budget=budget, accuracy=accuracy)
        rate = check.finite_number(0.0 if fee_weight is None else fee_weight, "fee_weight", minimum=0.0)
        if self.scorer_ is not None and (fees is not None or (k is not None and fee_weight is not None)):
            raise InvalidInputError(
                f"The price is baked into the policy {self.learner_name_!r}: it ranks for any `k` and any number of "
                "entities, not at other fees. Fit again with another `fee_weight`, or use a learner of expected errors."
            )
        known = self._known(X)
        judged = self.judge(known)
        price = self.expected_fees(known) if fees is None else fees_table(fees, self.panel_, len(known))
        costs = judged.costs(price, rate)
        width = self.width_
        if available is not None:
            there = np.asarray(available, dtype=bool)
            check.same_shape(there, "available", (len(self.panel_),), "one for each entity of the panel")
            if not there.any():
                raise InvalidInputError("`available` must be true for somebody: there is nobody to ask.")
            # Finite, so that the scores stay numbers; far above any cost, so that the absent come last.
            costs = np.where(there, costs, costs.max() + 1e9)
            width = min(width, int(there.sum()))
        order = costs.argsort(axis=1, kind="stable")[:, : self.width_]
        if k is not None:
            size = np.full(len(known), int(check.cardinalities(k, 1, width)[0]))
        else:
            size = self.sizes(known, judged, order, price, rate, width=width)
        return Selection(self.panel_, order, size, -costs, price)

    def sizes(
        self,
        known: Float[np.ndarray, "n d"],
        judged: Judgement,
        order: Order,
        fees: Float[np.ndarray, "n a"],
        fee_weight: float,
        *,
        width: int | None = None,
    ) -> Int[np.ndarray, " n"]:
        """Return k(x), how many of an order to ask at a price, shape (n,); at most `width`."""
        most = self.width_ if width is None else width
        if self.chooser_ is not None:
            return self.chooser_.sizes(known, fee_weight, width=most)
        return self.curve_.sizes(known, judged.expected, order, fees, fee_weight, width=most)

    def combine(self, selection: Selection, answers: Answers, *, X: ArrayLike | None = None) -> Verdicts:
        """Return what each committee decides, by the aggregation that validation chose.

        Args:
            selection: whom was asked.
            answers: what came back; whoever is beyond a query's own k is not heard.
            X: shape (n, d), where members are weighed by expected errors.
        """
        states = np.where(selection.members, answers.states, np.int8(1))
        heard = Answers(answers.values, states.astype(np.int8))
        expected = None if X is None else self.expected_errors(X)
        committee = Committee.of(
            selection, heard, expected_errors=probabilities(expected, self.task_), n_classes=self.n_classes_ or None
        )
        return aggregation(self.committee_ or "majority")(committee)

    def fee_weight_for(self, *, budget: float | None = None, accuracy: float | None = None) -> float:
        """Return the price at which held-out rows meet a mean fee or an error, or say what can be had."""
        points = self.validated_
        if budget is not None:
            meet = [p for p in points if p["mean_fee"] <= check.finite_number(budget, "budget", minimum=0.0)]
            if not meet:
                least = min(points, key=lambda p: p["mean_fee"])
                raise InvalidInputError(f"`budget` must be at least {least['mean_fee']:.6g}, got {budget}.")
            return float(min(meet, key=lambda p: (p["error"], p["mean_fee"]))["fee_weight"])
        wanted = check.finite_number(0.0 if accuracy is None else accuracy, "accuracy", minimum=0.0)
        meet = [p for p in points if p["error"] <= wanted]
        if not meet:
            raise InvalidInputError(f"`accuracy` must be at least {min(p['error'] for p in points):.6g}, got {wanted}.")
        return float(min(meet, key=lambda p: (p["mean_fee"], p["error"]))["fee_weight"])

    @property
    def validated_(self) -> list[dict[str, float]]:
        """The adaptive policy at each stored price, on held-out rows: fee weight, error, mean fee, mean k."""
        rows = self.rows_
        return [
            {
                "fee_weight": float(price),
                "error": mean_error(error, self.task_),
                "mean_fee": float(fee[~np.isnan(error)].mean()) if (~np.isnan(error)).any() else float("nan"),
                "mean_k": float(size.mean()),
            }
            for price, error, fee, size in zip(rows.prices, rows.errors, rows.fees, rows.sizes, strict=True)
        ]

    def _learn_errors(self, score: Scoring, X: np.ndarray, observed: np.ndarray, fold: np.ndarray) -> Judgement:
        """Choose the learner of expected errors, and fit it on everything; return its out-of-fold judgement."""
        best: tuple[float, str, Judgement, Calibration] | None = None
        self.trials_: dict[str, float] = {}
        for name in candidates(str(self.learner)):
            raw = cross_fit(LEARNERS[name], X, observed, fold, random_state=self.random_state)
            calibration = Calibration.fit(raw, observed)
            judged = Judgement(calibration.apply(raw), self.panel_.error_weights)
            found = score.area(judged, COMMITTEES[self.task_][-1] if score.answers is not None else None, self.width_)
            self.trials_[name] = found
            self._say(f"learner {name}: area {found:.4f}")
            if best is None or found < best[0]:
                best = (found, name, judged, calibration)
        assert best is not None  # noqa: S101 - there is always a candidate
        _, self.learner_name_, judged, self.calibration_ = best
        self.scorer_: Scorer | None = None
        self.learner_: Learner = LEARNERS[self.learner_name_](self.random_state).fit(X, observed)
        return judged

    def _learn_scores(
        self,
        score: Scoring,
        X: np.ndarray,
        observed: np.ndarray,
        charged: np.ndarray,
        fold: np.ndarray,
        groups: np.ndarray | None,
    ) -> Judgement:
        """Train the paper's policy, in folds and on everything; return its out-of-fold judgement."""
        settings = self.learner if isinstance(self.learner, CompSum) else CompSum(surrogate=self.learner)
        self.learner_name_ = settings.surrogate
        if settings.ranks_only_the_first:
            self.width_ = 1
        group = np.arange(len(X)) if groups is None else groups

        def policy(rows: np.ndarray) -> Scorer:
            return settings.fit(
                X[rows],
                observed[rows],
                panel=self.panel_,
                fees=charged[rows],
                groups=group[rows],
                random_state=self.random_state,
            )

        scores = np.empty(observed.shape)
        for number, (seen, held) in enumerate(each_fold(fold)):
            scores[held] = policy(seen).scores(X[held])[0]
            self._say(f"policy {settings.surrogate}: fold {number + 1} of {self.cv}")
        self.calibration_ = Calibration.fit(-scores, observed, in_errors=False)
        judged = Judgement(self.calibration_.apply(-scores), self.panel_.error_weights, scores)
        combine = COMMITTEES[self.task_][-1] if score.answers is not None else None
        self.trials_ = {settings.surrogate: score.area(judged, combine, self.width_)}
        self.scorer_ = policy(np.arange(len(X)))
        return judged

    def _choose_committee(self, score: Scoring, judged: Judgement, answers: Answers | None) -> str | None:
        if answers is None:
            return None
        names = COMMITTEES[self.task_] + (() if judged.scores is None else (_OF_SCORES[self.task_],))
        if self.committee != "auto":
            names = (self.committee,)
        self.committee_trials_ = {name: score.area(judged, name, self.width_) for name in names}
        return min(self.committee_trials_, key=lambda name: self.committee_trials_[name])

    def _learn_cardinality(
        self, score: Scoring, X: np.ndarray, judged: Judgement, fold: np.ndarray, groups: np.ndarray | None
    ) -> Rows:
        settings = self.cardinality if isinstance(self.cardinality, SurrogateCardinality) else None
        if self.cardinality == "surrogate":
            settings = SurrogateCardinality()
        elif settings is None:
            check.one_of(str(self.cardinality), "cardinality", ["curve", "surrogate"])
        prices = score.prices(judged, 31 if settings is None else _SURROGATE_PRICES)
        if settings is not None and settings.fee_weights is not None:
            prices = np.array(settings.fee_weights, dtype=np.float64)
        lessons = Lessons.of(score, judged, prices, self.width_, self.committee_)
        group = np.arange(len(X)) if groups is None else groups
        sizes = np.empty((len(prices), len(X)), dtype=np.intp)
        for seen, held in each_fold(fold):
            self._fit_cardinality(X, judged, lessons, seen, settings, group)
            part = judged.rows(held)
            for p, price in enumerate(prices):
                sizes[p, held] = self.sizes(X[held], part, lessons.orders[p][held], score.foreseen[held], float(price))
        self._fit_cardinality(X, judged, lessons, np.arange(len(X)), settings, group)
        got = [in_order(e, size[:, None] - 1)[:, 0] for e, size in zip(lessons.errors, sizes, strict=True)]
        paid = [
            in_order(np.cumsum(in_order(score.charged, order), axis=1), size[:, None] - 1)[:, 0]
            for order, size in zip(lessons.orders, sizes, strict=True)
        ]
        return Rows(prices, np.stack(got), np.stack(paid), sizes)

    def _fit_cardinality(
        self,
        X: np.ndarray,
        judged: Judgement,
        lessons: Lessons,
        rows: np.ndarray,
        settings: SurrogateCardinality | None,
        groups: np.ndarray,
    ) -> None:
        # A ranking that no price moves teaches the same at each of them.
        taught = slice(0, None, 4) if judged.scores is None else slice(0, 1)
        self.curve_ = Curve(random_state=self.random_state).fit(
            X[rows],
            judged.expected[rows],
            [order[rows] for order in lessons.orders[taught]],
            [errors[rows] for errors in lessons.errors[taught]],
        )
        self.chooser_: CardinalityNetwork | None = None
        if settings is not None:
            errors = lessons.errors if settings.metric is None else lessons.of_metric(settings.metric)
            self.chooser_ = settings.fit(
                X[rows],
                [each[rows] for each in errors],
                [fees[rows] for fees in lessons.fees],
                fee_weights=lessons.prices,
                groups=groups[rows],
                random_state=self.random_state,
            )

    def _known(self, X: ArrayLike) -> np.ndarray:
        known = check.table(X, "X").astype(np.float32)
        if known.shape[1] != self.n_features_:
            raise InvalidInputError(f"`X` must have the {self.n_features_} features of the log, got {known.shape[1]}.")
        return known

    def _say(self, line: str) -> None:
        if self.progress is not None:
            self.progress(line)


def _different_answers(answers: Answers) -> int:
    """How many different answers occur, two at the least."""
    return max(2, len(np.unique(answers.values[answers.states == Cell.ANSWERED])))

"""The router: learners, calibration, committee and cardinality, and the decisions they make together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import FloatTable, Order
from askwho.aggregation import Committee, Verdicts, aggregation
from askwho.answers import Answers
from askwho.exceptions import InvalidInputError
from askwho.frontier import Frontier, area, stated_budgets
from askwho.learners import LEARNERS, Learner, Linear, candidates, cross_fit, each_fold, folds
from askwho.metrics import prefix_errors
from askwho.panel import Panel
from askwho.router._calibration import Calibration
from askwho.router._cardinality import Curve, best_k
from askwho.selection import Selection, fees_table, in_order, rank

COMMITTEES = {
    "classification": ("majority", "log-odds-vote"),
    "regression": ("mean", "median", "inverse-error-mean"),
}
Task = Literal["classification", "regression"]


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
        learner: `"auto"`, or a name in `LEARNERS`: of all, the one with the least area under its validated frontier.
        committee: `"auto"`, or a name in `AGGREGATIONS`: likewise.
        cv: how many folds to cross-fit in.
        max_k: the largest committee.
        random_state: the seed of everything.
        progress: called with a line of text as the fit goes on.
    """

    def __init__(
        self,
        *,
        learner: str = "auto",
        committee: str = "auto",
        cv: int = 5,
        max_k: int = 12,
        random_state: int = 0,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.learner = learner
        self.committee = committee
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
        self.n_classes_ = 0 if answers is None else max(2, len(answers.encoded[1])) if task == "classification" else 0
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
        score = _Scoring(panel, answers, truth, charged, self.fees_, foreseen, task, observed, self.n_classes_)

        self.trials_: dict[str, float] = {}
        best: tuple[float, str, np.ndarray, Calibration] | None = None
        for name in candidates(self.learner):
            raw = cross_fit(LEARNERS[name], known, observed, fold, random_state=self.random_state)
            calibration = Calibration.fit(raw, observed)
            expected = calibration.apply(raw)
            self.trials_[name] = score.area(
                expected, COMMITTEES[task][-1] if answers is not None else None, self.width_
            )
            self._say(f"learner {name}: area {self.trials_[name]:.4f}")
            if best is None or self.trials_[name] < best[0]:
                best = (self.trials_[name], name, expected, calibration)
        assert best is not None  # noqa: S101 - there is always a candidate
        _, self.learner_name_, expected, self.calibration_ = best
        # Where an entity was not asked its expected error stands in: else it would be judged on other rows than others.
        self.entity_errors_ = np.where(np.isnan(observed), expected, observed).mean(axis=0)
        self.committee_ = self._choose_committee(score, expected, answers)
        self.rows_ = self._learn_curve(score, known, expected, fold)
        self.learner_: Learner = LEARNERS[self.learner_name_](self.random_state).fit(known, observed)
        return self

    def expected_errors(self, X: ArrayLike) -> FloatTable:
        """Return each entity's expected error, shape (n, |A|)."""
        return self._expected(self._known(X))

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
        known = self._known(X)
        expected = self._expected(known)
        price = self.expected_fees(known) if fees is None else fees_table(fees, self.panel_, len(known))
        costs = expected + rate * price
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
            curve = self.curve_.predict(known, expected, order)
            if width < self.width_:
                curve[:, width:] = np.inf
            size = best_k(curve, in_order(price, order).cumsum(axis=1), rate)
        return Selection(self.panel_, order, size, -costs, price)

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
            selection, heard, expected_errors=_probabilities(expected, self.task_), n_classes=self.n_classes_ or None
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
                "error": _mean_error(error, self.task_),
                "mean_fee": float(fee[~np.isnan(error)].mean()) if (~np.isnan(error)).any() else float("nan"),
                "mean_k": float(size.mean()),
            }
            for price, error, fee, size in zip(rows.prices, rows.errors, rows.fees, rows.sizes, strict=True)
        ]

    def _choose_committee(self, score: "_Scoring", expected: np.ndarray, answers: Answers | None) -> str | None:
        if answers is None:
            return None
        names = COMMITTEES[self.task_] if self.committee == "auto" else (self.committee,)
        self.committee_trials_ = {name: score.area(expected, name, self.width_) for name in names}
        return min(self.committee_trials_, key=lambda name: self.committee_trials_[name])

    def _learn_curve(self, score: "_Scoring", X: np.ndarray, expected: np.ndarray, fold: np.ndarray) -> Rows:
        prices = price_grid(self.fees_, expected)
        orders = [rank(-(expected + price * score.foreseen))[:, : self.width_] for price in prices]
        errors = [score.prefix(expected, order, self.committee_) for order in orders]
        taught = slice(0, None, 4)
        sizes = np.empty((len(prices), len(X)), dtype=np.intp)
        for seen, held in each_fold(fold):
            curve = Curve(random_state=self.random_state).fit(
                X[seen], expected[seen], [order[seen] for order in orders[taught]], [e[seen] for e in errors[taught]]
            )
            for p, (price, order) in enumerate(zip(prices, orders, strict=True)):
                planned = np.cumsum(in_order(score.foreseen[held], order[held]), axis=1)
                sizes[p, held] = best_k(curve.predict(X[held], expected[held], order[held]), planned, float(price))
        self.curve_ = Curve(random_state=self.random_state).fit(X, expected, orders[taught], errors[taught])
        got = [in_order(e, size[:, None] - 1)[:, 0] for e, size in zip(errors, sizes, strict=True)]
        paid = [
            in_order(np.cumsum(in_order(score.charged, order), axis=1), size[:, None] - 1)[:, 0]
            for order, size in zip(orders, sizes, strict=True)
        ]
        return Rows(prices, np.stack(got), np.stack(paid), sizes)

    def _known(self, X: ArrayLike) -> np.ndarray:
        known = check.table(X, "X").astype(np.float32)
        if known.shape[1] != self.n_features_:
            raise InvalidInputError(f"`X` must have the {self.n_features_} features of the log, got {known.shape[1]}.")
        return known

    def _expected(self, known: np.ndarray) -> np.ndarray:
        return self.calibration_.apply(self.learner_.predict(known))

    def _say(self, line: str) -> None:
        if self.progress is not None:
            self.progress(line)


def price_grid(fees: Float[np.ndarray, " a"], expected: FloatTable, count: int = 31) -> Float[np.ndarray, " p"]:
    """Return prices λ from 0 to where money alone decides, shape (count,)."""
    paid = fees[fees > 0]
    if not paid.size:
        return np.zeros(1)
    spread = float(np.quantile(expected, 0.95) - np.quantile(expected, 0.05)) or 1.0
    # A fee under a hundredth of the largest is as good as free: no price need tell it from nothing.
    cheap = paid[paid >= paid.max() / 100].min()
    return np.concatenate([[0.0], np.geomspace(0.003 * spread / paid.max(), 2.0 * spread / cheap, count - 1)])


@dataclass(frozen=True, eq=False)
class _Scoring:
    """What committees get on the log's own rows."""

    panel: Panel
    answers: Answers | None
    truth: np.ndarray | None
    charged: np.ndarray
    fees: np.ndarray
    foreseen: np.ndarray
    task: Task
    errors: np.ndarray
    n_classes: int

    @property
    def budgets(self) -> np.ndarray:
        single = np.nanmean(self.errors, axis=0)
        return stated_budgets(self.fees, float(self.fees[single.argmin()]), 20)

    def prefix(self, expected: np.ndarray, order: Order, committee: str | None) -> np.ndarray:
        """Committee errors of every k, shape (n, K); without answers the first entity's own error."""
        if self.answers is None or self.truth is None or committee is None:
            return in_order(self.errors, order)[:, :1]
        chosen = Selection(self.panel, order, np.ones(len(order), dtype=np.intp), -expected, np.array(self.charged))
        members = Committee.of(
            chosen,
            self.answers,
            expected_errors=_probabilities(expected, self.task),
            n_classes=self.n_classes or None,
        )
        error = "zero-one" if self.task == "classification" else "squared"
        return prefix_errors(members, self.truth, combine=committee, error=error)

    def area(self, expected: np.ndarray, committee: str | None, width: int) -> float:
        """The area under the hull of all fixed k at a handful of prices."""
        fees: list[float] = []
        errors: list[float] = []
        for price in price_grid(self.fees, expected, 9):
            order = rank(-(expected + price * self.foreseen))[:, :width]
            per_k = self.prefix(expected, order, committee)
            paid = np.cumsum(in_order(self.charged, order), axis=1)
            for k in range(per_k.shape[1]):
                scored = ~np.isnan(per_k[:, k])
                if scored.any():
                    fees.append(float(paid[scored, k].mean()))
                    errors.append(_mean_error(per_k[:, k], self.task))
        return area(Frontier.of(fees, errors), self.budgets)


def _probabilities(expected: np.ndarray | None, task: Task) -> np.ndarray | None:
    """Expected errors as an aggregation takes them: probabilities where answers are right or wrong."""
    return None if expected is None else np.clip(expected, 0.0, 1.0) if task == "classification" else expected


def _mean_error(errors: np.ndarray, task: Task) -> float:
    mean = float(np.nanmean(errors)) if (~np.isnan(errors)).any() else float("nan")
    return float(np.sqrt(mean)) if task == "regression" else mean

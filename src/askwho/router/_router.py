"""The router: learners, calibration, committee and cardinality, and the decisions they make together."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import FloatTable, Order
from askwho.aggregation import Combine, Committee, Verdicts, aggregation
from askwho.answers import Answers, Cell
from askwho.beliefs import Asking, Beliefs
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
from askwho.router._coverage import Coverage
from askwho.router._diversity import SHARES, overlaps
from askwho.router._explain import Past, Why, explain
from askwho.router._promises import Promises
from askwho.router._rows import Rows, Setting, coins, grouped, price_for
from askwho.router._scoring import FAR, POSTERIOR, Judgement, Lessons, Scoring, Task, probabilities
from askwho.router._surrogate import CardinalityNetwork, SurrogateCardinality
from askwho.router._turns import Step, learn_turns, next_step, taken_turns
from askwho.selection import Selection, fees_table, in_order

COMMITTEES = {
    "classification": ("majority", "log-odds-vote"),
    "regression": ("mean", "median", "inverse-error-mean"),
}
# The paper's own, weighed by the softmax of scores, which only a policy trained by its surrogate has.
_OF_SCORES = {"classification": "weighted-vote", "regression": "weighted-mean"}
_SURROGATE_PRICES = 17
# With fewer rows than this nobody's habits can be told from chance.
_FEWEST_ROWS = 200
_WORTH_IT = 0.99
Mode = Literal["at-once", "sequential"]
"""How the chosen are asked: all at once, or one after another."""
_ONLY_TARGETS = "`confidence` must come with `budget` or `accuracy`, of which it is the promise; got {}."
_NO_TURNS = (
    "This policy cannot ask in turn: it was fitted without answers that are classes, on fewer than "
    f"{_FEWEST_ROWS} rows, or with another committee than {POSTERIOR!r}."
)
_OTHER_FEES = (
    "`budget` and `accuracy` were validated at the fitted fees with everybody there: "
    "pass `fee_weight` with other fees or fewer entities."
)
# What can be aimed at together.
_TARGETS = ({"k"}, {"k", "fee_weight"}, {"fee_weight"}, {"budget"}, {"accuracy"}, {"budget", "accuracy"})


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
        info: Float[np.ndarray, "n a"] | None = None,
        shares: Float[np.ndarray, "n t"] | None = None,
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
            info: shape (n, |A|), what came back with the answers; NaN where nothing did.
            shares: shape (n, T), the base's probabilities of the sorted truths, out of fold, where it has any.
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
        self.coverage_, covered = Coverage.fit(known, ~np.isnan(observed), fold)
        judged = (
            self._learn_scores(score, known, observed, charged, fold, groups)
            if isinstance(self.learner, CompSum) or self.learner in SURROGATE_NAMES
            else self._learn_errors(score, known, observed, fold)
        )
        if judged.scores is None:
            judged = replace(judged, covered=covered)
        # Where an entity was not asked its expected error stands in: else it would be judged on other rows than others.
        self.entity_errors_ = np.where(np.isnan(observed), judged.expected, observed).mean(axis=0)
        score = self._learn_beliefs(score, judged, fold, info, shares)
        self.committee_ = self._choose_committee(score, judged, answers)
        judged = self._choose_overlap(score, judged)
        self.rows_ = self._learn_cardinality(score, known, judged, fold, groups)
        self._learn_asking(score, known, fold, groups)
        self.past_: Past | None = Past.of(known, observed, random_state=self.random_state)
        return self

    def calibrate(
        self,
        X: ArrayLike,
        *,
        answers: Answers | None = None,
        truth: np.ndarray | None = None,
        errors: ArrayLike | None = None,
        fees: ArrayLike | None = None,
        groups: np.ndarray | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
        shares: Float[np.ndarray, "n t"] | None = None,
    ) -> "Router":
        """Take targets from fresh rows from now on: put `rows_` and `turns_` in the place of those that `fit` left.

        The rows of `fit` are of policies that each left a fold out; these are of this very policy, so that what
        `confidence` promises is exact. Nothing else is learned from them.

        Args:
            X: shape (n, d), queries that `fit` did not see.
            answers: what everybody said, where `fit` had answers.
            truth: shape (n,), with `answers`.
            errors: shape (n, |A|), where `fit` had no answers.
            fees: what each charged, shape (n, |A|); the fitted fees unless given, which they must be where they differ
                by query.
            groups: shape (n,), which rows belong together.
            info: shape (n, |A|), what came back with the answers.
            shares: shape (n, T), the base's probabilities, where it has any.
        """
        known = self._known(X)
        n = len(known)
        if self.committee_ is None and errors is None:
            raise InvalidInputError("`errors` must be given: the policy was fitted on errors, without answers.")
        if self.committee_ is not None and (answers is None or truth is None):
            raise InvalidInputError("`answers` and `truth` must be given: the policy was fitted on answers.")
        if self.fee_learner_ is not None and fees is None:
            raise InvalidInputError("`fees` must be given: they differ by query, and were foreseen from the features.")
        observed = np.full((n, len(self.panel_)), np.nan)
        if self.committee_ is None:
            answers, truth = None, None
            observed = check.table(errors, "errors", entities=self.panel_.names, allow_nan=True)
            check.nonnegative(observed, "errors")
        said = None if answers is None else answers.values
        for name, given in (("errors", observed), ("answers", said), ("truth", truth), ("groups", groups)):
            if given is not None and len(given) != n:
                raise InvalidInputError(f"`{name}` must have a row for each of the {n} queries, got {len(given)}.")
        charged = fees_table(self.fees_ if fees is None else fees, self.panel_, n)
        foreseen, judged = self.expected_fees(known), self.judge(known)
        score = Scoring(
            self.panel_, answers, truth, charged, self.fees_, foreseen, self.task_, observed, self.n_classes_
        )
        if self.beliefs_ is not None and answers is not None:
            expected = np.clip(judged.expected, 0.0, 1.0)
            case = self.beliefs_.case(answers, expected=expected, info=info, shares=shares)
            score = replace(score, believed=(self.beliefs_, replace(case, there=judged.covered)))
        prices = self.rows_.prices
        got, paid = np.empty((len(prices), n)), np.empty((len(prices), n))
        orders = [judged.order(foreseen, float(price), self.width_) for price in prices]
        sizes = self.sizes_at(known, judged, orders, foreseen, prices.tolist())
        for p, order in enumerate(orders):
            got[p], paid[p] = _outcome(score, order, score.prefix(judged, order, self.committee_), sizes[p])
        self.rows_ = Rows(prices, got, paid, sizes, grouped(groups), coins(known))
        if self.asking_ is not None and self.turns_ is not None:
            done = taken_turns(self.asking_, score, self.turns_.prices, np.arange(n))
            self.turns_ = Rows(self.turns_.prices, *done, grouped(groups), coins(known))
        return self

    def judge(self, known: Float[np.ndarray, "n d"]) -> Judgement:
        """Return what is thought of each entity: expected errors, and scores where a price is baked into them."""
        if self.scorer_ is None:
            expected = self.calibration_.apply(self.learner_.predict(known))
            covered = None if self.coverage_ is None else self.coverage_.of(known)
            return Judgement(expected, self.panel_.error_weights, overlap=self.overlap_, covered=covered)
        scores = self.scorer_.scores(known)[0]
        return Judgement(self.calibration_.apply(-scores), self.panel_.error_weights, scores)

    def expected_errors(self, X: ArrayLike) -> FloatTable:
        """Return each entity's expected error, shape (n, |A|)."""
        return self.judge(self._known(X)).expected

    def expected_fees(self, known: Float[np.ndarray, "n d"]) -> FloatTable:
        """Return what each entity is expected to charge, shape (n, |A|): its fee, or what the features foretell."""
        if self.fee_learner_ is None:
            return self.fees_[None] if len(known) == 1 else np.broadcast_to(self.fees_, (len(known), len(self.fees_)))
        return np.maximum(self.fee_learner_.predict(known), 0.0)

    def select(
        self,
        X: ArrayLike,
        *,
        k: int | None = None,
        fee_weight: float | None = None,
        budget: float | None = None,
        accuracy: float | None = None,
        confidence: float | None = None,
        available: Bool[np.ndarray, " a"] | None = None,
        fees: ArrayLike | None = None,
    ) -> Selection:
        """Return whom to ask about each query.

        `fee_weight`, or `budget`, `accuracy` or both, say how much an error is worth; `k` asks a fixed number, ranked
        at `fee_weight` (0 unless given).

        With `confidence` a target is a promise about the queries to come, not only about the rows that it was tried on:
        see `setting_for`.

        Args:
            X: shape (n, d).
            k: ask exactly so many.
            fee_weight: λ, how much error one unit of money is worth.
            budget: the mean fee to stay within, on held-out rows.
            accuracy: the error to reach, on held-out rows.
            confidence: the probability, such as 0.95, with which queries to come stay within `budget` and `accuracy` in
                the mean.
            available: shape (|A|,), who can be asked today.
            fees: shape (|A|,), what they charge today.
        """
        given = [
            name
            for name, value in (("fee_weight", fee_weight), ("budget", budget), ("accuracy", accuracy), ("k", k))
            if value is not None
        ]
        if set(given) not in _TARGETS:
            raise InvalidInputError(
                "One target must be given: `k` (with or without `fee_weight`), `fee_weight`, `budget`, `accuracy`, or "
                f"`budget` and `accuracy`; got {given or 'none'}."
            )
        if confidence is not None and budget is None and accuracy is None:
            raise InvalidInputError(_ONLY_TARGETS.format(given))
        if budget is not None or accuracy is not None:
            if fees is not None or available is not None:
                raise InvalidInputError(_OTHER_FEES)
            if confidence is not None:
                found = self.setting_for(budget=budget, accuracy=accuracy, confidence=confidence)
                return self._select_at(self._known(X), found)
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
            costs = np.where(there, costs, 2 * FAR)
            width = min(width, int(there.sum()))
        order = judged.ordered(costs, self.width_)
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

    def sizes_at(
        self,
        known: Float[np.ndarray, "n d"],
        judged: Judgement,
        orders: Sequence[Order],
        fees: Float[np.ndarray, "n a"],
        fee_weights: Sequence[float],
    ) -> Int[np.ndarray, "p n"]:
        """Return k(x) at several prices, each with the order that it gives, shape (p, n)."""
        if self.chooser_ is not None:
            return np.stack([self.chooser_.sizes(known, rate, width=self.width_) for rate in fee_weights])
        return self.curve_.sizes_at(known, judged.expected, orders, fees, fee_weights, width=self.width_)

    def combine(
        self,
        selection: Selection,
        answers: Answers,
        *,
        X: ArrayLike | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
        shares: Float[np.ndarray, "n t"] | None = None,
    ) -> Verdicts:
        """Return what each committee decides, by the aggregation that validation chose.

        Args:
            selection: whom was asked.
            answers: what came back; whoever is beyond a query's own k is not heard.
            X: shape (n, d), where members are weighed by expected errors.
            info: shape (n, |A|), what came back with the answers.
            shares: shape (n, T), the base's probabilities, where it has any.
        """
        states = np.where(selection.members, answers.states, np.int8(1))
        heard = Answers(answers.values, states.astype(np.int8))
        expected = None if X is None else self.expected_errors(X)
        committee = Committee.of(
            selection, heard, expected_errors=probabilities(expected, self.task_), n_classes=self.n_classes_ or None
        )
        if self.committee_ == POSTERIOR and expected is None:
            raise InvalidInputError("`X` must be given: this committee weighs its members by what is expected of them.")
        return self.combiner(heard, np.ones(answers.values.shape) if expected is None else expected, info, shares)(
            committee
        )

    def combiner(
        self,
        answers: Answers,
        expected: Float[np.ndarray, "n a"],
        info: Float[np.ndarray, "n a"] | None = None,
        shares: Float[np.ndarray, "n t"] | None = None,
    ) -> Combine:
        """Return the aggregation that validation chose, for the committees of these answers."""
        if self.committee_ != POSTERIOR or self.beliefs_ is None:
            return aggregation(self.committee_ or "majority")
        beliefs = self.beliefs_
        case = beliefs.case(answers, expected=expected, info=info, shares=shares)
        return lambda committee: beliefs.verdicts(committee, case)[0]

    def next_step(
        self,
        X: ArrayLike,
        answers: Answers,
        *,
        fee_weight: float | None = None,
        budget: float | None = None,
        accuracy: float | None = None,
        confidence: float | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
        shares: Float[np.ndarray, "n t"] | None = None,
        available: Bool[np.ndarray, " a"] | None = None,
        fees: ArrayLike | None = None,
    ) -> Step:
        """Return whom to ask next about each query, or nobody, from what was answered so far.

        The same answers give the same next step: nothing is remembered between calls.

        Args:
            X: shape (n, d).
            answers: what came back so far; `Cell.NOT_ASKED` where nobody was asked yet.
            fee_weight: λ, how much error one unit of money is worth; or one or both of the next.
            budget: the mean fee to stay within, on held-out rows.
            accuracy: the error to reach, on held-out rows.
            confidence: makes a promise of them, as in `select`.
            info: shape (n, |A|), what came back with the answers.
            shares: shape (n, T), the base's probabilities, where it has any.
            available: shape (|A|,), who can be asked today.
            fees: shape (|A|,), what they charge today.
        """
        if self.asking_ is None or self.beliefs_ is None:
            raise InvalidInputError(_NO_TURNS)
        known = self._known(X)
        shape = (len(known), len(self.panel_))
        check.same_shape(answers.values, "answers", shape, "one row for each query, one column for each entity")
        if (fee_weight is None) == (budget is None and accuracy is None):
            raise InvalidInputError("`fee_weight`, or `budget`, `accuracy` or both, must be given, and not all three.")
        if fee_weight is not None:
            if confidence is not None:
                raise InvalidInputError(_ONLY_TARGETS.format(["fee_weight"]))
            rate = np.array(check.finite_number(fee_weight, "fee_weight", minimum=0.0))
        else:
            if fees is not None or available is not None:
                raise InvalidInputError(_OTHER_FEES)
            rate = self._turn_rates(known, budget, accuracy, confidence)
        price = self.expected_fees(known) if fees is None else fees_table(fees, self.panel_, len(known))
        if available is not None:
            available = np.asarray(available, dtype=bool)
            check.same_shape(available, "available", (len(self.panel_),), "one for each entity of the panel")
        expected = np.clip(self.judge(known).expected, 0.0, 1.0)
        case = self.beliefs_.case(answers, expected=expected, info=info, shares=shares)
        asked = answers.states != Cell.NOT_ASKED
        there = None if available is None else np.broadcast_to(np.asarray(available, dtype=bool), shape)
        if self.coverage_ is not None:
            covered = self.coverage_.of(known)
            there = covered if there is None else there & covered
        return next_step(
            self.asking_,
            self.beliefs_,
            replace(case, there=there),
            self.panel_,
            asked=asked,
            fees=price,
            fee_weights=np.broadcast_to(rate, len(known)),
        )

    def believe(
        self,
        X: ArrayLike,
        answers: Answers,
        *,
        info: Float[np.ndarray, "n a"] | None = None,
        shares: Float[np.ndarray, "n t"] | None = None,
    ) -> tuple[np.ndarray, Float32[np.ndarray, " n"]]:
        """Return the likeliest answer to each query after what was heard, shape (n,), and its probability, shape (n,).

        Args:
            X: shape (n, d).
            answers: what came back so far, from anybody; `Cell.NOT_ASKED` elsewhere.
            info: shape (n, |A|), what came back with the answers.
            shares: shape (n, T), the base's probabilities, where it has any.
        """
        if self.beliefs_ is None:
            raise InvalidInputError(_NO_TURNS)
        expected = np.clip(self.expected_errors(X), 0.0, 1.0)
        case = self.beliefs_.case(answers, expected=expected, info=info, shares=shares)
        asked = answers.states != Cell.NOT_ASKED
        state = self.beliefs_.pool.hear_all(case, asked)
        return self.beliefs_.decide(case, self.beliefs_.pool.probabilities(case, state), answers, asked)

    def explain(self, X: ArrayLike, selection: Selection, i: int = 0) -> Why:
        """Return why query i goes to these entities: expected errors, fees, past queries like it, and one more.

        Args:
            X: shape (n, d), the queries of the selection.
            selection: whom to ask, from `select`.
            i: which query.
        """
        known = self._known(X)
        if len(known) != len(selection):
            raise InvalidInputError(f"`X` must have the selection's {len(selection)} queries, got {len(known)}.")
        if not -len(known) <= i < len(known):
            raise InvalidInputError(f"`i` must be a query between 0 and {len(known) - 1}, got {i}.")
        row = known[i][None]
        expected = self.expected_errors(row)
        curve = self.curve_.predict(row, expected, selection.order[i][None])[0]
        if self.task_ == "regression":
            curve, expected = np.sqrt(np.maximum(curve, 0.0)), np.sqrt(expected)
        return explain(selection, i, known=known[i], expected=expected[0], committee_errors=curve, past=self.past_)

    def fee_weight_for(
        self, *, budget: float | None = None, accuracy: float | None = None, mode: Mode = "at-once"
    ) -> float:
        """Return the price at which held-out rows meet a mean fee, an error, or both; or say what can be had."""
        return price_for(self._rows(mode).validated(self.task_), budget=budget, accuracy=accuracy)

    def setting_for(
        self,
        *,
        budget: float | None = None,
        accuracy: float | None = None,
        confidence: float,
        mode: Mode = "at-once",
    ) -> Setting:
        """Return the setting that keeps a mean fee, an error, or both, with a confidence; or say what can be kept.

        With probability `confidence` over the rows in `rows_`, queries drawn from what these were drawn from cost at
        most `budget` in the mean, and err at most `accuracy`; both at once, where both are given. This holds for any
        number of rows, if they are independent, or their groups where there are any, and if nothing to come is far
        beyond what was recorded: no group or fee that differs by query above the largest, no squared error above twice
        the largest at that setting.

        It is exact for the policy whose rows they are: this one after `calibrate`. The rows that `fit` leaves are of
        policies fitted on a fold less each, which err a little more and are otherwise the same.

        So that a budget between two stored prices is spent, the setting may mix them: a query's features toss its coin,
        and it is decided at the one price or the other, always at the same. The mixture itself is what was tested.
        """
        if budget is None and accuracy is None:
            raise InvalidInputError("`budget` or `accuracy` must be given: there is nothing to promise.")
        sure = check.finite_number(confidence, "confidence")
        if not 0.0 < sure < 1.0:
            raise InvalidInputError(f"`confidence` must be above 0 and below 1, got {confidence}.")
        money = None if budget is None else check.finite_number(budget, "budget", minimum=0.0)
        wanted = None if accuracy is None else check.finite_number(accuracy, "accuracy", minimum=0.0)
        rows, target = self._rows(mode), (money, wanted, sure)
        if target not in rows.found:
            # Nobody is asked twice: no fee is above that of the largest committee of the dearest.
            width = self.width_ if mode == "at-once" or self.asking_ is None else len(self.asking_.bases)
            most = float(np.sort(self.fees_)[-width:].sum())
            promises = Promises(rows, most_fee=most, squared=self.task_ == "regression")
            rows.found[target] = promises.choose(budget=money, accuracy=wanted, confidence=sure)
        return rows.found[target]

    @property
    def validated_(self) -> list[dict[str, float]]:
        """The adaptive policy at each stored price, on held-out rows: fee weight, error, mean fee, mean k."""
        return self.rows_.validated(self.task_)

    @property
    def validated_turns_(self) -> list[dict[str, float]]:
        """The same of asking in turn."""
        return self._rows("sequential").validated(self.task_)

    def _rows(self, mode: Mode) -> Rows:
        check.one_of(mode, "mode", get_args(Mode))
        if mode == "at-once":
            return self.rows_
        if self.turns_ is None:
            raise InvalidInputError(_NO_TURNS)
        return self.turns_

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
        names += () if score.believed is None else (POSTERIOR,)
        if self.committee != "auto":
            names = (self.committee,)
        self.committee_trials_ = {name: score.area(judged, name, self.width_) for name in names}
        return min(self.committee_trials_, key=lambda name: self.committee_trials_[name])

    def _choose_overlap(self, score: Scoring, judged: Judgement) -> Judgement:
        """Let those who repeat each other stand further apart in the ranking, where validation is the better for it."""
        self.overlap_: np.ndarray | None = None
        if judged.scores is not None or self.committee_ is None or self.width_ < 3:
            return judged
        found = overlaps(score.errors, judged.expected)
        tried = {share: replace(judged, overlap=share * found if share else None) for share in SHARES}
        self.overlap_trials_ = {share: score.area(each, self.committee_, self.width_) for share, each in tried.items()}
        best = min(SHARES, key=lambda share: self.overlap_trials_[share])
        # It takes longer than the plain ranking: it must be worth it.
        if self.overlap_trials_[best] > _WORTH_IT * self.overlap_trials_[0.0]:
            best = 0.0
        self.overlap_ = tried[best].overlap
        return tried[best]

    def _learn_beliefs(
        self,
        score: Scoring,
        judged: Judgement,
        fold: np.ndarray,
        info: np.ndarray | None,
        shares: np.ndarray | None,
    ) -> Scoring:
        """Fit the committee that knows its members, where there are classes and rows enough; return how it scores."""
        self.beliefs_: Beliefs | None = None
        answered = score.answers is not None and score.truth is not None and self.task_ == "classification"
        # Labels say the same of every query: their answers are no evidence.
        labels = np.any(self.panel_.is_kind("label") | self.panel_.is_kind("reject"))
        few = len(fold) < _FEWEST_ROWS
        if score.answers is None or score.truth is None or not answered or labels or few or _one(score.truth):
            if self.committee == POSTERIOR:
                raise InvalidInputError(
                    f"`committee` {POSTERIOR!r} must learn from answers that are classes, two at the least, of "
                    f"{_FEWEST_ROWS} rows or more, with no label or reject in the panel: use 'auto' or another."
                )
            return score
        if self.committee not in ("auto", POSTERIOR):
            return score
        base = np.flatnonzero(self.panel_.is_kind("base"))
        self.beliefs_, case = Beliefs.fit(
            score.answers,
            score.truth,
            expected=np.clip(judged.expected, 0.0, 1.0),
            fold=fold,
            base=int(base[0]) if base.size and shares is not None else None,
            shares=shares,
            info=info,
            random_state=self.random_state,
        )
        return replace(score, believed=(self.beliefs_, replace(case, there=judged.covered)))

    def _learn_asking(self, score: Scoring, X: np.ndarray, fold: np.ndarray, groups: np.ndarray | None) -> None:
        """Learn to ask in turn; what it did on held-out rows goes to `turns_`."""
        self.asking_: Asking | None = None
        self.turns_: Rows | None = None
        if score.believed is not None:
            self.asking_, done = learn_turns(score, fold, random_state=self.random_state)
            self.turns_ = Rows(*done, grouped(groups), coins(X))

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
            orders = [order[held] for order in lessons.orders]
            sizes[:, held] = self.sizes_at(X[held], judged.rows(held), orders, score.foreseen[held], prices.tolist())
        self._fit_cardinality(X, judged, lessons, np.arange(len(X)), settings, group)
        done = [
            _outcome(score, order, errors, size)
            for order, errors, size in zip(lessons.orders, lessons.errors, sizes, strict=True)
        ]
        got, paid = (np.stack(each) for each in zip(*done, strict=True))
        return Rows(prices, got, paid, sizes, grouped(groups), coins(X))

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

    def _select_at(self, known: np.ndarray, setting: Setting) -> Selection:
        aside = coins(known) < setting.share
        rows = [each for each in (np.flatnonzero(~aside), np.flatnonzero(aside)) if each.size]
        parts = [
            self.select(known[each], fee_weight=setting.other if aside[each[0]] else setting.fee_weight)
            for each in rows
        ]
        place = np.argsort(np.concatenate(rows))
        return Selection(
            self.panel_,
            np.concatenate([part.order for part in parts])[place],
            np.concatenate([part.k for part in parts])[place],
            np.concatenate([part.scores for part in parts])[place],
            np.concatenate([part.fees for part in parts])[place],
        )

    def _turn_rates(
        self,
        known: Float[np.ndarray, "n d"],
        budget: float | None,
        accuracy: float | None,
        confidence: float | None,
    ) -> Float[np.ndarray, "*rows"]:
        """The price at which each query is asked in turn, or one for all, so that a target is met."""
        if confidence is None:
            return np.array(self.fee_weight_for(budget=budget, accuracy=accuracy, mode="sequential"))
        found = self.setting_for(budget=budget, accuracy=accuracy, confidence=confidence, mode="sequential")
        return np.where(coins(known) < found.share, found.other, found.fee_weight)

    def _known(self, X: ArrayLike) -> np.ndarray:
        known = check.table(X, "X").astype(np.float32)
        if known.shape[1] != self.n_features_:
            raise InvalidInputError(f"`X` must have the {self.n_features_} features of the log, got {known.shape[1]}.")
        return known

    def _say(self, line: str) -> None:
        if self.progress is not None:
            self.progress(line)


def _outcome(score: Scoring, order: Order, errors: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What committees of these sizes got and were charged, each (n,); `errors` are of every size, (n, K)."""
    last = sizes[:, None] - 1
    paid = np.cumsum(in_order(score.charged, order), axis=1)
    return in_order(errors, last)[:, 0], in_order(paid, last)[:, 0]


def _one(truth: np.ndarray) -> bool:
    return len(np.unique(truth)) < 2


def _different_answers(answers: Answers) -> int:
    """How many different answers occur, two at the least."""
    return max(2, len(np.unique(answers.values[answers.states == Cell.ANSWERED])))

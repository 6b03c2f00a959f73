"""Decisions from what was learned: whom to ask, how many, and what to make of the answers."""

from collections.abc import Sequence
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
from askwho.learners import Learner, Scorer
from askwho.panel import Panel
from askwho.router._calibration import Calibration
from askwho.router._cardinality import Curve
from askwho.router._coverage import Coverage
from askwho.router._explain import Past, Why, explain
from askwho.router._foresight import Foresight
from askwho.router._promises import Promises
from askwho.router._rows import Rows, Setting, coins
from askwho.router._scoring import FAR, POSTERIOR, Judgement, Task, probabilities
from askwho.router._surrogate import CardinalityNetwork
from askwho.router._turns import Step, next_step
from askwho.selection import Selection, fees_table

FEWEST_ROWS = 200
"""With fewer rows than this nobody's habits can be told from chance."""
Mode = Literal["at-once", "sequential"]
"""How the chosen are asked: all at once, or one after another."""
_ONLY_TARGETS = "`confidence` must come with `budget` or `accuracy`, of which it is the promise; got {}."
_NO_TURNS = (
    "This policy cannot ask in turn: it was fitted without answers that are classes, on fewer than "
    f"{FEWEST_ROWS} rows, or with another committee than {POSTERIOR!r}."
)
_OTHER_FEES = (
    "`budget` and `accuracy` were validated at the fitted fees with everybody there: "
    "pass `fee_weight` with other fees or fewer entities."
)
_TARGETS = ("k", "fee_weight", "budget", "accuracy")
# What can be aimed at together, in that order.
_TOGETHER = {
    (True, False, False, False),
    (True, True, False, False),
    (False, True, False, False),
    (False, False, True, False),
    (False, False, False, True),
    (False, False, True, True),
}


class Decider:
    """What was learned, and the decisions it makes: whom to ask, how many, how to combine, and why.

    Attributes:
        panel_: who can be asked.
        task_: what the truth is.
        n_features_: how many features a query has.
        n_classes_: how many different answers occur; 0 for regression and grades.
        width_: the largest committee.
        fees_: shape (|A|,), what each charges in the mean.
        foresight_: fees by query, where they differ.
        learner_name_: of the learner, or of the paper's surrogate.
        learner_: of expected errors; none where `scorer_` ranks.
        scorer_: the paper's policy, where that was trained.
        calibration_: from what the learner says to expected errors.
        coverage_: who is asked about queries of which kind.
        overlap_: shape (|A|, |A|), who repeats whom, where the ranking minds it.
        committee_: how answers are combined; None where there are none.
        beliefs_: what is believed after any of them answered, where classes were learned.
        curve_: D_x(k), the expected error of committees.
        chooser_: the paper's networks of k(x), where those were trained.
        rows_: what was got and paid on held-out rows at each price.
        asking_: whom to ask next.
        turns_: what asking in turn got and paid on held-out rows.
        past_: some past queries, to explain by.
    """

    panel_: Panel
    task_: Task
    n_features_: int
    n_classes_: int
    width_: int
    fees_: np.ndarray
    foresight_: Foresight | None
    learner_name_: str
    learner_: Learner
    scorer_: Scorer | None
    calibration_: Calibration
    coverage_: Coverage | None
    overlap_: np.ndarray | None
    committee_: str | None
    beliefs_: Beliefs | None
    curve_: Curve
    chooser_: CardinalityNetwork | None
    rows_: Rows
    asking_: Asking | None
    turns_: Rows | None
    past_: Past | None

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
        if self.foresight_ is None:
            return self.fees_[None] if len(known) == 1 else np.broadcast_to(self.fees_, (len(known), len(self.fees_)))
        return self.foresight_.fees(known)

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
        asked = (k is not None, fee_weight is not None, budget is not None, accuracy is not None)
        if asked not in _TOGETHER:
            given = [name for name, is_there in zip(_TARGETS, asked, strict=True) if is_there]
            raise InvalidInputError(
                "One target must be given: `k` (with or without `fee_weight`), `fee_weight`, `budget`, `accuracy`, or "
                f"`budget` and `accuracy`; got {given or 'none'}."
            )
        if confidence is not None and budget is None and accuracy is None:
            raise InvalidInputError(_ONLY_TARGETS.format("`k`" if fee_weight is None else "`fee_weight`"))
        if budget is not None or accuracy is not None:
            if fees is not None or available is not None:
                raise InvalidInputError(_OTHER_FEES)
            found = self.setting_for(budget=budget, accuracy=accuracy, confidence=confidence)
            return self._select_at(self._known(X), found)
        rate = check.finite_number(0.0 if fee_weight is None else fee_weight, "fee_weight", minimum=0.0)
        if self.scorer_ is not None and (fees is not None or (k is not None and fee_weight is not None)):
            raise InvalidInputError(
                f"The price is baked into the policy {self.learner_name_!r}: it ranks for any `k` and any number of "
                "entities, not at other fees. Fit again with another `fee_weight`, or use a learner of expected errors."
            )
        known = self._known(X)
        price = self.expected_fees(known) if fees is None else fees_table(fees, self.panel_, len(known))
        if len(known) == 1 and k is None and available is None and self._by_errors_alone:
            return self._select_one(known, price, rate)
        judged = self.judge(known)
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
                raise InvalidInputError(_ONLY_TARGETS.format("`fee_weight`"))
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

        It is the verdict of asking in turn: those worth asking have weights of their own, which `combine`, for
        committees of anybody, does not use.

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
        pool = self.beliefs_.pool
        if self.asking_ is None:
            believed = pool.probabilities(case, pool.hear_all(case, asked))
        else:
            believed = self.asking_.believe(pool, case, asked)
        return self.beliefs_.decide(case, believed, answers, asked)

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

    def setting_for(
        self,
        *,
        budget: float | None = None,
        accuracy: float | None = None,
        confidence: float | None = None,
        mode: Mode = "at-once",
    ) -> Setting:
        """Return the setting at which held-out rows meet a mean fee, an error, or both; or say what can be had.

        So that a budget between two stored prices is spent, the setting may mix them: a query's features toss its coin,
        and it is decided at the one price or the other, always at the same. The mixture itself is what was tried.

        With `confidence` it is a promise: with that probability over the rows in `rows_`, queries drawn from what these
        were drawn from cost at most `budget` in the mean, and err at most `accuracy`; both at once, where both are
        given. This holds for any number of rows, if they are independent, or their groups where there are any, and if
        nothing to come is far beyond what was recorded: no group or fee that differs by query above the largest, no
        squared error above twice the largest at that setting.

        It is exact for the policy whose rows they are: this one after `calibrate`. The rows that `fit` leaves are of
        policies fitted on a fold less each, which err a little more and are otherwise the same.
        """
        if budget is None and accuracy is None:
            raise InvalidInputError("`budget` or `accuracy` must be given: there is nothing to aim at.")
        sure = None if confidence is None else check.finite_number(confidence, "confidence")
        if sure is not None and not 0.0 < sure < 1.0:
            raise InvalidInputError(f"`confidence` must be above 0 and below 1, got {confidence}.")
        money = None if budget is None else check.finite_number(budget, "budget", minimum=0.0)
        wanted = None if accuracy is None else check.finite_number(accuracy, "accuracy", minimum=0.0)
        rows, target = self._rows(mode), (money, wanted, sure)
        if target in rows.found:
            return rows.found[target]
        if sure is None:
            found = rows.meeting(self.task_, budget=money, accuracy=wanted)
        else:
            # Nobody is asked twice: no fee is above that of the largest committee of the dearest.
            width = self.width_ if mode == "at-once" or self.asking_ is None else len(self.asking_.bases)
            most = float(np.sort(self.fees_)[-width:].sum())
            promises = Promises(rows, most_fee=most, squared=self.task_ == "regression")
            found = promises.choose(budget=money, accuracy=wanted, confidence=sure)
        rows.found[target] = found
        return found

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

    @property
    def _by_errors_alone(self) -> bool:
        """Whether expected errors and fees decide, and nothing else."""
        others = (self.scorer_, self.coverage_, self.overlap_, self.chooser_)
        return all(other is None for other in others)

    def _select_one(self, known: Float[np.ndarray, "1 d"], fees: Float[np.ndarray, "1 a"], rate: float) -> Selection:
        """The same decision about one query, in plain numbers: for so few of them NumPy's calls would take longest."""
        expected = self.calibration_.of_one(self.learner_.predict(known)[0].tolist())
        price = fees[0].tolist()
        weights = self.panel_.error_weights.tolist()
        costs = [weight * error + rate * fee for weight, error, fee in zip(weights, expected, price, strict=True)]
        order = sorted(range(len(costs)), key=costs.__getitem__)[: self.width_]
        size = self.curve_.size_of_one(known[0], expected, order, price, rate)
        return Selection(self.panel_, np.array([order]), np.array([size]), -np.array([costs]), fees)

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
    ) -> Float[np.ndarray, " n"]:
        """The price at which each query is asked in turn, so that a target is met."""
        found = self.setting_for(budget=budget, accuracy=accuracy, confidence=confidence, mode="sequential")
        return np.where(coins(known) < found.share, found.other, found.fee_weight)

    def _known(self, X: ArrayLike) -> np.ndarray:
        known = check.table(X, "X").astype(np.float32)
        if known.shape[1] != self.n_features_:
            raise InvalidInputError(f"`X` must have the {self.n_features_} features of the log, got {known.shape[1]}.")
        return known

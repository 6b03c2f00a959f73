"""The router: what it learns from a log, one part after another. The decisions are in `_deciding`."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import Order
from askwho.answers import Answers, Cell
from askwho.beliefs import Beliefs
from askwho.exceptions import InvalidInputError
from askwho.learners import (
    SURROGATE_NAMES,
    CompSum,
    MakeLearner,
    Scorer,
    candidates,
    cross_fit,
    each_fold,
    folds,
    suited,
)
from askwho.panel import Panel
from askwho.router._calibration import Calibration
from askwho.router._cardinality import Curve
from askwho.router._coverage import Coverage
from askwho.router._deciding import FEWEST_ROWS, Decider
from askwho.router._diversity import SHARES, overlaps
from askwho.router._explain import Past
from askwho.router._foresight import Foresight
from askwho.router._rows import Rows, coins, grouped
from askwho.router._scoring import POSTERIOR, Judgement, Lessons, Scoring, Task
from askwho.router._surrogate import SurrogateCardinality
from askwho.router._turns import learn_turns, taken_turns
from askwho.selection import fees_table, in_order

COMMITTEES = {
    "classification": ("majority", "log-odds-vote"),
    "regression": ("mean", "median", "inverse-error-mean"),
}
# The paper's own, weighed by the softmax of scores, which only a policy trained by its surrogate has.
_OF_SCORES = {"classification": "weighted-vote", "regression": "weighted-mean"}
_SURROGATE_PRICES = 17
_WORTH_IT = 0.99


class Router(Decider):
    """Errors in, decisions out: whom to ask about each query, how many, and how to combine them.

    Args:
        learner: `"auto"`, or a name in `LEARNERS`: of all, the one with the least area under its validated frontier;
            or the paper's policy: a name in `losses.SURROGATES`, or a `CompSum` with its settings.
        committee: `"auto"`, or a name in `AGGREGATIONS`: likewise, but `"posterior"` where none is clearly better.
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
        self.task_ = task
        charged = fees_table(fees, panel, len(known))
        # Fees that differ by query are known only after the call: decisions use what the features lead to expect.
        self.fees_ = np.array(charged[0]) if (charged == charged[0]).all() else charged.mean(axis=0)
        self.n_features_ = known.shape[1]
        self.width_ = 1 if answers is None else min(self.max_k, len(panel))
        fold = folds(np.arange(len(known)) if groups is None else groups, self.cv, random_state=self.random_state)
        self.foresight_ = None
        foreseen = np.broadcast_to(self.fees_, charged.shape)
        if not (charged == charged[0]).all():
            self.foresight_, foreseen = Foresight.fit(known, charged, fold)
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
        self.past_ = Past.of(known, observed, random_state=self.random_state)
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
        if self.foresight_ is not None and fees is None:
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

    def _learn_errors(self, score: Scoring, X: np.ndarray, observed: np.ndarray, fold: np.ndarray) -> Judgement:
        """Choose the learner of expected errors, and fit it on everything; return its out-of-fold judgement."""
        best: tuple[float, str, Judgement, Calibration, MakeLearner] | None = None
        self.trials_: dict[str, float] = {}
        for name in candidates(str(self.learner)):
            make = suited(name, X, observed, fold, random_state=self.random_state)
            raw = cross_fit(make, X, observed, fold, random_state=self.random_state)
            calibration = Calibration.fit(raw, observed)
            judged = Judgement(calibration.apply(raw), self.panel_.error_weights)
            found = score.area(judged, COMMITTEES[self.task_][-1] if score.answers is not None else None, self.width_)
            self.trials_[name] = found
            self._say(f"learner {name}: area {found:.4f}")
            if best is None or found < best[0]:
                best = (found, name, judged, calibration, make)
        assert best is not None  # noqa: S101 - there is always a candidate
        _, self.learner_name_, judged, self.calibration_, make = best
        self.scorer_ = None
        self.learner_ = make(self.random_state).fit(X, observed)
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
        best = min(self.committee_trials_, key=lambda name: self.committee_trials_[name])
        if POSTERIOR not in names or best == POSTERIOR:
            return best
        # One that knows its members is not given up for what may be chance.
        order = judged.order(score.foreseen, 0.0, self.width_)
        change = score.prefix(judged, order, POSTERIOR) - score.prefix(judged, order, best)
        scored = ~np.isnan(change)
        rows = scored.any(axis=1)
        if not rows.any():
            return best
        means = np.where(scored, change, 0.0).sum(axis=1)[rows] / scored.sum(axis=1)[rows]
        chance = means.std() / np.sqrt(len(means))
        worse = self.committee_trials_[POSTERIOR] - self.committee_trials_[best]
        return POSTERIOR if worse <= chance else best

    def _choose_overlap(self, score: Scoring, judged: Judgement) -> Judgement:
        """Let those who repeat each other stand further apart in the ranking, where validation is the better for it."""
        self.overlap_ = None
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
        self.beliefs_ = None
        answered = score.answers is not None and score.truth is not None and self.task_ == "classification"
        # Labels say the same of every query: their answers are no evidence.
        labels = np.any(self.panel_.is_kind("label") | self.panel_.is_kind("reject"))
        few = len(fold) < FEWEST_ROWS
        if score.answers is None or score.truth is None or not answered or labels or few or _one(score.truth):
            if self.committee == POSTERIOR:
                raise InvalidInputError(
                    f"`committee` {POSTERIOR!r} must learn from answers that are classes, two at the least, of "
                    f"{FEWEST_ROWS} rows or more, with no label or reject in the panel: use 'auto' or another."
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
        self.asking_ = None
        self.turns_ = None
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
        self.chooser_ = None
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

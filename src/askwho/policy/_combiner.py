"""From the answers of a committee to one decision, and how sure it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import Order, Task
from askwho.aggregation import AGGREGATIONS, Combine, Committee, Verdicts, aggregation, log_odds_weights
from askwho.beliefs import Beliefs, Case, Grades, NumberCase, Numbers, named_answers
from askwho.core import Answers, Cell, Panel, in_order
from askwho.exceptions import InvalidInputError
from askwho.policy._seen import Seen

POSTERIOR = "posterior"
"""The committee that knows its members: `Beliefs`."""
SPREAD = "spread"
"""The committee of numbers that knows how far off it may be: `Numbers`."""
# Those that were learned, by task.
_LEARNED: dict[Task, str] = {"classification": POSTERIOR, "regression": SPREAD}


@dataclass(frozen=True, eq=False)
class Verdict:
    """What each query's committee decides.

    Args:
        values: shape (n,); whatever stands where `decided` is false is to be ignored.
        decided: shape (n,), false where no member gave a usable answer.
        probability: shape (n,), that the decision is right; NaN where it is a number, or there is none.
        expected: shape (n,), what it is expected to err; None where nobody believes anything.
    """

    values: Shaped[np.ndarray, " n"]
    decided: Shaped[np.ndarray, " n"]
    probability: Float[np.ndarray, " n"]
    expected: Float[np.ndarray, " n"] | None = None


@part("combiner")
@dataclass(frozen=True, eq=False)
class Combiner:
    """How answers are combined, as validation chose or the user said.

    Args:
        task: what the truth is.
        rule: a name in `AGGREGATIONS`, `"posterior"`, `"spread"`, or the user's own function; None where there are
            grades and no answers: the first is believed.
        n_classes: how many different answers occur; 0 for numbers and grades.
        family: what the log's answers are, "numbers", "text" or "dates"; None for grades.
        beliefs: what is believed after any of them answered, where it was learned; of grades, whose answer to keep,
            where something comes back with answers.
        spellings: from the key of a class that may be decided for, whoever says so, to how the log mostly spells it;
            empty where answers are compared as they are.
        mistake: what one cost in the mean, where some are worse than others; None where all are alike.
    """

    task: Task
    rule: str | Combine | None
    n_classes: int
    family: str | None = None
    beliefs: Beliefs | Numbers | Grades | None = None
    spellings: Mapping[str, str] = field(default_factory=dict[str, str])
    mistake: float | None = None

    @property
    def name(self) -> str | None:
        """What the rule is called."""
        return getattr(self.rule, "__name__", type(self.rule).__name__) if callable(self.rule) else self.rule

    @property
    def classes(self) -> Shaped[np.ndarray, " c"] | None:
        """Every class that past answers or truths held, sorted, shape (C,); None where nobody learned them."""
        known = self.beliefs.classes if isinstance(self.beliefs, Beliefs) else None
        return None if known is None or not len(known) else known

    def committee(self, panel: Panel, order: Order, seen: Seen, answers: Answers) -> Committee:
        """Return the members that an order ranks, with what is known of them."""
        expected = self.shares(seen.expected) if self.task == "classification" else seen.expected
        return Committee(panel, order, answers, seen.judged.ranking, in_order(expected, order), self.n_classes or None)

    def answers(self, panel: Panel, given: Answers) -> Answers:
        """Return answers as decisions are made of them: of grades, whose each is, and not what it says."""
        return named_answers(panel, given.states) if isinstance(self.beliefs, Grades) else given

    def case(self, answers: Answers, seen: Seen, info: Float[np.ndarray, "n a"] | None) -> Case | NumberCase | None:
        """Return queries with everything that was answered, as beliefs take them; None where there are none."""
        if self.beliefs is None:
            return None
        expected = seen.expected if self.task == "regression" else self.shares(seen.expected)
        case = self.beliefs.case(answers, expected=expected, info=info, shares=seen.shares)
        return replace(case, known=seen.X, info=info) if isinstance(case, Case) else case

    def shares(self, expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors of classes as shares, shape (n, |A|): as if all mistakes cost the same.

        Of a cost e that is e / (e + mistake): odds that rise with it, and never all or nothing.
        """
        if self.mistake is None:
            return np.clip(expected, 0.0, 1.0)
        least = np.maximum(expected, 0.0)
        return least / (least + self.mistake)

    def laid_out(self, case: Case | NumberCase) -> Case | NumberCase:
        """Return the case with what every committee that is asked at once believes, where models of sets decide."""
        sets = self.beliefs.sets if isinstance(self.beliefs, Beliefs) else None
        return case if sets is None or not isinstance(case, Case) else sets.laid_out(case)

    def after(self, case: Case | NumberCase, asked: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, "n c"]:
        """Return what is believed after those were asked at once, shape (n, C)."""
        if isinstance(self.beliefs, Beliefs) and isinstance(case, Case):
            return self.beliefs.after(case, asked)
        assert self.beliefs is not None  # noqa: S101 - there is a case
        pool: Any = self.beliefs.pool
        return pool.probabilities(case, pool.hear_all(case, asked))

    def settle(
        self,
        case: Case | NumberCase,
        believed: Float[np.ndarray, "n c"],
        answers: Answers,
        asked: Bool[np.ndarray, "n a"],
    ) -> Verdict:
        """Return what is decided by what is believed, shape (n, C), after those were asked, shape (n, |A|)."""
        if isinstance(self.beliefs, Numbers):
            said, known, expected = self.beliefs.decide(believed)
            return Verdict(said, known, np.full(len(said), np.nan), expected)
        assert self.beliefs is not None and isinstance(case, Case)  # noqa: S101, PT018 - one goes with the other
        said, sure = self.beliefs.decide(case, believed.astype(np.float32), answers, asked)
        known, share = sure > 0, sure.astype(np.float64)
        expected = 1.0 - share if case.costs is None else (believed @ case.costs).min(axis=1).astype(np.float64)
        return Verdict(said, known, np.where(known, share, np.nan), expected)

    def prefixes(
        self,
        committee: Committee,
        case: Case | NumberCase | None,
        rule: str | Combine | None = None,
        *,
        rows: Int[np.ndarray, " n"] | None = None,
    ) -> Verdicts:
        """Return what committees of every size decide, by this rule or by another.

        Args:
            committee: members in rank order.
            case: the queries, as beliefs take them; or all, of which these are some.
            rule: how they decide; as the combiner does, unless said.
            rows: which of the case's queries, shape (n,), each as often as it likes; all, unless said.
        """
        chosen = self.rule if rule is None else rule
        if chosen == POSTERIOR and isinstance(self.beliefs, Beliefs) and isinstance(case, Case):
            decisions = self.beliefs.decisions(case, committee.order, rows)
            if decisions is not None:
                return Verdicts(values=decisions, decided=committee.decided)
            return self.beliefs.verdicts(committee, case if rows is None else case.rows(rows))[0]
        if chosen == SPREAD and isinstance(self.beliefs, Numbers) and isinstance(case, NumberCase):
            return self.beliefs.verdicts(committee, case if rows is None else case.rows(rows))[0]
        return aggregation(chosen or "majority")(committee)

    def decisions(
        self, case: Case | NumberCase | None, order: Order, rows: Int[np.ndarray, " m"]
    ) -> Shaped[np.ndarray, "m K"] | None:
        """Return what committees of every size decide whose every member answered, shape (m, K).

        None where that takes more than the answers and the pool: see `Beliefs.decisions`.
        """
        if self.rule != POSTERIOR or not isinstance(self.beliefs, Beliefs) or not isinstance(case, Case):
            return None
        return self.beliefs.decisions(case, order, rows)

    def decide(
        self,
        committee: Committee,
        k: Int[np.ndarray, " n"],
        info: Float[np.ndarray, "n a"] | None,
        seen: Seen,
    ) -> Verdict:
        """Return what each query's own committee, the first k of its members, decides.

        Args:
            committee: members in rank order; who is beyond a query's k was not asked.
            k: how many were asked, shape (n,).
            info: shape (n, |A|), what came back with the answers.
            seen: the queries, as the committee was chosen by them.
        """
        decided = in_order(committee.decided, k[:, None] - 1)[:, 0]
        if self.beliefs is not None and (self.rule in (POSTERIOR, SPREAD) or isinstance(self.beliefs, Grades)):
            case = self.case(committee.said, seen, info)
            assert case is not None  # noqa: S101 - there are beliefs
            asked = committee.said.states != Cell.NOT_ASKED
            settled = self.settle(case, self.after(case, asked), committee.said, asked)
            sure = np.nan_to_num(settled.probability) if self.rule == POSTERIOR else settled.probability
            return replace(settled, decided=decided, probability=np.where(decided, sure, np.nan))
        said, _ = aggregation(self.rule or "majority")(committee).at(k)
        if self.task == "regression":
            return Verdict(said, decided, np.full(len(said), np.nan))
        answers, shares = naive_bayes(committee, np.arange(committee.order.shape[1]) < k[:, None], self.n_classes)
        own = (answers == said[:, None]) & (shares > 0)
        return Verdict(
            said, decided, np.where(decided & own.any(axis=1), np.where(own, shares, 0.0).max(axis=1), np.nan)
        )

    def spelled(
        self, verdicts: Shaped[np.ndarray, " n"], answers: Answers, expected: Float[np.ndarray, "n a"]
    ) -> Shaped[np.ndarray, " n"]:
        """Return verdicts as somebody spelled them, shape (n,); as they are, where answers are compared as they are.

        A class that was learned has one spelling, the log's commonest. Anything else is spelled as whoever said so and
        is expected to err least. What nobody ever spelled stays a key.

        Args:
            verdicts: shape (n,), keys.
            answers: what was heard.
            expected: shape (n, |A|), expected errors.
        """
        if verdicts.dtype.kind != "U" or (answers.spelled is None and not self.spellings):
            return verdicts
        written = verdicts.astype(object)
        if answers.spelled is not None:
            said = (answers.values == verdicts[:, None]) & (answers.states == Cell.ANSWERED)
            author = np.where(said, expected, np.inf).argmin(axis=1)
            own = answers.spelled[np.arange(len(author)), author]
            written = np.where(said.any(axis=1), own, written)
        pairs = zip(verdicts.tolist(), written.tolist(), strict=True)
        return np.array([self.spellings.get(key, text) for key, text in pairs], dtype=np.str_)

    def distribution(
        self,
        panel: Panel,
        seen: Seen,
        answers: Answers,
        classes: Shaped[np.ndarray, " c"],
        info: Float[np.ndarray, "n a"] | None = None,
    ) -> Float[np.ndarray, "n c"]:
        """Return the probability of each of some sorted classes, shape (n, C), whatever was heard; 0 where nobody was.

        By the beliefs where there are any; else by naive Bayes, answers that nobody gave sharing what is left alike.
        """
        found = np.zeros((len(answers), len(classes)))
        case = self.case(answers, seen, info)
        if isinstance(self.beliefs, Beliefs) and isinstance(case, Case) and len(self.beliefs.classes):
            asked = answers.states != Cell.NOT_ASKED
            believed = self.beliefs.calibrated(case, self.beliefs.after(case, asked), asked)
            place = np.searchsorted(self.beliefs.classes, classes.astype(np.result_type(classes, self.beliefs.classes)))
            place = np.minimum(place, len(self.beliefs.classes) - 1)
            found = np.where(self.beliefs.classes[place] == classes, believed[:, place].astype(np.float64), 0.0)
            return found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
        order = np.tile(np.arange(len(panel)), (len(answers), 1))
        committee = self.committee(panel, order, seen, answers)
        given, shares = naive_bayes(committee, np.ones(order.shape, dtype=bool), max(self.n_classes, 2))
        for j in range(len(panel)):
            same = (given[:, j, None] == classes) & (shares[:, j] > 0)[:, None]
            found = np.where(same, shares[:, j, None], found)
        rest = np.maximum(1.0 - found.sum(axis=1, keepdims=True), 0.0)
        unsaid = found == 0
        spread = np.divide(
            rest, unsaid.sum(axis=1, keepdims=True), out=np.zeros_like(rest), where=unsaid.any(axis=1, keepdims=True)
        )
        spoke = (shares > 0).any(axis=1, keepdims=True)
        found = np.where(unsaid & spoke, spread, found)
        return np.divide(found, found.sum(axis=1, keepdims=True), out=np.zeros_like(found), where=spoke)

    def to_state(self) -> State:
        """Return the rule by its name, and the beliefs; a user's own function is named by where it is imported from."""
        plain: dict[str, Any] = {"task": self.task, "n_classes": self.n_classes, "family": self.family}
        plain["spellings"] = dict(self.spellings)
        if self.mistake is not None:
            plain["mistake"] = self.mistake
        plain["rule"] = None if callable(self.rule) else self.rule
        return State(plain=plain).hold(beliefs=self.beliefs, rule=self.rule if callable(self.rule) else None)

    @classmethod
    def from_state(cls, state: State) -> "Combiner":
        """Return the combiner that `to_state` wrote."""
        check.one_of(state.plain["task"], "task", ["classification", "regression"])
        rule, beliefs = state.read("rule") or state.plain["rule"], state.read("beliefs")
        if isinstance(rule, str):
            check_rule(rule, state.plain["task"])
        kind = (Beliefs if rule else Grades) if state.plain["task"] == "classification" else Numbers
        if not isinstance(beliefs, kind) and (beliefs is not None or rule in (POSTERIOR, SPREAD)):
            raise InvalidInputError(f"`committee` {rule!r} must come with beliefs, got none: it is damaged.")
        count = check.whole_number(state.plain["n_classes"], "n_classes", minimum=0)
        spellings = state.plain["spellings"]
        if not (isinstance(spellings, dict) and all(isinstance(text, str) for text in spellings.values())):
            raise InvalidInputError("`spellings` must be texts by key, got something else: the artefact is damaged.")
        mistake = state.plain.get("mistake")
        if mistake is not None and check.finite_number(mistake, "mistake", minimum=0.0) == 0.0:
            raise InvalidInputError("`mistake` must be above 0, got 0: the artefact is damaged.")
        return cls(state.plain["task"], rule, count, state.plain["family"], beliefs, spellings, mistake)


def rule_names() -> list[str]:
    """Return the names of the aggregations that a committee may decide by."""
    return list(AGGREGATIONS)


def check_rule(rule: object, task: Task) -> None:
    """Raise where a committee is no name of this task and no function; said before anything is learned."""
    if callable(rule):
        return
    names = [name for name, entry in AGGREGATIONS.items() if entry.task == task]
    check.one_of(rule, "committee", ["auto", *names, _LEARNED[task]])


def naive_bayes(
    committee: Committee, heard: Shaped[np.ndarray, "n K"], n_classes: int
) -> tuple[Shaped[np.ndarray, "n K"], Float[np.ndarray, "n K"]]:
    """Return each member's answer and its probability by naive Bayes, each of shape (n, K).

    Members are right by their expected errors, and wrong with any other answer alike (Nitzan and Paroush 1982); answers
    that nobody gave share what is left. Equal answers have equal probabilities; that of who was not heard is 0.
    """
    spoke = committee.voted & heard
    weights = np.where(spoke, log_odds_weights(committee, n_classes=n_classes), 0.0)
    same = (committee.answers[:, :, None] == committee.answers[:, None, :]) & spoke[:, :, None] & spoke[:, None, :]
    sums = np.einsum("nij,nj->ni", same, weights)
    # Of equal answers the first counts: the others are the same candidate.
    first = spoke & ~np.tril(same, -1).any(axis=2)
    top = np.maximum(np.where(spoke, sums, 0.0).max(axis=1, keepdims=True), 0.0)
    raised = np.where(spoke, np.exp(sums - top), 0.0)
    others = np.maximum(n_classes - first.sum(axis=1, keepdims=True), 0) * np.exp(-top)
    total = (raised * first).sum(axis=1, keepdims=True) + others
    return committee.answers, np.divide(raised, total, out=np.zeros_like(raised), where=total > 0)

"""From the answers of a committee to one decision, and how sure it is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from askwho import _validation as check
from askwho._parts import State, part
from askwho._types import Order, Task
from askwho.aggregation import AGGREGATIONS, Combine, Committee, Verdicts, aggregation, log_odds_weights
from askwho.beliefs import Beliefs, Case
from askwho.core import Answers, Cell, Panel, in_order
from askwho.exceptions import InvalidInputError
from askwho.policy._seen import Seen

POSTERIOR = "posterior"
"""The committee that knows its members: `Beliefs`."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What each query's committee decides.

    Args:
        values: shape (n,); whatever stands where `decided` is false is to be ignored.
        decided: shape (n,), false where no member gave a usable answer.
        probability: shape (n,), that the decision is right; NaN where it is a number, or there is none.
    """

    values: Shaped[np.ndarray, " n"]
    decided: Shaped[np.ndarray, " n"]
    probability: Float[np.ndarray, " n"]


@part("combiner")
@dataclass(frozen=True, eq=False)
class Combiner:
    """How answers are combined, as validation chose or the user said.

    Args:
        task: what the truth is.
        rule: a name in `AGGREGATIONS`, `"posterior"`, or the user's own function; None where there are grades and no
            answers: the first is believed.
        n_classes: how many different answers occur; 0 for numbers and grades.
        family: what the log's answers are, "numbers", "text" or "dates"; None for grades.
        beliefs: what is believed after any of them answered, where classes were learned.
        unit: what a mistake cost in the mean, where some are worse than others; None where all are alike.
    """

    task: Task
    rule: str | Combine | None
    n_classes: int
    family: str | None = None
    beliefs: Beliefs | None = None
    unit: float | None = None

    @property
    def name(self) -> str | None:
        """What the rule is called."""
        return getattr(self.rule, "__name__", type(self.rule).__name__) if callable(self.rule) else self.rule

    def committee(self, panel: Panel, order: Order, seen: Seen, answers: Answers) -> Committee:
        """Return the members that an order ranks, with what is known of them."""
        expected = self.shares(seen.expected) if self.task == "classification" else seen.expected
        return Committee(panel, order, answers, seen.judged.ranking, in_order(expected, order), self.n_classes or None)

    def case(self, answers: Answers, seen: Seen, info: Float[np.ndarray, "n a"] | None) -> Case | None:
        """Return queries with everything that was answered, as beliefs take them; None where there are none."""
        if self.beliefs is None:
            return None
        return self.beliefs.case(answers, expected=self.shares(seen.expected), info=info, shares=seen.shares)

    def shares(self, expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a"]:
        """Return expected errors of classes as shares, shape (n, |A|): as if all mistakes cost the same.

        Of a cost e that is e / (e + unit): odds that rise with it, and never all or nothing.
        """
        if self.unit is None:
            return np.clip(expected, 0.0, 1.0)
        least = np.maximum(expected, 0.0)
        return least / (least + self.unit)

    def prefixes(self, committee: Committee, case: Case | None, rule: str | Combine | None = None) -> Verdicts:
        """Return what committees of every size decide, by this rule or by another."""
        chosen = self.rule if rule is None else rule
        if chosen == POSTERIOR and self.beliefs is not None and case is not None:
            return self.beliefs.verdicts(committee, case)[0]
        return aggregation(chosen or "majority")(committee)

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
        if self.rule == POSTERIOR and self.beliefs is not None:
            case = self.case(committee.said, seen, info)
            assert case is not None  # noqa: S101 - there are beliefs
            asked = committee.said.states != Cell.NOT_ASKED
            pool = self.beliefs.pool
            said, sure = self.beliefs.decide(
                case, pool.probabilities(case, pool.hear_all(case, asked)), committee.said, asked
            )
            return Verdict(said, decided, np.where(decided, sure.astype(np.float64), np.nan))
        said, _ = aggregation(self.rule or "majority")(committee).at(k)
        if self.task == "regression":
            return Verdict(said, decided, np.full(len(said), np.nan))
        answers, shares = naive_bayes(committee, np.arange(committee.order.shape[1]) < k[:, None], self.n_classes)
        own = (answers == said[:, None]) & (shares > 0)
        return Verdict(
            said, decided, np.where(decided & own.any(axis=1), np.where(own, shares, 0.0).max(axis=1), np.nan)
        )

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
        if self.beliefs is not None and case is not None and len(self.beliefs.classes):
            pool = self.beliefs.pool
            believed = pool.probabilities(case, pool.hear_all(case, answers.states != Cell.NOT_ASKED))
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
        if self.unit is not None:
            plain["unit"] = self.unit
        plain["rule"] = None if callable(self.rule) else self.rule
        return State(plain=plain).hold(beliefs=self.beliefs, rule=self.rule if callable(self.rule) else None)

    @classmethod
    def from_state(cls, state: State) -> "Combiner":
        """Return the combiner that `to_state` wrote."""
        check.one_of(state.plain["task"], "task", ["classification", "regression"])
        rule, beliefs = state.read("rule") or state.plain["rule"], state.read("beliefs")
        if isinstance(rule, str):
            check_rule(rule, state.plain["task"])
        if rule == POSTERIOR and beliefs is None:
            raise InvalidInputError(f"`committee` {POSTERIOR!r} must come with beliefs, got none: it is damaged.")
        count = check.whole_number(state.plain["n_classes"], "n_classes", minimum=0)
        unit = state.plain.get("unit")
        if unit is not None and check.finite_number(unit, "unit", minimum=0.0) == 0.0:
            raise InvalidInputError("`unit` must be above 0, got 0: the artefact is damaged.")
        return cls(state.plain["task"], rule, count, state.plain["family"], beliefs, unit)


def rule_names() -> list[str]:
    """Return the names of the aggregations that a committee may decide by."""
    return list(AGGREGATIONS)


def check_rule(rule: object, task: Task) -> None:
    """Raise where a committee is no name of this task and no function; said before anything is learned."""
    if callable(rule):
        return
    names = [name for name, entry in AGGREGATIONS.items() if entry.task == task]
    check.one_of(rule, "committee", ["auto", *names, *([POSTERIOR] if task == "classification" else [])])


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

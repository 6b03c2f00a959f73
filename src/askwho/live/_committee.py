"""Between calls and the policy: what was heard as the policy takes it, and its verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from askwho.core import Answers, Cell, Panel
from askwho.live._answered import Asked
from askwho.policy import Decisions, Outcome, Policy, Target


def sense_of(policy: Policy) -> Any:  # noqa: ANN401 - a function
    """Return a function from an answer to why the policy cannot use it, or nothing where it can."""
    if policy.columns.answers is None:
        return lambda _: ""
    known = "numbers" if policy.task == "regression" else policy.combiner.family
    keyed = policy.columns.same != "exact"

    def sense(answer: Any) -> str:  # noqa: ANN401 - of any type
        if isinstance(answer, float) and not math.isfinite(answer):
            return "his answer is not a finite number"
        number = isinstance(answer, int | float | np.number)
        if not number and not isinstance(answer, str):
            return f"his answer must be a text or a number, got {type(answer).__name__}"
        if isinstance(answer, str) and not answer.strip():
            return "his answer is empty"
        if not keyed and known in ("numbers", "text") and number != (known == "numbers"):
            return f"his answer must be of {known}, as in the policy's log, got {answer!r:.80}"
        return ""

    return sense


def heard(policy: Policy, calls: Mapping[str, Asked]) -> tuple[Answers, Float[np.ndarray, "1 a"] | None]:
    """Return what came of calls about one query, and what came with it, each (1, |A|) without our own."""
    panel = policy.panel
    names = [name for name, own in zip(panel.names, panel.own.tolist(), strict=True) if not own]
    states = np.full((1, len(names)), Cell.NOT_ASKED, dtype=np.int8)
    info = np.full((1, len(names)), np.nan)
    said: dict[int, Any] = {}
    for j, name in enumerate(names):
        call = calls.get(name)
        if call is None:
            continue
        states[0, j] = Cell.ANSWERED if call.came == "answered" else Cell.NO_ANSWER
        if call.came == "answered":
            said[j] = call.answer
            if call.info is not None:
                info[0, j] = call.info
    return Answers(_values(policy, said, len(names)), states), info if policy.columns.info else None


def _values(policy: Policy, said: Mapping[int, Any], count: int) -> np.ndarray:
    """Answers in one array (1, count), of the type that they have together."""
    if policy.columns.answers is None or not said:
        return np.zeros((1, count))
    given = list(said.values())
    # Texts and numbers have one key where a rule compares them: then all are texts.
    texts = [str(value) for value in given] if any(isinstance(value, str) for value in given) else None
    array = np.array(given if texts is None else texts)
    values = np.zeros((1, count), dtype=array.dtype)
    values[0, list(said)] = array
    return values


def ranked(policy: Policy, decisions: Decisions, target: Target) -> list[int]:
    """Return everybody, best first: the decision's own order, then those beyond it by the same costs."""
    order, size = decisions.order[0].tolist(), len(policy.panel)
    if len(order) == size:
        return order
    seen = decisions.seen
    prices = policy.prices(seen, target)
    rest = seen.judged.ordered(seen.judged.costs(seen.fees, prices[:, None]), size)[0].tolist()
    return [*order, *(j for j in rest if j not in order)]


def verdict(policy: Policy, decisions: Decisions, taken: Sequence[int], calls: Mapping[str, Asked]) -> Decisions:
    """Return one query's decision, filled in by those who were asked in the end, substitutes among them.

    Args:
        policy: who decides.
        decisions: of the one query, before anybody was asked.
        taken: who is in the committee in the end, best first, without those who could not be asked.
        calls: what came, by name.
    """
    panel = policy.panel
    made, names = seated(decisions, taken), panel.names
    if not any(_spoke(panel, j, calls) for j in taken):
        return replace(made, outcome=_undecided(panel))
    if policy.columns.answers is None and policy.combiner.beliefs is None:
        return replace(made, outcome=_first(panel, taken, calls))
    answers, info = heard(policy, {names[j]: calls[names[j]] for j in taken if names[j] in calls})
    return policy.combine(made, answers, info=info)


def seated(decisions: Decisions, taken: Sequence[int]) -> Decisions:
    """Return one query's decision with those in its committee who were taken, best first, whoever was decided for."""
    rest = [j for j in decisions.order[0].tolist() if j not in taken]
    order = [*taken, *rest]
    chance = dict(zip(decisions.order[0].tolist(), decisions.propensities[0].tolist(), strict=True))
    return replace(
        decisions,
        order=np.array([order], dtype=np.intp),
        k=np.array([len(taken)]),
        # Who stands in for another was chosen with the probability that he was, whatever befell the other.
        propensities=np.array([[chance.get(j, 0.0) for j in order]]),
        there=None,
    )


def _spoke(panel: Panel, j: int, calls: Mapping[str, Asked]) -> bool:
    call = calls.get(panel.names[j])
    return bool(panel.own[j]) if call is None else call.came == "answered"


def _undecided(panel: Panel) -> Outcome:
    nothing = np.full(1, None, dtype=object)
    return Outcome(nothing, np.zeros(1, bool), np.full(1, np.nan), np.zeros(1), np.zeros((1, len(panel)), bool))


def _first(panel: Panel, taken: Sequence[int], calls: Mapping[str, Asked]) -> Outcome:
    """Of grades, nothing coming back with the answers, the first who answered is believed."""
    spoke = [j for j in taken if _spoke(panel, j, calls)]
    heard_ = np.zeros((1, len(panel)), bool)
    heard_[0, spoke] = True
    names = np.array([panel.names[spoke[0]]])
    return Outcome(names, np.ones(1, bool), np.full(1, np.nan), np.zeros(1), heard_)

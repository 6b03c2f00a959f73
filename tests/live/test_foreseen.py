"""What is foreseen while the last one thinks is what is decided when he has answered, to the bit."""

import asyncio
import time

import pytest

from askwho import Target
from askwho.live import Asker
from askwho.live import _ways as ways
from askwho.live._answered import Asked
from askwho.live._committee import verdict
from askwho.live._foreseen import MOMENT, Foreseen
from askwho.policy import Policy
from tests import policies
from tests.live.test_asker import NO, fakes, query, ranking

SLOW = 10 * MOMENT
# Kinds of logs whose classes are few, and whose answers are compared as they are and alone.
FORESEEN = ["classes", "own base", "fees by query"]


def cases(kind, n=6):
    """Decisions about queries, committees, and what everybody answered."""
    policy, table = policies.fitted(kind), policies.queries(kind, n)
    rows = [{name: table[name][i] for name in policy.encoder.columns if name in table} for i in range(n)]
    names, own = policy.panel.names, policy.panel.own
    for i, row in enumerate(rows):
        decisions = policy.decide(row, Target(k=min(3, policy.cardinality.width)))
        committee = decisions.order[0, : decisions.k[0]].tolist()
        said = {names[j]: table[f"answer_{names[j]}"][i] for j in committee if not own[j]}
        calls = {
            name: Asked(name, "answered", getattr(each, "item", lambda each=each: each)())
            for name, each in said.items()
        }
        yield policy, decisions, committee, calls


def rest(calls, last):
    return {name: call for name, call in calls.items() if name != last}


@pytest.mark.parametrize("kind", FORESEEN)
def test_whatever_the_last_one_says_it_was_foreseen(kind):
    seen = 0
    for policy, decisions, committee, calls in cases(kind):
        for last in calls:
            foreseen = Foreseen(policy, decisions)
            assert foreseen.wants(committee)
            foreseen.work_out(committee, rest(calls, last), last)
            assert not foreseen.wants(committee)
            for said in policy.combiner.beliefs.classes.tolist():
                told = rest(calls, last) | {last: Asked(last, "answered", said)}
                # Equal to the last bit of the probability.
                assert foreseen.decision(committee, told) == verdict(policy, decisions, committee, told)[0]
                seen += 1
    assert seen > 20


def test_what_was_not_foreseen_is_not_told():
    policy, decisions, committee, calls = next(cases("classes"))
    last = next(iter(calls))
    foreseen = Foreseen(policy, decisions)
    assert foreseen.decision(committee, calls) is None
    foreseen.work_out(committee, rest(calls, last), last)
    assert foreseen.decision(committee, calls) is not None
    # A word that the log never held, another type, no answer, another committee.
    for call in (Asked(last, "answered", "unicorn"), Asked(last, "answered", 1), Asked(last, "late")):
        assert foreseen.decision(committee, calls | {last: call}) is None
    assert foreseen.decision(committee[:-1], calls) is None


@pytest.mark.parametrize("kind", ["votes", "numbers", "free answers"])
def test_where_there_are_no_few_classes_nothing_is_foreseen(kind):
    policy, decisions, committee, _ = next(cases(kind))
    assert not Foreseen(policy, decisions).wants(committee)


@pytest.fixture
def policy():
    return policies.fitted("classes")


def watched(monkeypatch):
    """When verdicts were worked out, and how many queries were decided without one that was foreseen."""
    when, plain = [], []
    combine, decide = Policy.combine, ways.verdict
    monkeypatch.setattr(Policy, "combine", lambda *a, **b: (when.append(time.monotonic()), combine(*a, **b))[1])
    monkeypatch.setattr(ways, "verdict", lambda *a: (plain.append(a), decide(*a))[1])
    return when, plain


@pytest.mark.parametrize("k", [1, 3])
def test_the_verdict_is_there_before_the_last_answer(policy, monkeypatch, k):
    when, plain = watched(monkeypatch)
    last = ranking(policy)[k - 1]
    experts = fakes(policy, **{last: {"seconds": SLOW}})
    answered = []
    ask = experts[last].ask

    async def timed(question):
        reply = await ask(question)
        answered.append(time.monotonic())
        return reply

    experts[last].ask = timed

    async def main():
        async with Asker(policy, experts) as asker:
            return await asker.ask(query(), Target(k=k))

    done = asyncio.run(main())
    assert len(done.decision.heard) == k
    assert (len(when), plain) == (1, [])
    assert when[0] < answered[0]


def test_who_stands_in_for_the_last_one_is_foreseen_anew(policy, monkeypatch):
    when, plain = watched(monkeypatch)
    first, second = ranking(policy)[:2]
    changes = {first: {"says": lambda _: NO, "seconds": SLOW}, second: {"seconds": SLOW}}
    experts = fakes(policy, **changes)

    async def main():
        async with Asker(policy, experts) as asker:
            return await asker.ask(query(), Target(k=1))

    done = asyncio.run(main())
    assert done.decision.heard == (second,)
    assert (len(when), plain) == (2, [])


def test_whoever_answers_at_once_is_not_foreseen(policy, monkeypatch):
    when, plain = watched(monkeypatch)

    async def main():
        async with Asker(policy, fakes(policy)) as asker:
            return await asker.ask(query(), Target(k=3))

    assert len(asyncio.run(main()).decision.heard) == 3
    assert len(when) == len(plain) == 1

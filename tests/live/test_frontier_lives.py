"""The frontier lives: through recorded experts the live way decides and pays what the replay of the log told."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from askwho import Columns, Target
from askwho._money import nanos
from askwho.data import read_log, read_table
from askwho.experts import Limits, Recorded
from askwho.fitting import fit
from askwho.ledger import open_ledger
from askwho.live import Asker, ask_all, run_anywhere
from askwho.replay import Replay
from tests import policies

N = 40


def recorded(policy, table, fees):
    """The experts of a policy, from the columns of a log."""
    outside = [e for e in policy.panel.entities if not e.own]
    return [
        Recorded.of(
            entity.name,
            table,
            answer=f"answer_{entity.name}",
            fee=f"fee_{entity.name}" if fees else entity.fee,
            limits=Limits(concurrency=1000),
        )
        for entity in outside
    ]


def rows(table):
    n = len(table["id"])
    return [{name: values[i] for name, values in table.items() if not name.startswith("answer_")} for i in range(n)]


def named(kind):
    return policies.queries(kind, N) | {"id": np.array([f"q{i}" for i in range(N)])}


def same(found, expected):
    """Whether verdicts are the same; numbers as far as their sums do not go by the order of rows."""
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-6)
    return found == expected


@pytest.mark.parametrize("kind", policies.ANSWERED)
def test_at_once_every_decision_is_that_of_the_replay(kind):
    policy, table = policies.fitted(kind), named(kind)
    log = read_log(table, policy.columns)
    replay = Replay.of(policy, log)
    experts = recorded(policy, table, fees=kind == "fees by query")
    for place in (0, 8, 14):
        price = float(policy.tried.prices[place])
        done = ask_all(policy, experts, rows(table), Target(fee_weight=price), deadline=60)
        decisions = policy.decide(table, Target(fee_weight=price))
        plain = policy.combine(decisions, table, by_position=True)
        order = replay.order(price, policy.cardinality.width)
        _, paid = replay.outcome(order, replay.errors(order), decisions.k)
        for i, (live, told) in enumerate(zip(done, plain, strict=True)):
            assert live.decision.ask == told.ask
            assert live.decision.heard == told.heard
            assert same(live.decision.verdict, told.verdict)
            assert live.decision.expected_error == pytest.approx(told.expected_error)
            # To the billionth, not only to the cent.
            assert live.booked == nanos(round(float(paid[i]), 9)) == nanos(round(told.paid, 9))


@pytest.mark.parametrize("kind", ["classes", "own base", "numbers", "free answers"])
def test_in_turn_every_decision_is_that_of_the_replay(kind):
    policy, table = policies.fitted(kind), named(kind)
    assert policy.turns is not None
    replay = Replay.of(policy, read_log(table, policy.columns))
    experts = recorded(policy, table, fees=False)
    for place in (2, 8):
        price = float(policy.turns.tried.prices[place])
        done = ask_all(policy, experts, rows(table), Target(fee_weight=price), deadline=60, mode="sequential")
        taken = replay.in_turn(policy.turns.asking, price)
        for i, live in enumerate(done):
            asked = [policy.panel.names[j] for j in taken.order[i] if j >= 0]
            assert list(live.decision.ask) == asked
            assert live.booked == nanos(round(float(taken.fees[i]), 9))
            if asked or policy.panel.own.any():
                assert same(live.decision.verdict, taken.values[i].item())


@pytest.mark.parametrize("mode", ["at-once", "sequential"])
def test_a_budget_is_met_as_it_was_tried_and_the_ledger_says_so(mode):
    policy, table = policies.fitted("classes"), named("classes")
    target = Target(budget=0.4)

    async def main():
        async with open_ledger(":memory:") as ledger:
            async with Asker(policy, recorded(policy, table, fees=False), ledger=ledger, mode=mode) as asker:
                done = [await asker.ask(row, target, deadline=60) for row in rows(table)]
                for live, truth in zip(done, table["truth"], strict=True):
                    await asker.outcome(live.decision.id, truth)
            return done, ledger.export(propensity=mode == "at-once")

    done, log = run_anywhere(main)
    if mode == "at-once":
        told = policy.combine(policy.decide(table, target), table, by_position=True)
        assert [live.decision.verdict for live in done] == [each.verdict for each in told]
        assert log["propensity"] == [1.0] * N
    assert sorted(log["id"]) == sorted(table["id"].tolist())
    place = {each: i for i, each in enumerate(log["id"])}
    for i, live in enumerate(done):
        row = place[live.decision.id]
        assert log["truth"][row] == table["truth"][i]
        fees = [log[f"fee_{name}"][row] or 0.0 for name in policy.panel.names]
        assert sum(map(nanos, fees)) == live.booked
        answers = {name: log[f"answer_{name}"][row] for name in policy.panel.names}
        assert {name for name, said in answers.items() if said is not None} == set(live.decision.heard)
    # What the ledger tells is a log that can be fitted again.
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*", time="time")
    assert len(read_log(log, columns)) == N


LOGS = Path(os.environ.get("ASKWHO_DATA", "/nowhere")) / "logs"


@pytest.mark.skipif(not LOGS.is_dir(), reason="the shared logs are not there: set ASKWHO_DATA")
@pytest.mark.parametrize("mode", ["at-once", "sequential"])
def test_on_a_shared_log_the_live_way_is_that_of_the_replay(mode):
    table = read_table(LOGS / "face_emotion_apis.parquet")
    fees = json.loads((LOGS / "face_emotion_apis.json").read_text())["fees"]
    order = np.random.default_rng(0).permutation(len(table["truth"]))
    columns = Columns(truth="truth", answers="answer_*", features="x_*", info="confidence_*", fees=fees)
    past = {name: values[order[:800]] for name, values in table.items()}
    policy = fit(read_log(past, columns), learner="linear", base="none", cv=3)
    new = {name: values[order[800:920]] for name, values in table.items()}
    new["id"] = np.array([f"q{i}" for i in range(120)])
    replay = Replay.of(policy, read_log(new, policy.columns))
    experts = [
        Recorded.of(name, new, answer=f"answer_{name}", info=f"confidence_{name}", fee=fees[name])
        for name in policy.panel.names
    ]
    tried = policy.tried if mode == "at-once" else policy.turns.tried
    for place in (4, 8, 12):
        price = float(tried.prices[place])
        done = ask_all(policy, experts, rows(new), Target(fee_weight=price), deadline=60, mode=mode)
        if mode == "at-once":
            plain = policy.combine(policy.decide(new, Target(fee_weight=price)), new, by_position=True)
            verdicts, paid = plain.outcome.values.tolist(), plain.outcome.paid.tolist()
        else:
            taken = replay.in_turn(policy.turns.asking, price)
            verdicts, paid = taken.values.tolist(), taken.fees.tolist()
        assert [live.decision.verdict for live in done] == verdicts
        assert [live.booked for live in done] == [nanos(round(fee, 9)) for fee in paid]
        assert len({len(live.calls) for live in done}) > 1 or place == 12

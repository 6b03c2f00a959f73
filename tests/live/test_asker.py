"""The Asker: deadlines, retries, substitutes, breakers, hedges, budgets and cancellations, with fakes."""

import asyncio
import threading
import time

import numpy as np
import pytest

from askwho import InvalidInputError, Target
from askwho._money import nanos
from askwho.experts import ExpertError, Fake, Limits, Python, Reply
from askwho.ledger import open_ledger
from askwho.ledger._sqlite import Sqlite
from askwho.live import Asker, ask_all
from tests import policies
from tests.live.town import Lag

TABLE = policies.queries("classes", 40)


def query(i=0):
    return {name: values[i] for name, values in TABLE.items() if name.startswith("x_")} | {"id": f"q{i}"}


def fakes(policy, **changes):
    """A fake for each expert, who says what the table says; or whatever is said of him."""
    said = {name: {f"q{i}": str(TABLE[f"answer_{name}"][i]) for i in range(40)} for name in policy.panel.names}
    made = {e.name: Fake(e.name, said[e.name], fee=e.fee) for e in policy.panel.entities}
    for name, change in changes.items():
        for field, value in change.items():
            setattr(made[name], field, value)
    return made


def ranking(policy, i=0):
    """Who is first, second, ... for a query."""
    return policy.decide(query(i), Target(k=4))[0].ask


def run(policy, experts, target=None, *, deadline=5.0, times=1, **options):
    async def main():
        async with Asker(policy, experts, **options) as asker:
            return [await asker.ask(query(i), target or Target(k=1), deadline=deadline) for i in range(times)]

    done = asyncio.run(main())
    return done[0] if times == 1 else done


@pytest.fixture(scope="module")
def policy():
    return policies.fitted("classes")


NO = ExpertError("refused", charged="no", retry=True)
MAYBE = ExpertError("broken", charged="unknown", retry=True)


def test_a_call_that_was_not_charged_is_tried_again(policy):
    first = ranking(policy)[0]
    done = run(policy, fakes(policy, **{first: {"says": [NO, NO, "cat"]}}))
    assert done.calls[0].attempts == 3
    assert done.decision.heard == (first,)
    assert done.booked == nanos(policy.panel.fees[policy.panel.index(first)])


def test_retries_have_one_key_and_calls_have_their_own(policy):
    first = ranking(policy)[0]
    experts = fakes(policy, **{first: {"says": lambda question: NO}})
    run(policy, experts, Target(k=2))
    keys = [question.key for question in experts[first].asked]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    others = [question.key for name in policy.panel.names if name != first for question in experts[name].asked]
    assert len({*keys, *others}) == len(others) + 1


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_call_that_may_have_been_charged_is_tried_again_only_with_a_key_that_is_honoured(policy, idempotent):
    first, second = ranking(policy)[:2]
    limits = Limits(idempotent=idempotent)
    done = run(policy, fakes(policy, **{first: {"says": [MAYBE, "cat"], "limits": limits}}))
    fee = {e.name: nanos(e.fee) for e in policy.panel.entities}
    if idempotent:
        assert done.decision.heard == (first,)
        assert done.booked == fee[first]
        assert done.calls[0].certain
    else:
        assert done.calls[0].attempts == 1
        assert done.decision.heard == (second,)
        # Nobody can tell whether the first was paid: he is booked at his worst.
        assert done.booked == fee[first] + fee[second]
        assert not done.calls[0].certain


def test_what_will_not_succeed_is_not_tried_again(policy):
    first = ranking(policy)[0]
    done = run(policy, fakes(policy, **{first: {"says": [ExpertError("bad key", charged="no"), "cat"]}}))
    assert done.calls[0].attempts == 1


def test_no_retry_is_made_that_could_not_be_in_time(policy):
    first = ranking(policy)[0]
    wait = ExpertError("later", charged="no", retry=True, after=3.0)
    done = run(policy, fakes(policy, **{first: {"says": [wait, "cat"]}}), deadline=0.5)
    assert done.calls[0].attempts == 1
    assert done.seconds < 0.4
    # And whoever asks next is not sent to him before that.
    both = run(policy, fakes(policy, **{first: {"says": [wait, "cat"]}}), deadline=0.5, times=2)
    if ranking(policy, 1)[0] == first:
        assert both[1].calls[0].came == "not asked"


@pytest.mark.parametrize("mode", ["at-once", "sequential"])
def test_an_answer_that_the_policy_cannot_use_is_none(policy, mode):
    for garbage in (3, 2.5, "", "  ", float("nan"), None, ["cat"], True):
        says = {"says": lambda question, garbage=garbage: garbage}
        experts = fakes(policy, left=says, right=says)
        done = run(policy, experts, Target(fee_weight=0.02), times=6, mode=mode)
        for each in done:
            assert not {"left", "right"} & set(each.decision.heard)
            for call in each.calls:
                if call.expert in ("left", "right") and call.came != "not asked":
                    assert (call.came, call.answer) == ("unusable", None)
                    assert call.why
                    # It is paid all the same.
                    assert call.booked == nanos(0.1)


def test_substitutes_come_in_the_order_of_the_ranking(policy):
    line = ranking(policy)
    bad = {name: {"says": ExpertError("no", charged="no")} for name in line[:2]}
    done = run(policy, fakes(policy, **bad), Target(k=2))
    assert [call.expert for call in done.calls] == list(line)
    assert done.decision.heard == line[2:]
    # The verdict is that of a committee of those who answered.
    told = policy.combine(
        policy.decide(query(), Target(k=2), available=list(line[2:])),
        {f"answer_{name}": [TABLE[f"answer_{name}"][0]] for name in line[2:]} | {"id": ["q0"]},
    )[0]
    assert done.decision.verdict == told.verdict
    assert done.decision.probability == pytest.approx(told.probability, abs=1e-6)


def test_our_own_base_stands_in_for_nothing():
    policy = policies.fitted("own base")
    table = policies.queries("own base", 5)
    row = {name: values[0] for name, values in table.items() if name.startswith("x_")}
    experts = [Fake(e.name, ExpertError("no", charged="no"), fee=e.fee) for e in policy.panel.entities if not e.own]
    for mode, target in (("at-once", Target(k=2)), ("sequential", Target(fee_weight=0.01))):
        done = run_one(policy, experts, row, target, mode=mode)
        assert done.decision.verdict == policy.see(row).said[0]
        assert done.booked == 0


def run_one(policy, experts, row, target, **options):
    async def main():
        async with Asker(policy, experts, **options) as asker:
            return await asker.ask(row, target, deadline=5)

    return asyncio.run(main())


def test_of_grades_the_answer_of_whoever_is_believed_is_returned():
    policy = policies.fitted("grades")
    row = {name: values[0] for name, values in policies.queries("grades", 2).items() if name.startswith("x_")}
    first = policy.decide(row, Target(k=1))[0].ask[0]
    other = next(name for name in policy.panel.names if name != first)
    experts = {name: Fake(name, f"a poem by {name}", fee=0.1) for name in policy.panel.names}
    done = run_one(policy, experts, row, Target(k=1))
    assert (done.decision.verdict, done.answer) == (first, f"a poem by {first}")
    experts[first] = Fake(first, ExpertError("no", charged="no"))
    # Beyond what was learned of committees there is still a next in rank.
    done = run_one(policy, experts, row, Target(k=1))
    assert (done.decision.verdict, done.answer) == (other, f"a poem by {other}")


def test_breakers_open_and_the_next_query_goes_elsewhere(policy):
    first = ranking(policy)[0]
    experts = fakes(policy, **{first: {"says": lambda question: ExpertError("down", charged="no")}})

    async def main():
        async with Asker(policy, experts) as asker:
            done = [await asker.ask(query() | {"id": "q0"}, Target(k=1)) for _ in range(7)]
            return done, asker.breakers

    done, breakers = asyncio.run(main())
    assert len(experts[first].asked) == 5
    assert breakers == {name: "open" if name == first else "closed" for name in policy.panel.names}
    assert [each.calls[0].came for each in done] == ["failed"] * 5 + ["not asked"] * 2
    assert all(each.decision.heard for each in done)


def test_a_charge_above_its_hold_is_booked_flagged_and_opens_the_breaker(policy):
    first = ranking(policy)[0]
    dear = Reply("cat", charged=nanos(7))

    async def main():
        async with open_ledger(":memory:") as ledger:
            await ledger.set_budget("all", nanos(5), "total")
            experts = fakes(policy, **{first: {"says": dear}})
            async with Asker(policy, experts, ledger=ledger, budgets=["all"]) as asker:
                done = await asker.ask(query(), Target(k=1))
                assert asker.breakers[first] == "open"
            return done, ledger.booked()[0], await ledger.balance("all")

    done, booked, balance = asyncio.run(main())
    assert done.calls[0].over
    assert done.decision.verdict == "cat"
    assert (booked.charged, booked.over) == (nanos(7), nanos(7) - booked.call.worst)
    assert balance.spent == nanos(7)


@pytest.mark.parametrize("mode", ["at-once", "sequential"])
def test_whom_no_budget_covers_is_not_asked(policy, mode):
    async def main():
        async with open_ledger(":memory:") as ledger:
            # Enough for the cheap ones, never for "both", who charges 1.
            await ledger.set_budget("day", nanos(0.95), "day")
            experts = fakes(policy)
            async with Asker(policy, experts, ledger=ledger, budgets=["day"], mode=mode) as asker:
                done = [await asker.ask(query(i), Target(fee_weight=0.001), deadline=30) for i in range(20)]
            return done, experts, await ledger.balance("day")

    done, experts, balance = asyncio.run(main())
    assert not experts["both"].asked
    assert balance.held == 0
    assert balance.spent == sum(each.booked for each in done) <= nanos(0.95)
    why = [call.why for each in done for call in each.calls if call.expert == "both"]
    assert why
    assert set(why) == {"no budget covers 1"}
    # Money runs out, and then nobody answers; never before.
    spent = np.cumsum([each.booked for each in done])
    for each, before in zip(done, [0, *spent], strict=False):
        if not each.decision.heard:
            assert nanos(0.95) - before < nanos(0.1)


def test_a_hedge_asks_another_and_takes_whoever_comes_first(policy):
    first, second = ranking(policy)[:2]

    async def main():
        async with open_ledger(":memory:") as ledger:
            await ledger.set_budget("all", nanos(100), "total")
            experts = fakes(policy, **{first: {"seconds": 30.0}})
            async with Asker(policy, experts, ledger=ledger, budgets=["all"], hedge=0.1) as asker:
                done = await asker.ask(query(), Target(k=1), deadline=3.0)
            return done, {each.call.expert: each for each in ledger.booked()}

    done, booked = asyncio.run(main())
    assert done.decision.heard == (second,)
    assert 0.3 <= done.seconds < 2.0
    assert [call.came for call in done.calls] == ["withdrawn", "answered"]
    assert (booked[first].status, booked[second].status) == ("unknown", "settled")
    assert done.booked == sum(each.charged for each in booked.values())


def test_a_hedge_costs_nothing_where_nobody_is_silent(policy):
    experts = fakes(policy)
    run(policy, experts, Target(k=2), hedge=0.5)
    assert sum(len(expert.asked) for expert in experts.values()) == 2


def test_who_is_cancelled_while_asking_leaves_no_hold(policy):
    async def main():
        async with open_ledger(":memory:") as ledger:
            await ledger.set_budget("all", nanos(100), "total")
            experts = fakes(policy, **{name: {"seconds": 30.0} for name in policy.panel.names})
            async with Asker(policy, experts, ledger=ledger, budgets=["all"]) as asker:
                task = asyncio.create_task(asker.ask(query(), Target(k=3), deadline=60))
                await asyncio.sleep(0.1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            return ledger.booked(), await ledger.balance("all"), experts

    booked, balance, experts = asyncio.run(main())
    assert [each.status for each in booked] == ["unknown"] * 3
    assert balance.held == 0
    assert sum(len(expert.asked) for expert in experts.values()) == 3


def test_who_is_cancelled_in_a_queue_was_not_charged(policy):
    first = ranking(policy)[0]

    async def main():
        async with open_ledger(":memory:") as ledger:
            await ledger.set_budget("all", nanos(100), "total")
            experts = fakes(policy, **{first: {"seconds": 30.0, "limits": Limits(concurrency=1, timeout=60)}})
            async with Asker(policy, experts, ledger=ledger, budgets=["all"]) as asker:
                tasks = [
                    asyncio.create_task(asker.ask(query() | {"id": f"q{i}"}, Target(k=1), deadline=60))
                    for i in range(3)
                ]
                await asyncio.sleep(0.1)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            return sorted(each.status for each in ledger.booked()), await ledger.balance("all")

    statuses, balance = asyncio.run(main())
    assert statuses == ["freed", "freed", "unknown"]
    assert balance.held == 0


def test_a_queue_that_is_too_long_is_left(policy):
    first = ranking(policy)[0]
    experts = fakes(policy, **{first: {"seconds": 0.3, "limits": Limits(concurrency=1)}})

    async def main():
        async with Asker(policy, experts) as asker:
            asks = (asker.ask(query() | {"id": f"q{i}"}, Target(k=1), deadline=0.5) for i in range(4))
            return await asyncio.gather(*asks)

    done = asyncio.run(main())
    came = sorted(each.calls[0].came for each in done)
    assert came[0] == "answered"
    assert set(came[1:]) <= {"late", "not asked"}


def test_a_rate_is_kept(policy):
    first = ranking(policy)[0]
    starts = []

    def say(_):
        starts.append(asyncio.get_running_loop().time())
        return "cat"

    experts = fakes(policy, **{first: {"says": say, "limits": Limits(rate=20)}})

    async def main():
        async with Lag() as lag, Asker(policy, experts) as asker:
            asks = (asker.ask(query() | {"id": f"q{i}"}, Target(k=1), deadline=20) for i in range(50))
            await asyncio.gather(*asks)
            return lag.worst

    late = asyncio.run(main())
    starts = np.sort(starts)
    assert len(starts) == 50
    # In no second there start more than twenty; whoever is let through may be held up before he looks at the clock.
    assert (starts[20:] - starts[:-20] >= 0.99 - late).all()


def test_somebody_who_does_not_let_himself_be_cancelled_holds_nobody_up(policy):
    first = ranking(policy)[0]
    free = threading.Event()

    def slow(_):
        free.wait(20)
        return "cat"

    experts = fakes(policy) | {first: Python(first, slow, limits=Limits(timeout=0.1))}
    try:
        done = run(policy, experts, deadline=2.0)
    finally:
        free.set()
    assert done.calls[0].came == "late"
    assert done.seconds < 1.5
    assert done.decision.verdict is not None


def test_an_expert_that_raises_anything_is_one_that_failed(policy):
    first, second = ranking(policy)[:2]
    for wrong in (ValueError("x"), KeyError("y"), TimeoutError(), "not a reply"):
        fake = fakes(policy)[first]

        async def ask(_, wrong=wrong):
            if isinstance(wrong, Exception):
                raise wrong
            return wrong

        fake.ask = ask
        done = run(policy, fakes(policy) | {first: fake})
        assert done.decision.heard == (second,)
        assert not done.calls[0].certain


def test_a_decision_that_is_written_already_asks_nobody_and_leaves_no_hold(policy):
    async def main():
        async with open_ledger(":memory:") as ledger:
            await ledger.set_budget("all", nanos(100), "total")
            experts = fakes(policy)
            async with Asker(policy, experts, ledger=ledger, budgets=["all"]) as asker:
                await asker.ask(query(), Target(k=1))
                asked = sum(len(expert.asked) for expert in experts.values())
                with pytest.raises(InvalidInputError, match="q0"):
                    await asker.ask(query(), Target(k=1))
                assert sum(len(expert.asked) for expert in experts.values()) == asked
            return await ledger.balance("all")

    assert asyncio.run(main()).held == 0


def test_queries_without_a_name_are_given_one_each(policy):
    row = {name: value for name, value in query().items() if name != "id"}
    experts = {name: Fake(name, "cat") for name in policy.panel.names}
    done = ask_all(policy, experts, [row] * 5, Target(k=1))
    assert len({each.decision.id for each in done}) == 5


def test_the_door_opens_within_a_running_loop_too(policy):
    async def main():
        return ask_all(policy, fakes(policy), [query(i) for i in range(3)], Target(k=1))

    assert [each.decision.id for each in asyncio.run(main())] == ["q0", "q1", "q2"]


def test_the_first_thing_that_goes_wrong_comes_out_of_the_door(policy):
    with pytest.raises(InvalidInputError, match="`deadline` must be above 0"):
        ask_all(policy, fakes(policy), [query()], Target(k=1), deadline=0)


def test_somebody_missing_is_named(policy):
    experts = fakes(policy)
    del experts["left"]
    with pytest.raises(InvalidInputError, match=r"missing: \['left'\]"):
        Asker(policy, experts)
    with pytest.raises(InvalidInputError, match="more than once"):
        Asker(policy, [*fakes(policy).values(), Fake("left")])


def test_exploring_is_written_down(policy):
    async def main():
        async with open_ledger(":memory:") as ledger:
            async with Asker(policy, fakes(policy), ledger=ledger, explore=0.5, random_state=0) as asker:
                done = [await asker.ask(query(i), Target(k=1), deadline=30) for i in range(30)]
            return done, ledger.export()

    done, log = asyncio.run(main())
    told = dict(zip(log["id"], log["propensity"], strict=True))
    assert {each.decision.id: each.decision.propensity for each in done} == told
    # Whom the policy would have asked anyway is asked in half of the cases and an eighth; any other in an eighth.
    assert {round(chance, 6) for chance in told.values()} == {0.125, 0.625}


def test_a_hold_that_comes_too_late_for_its_call_is_given_back(policy):
    class Slow:
        """Books that keep the whole loop waiting for a hold, past the deadline."""

        def __init__(self, ledger):
            self._ledger = ledger

        def __getattr__(self, name):
            return getattr(self._ledger, name)

        async def hold(self, calls, *, budgets=()):
            held = await self._ledger.hold(calls, budgets=budgets)
            time.sleep(0.3)
            return held

    async def main():
        async with open_ledger(":memory:") as ledger:
            await ledger.set_budget("all", nanos(100), "total")
            async with Asker(policy, fakes(policy), ledger=Slow(ledger), budgets=["all"]) as asker:
                done = await asker.ask(query(), Target(k=1), deadline=0.2)
            return done, await ledger.balance("all"), [booked.status for booked in ledger.booked()]

    done, balance, statuses = asyncio.run(main())
    assert done.decision.verdict is None
    assert (balance.held, balance.spent) == (0, 0)
    assert statuses
    assert set(statuses) == {"freed"}


@pytest.mark.parametrize("mode", ["at-once", "sequential"])
def test_a_query_to_one_expert_is_two_transactions(tmp_path, monkeypatch, mode):
    policy, commits = policies.fitted("classes"), []
    commit = Sqlite.commit
    monkeypatch.setattr(Sqlite, "commit", lambda self, writes=(): (commits.append(writes), commit(self, writes)))
    # In turn whoever is sure of his first answer asks nobody else.
    target = Target(k=1) if mode == "at-once" else Target(fee_weight=10.0)

    async def main():
        async with open_ledger(tmp_path / "ledger.sqlite") as ledger:
            commits.clear()
            async with Asker(policy, fakes(policy), ledger=ledger, mode=mode) as asker:
                return [await asker.ask(query(i), target) for i in range(5)]

    heard = sum(len(each.decision.heard) for each in asyncio.run(main()))
    # The hold with the decision, the settlement with the verdict; where nobody was asked, all of it at once.
    assert len(commits) == 5 + heard
    assert mode == "sequential" or heard == 5

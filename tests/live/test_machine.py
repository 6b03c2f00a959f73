"""Asks, faults, cancellations and crashes in any order: the books are those of whoever charged, to the billionth."""

import asyncio
import itertools

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from askwho import Target
from askwho._money import nanos
from askwho.experts import ExpertError, Limits, Reply
from askwho.ledger import open_ledger
from askwho.live import Asker
from tests import policies

BUDGET = nanos(6)
# What an expert does, by name.
MOODS = (
    "fine",
    "refuses",
    "breaks before",
    "breaks behind",
    "garbage",
    "dear",
    "silent",
    "wrong type",
    "raises",
    "refuses once",
    "breaks once",
)


class Clerk:
    """An expert with books of his own: what he charged under which key."""

    def __init__(self, name, fee, *, honours):
        self.name = name
        self.worst = nanos(fee)
        self.limits = Limits(timeout=0.02, retries=1, idempotent=honours)
        self.mood = "fine"
        self.books = {}
        self.tries = {}

    def charge(self, key, amount=None):
        # One key is charged once by who honours it, and as often as it comes by anybody else.
        cost = self.worst if amount is None else amount
        if key not in self.books or not self.limits.idempotent:
            self.books[key] = self.books.get(key, 0) + cost
        return cost

    async def ask(self, question):
        key, first = question.key, question.key not in self.tries
        self.tries[key] = self.tries.get(key, 0) + 1
        mood = self.mood
        if mood == "refuses" or (mood == "refuses once" and first):
            raise ExpertError("refused", charged="no", retry=True)
        if mood == "breaks before":
            raise ExpertError("broken", charged="unknown", retry=True)
        if mood == "breaks behind" or (mood == "breaks once" and first):
            self.charge(key)
            raise ExpertError("broken", charged="unknown", retry=True)
        if mood == "raises":
            self.charge(key)
            raise ValueError("anything")
        if mood == "silent":
            self.charge(key)
            await asyncio.sleep(10)
        if mood == "garbage":
            return Reply(None, charged=self.charge(key), why="garbage")
        if mood == "wrong type":
            return Reply(3.5, charged=self.charge(key))
        if mood == "dear":
            return Reply("cat", charged=self.charge(key, self.worst * 3))
        await asyncio.sleep(0)
        return Reply("cat", charged=self.charge(key))

    async def close(self):
        pass


class Town(RuleBasedStateMachine):
    """Whatever happens, no money is lost or made, and no verdict is made of nothing."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.ids = itertools.count()
        self.policy = policies.fitted("classes")
        table = policies.queries("classes", 20)
        self.rows = [{name: table[name][i] for name in table if name.startswith("x_")} for i in range(20)]

    @initialize(
        honours=st.booleans(), mode=st.sampled_from(["at-once", "sequential"]), hedge=st.sampled_from([None, 0.3])
    )
    def open(self, honours, mode, hedge):
        self.clerks = {e.name: Clerk(e.name, e.fee, honours=honours) for e in self.policy.panel.entities}
        self.ledger = open_ledger(":memory:")
        self.run(self.ledger.set_budget("all", BUDGET, "total"))
        self.options = {"mode": mode, "hedge": hedge if mode == "at-once" else None}
        self.asker = self.new_asker()

    def new_asker(self):
        return Asker(self.policy, self.clerks, ledger=self.ledger, budgets=["all"], random_state=0, **self.options)

    def run(self, coroutine):
        return self.loop.run_until_complete(coroutine)

    def query(self):
        i = next(self.ids)
        return self.rows[i % 20] | {"id": f"q{i}"}

    @rule(name=st.sampled_from(["left", "right", "both", "noise"]), mood=st.sampled_from(MOODS))
    def turns(self, name, mood):
        self.clerks[name].mood = mood

    @rule(count=st.integers(1, 4), weight=st.sampled_from([0.0, 0.02, 0.2]))
    def asks(self, count, weight):
        async def main():
            asks = (self.asker.ask(self.query(), Target(fee_weight=weight), deadline=0.1) for _ in range(count))
            return await asyncio.gather(*asks)

        for done in self.run(main()):
            answered = {call.expert for call in done.calls if call.came == "answered"}
            assert set(done.decision.heard) == answered
            assert (done.decision.verdict is not None) == bool(answered)
            assert done.booked == sum(call.booked for call in done.calls)
            for call in done.calls:
                assert (call.answer is not None) == (call.came == "answered")
                assert call.over == (call.booked > self.clerks[call.expert].worst)

    @rule(moment=st.floats(0, 0.03), weight=st.sampled_from([0.0, 0.02]))
    def is_cancelled(self, moment, weight):
        async def main():
            task = asyncio.ensure_future(self.asker.ask(self.query(), Target(fee_weight=weight), deadline=0.1))
            await asyncio.sleep(moment)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.run(main())

    @rule()
    def opens_anew(self):
        # Breakers and what was learned of speeds are forgotten, as after a crash; the books are not.
        self.run(self.asker.close())
        self.asker = self.new_asker()

    @precondition(lambda self: hasattr(self, "ledger"))
    @invariant()
    def the_books_are_right(self):
        async def main():
            await self.asker._office.behind.wait(5)
            return await self.ledger.balance("all")

        balance, spent, over = self.run(main()), 0, 0
        for booked in self.ledger.booked():
            clerk = self.clerks[booked.call.expert]
            charged = clerk.books.get(booked.call.key, 0)
            assert booked.status in ("settled", "freed", "unknown")
            if booked.status == "unknown":
                assert booked.charged == booked.call.worst >= charged
            else:
                assert booked.charged == charged
            spent += booked.charged
            over += booked.over
        keys = {booked.call.key for booked in self.ledger.booked()}
        assert all(key in keys for clerk in self.clerks.values() for key in clerk.books)
        assert (balance.held, balance.spent) == (0, spent)
        # Charges above their holds apart, nothing is spent that is not there.
        assert spent - over <= BUDGET

    def teardown(self):
        if hasattr(self, "asker"):
            self.run(self.asker.close())
            self.run(self.ledger.close())
        self.loop.close()


TestTown = Town.TestCase
# Each example takes about a second: a tenth of what is usual.
TestTown.settings = settings(max_examples=max(settings().max_examples // 10, 3), stateful_step_count=20)

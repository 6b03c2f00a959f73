"""The books against a plain model of them: any order of holds, charges, expiries, cancellations and reopenings."""

import asyncio
import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from askwho.exceptions import InvalidInputError
from askwho.ledger import Call, open_ledger
from askwho.ledger._budgets import span_of
from tests.ledger.books import START, Clock, sums_are_right
from tests.ledger.postgres import server

BUDGETS = ("hour", "day", "total")
# Few and small: so that what is left is often just what is asked for, or one less.
AMOUNTS = st.integers(0, 6)
# Of the profile: a step is a transaction, and an example is many of them.
MOST = settings().max_examples


class Books(RuleBasedStateMachine):
    """The ledger, and beside it a dict of calls from which every sum is added up anew."""

    calls = Bundle("calls")

    def place(self):
        return str(Path(self.ending.enter_context(tempfile.TemporaryDirectory())) / "ledger.sqlite")

    @initialize()
    def start(self):
        self.ending = contextlib.ExitStack()
        self.url, self.clock = self.place(), Clock()
        self.runner = self.ending.enter_context(asyncio.Runner())
        self.limits, self.booked, self.n = {}, {}, 0
        self.open()

    def open(self):
        self.ledger = open_ledger(self.url, clock=self.clock)

    def do(self, act, *told, **named):
        async def doing():
            return await act(*told, **named)

        return self.runner.run(doing())

    # The model: who is booked where, and what that comes to.

    def expire(self):
        for call in self.booked.values():
            if call["status"] == "held" and call["until"] <= self.clock.now:
                call.update(status="unknown", charged=call["worst"])

    def sums(self, name):
        self.expire()
        span = span_of(self.limits[name][1], self.clock.now)
        mine = [call for call in self.booked.values() if (name, span) in call["pledged"]]
        spent = sum(call["charged"] for call in mine)
        return spent, sum(call["worst"] for call in mine if call["status"] == "held")

    # The rules.

    @rule(name=st.sampled_from(BUDGETS), limit=st.integers(0, 15), period=st.sampled_from(("hour", "day", "total")))
    def set_budget(self, name, limit, period):
        self.do(self.ledger.set_budget, name, limit, period)
        self.limits[name] = limit, period

    @rule(name=st.sampled_from(BUDGETS))
    def remove_budget(self, name):
        self.do(self.ledger.set_budget, name, None)
        self.limits.pop(name, None)

    @rule(
        target=calls,
        worst=st.lists(AMOUNTS, min_size=1, max_size=3),
        names=st.sets(st.sampled_from(BUDGETS)),
        seconds=st.integers(1, 5000),
    )
    def hold(self, worst, names, seconds):
        made = self.made(worst, seconds)
        if not names <= self.limits.keys():
            with pytest.raises(InvalidInputError, match="must be set before"):
                self.do(self.ledger.hold, made, budgets=sorted(names))
            return multiple()
        held = self.do(self.ledger.hold, made, budgets=sorted(names))
        assert held == self.expected(made, names)
        return multiple(*[call.id for call, is_held in zip(made, held, strict=True) if is_held])

    @rule(worst=AMOUNTS, names=st.sets(st.sampled_from(BUDGETS)), after=st.integers(0, 3))
    def hold_and_be_cancelled(self, worst, names, after):
        """Whatever was held of it is given back, whenever the cancellation comes; unless it came too late."""
        if not names <= self.limits.keys():
            return
        made = self.made([worst], 5000)

        async def story():
            asking = asyncio.ensure_future(self.ledger.hold(made, budgets=sorted(names)))
            for _ in range(after):
                await asyncio.sleep(0)
            asking.cancel()
            return (await asyncio.gather(asking, return_exceptions=True))[0]

        if self.do(story) == [True]:
            assert self.expected(made, names) == [True]

    def made(self, worst, seconds):
        self.n += len(worst)
        until = self.clock.now + seconds
        return [Call(f"c{self.n}-{i}", "d", "a", "k", each, until) for i, each in enumerate(worst)]

    def expected(self, made, names):
        """Book the calls in the model, and return which of them the budgets cover."""
        held = []
        for call in made:
            covered = all(self.limits[name][0] - sum(self.sums(name)) >= call.worst for name in names)
            held.append(covered)
            if covered:
                pledged = {(name, span_of(self.limits[name][1], self.clock.now)) for name in names}
                self.booked[call.id] = {
                    "worst": call.worst,
                    "until": call.until,
                    "status": "held",
                    "charged": 0,
                    "pledged": pledged,
                }
        return held

    @rule(id_=calls, charged=AMOUNTS)
    def settle(self, id_, charged):
        self.expire()
        call = self.booked[id_]
        if call["status"] in ("settled", "freed"):
            with pytest.raises(InvalidInputError, match="must be in flight or unknown"):
                self.do(self.ledger.settle, id_, charged=charged)
            return
        if call["status"] != "reconciled":
            call.update(status="settled", charged=charged)
        assert self.do(self.ledger.settle, id_, charged=charged) == max(0, call["charged"] - call["worst"])

    @rule(id_=calls, free=st.booleans())
    def end(self, id_, free):
        self.expire()
        call, act = self.booked[id_], self.ledger.free if free else self.ledger.unknown
        if call["status"] in ("settled", "freed", "reconciled"):
            with pytest.raises(InvalidInputError, match="must be in flight or unknown"):
                self.do(act, id_, "why")
            return
        self.do(act, id_, "why")
        call.update(status="freed" if free else "unknown", charged=0 if free else call["worst"])

    @rule(id_=consumes(calls), charged=AMOUNTS)
    def reconcile(self, id_, charged):
        call = self.booked[id_]
        call.update(status="reconciled", charged=charged)
        assert self.do(self.ledger.reconcile, id_, charged) == max(0, charged - call["worst"])

    @rule(seconds=st.sampled_from([1, 60, 1800, 3600, 30000, 86400]))
    def wait(self, seconds):
        self.clock.now += seconds

    @rule()
    def reopen(self):
        self.do(self.ledger.close)
        self.open()

    @invariant()
    def balances_are_those_of_the_model(self):
        for name, (limit, _) in self.limits.items():
            balance = self.do(self.ledger.balance, name)
            assert (balance.limit, balance.spent, balance.held) == (limit, *self.sums(name))
            assert balance.left == limit - balance.spent - balance.held

    def teardown(self):
        with self.ending:
            self.compare()
            self.do(self.ledger.close)

    def compare(self):
        """At the end every call stands where the model says, and every sum is that of the calls."""
        self.expire()
        assert self.clock.now >= START
        told = {booked.call.id: (booked.status, booked.charged) for booked in self.ledger.booked()}
        for id_, call in self.booked.items():
            # Nobody may have looked since it expired.
            late = told[id_] == ("held", 0) and call["until"] <= self.clock.now
            assert late or told[id_] == (call["status"], call["charged"])
        # Whoever is not in the model was cancelled: nothing is held for it.
        assert {told[id_] for id_ in told.keys() - self.booked.keys()} <= {("freed", 0)}
        sums_are_right(self.url)


class TestSqlite(Books.TestCase):
    settings = settings(max_examples=MOST * 3 // 10 or 1, stateful_step_count=30)


def test_the_same_on_postgresql():
    with server() as create:

        class OnPostgres(Books):
            def place(self):
                return create()

        OnPostgres.TestCase.settings = settings(max_examples=MOST // 20 or 1, stateful_step_count=30)
        OnPostgres.TestCase().runTest()

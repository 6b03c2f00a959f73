"""Whoever is cancelled leaves no hold that nobody knows, and takes nothing back that was told."""

import asyncio
import random
import time
from contextlib import contextmanager

import pytest

from askwho.ledger import Balance, _writer, open_ledger
from askwho.ledger._ledger import _place_of
from askwho.ledger._requests import GIVEN_BACK
from tests.ledger.books import Clock, call, run, sums_are_right


@contextmanager
def kept_busy(url):
    """Another process, as it were, in the middle of a transaction: ours must wait."""
    other = _place_of(url).connect()
    other.begin([], durable=False)
    try:
        yield
    finally:
        other.close()


def until(condition):
    last = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.001)


async def taken(ledger):
    """Wait until the writer has taken all that waits: it is then within its transaction, or before it."""
    # A turn of the loop to send it, and one at whose end it is handed over.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.to_thread(until, ledger._writer._waiting.empty)


def test_a_hold_that_was_under_way_is_given_back(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        with kept_busy(url):
            asking = asyncio.create_task(ledger.hold([call("a", 60), call("b", 60)], budgets=["all"]))
            await taken(ledger)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        balance = await ledger.balance("all")
        return balance, [(b.call.id, b.status, b.why) for b in ledger.booked()]

    assert run(url, story) == (Balance(100, 0, 0), [("a", "freed", GIVEN_BACK)])
    sums_are_right(url)


def test_a_hold_that_expires_before_it_is_given_back_is_free_all_the_same(url):
    clock = Clock()

    async def story(ledger):
        await ledger.set_budget("all", 100)
        with kept_busy(url):
            asking = asyncio.create_task(ledger.hold([call("a", 60)], budgets=["all"]))
            await taken(ledger)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            # The writer has read the clock before it waits: it holds at the old time, and gives back at the new one.
            clock.now += 1000
        return await ledger.balance("all"), [b.status for b in ledger.booked()]

    assert run(url, story, clock=clock) == (Balance(100, 0, 0), ["freed"])


def test_a_hold_that_still_waited_is_never_written(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        with kept_busy(url):
            first = asyncio.create_task(ledger.balance("all"))
            await taken(ledger)
            asking = asyncio.create_task(ledger.hold([call("a", 60)], budgets=["all"]))
            await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        await first
        return await ledger.balance("all"), ledger.booked()

    assert run(url, story) == (Balance(100, 0, 0), [])


def test_a_hold_whose_answer_was_on_its_way_is_given_back(url, monkeypatch):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        asking = asyncio.create_task(ledger.hold([call("a", 60)], budgets=["all"]))
        tell = _writer._tell

        def and_then_cancel(tasks):
            tell(tasks)
            assert asking.cancel()

        monkeypatch.setattr(_writer, "_tell", and_then_cancel)
        with pytest.raises(asyncio.CancelledError):
            await asking
        monkeypatch.undo()
        return await ledger.balance("all"), [b.status for b in ledger.booked()]

    assert run(url, story) == (Balance(100, 0, 0), ["freed"])


def test_a_hold_of_a_loop_that_has_gone_is_given_back(url):
    ledger = open_ledger(url, clock=Clock())
    asyncio.run(ledger.set_budget("all", 100))
    asking = ledger.hold([call("a", 60)], budgets=["all"])

    async def begin():
        asking.send(None)  # as far as its first wait; nobody will go on with it

    with kept_busy(url):
        asyncio.run(begin())
        until(ledger._writer._waiting.empty)
    until(lambda: [b.status for b in ledger.booked()] == ["freed"])
    asking.close()
    assert asyncio.run(ledger.balance("all")) == Balance(100, 0, 0)
    asyncio.run(ledger.close())


def test_what_was_told_is_booked_though_nobody_waits(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 10), call("b", 20), call("c", 30)], budgets=["all"])
        with kept_busy(url):
            telling = [ledger.settle("a", charged=7), ledger.free("b", "429"), ledger.unknown("c", "reset")]
            await asyncio.sleep(0)
            for task in telling:
                task.cancel()
            assert await asyncio.gather(*telling, return_exceptions=True)
        return await ledger.balance("all")

    assert run(url, story) == Balance(100, 37, 0)
    sums_are_right(url)


def test_in_a_storm_of_cancellations_only_those_are_held_who_learned_of_it(url):
    rng = random.Random(0)  # noqa: S311 - no secret

    async def story(ledger):
        await ledger.set_budget("all", 150)
        learned = set()

        async def ask(i):
            if (await ledger.hold([call(f"{i}", 1)], budgets=["all"]))[0]:
                learned.add(f"{i}")

        tasks = []
        for i in range(400):
            tasks.append(asyncio.create_task(ask(i)))
            if rng.random() < 0.5:
                rng.choice(tasks[-4:]).cancel()
            if rng.random() < 0.3:
                await asyncio.sleep(0)
            if rng.random() < 0.05:
                await asyncio.sleep(0.001)
        await asyncio.gather(*tasks, return_exceptions=True)
        balance = await ledger.balance("all")
        held = {booked.call.id for booked in ledger.booked("held")}
        assert held == learned
        assert balance == Balance(150, 0, len(learned))
        assert sum(task.cancelled() for task in tasks) > 50
        assert len(learned) > 50

    run(url, story)
    sums_are_right(url)

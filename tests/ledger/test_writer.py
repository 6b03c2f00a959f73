"""Who carries out what was sent: the event loop itself where nothing has to be waited for, else the thread."""

import asyncio
import threading

import pytest

from askwho.ledger import Balance, open_ledger
from tests.ledger.books import Clock, call, run, sums_are_right
from tests.ledger.test_cancelled import kept_busy, taken


@pytest.fixture
def commits(monkeypatch):
    """The threads that commit, one entry a transaction, once a ledger is listened to."""
    seen = []

    def listen(ledger):
        database = type(ledger._writer._database)
        commit = database.commit

        def listened(self, writes=()):
            seen.append(threading.current_thread().name)
            commit(self, writes)

        monkeypatch.setattr(database, "commit", listened)
        return seen

    return listen


@pytest.mark.parametrize("durable", [True, False])
def test_the_loop_waits_for_no_disk_and_no_network(url, durable, commits):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        seen = commits(ledger)
        await ledger.hold([call("a", 60)], budgets=["all"])
        await ledger.settle("a", charged=5)
        return seen

    here, there = threading.current_thread().name, "askwho-ledger"
    if url.startswith("postgresql"):
        assert run(url, story, durable=durable) == [there, there]
    else:
        # A settlement that is lost leaves its hold: it never waits for the disk.
        assert run(url, story, durable=durable) == [there if durable else here, here]


def test_the_loop_waits_for_no_other_process_and_nothing_overtakes(tmp_path, commits):
    url = str(tmp_path / "ledger.sqlite")

    async def story(ledger):
        await ledger.set_budget("all", 100)
        seen = commits(ledger)
        with kept_busy(url):
            holding = asyncio.create_task(ledger.hold([call("a", 60)], budgets=["all"]))
            await taken(ledger)
            # Sent while the thread waits: the file may be free by the end of this turn, and yet it goes behind.
            settling = ledger.settle("a", charged=5)
            looking = asyncio.create_task(ledger.balance("all"))
            # One turn for the task to begin, one for what it sent to be handed over while the file is still taken.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert await holding == [True]
        assert await settling == 0
        assert await looking == Balance(100, 5, 0)
        assert set(seen) == {"askwho-ledger"}
        seen.clear()
        await ledger.hold([call("b", 60)], budgets=["all"])
        return seen

    assert run(url, story) == [threading.current_thread().name]
    sums_are_right(url)


def test_what_is_sent_in_one_turn_is_one_transaction(url, commits):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        seen = commits(ledger)
        await asyncio.gather(*(ledger.hold([call(f"{i}", 1)], budgets=["all"]) for i in range(20)))
        return len(seen)

    assert run(url, story) == 1


def test_two_loops_share_a_ledger(tmp_path):
    ledger = open_ledger(tmp_path / "ledger.sqlite", clock=Clock())
    asyncio.run(ledger.set_budget("all", 1000))

    async def work(name):
        for i in range(50):
            await ledger.hold([call(f"{name}-{i}", 10)], budgets=["all"])
            await ledger.settle(f"{name}-{i}", charged=3)

    threads = [threading.Thread(target=lambda name=name: asyncio.run(work(name))) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asyncio.run(ledger.balance("all")) == Balance(1000, 300, 0)
    asyncio.run(ledger.close())

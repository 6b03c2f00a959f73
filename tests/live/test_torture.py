"""A crowd that asks the street, and is killed again and again: no money is lost, made, or spent beyond a budget.

A small form here, on SQLite. With ASKWHO_TORTURE=1 on PostgreSQL too, 100,000 queries, 500 at a time, 20 kills;
ASKWHO_QUERIES and ASKWHO_KILLS say other sizes.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from askwho import save
from askwho.ledger import open_ledger
from tests import policies
from tests.ledger.books import raw, sums_are_right
from tests.ledger.postgres import server
from tests.live.crowd import BUDGETS
from tests.live.street import HOUSES

ROOT = Path(__file__).parents[2]
TORTURE = bool(os.environ.get("ASKWHO_TORTURE"))
QUERIES = int(os.environ.get("ASKWHO_QUERIES", "100000" if TORTURE else "120"))
KILLS = int(os.environ.get("ASKWHO_KILLS", "20" if TORTURE else "1"))
# Where to write what was counted: see benchmarks/siege.py.
FIGURES = os.environ.get("ASKWHO_FIGURES")
# So many that most of what is begun between two kills has ended by the second.
AT_A_TIME = min(500, QUERIES // (4 * (KILLS + 1)))
# What a call of the town holds at the most, about: a prompt of some forty bytes, and forty tokens.
HOLD = 900_000
# The most that one query has under way: three are asked, and one in the place of each who failed.
FAN_OUT = 4
# Seconds that nothing may happen for: then something hangs.
PATIENCE = 120.0


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """Where a new ledger may be."""
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.sqlite")
    elif not TORTURE:
        pytest.skip("the small form is of SQLite alone: a server takes seconds to start")
    else:
        with server() as create:
            yield create()


def lines(path):
    """The whole lines of a file."""
    return path.read_text().splitlines() if path.exists() else []


class Siege:
    """The street, the crowd and the ledger between them."""

    def __init__(self, stack, folder, url):
        self.url, self.folder = url, folder
        self.paths = {name: folder / name for name in ("books", "began", "ended", "notes")}
        save(policies.fitted("classes"), folder / "policy")
        self.street = self.started(stack, "street", self.paths["books"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ports = json.loads(self.street.stdout.readline())
        # On one of the budgets there is room for half of what the crowd would hold: some are refused all the time.
        self.room = AT_A_TIME * HOLD
        self.limit = self.room
        # What is held for calls of crowds that were killed, until it expires.
        self.dead = 0
        self.begun = self.read = 0

    def count(self):
        """How many queries were begun: of a file that only grows, what is new in it is read."""
        if self.paths["began"].exists():
            with self.paths["began"].open("rb") as file:
                file.seek(self.read)
                new = file.read()
            self.read += len(new)
            self.begun += new.count(b"\n")
        return self.begun

    def started(self, stack, module, *words, **pipes):
        words = [sys.executable, "-m", f"tests.live.{module}", *map(str, words)]
        process = stack.enter_context(subprocess.Popen(words, cwd=ROOT, text=True, **pipes))
        stack.callback(process.kill)
        return process

    async def watched(self, ledger):
        """Look that no budget is overspent, and let the tight one have room for some more."""
        for name in BUDGETS:
            found = await ledger.balance(name)
            assert found.spent - found.over + found.held <= found.limit
        assert found.over == 0
        if found.spent + self.dead + self.room > self.limit:
            self.limit = found.spent + self.dead + self.room
            await ledger.set_budget("key", self.limit)

    async def storm(self, upto):
        """Ask about the queries that were not begun yet; kill the crowd once so many were, or let it end."""
        order = {name: str(path) for name, path in self.paths.items()} | {
            "ledger": self.url,
            "policy": str(self.folder / "policy"),
            "ports": self.ports,
            "queries": [self.begun, QUERIES],
            "at_a_time": AT_A_TIME,
        }
        with ExitStack() as stack:
            async with open_ledger(self.url) as ledger:
                self.dead = (await ledger.balance("key")).held
                await self.watched(ledger)
                crowd = self.started(stack, "crowd", json.dumps(order))
                last = time.monotonic() + PATIENCE
                while crowd.poll() is None and self.begun < upto:
                    await asyncio.sleep(0.05)
                    await self.watched(ledger)
                    before = self.begun
                    last = last if self.count() == before else time.monotonic() + PATIENCE
                    assert time.monotonic() < last, "nothing happens any longer"
                if self.begun < QUERIES:
                    crowd.kill()
                    crowd.wait()
                else:
                    assert crowd.wait(timeout=PATIENCE) == 0
                self.count()
                await self.watched(ledger)

    def town(self):
        """What the town charged, by key."""
        return [(key, int(amount), name) for name, key, amount in map(str.split, lines(self.paths["books"]))]

    def compare(self):
        """The town's books against the ledger's, call by call; return the ledger's calls by key."""
        ledger = open_ledger(self.url)
        booked = {each.call.key: each for each in ledger.booked()}
        asyncio.run(ledger.close())
        charged, times = Counter(), Counter()
        for key, amount, name in self.town():
            charged[key] += amount
            times[key] += 1
            assert times[key] == 1 or not HOUSES[name], "a key that is honoured was charged twice"
        assert charged.keys() <= booked.keys(), "somebody was asked for whom nothing was held"
        for key, each in booked.items():
            if each.status in ("settled", "freed", "reconciled"):
                assert each.charged == charged[key], each
            elif each.status == "unknown":
                assert each.charged == each.call.worst >= charged[key], each
            else:
                assert each.call.worst >= charged[key], each
        sums_are_right(self.url)
        return booked, charged


def test_a_crowd_that_is_killed_again_and_again(tmp_path, url):
    began = time.monotonic()
    with ExitStack() as stack:
        siege = Siege(stack, tmp_path, url)

        async def budgets():
            async with open_ledger(url) as ledger:
                for name in BUDGETS:
                    await ledger.set_budget(name, siege.room if name == "key" else 10**15)

        asyncio.run(budgets())
        flying, most = set(), 0
        for i in range(KILLS):
            asyncio.run(siege.storm((i + 1) * QUERIES // (KILLS + 1)))
            booked, _ = siege.compare()
            held = {key for key, each in booked.items() if each.status == "held"}
            # What is in flight now, and was not at the last kill: at most what the crowd can have under way.
            assert len(held - flying) <= AT_A_TIME * FAN_OUT
            most = max(most, len(held - flying))
            flying |= held
        asyncio.run(siege.storm(QUERIES + 1))
        siege.street.stdin.close()
        assert siege.street.wait(timeout=PATIENCE) == 0
    booked, charged = siege.compare()
    assert flying, "nobody was killed while he asked"
    held = {key for key, each in booked.items() if each.status == "held"}
    assert held <= flying, "a hold that leaked"
    told = Counter(each.split()[0] for each in lines(siege.paths["notes"]))
    assert not told["wrong"], lines(siege.paths["notes"])
    assert told["refused"] > 0
    ends = Counter(each.split()[1] for each in lines(siege.paths["ended"]))
    assert set(ends) <= {"NoneType", "given-up"}, ends
    assert siege.begun == QUERIES
    statuses = Counter(each.status for each in booked.values())
    found = reconciled(url, charged, held)
    figures = {
        "queries": QUERIES,
        "at_a_time": AT_A_TIME,
        "kills": KILLS,
        "calls": len(booked),
        "calls_in_the_towns_books": len(charged),
        "statuses_before_reconciling": dict(statuses),
        "holds_refused": told["refused"],
        "queries_given_up": ends["given-up"],
        "in_flight_at_all_kills": len(flying),
        "in_flight_at_one_kill": most,
        "charged_nanos": found.spent,
        "seconds": round(time.monotonic() - began),
    }
    if FIGURES is not None:
        Path(FIGURES).write_text(json.dumps(figures))
    sys.stdout.write(f"{figures}\n")


def reconciled(url, charged, held):
    """Once holds have expired they are unknown at their worst case; told what the town charged, all is to the cent."""

    async def story():
        async with open_ledger(url, clock=lambda: time.time() + 10_000) as ledger:
            await ledger.balance("all")
            unknown = {each.call.key: each for each in ledger.booked("unknown")}
            assert held <= unknown.keys()
            for key, each in unknown.items():
                assert each.charged == each.call.worst
                assert await ledger.reconcile(each.call.id, charged[key]) == 0
            return [await ledger.balance(name) for name in BUDGETS]

    for found in asyncio.run(story()):
        assert (found.spent, found.held, found.over) == (sum(charged.values()), 0, 0)
    assert raw(url, "SELECT count(*) FROM askwho_calls WHERE status = 'held'") == [(0,)]
    sums_are_right(url)
    return found

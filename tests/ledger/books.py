"""What the tests of the ledger share: a clock that they move, calls, and a recount that trusts no sum."""

import asyncio
import json

from askwho.ledger import Call, open_ledger
from askwho.ledger._ledger import _place_of

START = 1_800_000_000.0  # 2027-01-15T08:00:00Z, on the hour


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now=START):
        self.now = now

    def __call__(self):
        return self.now


def call(id_, worst=100, *, decision="d", expert="a", until=START + 60):
    return Call(id_, decision, expert, f"key-{id_}", worst, until)


def run(url, story, *, clock=None, **options):
    """Run a coroutine function with a ledger that is open meanwhile; return what it returns."""

    async def main():
        async with open_ledger(url, clock=clock or Clock(), **options) as ledger:
            return await story(ledger)

    return asyncio.run(main())


def raw(url, sql):
    """What a query finds in the tables themselves."""
    database = _place_of(url).reader()
    try:
        return database.rows(sql)
    finally:
        database.close()


def recount(url):
    """Spent, held and charged above holds by budget and span, added up from the calls alone."""
    sums = {}
    for worst, status, charged, pledged in raw(url, "SELECT worst, status, charged, pledged FROM askwho_calls"):
        for name, span in json.loads(pledged):
            spent, held, over = sums.get((name, span), (0, 0, 0))
            more = worst if status == "held" else 0
            sums[name, span] = spent + charged, held + more, over + max(0, charged - worst)
    return sums


def kept(url):
    """The same as the ledger keeps it."""
    rows = raw(url, "SELECT budget, span, spent, held, excess FROM askwho_spend")
    return {(name, span): tuple(sums) for name, span, *sums in rows}


def sums_are_right(url):
    """Raise unless every sum that the ledger keeps is that of its calls."""
    counted, told = recount(url), kept(url)
    assert {key: sums for key, sums in told.items() if any(sums)} == {k: v for k, v in counted.items() if any(v)}

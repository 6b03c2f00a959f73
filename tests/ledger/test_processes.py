"""Several processes on one budget, and processes that are killed: nothing is overspent, nothing is lost.

Small forms here; with ASKWHO_TORTURE=1 a thousand races and twenty kills.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from askwho.ledger import open_ledger
from tests.ledger.books import raw, sums_are_right

ROOT = Path(__file__).parents[2]
TORTURE = bool(os.environ.get("ASKWHO_TORTURE"))
RACES, KILLS = (1000, 20) if TORTURE else (30, 2)
LIMIT = 10**9


def started(stack, *words):
    """A worker that is ready; it is killed at the end, if it still lives."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.ledger.worker", *map(str, words)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    assert process.stdout.readline() == "ready\n"
    return process


def budgets(url, limits):
    async def story():
        async with open_ledger(url) as ledger:
            for name, limit in limits.items():
                await ledger.set_budget(name, limit, "day" if name == "day" else "total")

    asyncio.run(story())


def balance(ledger, name):
    return asyncio.run(ledger.balance(name))


def test_two_processes_never_overspend_one_budget(url):
    rng = random.Random(0)  # noqa: S311 - no secret
    limits = {f"race-{i}": rng.randint(50, 200) for i in range(RACES)}
    budgets(url, limits)
    tight = 0
    with ExitStack() as stack:
        racers = [started(stack, "race", url, name) for name in ("one", "two")]
        ledger = open_ledger(url)
        for i, (name, limit) in enumerate(limits.items()):
            worst = [[rng.randint(1, 100) for _ in range(3)] for _ in racers]
            for racer, mine in zip(racers, worst, strict=True):
                racer.stdin.write(json.dumps({"race": i, "budgets": [name], "worst": mine}) + "\n")
                racer.stdin.flush()
            held = [json.loads(racer.stdout.readline()) for racer in racers]
            pairs = [pair for mine, got in zip(worst, held, strict=True) for pair in zip(mine, got, strict=True)]
            spent = sum(each for each, got in pairs if got)
            assert spent <= limit
            # What is left only shrinks: whoever was refused does not fit now either.
            assert all(each > limit - spent for each, got in pairs if not got)
            assert balance(ledger, name).held == spent
            tight += not all(got for _, got in pairs)
        asyncio.run(ledger.close())
        for racer in racers:
            racer.stdin.close()
            assert racer.wait(timeout=30) == 0
    assert tight > RACES // 2
    sums_are_right(url)


def test_after_each_kill_the_books_differ_by_the_calls_in_flight_alone(url, tmp_path):
    budgets(url, {"all": LIMIT, "day": LIMIT})
    books, rng = tmp_path / "books", random.Random(1)  # noqa: S311 - no secret
    for seed in range(KILLS):
        with ExitStack() as stack:
            workers = [started(stack, "work", url, name, books, seed) for name in ("one", "two")]
            time.sleep(0.2 + rng.random() / 5)
            for worker in workers:
                worker.kill()
                worker.wait()
        charged = {id_: int(amount) for id_, amount in (line.split() for line in books.read_text().splitlines())}
        ledger = open_ledger(url)
        booked = {each.call.id: each for each in ledger.booked()}
        asyncio.run(ledger.close())
        flying = {id_ for id_, each in booked.items() if each.status == "held"}
        settled = {id_: each.charged for id_, each in booked.items() if each.status == "settled"}
        # Whatever the provider charged is in the books, at that charge, or in flight; and nothing else was charged.
        assert charged.keys() <= settled.keys() | flying
        assert settled == {id_: charged[id_] for id_ in settled}
        # Each of twenty askers in two processes makes one call at a time.
        assert len(flying) <= 2 * 20 * (seed + 1)
        sums_are_right(url)
    assert len(charged) > 50 * KILLS
    after_the_holds_have_expired(url, charged, flying)


def after_the_holds_have_expired(url, charged, flying):
    """Those in flight are unknown at their worst case; reconciled with the provider's books, all is as it was."""

    async def story():
        async with open_ledger(url, clock=lambda: time.time() + 1000) as ledger:
            spent = (await ledger.balance("all")).spent
            unknown = {each.call.id: each for each in ledger.booked("unknown")}
            assert unknown.keys() == flying
            assert all(each.charged == each.call.worst for each in unknown.values())
            known = sum(amount for id_, amount in charged.items() if id_ not in flying)
            assert spent == known + sum(each.call.worst for each in unknown.values())
            for id_ in unknown:
                assert await ledger.reconcile(id_, charged.get(id_, 0)) == 0
            return await ledger.balance("all")

    found = asyncio.run(story())
    assert (found.spent, found.held, found.over) == (sum(charged.values()), 0, 0)
    assert raw(url, "SELECT count(*) FROM askwho_calls WHERE status = 'held'") == [(0,)]
    sums_are_right(url)

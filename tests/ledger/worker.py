"""A process that uses a ledger, to be raced against others or killed: `python -m tests.ledger.worker race|work ...`."""

import asyncio
import json
import os
import random
import sys
import time
from functools import partial

from askwho.ledger import Call, open_ledger

say = partial(print, flush=True)  # to whoever started it


async def race(url, name):
    """For each line of the input hold what it says, all at once; answer with what was granted."""
    async with open_ledger(url) as ledger:
        loop = asyncio.get_running_loop()
        say("ready")
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            told = json.loads(line)
            holds = [
                ledger.hold(
                    [Call(f"{told['race']}-{name}-{i}", "d", name, "k", each, time.time() + 600)],
                    budgets=told["budgets"],
                )
                for i, each in enumerate(told["worst"])
            ]
            say(json.dumps([held for (held,) in await asyncio.gather(*holds)]))


async def work(url, name, books, seed):
    """Hold, be charged, settle, without end: the charge goes to the provider's books, which outlast this process."""
    rng = random.Random(f"{name} {seed}")  # noqa: S311 - no secret
    provider = os.open(books, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    async with open_ledger(url) as ledger:
        say("ready", flush=True)

        async def ask(id_):
            worst = rng.randint(1, 100)
            call = Call(id_, f"d-{id_}", "a", f"key-{id_}", worst, time.time() + 600)
            telling = ledger.decided(f"d-{id_}", query={"x": 1}, decision={"ask": ["a"], "propensity": 1.0})
            held = await ledger.hold([call], budgets=["all", "day"])
            if not held[0]:
                return
            try:
                await telling
                await asyncio.sleep(rng.random() / 500)
            except asyncio.CancelledError:
                await ledger.free(id_, "cancelled before anybody was asked")
                raise
            if rng.random() < 0.2:
                await ledger.free(id_, "refused")
                return
            charged = rng.randint(0, worst)
            os.write(provider, f"{id_} {charged}\n".encode())
            await ledger.settle(id_, charged=charged, answer="yes")

        async def asker(i):
            for n in range(1_000_000):
                asking = asyncio.ensure_future(ask(f"{name}-{seed}-{i}-{n}"))
                if rng.random() < 0.1:
                    await asyncio.sleep(rng.random() / 1000)
                    asking.cancel()
                try:
                    await asking
                except asyncio.CancelledError:
                    await asyncio.sleep(0)

        await asyncio.gather(*(asker(i) for i in range(20)))


if __name__ == "__main__":
    asyncio.run({"race": race, "work": work}[sys.argv[1]](*sys.argv[2:]))

"""A process that asks the street about many queries at a time, and may be killed: `python -m tests.live.crowd ORDER`.

The order is JSON: where the ledger, the policy and the houses are, which queries to ask about, how many at a time. Each
query is written down as it is begun; one of ten is given up after a moment. Every hold is looked at within its own
transaction: it must be granted if all budgets cover it, and only then.
"""

import asyncio
import json
import os
import random
import sys

import numpy as np

from askwho import Target, load
from askwho.ledger import open_ledger
from askwho.ledger._requests import Hold
from askwho.live import Asker
from tests.live.street import HOUSES, Animals
from tests.live.town import House

BUDGETS = ("all", "key")
# Seconds for a query: the machine may be busy, and nothing here is about time.
DEADLINE = 20.0


def audited(apply, notes):
    """A hold that is looked at: what it grants must be what a second count of the same budgets grants."""

    def looked_at(self, desk):
        sums = {name: next((s for (n, _), s in desk.spends.items() if n == name), None) for name in self.budgets}
        left = [
            desk.budgets[name].limit - (0 if spend is None else spend.spent + spend.held)
            for name, spend in sums.items()
        ]
        granted = apply(self, desk)
        for call, got in zip(self.calls, granted, strict=True):
            if got != (call.worst <= min(left)):
                os.write(notes, f"wrong {call.id} {call.worst} {left} {got}\n".encode())
            elif not got:
                os.write(notes, b"refused\n")
            left = [each - call.worst * got for each in left]
        return granted

    return looked_at


async def main(order):
    """Ask about all that is ordered."""
    files = {name: os.open(order[name], os.O_WRONLY | os.O_APPEND | os.O_CREAT) for name in ("began", "notes", "ended")}
    Hold.apply = audited(Hold.apply, files["notes"])
    policy = load(order["policy"])
    experts = [
        House(Animals(), honours=honours, port=order["ports"][name]).expert(
            name, timeout=DEADLINE / 4, concurrency=order["at_a_time"]
        )
        for name, honours in HOUSES.items()
    ]
    waiting = iter(range(*order["queries"]))
    async with (
        open_ledger(order["ledger"]) as ledger,
        Asker(policy, experts, ledger=ledger, budgets=BUDGETS) as asker,
    ):

        async def one(i, rng):
            os.write(files["began"], f"{i}\n".encode())
            x = np.random.default_rng(i).uniform(-1, 1, 3).tolist()
            query = {"id": f"r{i}"} | {f"x_{j}": each for j, each in enumerate(x)}
            asking = asyncio.ensure_future(asker.ask(query, Target(k=rng.randint(1, 3)), deadline=DEADLINE))
            if rng.random() < 0.1:
                await asyncio.sleep(rng.random() / 50)
                asking.cancel()
            await asyncio.wait([asking])
            how = "given-up" if asking.cancelled() else type(asking.exception()).__name__
            os.write(files["ended"], f"{i} {how}\n".encode())

        async def one_after_another(seed):
            rng = random.Random(f"{seed} {order['queries']}")  # noqa: S311 - no secret
            for i in waiting:
                await one(i, rng)

        await asyncio.gather(*(one_after_another(seed) for seed in range(order["at_a_time"])))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))

"""Claim: a decision that is held for and settled in a SQLite ledger takes some hundreds of microseconds more.

Queries at 1, 50 and 500 at a time: each is written down, held for on three budgets (an hour's, a day's, a key's), waits
for an expert who takes half a second (0.25 to 0.75 s; 5 ms where there is one query at a time), and is settled. Told is
what the ledger adds, hold and settlement together, by its median and its 99th percentile, and beside it how late the
event loop was with a timer meanwhile. Then the same with experts who answer at once: how many a second.

The floor is a dict in memory behind the same calls. `durable` waits for the disk at each hold. PostgreSQL needs a
server, by its address.

    python benchmarks/ledger.py [--postgres postgresql://...] [--out benchmarks/results/ledger.json]
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from measure import provenance, write_down

from askwho._money import NANOS
from askwho.ledger import Call, open_ledger

SEED = 0
AT_ONCE = (1, 50, 500)
# Seconds that an expert takes in the mean, where there are many queries and where there is one.
SLOW, QUICK = 0.5, 0.005
# Queries that are timed: enough for a 99th percentile.
WAITING, AT_FULL_SPEED = 3_000, 4_000
BUDGETS = {"hour": "hour", "day": "day", "key": "total"}
# Seconds between two looks at how late the loop is.
LOOK = 0.01


class Floor:
    """What any ledger in one process must do: look whether the budgets cover a call, and add up."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(BUDGETS, 0)
        self.held: dict[str, int] = {}
        self.rows: dict[str, Any] = {}

    async def set_budget(self, name: str, limit: int, period: str) -> None:
        """Take no notice: they are large enough."""

    async def decided(self, decision_id: str, *, query: Any, decision: Any) -> None:  # noqa: ANN401
        """Keep it."""
        self.rows[decision_id] = query, decision

    async def hold(self, calls: list[Call], *, budgets: list[str]) -> list[bool]:
        """Hold what is covered."""
        for call in calls:
            if all(self.spent[name] + call.worst <= 10**9 * NANOS for name in budgets):
                self.held[call.id] = call.worst
        return [call.id in self.held for call in calls]

    async def settle(self, call_id: str, *, charged: int, answer: str) -> int:
        """Book it."""
        over = charged - self.held.pop(call_id)
        for name in self.spent:
            self.spent[name] += charged
        self.rows[call_id] = answer
        return max(0, over)


@asynccontextmanager
async def floor() -> AsyncGenerator[Any]:
    """A ledger of dicts."""
    yield Floor()


async def ask(ledger: Any, id_: str, seconds: float, added: list[float]) -> None:  # noqa: ANN401 - or the floor
    """One query: decided, held for, asked, settled; what the ledger took of it."""
    start = time.perf_counter()
    telling = ledger.decided(id_, query={"x": 0.5, "text": "a question"}, decision={"ask": ["a"], "propensity": 1.0})
    call = Call(id_, id_, "a", id_, NANOS // 100, time.time() + 60)
    assert await ledger.hold([call], budgets=list(BUDGETS)) == [True]  # noqa: S101 - a refusal would be no measurement
    await telling
    took = time.perf_counter() - start
    if seconds:
        await asyncio.sleep(seconds)
    start = time.perf_counter()
    await ledger.settle(id_, charged=NANOS // 200, answer="yes")
    added.append(took + time.perf_counter() - start)


async def lateness(late: list[float]) -> None:
    """How late the loop is with a timer, again and again."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(LOOK)
        late.append(time.perf_counter() - start - LOOK)


async def timed(ledger: Any, at_once: int, queries: int, mean: float, name: str) -> dict[str, float]:  # noqa: ANN401
    """Milliseconds that the ledger adds, with so many queries at a time."""
    rng = random.Random(SEED)  # noqa: S311 - no secret
    added: list[float] = []
    late: list[float] = []
    waiting = iter(range(queries))

    async def asker() -> None:
        await asyncio.sleep(rng.random() * mean)
        for i in waiting:
            await ask(ledger, f"{name}-{at_once}-{i}", mean * (0.5 + rng.random()) if mean else 0.0, added)

    watch = asyncio.create_task(lateness(late))
    start = time.perf_counter()
    await asyncio.gather(*(asker() for _ in range(at_once)))
    seconds = time.perf_counter() - start
    watch.cancel()
    return {
        "added_p50_ms": at(added, 0.5),
        "added_p99_ms": at(added, 0.99),
        "loop_late_p50_ms": at(late, 0.5),
        "loop_late_p99_ms": at(late, 0.99),
        "queries_a_second": round(queries / seconds, 1),
    }


def at(values: list[float], share: float) -> float:
    """A quantile, in milliseconds."""
    return round(1e3 * sorted(values)[min(len(values) - 1, int(share * len(values)))], 3) if values else 0.0


async def measured(opened: Callable[[], Any]) -> dict[str, Any]:
    """Everything that is told of one ledger."""
    found: dict[str, Any] = {}
    async with opened() as ledger:
        for name, period in BUDGETS.items():
            await ledger.set_budget(name, 10**9 * NANOS, period)
        await timed(ledger, 10, 200, 0.0, "warm")
        for n in AT_ONCE:
            found[f"{n} at a time"] = await timed(
                ledger, n, 300 if n == 1 else WAITING, QUICK if n == 1 else SLOW, "waiting"
            )
        for n in AT_ONCE:
            found[f"{n} at a time, experts at once"] = await timed(
                ledger, n, AT_FULL_SPEED // (8 if n == 1 else 1), 0.0, "quick"
            )
    return found


def main() -> None:
    """Measure each ledger, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", help="the address of an empty database")
    parser.add_argument("--folder", type=Path, help="on whose disk the SQLite files lie; a temporary one if left out")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        places: dict[str, Callable[[], Any]] = {
            "memory (the floor)": floor,
            "sqlite": lambda: open_ledger(Path(folder) / "ledger.sqlite"),
            "sqlite, durable": lambda: open_ledger(Path(folder) / "durable.sqlite", durable=True),
        }
        if given.postgres:
            places["postgresql"] = lambda: open_ledger(given.postgres)
        results: dict[str, Any] = {name: asyncio.run(measured(opened)) for name, opened in places.items()}
        if given.postgres:
            results["postgresql, durable"] = asyncio.run(durable_postgres(given.postgres))
    libraries = ("askwho", *(["psycopg"] if given.postgres else []))
    results["provenance"] = provenance(seed=SEED, libraries=libraries)
    write_down(results, given.out)


async def durable_postgres(url: str) -> dict[str, Any]:
    """The same in the same database, from the start: what was written is taken out first."""
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(url, autocommit=True) as connection:
        for table in ("decisions", "calls", "spend"):
            connection.execute(f"TRUNCATE askwho_{table}".encode())
    return await measured(lambda: open_ledger(url, durable=True))


if __name__ == "__main__":
    main()

"""Claim: a decision with hold and settlement adds at most 2 ms (p50) and 10 ms (p99) to the slowest expert asked.

Three OpenAI-compatible experts in a process of their own answer after 20, 30 and 40 ms. A policy of synthetic classes
asks all three at once through `Asker`, with a ledger in a SQLite file, in turn with a bare aiohttp POST to the slowest
of them, and with bare ones to all three at once. What is added is what a decision takes beyond the slowest of its own
calls, and beyond the bare ones; the event loop's lag is measured beside it. Then instant experts: requests a second
through `Asker`, one expert a query, and bare, each with as many under way. At last what the policy itself takes of the
event loop for one query.

On a machine that others use, what is added is measured a second time with both processes ahead of everybody else's
(`--ahead`, the scheduler's first in, first out, which needs its permission): the first time tells of them, too.

    python benchmarks/live.py --ahead --out benchmarks/results/live.json
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from decimal import Decimal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
from aiohttp import web
from measure import provenance, write_down

from askwho.core import Answers, Cell
from askwho.data import Columns, read_log
from askwho.experts import Chat, Endpoint, Limits, OpenAI, Parse, Stated
from askwho.fitting import fit
from askwho.ledger import open_ledger
from askwho.live import Asker
from askwho.policy import Policy, Target

SEED = 0
SECONDS = {"a": 0.020, "b": 0.030, "c": 0.040}
FEES = {"a": 0.001, "b": 0.002, "c": 0.004}
BODY = {
    "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}],
    "usage": {"prompt_tokens": 40, "completion_tokens": 1},
}


def serve(pipe: Connection) -> None:
    """Answer `/NAME` after its seconds and `/instant` at once, until the process is ended."""

    async def main() -> None:
        async def answer(request: web.Request) -> web.Response:
            await request.read()
            await asyncio.sleep(SECONDS.get(request.match_info["name"], 0.0))
            return web.json_response(BODY)

        app = web.Application()
        app.router.add_post("/{name}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(main())


def synthetic_policy(n: int = 1200) -> Policy:
    """A policy of two classes and three experts."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(n, 4))
    truth = np.where(x[:, 0] + rng.normal(0, 0.5, n) > 0, "yes", "no")
    table: dict[str, Any] = {f"x_{i}": x[:, i] for i in range(4)} | {"truth": truth}
    for name, right in (("a", 0.75), ("b", 0.85), ("c", 0.95)):
        table[f"answer_{name}"] = np.where(rng.random(n) < right, truth, np.where(truth == "yes", "no", "yes"))
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)
    return fit(read_log(table, columns), learner="linear", base="none", cv=3)


def experts(port: int, *, instant: bool = False) -> list[OpenAI]:
    """Whoever asks the server."""
    return [
        OpenAI(
            name,
            Endpoint(name, f"http://127.0.0.1:{port}/{'instant' if instant else name}", Limits(concurrency=256)),
            Chat("m", "Is it so? {x_0} {x_1}", max_tokens=4, max_input=500),
            Parse(choices=("yes", "no")),
            Stated(Decimal(1), Decimal(2)),
        )
        for name in SECONDS
    ]


def query(rng: np.random.Generator) -> dict[str, float]:
    """A new query."""
    return {f"x_{i}": float(value) for i, value in enumerate(rng.normal(size=4))}


class Lag:
    """How late the event loop wakes up whoever sleeps for a millisecond."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    async def watch(self) -> None:
        """Sleep and look, until cancelled."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.seen.append(time.perf_counter() - before - 0.001)


async def added(policy: Policy, port: int, ledger_at: Path, *, rounds: int, warm: int = 30) -> dict[str, Any]:
    """Milliseconds that a decision takes beyond the slowest expert, one query at a time."""
    rng, loop, target = np.random.default_rng(1), asyncio.get_running_loop(), Target(k=3)
    beyond: list[float] = []
    asked: list[float] = []
    bare: list[float] = []
    fan: list[float] = []
    lag = Lag()
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}]}

    async def post(session: aiohttp.ClientSession, name: str) -> None:
        async with session.post(f"http://127.0.0.1:{port}/{name}", json=body) as reply:
            json.loads(await reply.read())

    async with (
        open_ledger(ledger_at) as ledger,
        Asker(policy, experts(port), ledger=ledger, budgets=["all"]) as asker,
        aiohttp.ClientSession() as session,
    ):
        await ledger.set_budget("all", 10**15, "total")
        watching = loop.create_task(lag.watch())
        for i in range(rounds + warm):
            if i == warm:
                beyond, asked, bare, fan, lag.seen = [], [], [], [], []
            row = query(rng)
            done = await asker.ask(row, target)
            if len(done.decision.heard) != 3:
                raise RuntimeError(f"somebody did not answer: {done}")
            beyond.append(done.seconds - max(call.seconds for call in done.calls))
            asked.append(done.seconds)
            before = loop.time()
            await post(session, "c")
            bare.append(loop.time() - before)
            before = loop.time()
            await asyncio.gather(*(post(session, name) for name in SECONDS))
            fan.append(loop.time() - before)
        watching.cancel()
    return {
        "rounds": rounds,
        "beyond_the_slowest_call_ms": _spread(beyond),
        "decision_ms": _spread(asked),
        "bare_call_ms": _spread(bare),
        "three_bare_calls_ms": _spread(fan),
        **{
            f"beyond_{what}_ms": {name: round(_spread(asked)[name] - _spread(each)[name], 3) for name in ("p50", "p99")}
            for what, each in (("the_bare_call", bare), ("three_bare_calls", fan))
        },
        "loop_lag_ms": _spread(lag.seen),
    }


async def throughput(policy: Policy, port: int, ledger_at: Path, *, requests: int, at_a_time: int) -> dict[str, Any]:
    """Requests a second against instant experts: through the Asker with a ledger, without one, and bare."""
    rng = np.random.default_rng(2)
    rows = [query(rng) for _ in range(requests)]
    url = f"http://127.0.0.1:{port}/instant"

    async def timed(one: Callable[[dict[str, float]], Coroutine[Any, Any, None]]) -> tuple[float, float]:
        places = asyncio.Semaphore(at_a_time)

        async def placed(row: dict[str, float]) -> None:
            async with places:
                await one(row)

        before, worked = time.perf_counter(), time.process_time()
        await asyncio.gather(*(placed(row) for row in rows))
        # What the processor worked is told too: on a machine that others use it is the steadier figure.
        return requests / (time.perf_counter() - before), (time.process_time() - worked) / requests * 1e3

    async def through(asker: Asker, row: dict[str, float]) -> None:
        done = await asker.ask(row, Target(k=1), deadline=60)
        if not done.decision.heard:
            raise RuntimeError(f"nobody answered: {done}")

    async def bare(session: aiohttp.ClientSession, row: dict[str, float]) -> None:
        async with session.post(url, json={"model": "m", "messages": [{"content": str(row)}]}) as reply:
            json.loads(await reply.read())

    async with (
        open_ledger(ledger_at) as ledger,
        Asker(policy, experts(port, instant=True), ledger=ledger, budgets=["all"]) as booked,
        Asker(policy, experts(port, instant=True)) as plain,
        aiohttp.ClientSession() as session,
    ):
        await ledger.set_budget("all", 10**15, "total")
        found: dict[str, list[tuple[float, float]]] = {"bare": [], "asker": [], "asker_and_ledger": []}
        for _ in range(3):
            found["bare"].append(await timed(lambda row: bare(session, row)))
            found["asker"].append(await timed(lambda row: through(plain, row)))
            found["asker_and_ledger"].append(await timed(lambda row: through(booked, row)))
    medians = {name: np.median(each, axis=0) for name, each in found.items()}
    return {
        "requests": requests,
        "at_a_time": at_a_time,
        **{f"{name}_per_second": round(float(each[0])) for name, each in medians.items()},
        **{f"{name}_cpu_ms": round(float(each[1]), 3) for name, each in medians.items()},
    }


@contextmanager
def ahead_of_others(*processes: int) -> Generator[None]:
    """Have some processes run before all others of the machine; they sleep nearly all the time."""
    for process in processes:
        os.sched_setscheduler(process, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        for process in processes:
            os.sched_setscheduler(process, os.SCHED_OTHER, os.sched_param(0))


def kernel(policy: Policy, rounds: int = 500) -> dict[str, Any]:
    """Microseconds of the policy's own work for one query."""
    rng = np.random.default_rng(3)
    rows = [query(rng) for _ in range(rounds)]
    states = np.full((1, 3), Cell.ANSWERED, dtype=np.int8)
    answers = Answers(np.array([["yes", "no", "yes"]]), states)
    target = Target(fee_weight=float(policy.tried.prices[8]))
    seen, decisions = policy.see(rows[0]), policy.decide(rows[0], Target(k=3))
    jobs = {
        "see": policy.see,
        "decide": lambda _: policy.decide(seen, Target(k=3), ids=["q"]),
        "combine": lambda _: policy.combine(decisions, answers),
        "next": lambda _: policy.next(seen, answers, target, ids=["q"]),
    }
    found: dict[str, Any] = {}
    for name, job in jobs.items():
        took: list[float] = []
        for row in rows:
            before = time.perf_counter()
            job(row)
            took.append(time.perf_counter() - before)
        found[f"{name}_us"] = round(float(np.median(took)) * 1e6)
    return found


def _spread(seconds: list[float]) -> dict[str, float]:
    at = {"p50": 50, "p90": 90, "p99": 99}
    return {name: round(float(np.percentile(seconds, place)) * 1e3, 3) for name, place in at.items()}


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--ahead", action="store_true", help="measure a second time ahead of all other processes")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--requests", type=int, default=2000)
    arguments = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    policy = synthetic_policy()
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            results: dict[str, Any] = {
                # Of the last minute, before anything here ran: who else worked on the machine.
                "load_before": round(os.getloadavg()[0], 2),
                "policy": kernel(policy),
                "added": asyncio.run(added(policy, port, place / "one.sqlite", rounds=arguments.rounds)),
                "added_ahead_of_others": None,
                "throughput": asyncio.run(
                    throughput(policy, port, place / "two.sqlite", requests=arguments.requests, at_a_time=64)
                ),
            }
            if arguments.ahead:
                with ahead_of_others(0, server.pid or 0):
                    results["added_ahead_of_others"] = asyncio.run(
                        added(policy, port, place / "three.sqlite", rounds=arguments.rounds)
                    )
    finally:
        server.terminate()
    results["provenance"] = provenance(seed=SEED, libraries=("numpy", "aiohttp", "askwho"))
    write_down(results, arguments.out)


if __name__ == "__main__":
    sys.exit(main())

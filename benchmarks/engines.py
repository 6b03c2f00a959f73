"""Claim: a worker of Ray or Spark takes no more of a processor for a row than the kernel does alone.

And how near two workers come to the slower of two kernels and the engine's own pass-through, which wants two free
processors. The policy and the log of `route_profile.py`, five experts, numbers alone; parts of 16,384 rows. In turn,
several times: the kernel (one process on one thread makes all parts), then each engine with two workers, which makes
the same parts, and which copies the same rows without deciding anything. Each is run with one part a worker, too, which
starts the workers and lays out their trees: that is taken off. Rows a second by the clock, medians; and the seconds of
processor time that a row takes within the work itself, which others on the machine move least.

    pip install 'askwho[ray,spark]'
    python benchmarks/engines.py --out benchmarks/results/engines.json
"""

import argparse
import importlib
import itertools
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from measure import provenance, write_down
from route_profile import LEARNED, SEED, log

from askwho._threads import use_processors
from askwho.data import Columns, Table, read_log, write_batches, write_table
from askwho.engines import Artefact, Parts, Route, Work, plan_of
from askwho.fitting import fit
from askwho.persistence import save
from askwho.policy import Target

ENGINES = ("ray", "spark")
WORKERS = 2
PART, PARTS, ROUNDS = 1 << 14, 512, 3


@dataclass(frozen=True)
class Timed:
    """Work, and the processor time that each batch took."""

    work: Work

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what the work returns, with a column of seconds."""
        start = time.process_time()
        made = self.work(batch)
        seconds = pa.array([(time.process_time() - start) / made.num_rows] * made.num_rows)
        return pa.RecordBatch.from_arrays([*made.columns, seconds], names=[*made.schema.names, "seconds"])

    def load(self) -> object:
        """Load what the work needs."""
        return self.work.load()

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return that of the work with its seconds."""
        return self.work.schema(given).append(pa.field("seconds", pa.float64()))


@dataclass(frozen=True)
class Copied:
    """The rows of parts, read and written again: what an engine does where nothing is decided."""

    parts: Parts

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Copy the parts of some stretches; return their numbers and rows."""
        said: list[dict[str, int]] = []
        for stretch in batch.to_pylist():
            for number, table in self.parts.batches(stretch["first"]):
                if number >= stretch["first"] + stretch["parts"]:
                    break
                write_table(Path(self.parts.folder) / f"copy-{number}.parquet", table)
                said.append({"part": number, "queries": len(next(iter(table.values())))})
        return pa.RecordBatch.from_pylist(said, schema=self.schema(batch.schema))

    def load(self) -> object:
        """Load what the parts need."""
        return self.parts.load()

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return what is told of parts."""
        return self.parts.schema(given)


def main() -> None:
    """Route by each engine in turn, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which of them")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is run, after once to warm up")
    parser.add_argument("--quick", action="store_true", help="one round of four parts: does it run?")
    arguments = parser.parse_args()
    use_processors(1)
    parts, rounds = (4, 1) if arguments.quick else (PARTS, arguments.rounds)
    with tempfile.TemporaryDirectory() as folder:
        results = compared(Path(folder), arguments.engines.split(","), parts, rounds)
    libraries = ("numpy", "onnxruntime", "pyarrow", "ray", "pyspark", "askwho")
    write_down({**results, "provenance": provenance(seed=SEED, libraries=libraries)}, arguments.out)


def compared(place: Path, engines: list[str], parts: int, rounds: int) -> dict[str, Any]:
    """Rows a second and processor time of each, and their ratios."""
    fees = {f"e{j}": 0.01 * (1 + j % 9) for j in range(5)}
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=fees, id="id")
    save(fit(read_log(log(LEARNED, 0, 5, text=False), columns), learner="forest", cv=2), place / "policy")
    write_batches(place / "queries.parquet", (queries(number) for number in range(parts)))
    out = place / "out"
    out.mkdir()
    route = Route(Artefact.at(place / "policy"), Target(fee_weight=0.5))
    work = Parts(route, str(place / "queries.parquet"), str(out), PART)
    plans = {count: plan_of(count, (), rows=PART, workers=WORKERS) for count in (WORKERS, parts)}
    route.load()
    jobs: dict[tuple[str, int], Callable[[], list[pa.RecordBatch]]] = {}
    for count, plan in plans.items():
        jobs["kernel", count] = lambda plan=plan: [Timed(work)(plan)]
    for engine, (count, plan) in itertools.product(engines, plans.items()):
        run = importlib.import_module(f"askwho.engines.{engine}").run
        for what, job in {"copied": Copied(work), "routed": work}.items():
            jobs[f"{engine}, {what}", count] = lambda run=run, job=job, plan=plan: list(
                run(Timed(job), plan, workers=WORKERS)
            )
    clock: dict[tuple[str, int], list[float]] = {name: [] for name in jobs}
    taken: dict[tuple[str, int], list[float]] = {name: [] for name in jobs}
    for _ in range(rounds + 1):
        for name, job in jobs.items():
            shutil.rmtree(out)
            out.mkdir()
            start = time.perf_counter()
            found = pa.Table.from_batches(job())
            clock[name].append(time.perf_counter() - start)
            taken[name].append(sum(found["seconds"].to_pylist()))
    rows = (parts - WORKERS) * PART

    def beyond(times: dict[tuple[str, int], list[float]], name: str) -> float:
        """Seconds of all parts but the first, one for each worker; the first round starts engines and is left out."""
        few, all_ = (statistics.median(times[name, count][1:]) for count in plans)
        return max(all_ - few, 1e-3)

    kernel = rows / beyond(clock, "kernel")
    told: dict[str, Any] = {
        "rows": rows,
        "workers": WORKERS,
        "kernel": {"rows_a_second": round(kernel), "microseconds_a_row": _us(beyond(taken, "kernel") / rows)},
    }
    for engine in engines:
        copied, routed = (rows / beyond(clock, f"{engine}, {what}") for what in ("copied", "routed"))
        told[engine] = {
            "start_seconds": round(statistics.median(clock[f"{engine}, routed", WORKERS][1:]), 1),
            "copied_rows_a_second": round(copied),
            "routed_rows_a_second": round(routed),
            "of_the_slower_limit": round(routed / min(copied, WORKERS * kernel), 2),
            "microseconds_a_row": _us(beyond(taken, f"{engine}, routed") / rows),
            "copied_microseconds_a_row": _us(beyond(taken, f"{engine}, copied") / rows),
        }
    return told


def queries(number: int) -> Table:
    """New queries: what is known of them, and their names."""
    table = log(PART, number + 1, 0, text=False)
    return {name: values for name, values in table.items() if name != "truth"}


def _us(seconds: float) -> float:
    return round(1e6 * seconds, 2)


if __name__ == "__main__":
    main()

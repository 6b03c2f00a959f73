"""Claim: a log of five million rows is checked, routed, combined and evaluated within 2 GB of memory.

A synthetic log of 4 classes and 5 experts who know half of them each. A policy is fitted on 4,000 other rows;
then every command runs in a process of its own, whose time and peak memory are written down.

    python benchmarks/large.py --out benchmarks/results/large.json
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down

from askwho.data import Columns, Table, read_log, write_batches
from askwho.fitting import fit
from askwho.persistence import save

SEED = 0
CLASSES, EXPERTS, FEATURES = 4, 5, 4
ROWS, STEP = 5_000_000, 100_000
FEES = {f"e{j}": 0.01 * (j + 1) for j in range(EXPERTS)}
COLUMNS = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*"]


def main() -> None:
    """Write the log, run the commands, and write down what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--rows", type=int, default=ROWS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = many_rows(Path(folder), arguments.rows)
    results["provenance"] = provenance(seed=SEED, libraries=("numpy", "scikit-learn", "onnxruntime", "askwho"))
    write_down(results, arguments.out)


def log(n: int, seed: int) -> Table:
    """Columns of a log in which each expert knows some classes, told by the features."""
    rng = np.random.default_rng([SEED, seed])
    centres = np.random.default_rng(SEED).normal(size=(CLASSES, FEATURES))
    truth = rng.integers(0, CLASSES, n)
    X = centres[truth] + rng.normal(scale=1.2, size=(n, FEATURES))
    table: Table = {f"x_{i}": X[:, i] for i in range(FEATURES)} | {"truth": truth}
    for j in range(EXPERTS):
        knows = (truth + j) % CLASSES < CLASSES // 2
        right = rng.random(n) < np.where(knows, 0.95, 0.2)
        table[f"answer_e{j}"] = np.where(right, truth, rng.integers(0, CLASSES, n))
    return table


def many_rows(place: Path, rows: int) -> dict[str, Any]:
    """Seconds, rows a second and peak memory of every command that reads a file in batches."""
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)
    policy, table = str(place / "policy"), str(place / "log.parquet")
    save(fit(read_log(log(4000, 0), columns), learner="forest", cv=3), place / "policy")

    def batches() -> Iterator[Table]:
        for number, start in enumerate(range(0, rows, STEP), start=1):
            count = min(STEP, rows - start)
            # Queries have names, by which answers find their routes again.
            yield {"id": np.array([f"q{start + i}" for i in range(count)])} | log(count, number)

    write_batches(place / "log.parquet", batches())
    fees = ",".join(f"{name}={fee}" for name, fee in FEES.items())
    routes, decisions = str(place / "routes.parquet"), str(place / "decisions.parquet")
    return {
        "rows": rows,
        "check": timed(["check", table, *COLUMNS, "--fees", fees, "--json"], rows),
        "route": timed(["route", policy, table, "--fee-weight", "0.5", "--out", routes, "--json"], rows),
        "combine": timed(["combine", policy, routes, table, "--by-position", "--out", decisions, "--json"], rows),
        "evaluate": timed(["evaluate", policy, table, "--json"], rows),
    }


def timed(words: list[str], rows: int) -> dict[str, Any]:
    """Run one command, and return what it took."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "askwho", *words]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(running.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise RuntimeError(f"askwho {words[0]} ended with {os.waitstatus_to_exitcode(status)}.")
    return {
        "seconds": round(seconds, 1),
        "rows_per_second": round(rows / seconds),
        "peak_megabytes": round(usage.ru_maxrss / 1024),
    }


if __name__ == "__main__":
    main()

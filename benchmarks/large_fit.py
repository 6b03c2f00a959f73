"""Claim: a log of five million rows is fitted within 8 GB; of numbers, more rows than are drawn buy next to nothing.

First the learning curve: policies of ever more rows, judged on the same other rows, by the mean error over ten stated
budgets (the area), at once and in turn, and by the error within half of all fees. On a made log of 4 classes and 5
experts who know half of them each (that of `large.py`), and on recorded services that judge films (imdb_apis), whose
texts are the harder thing to learn from. Then `askwho fit` of five million rows of the made log, in Parquet. Every fit
is a process of its own, whose time and peak memory are written down.

    python benchmarks/large_fit.py --data DATA [--rows 1000,3000,...] [--log-rows 5000000] [--learner auto] [--out FILE]
    python benchmarks/large_fit.py --long --learner linear --out FILE    # the long log alone
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from large import COLUMNS, FEES, log, timed
from measure import provenance, write_down

from askwho.data import MAX_ROWS, Columns, Log, Table, read_log, write_batches
from askwho.evaluation import evaluate
from askwho.fitting import fit
from askwho.metrics import Frontier, area, stated_budgets
from askwho.persistence import load

SEED = 0
SIZES = (1_000, 3_000, 10_000, 20_000, 50_000)
"""Up to as many as are drawn: where the area stopped falling before, more would buy nothing."""
LOG_ROWS, STEP = 5_000_000, 100_000
# Other rows that all are judged on: an error of a twentieth is then known to within three thousandths.
JUDGED = {"made": 20_000, "imdb_apis": 5_000}
# Intervals are drawn by resampling: so few are enough to say how wide they are.
DRAWS = 50


def main() -> None:
    """Fit every size, then the long log, and write down after each what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="the folder of data")
    parser.add_argument("--rows", default=",".join(map(str, SIZES)))
    parser.add_argument("--log-rows", type=int, default=LOG_ROWS)
    parser.add_argument("--learner", default="auto", help="of the long log")
    parser.add_argument("--long", action="store_true", help="the long log alone, into the JSON that is there")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    arguments = parser.parse_args()
    if arguments.one is not None:
        name, rows = arguments.one
        print(json.dumps(one(name, int(rows), arguments.data)))
        return
    origin = provenance(seed=SEED, libraries=("numpy", "scikit-learn", "pyarrow", "onnxruntime", "askwho"))
    if arguments.long:
        results = json.loads(arguments.out.read_text())
        with tempfile.TemporaryDirectory() as folder:
            found = long_log(Path(folder), arguments.log_rows, arguments.learner)
        write_down(results | {"long": found | {"provenance": origin}}, arguments.out)
        return
    results: dict[str, Any] = {"drawn": MAX_ROWS, "curve": {}, "long": None, "provenance": origin}
    for name in JUDGED:
        found = results["curve"][name] = []
        for rows in map(int, arguments.rows.split(",")):
            row = alone(name, rows, arguments.data)
            if row is not None:
                found.append(row)
                write_down(results, arguments.out)
    with tempfile.TemporaryDirectory() as folder:
        results["long"] = long_log(Path(folder), arguments.log_rows, arguments.learner)
    write_down(results, arguments.out)


def alone(name: str, rows: int, data: Path) -> dict[str, Any] | None:
    """Return what a fit gives in a process of its own; None where the log has no such number of rows."""
    if name != "made" and rows > 20_000:
        return None
    command = [sys.executable, __file__, "--data", str(data), "--one", name, str(rows)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def one(name: str, rows: int, data: Path) -> dict[str, Any]:
    """Return what so many rows of a log teach, and what they take."""
    taught, judged = of_log(name, rows, data)
    start, used = time.perf_counter(), time.process_time()
    policy = fit(taught, max_rows=0, random_state=SEED)
    took = {"seconds": round(time.perf_counter() - start, 1), "cpu_seconds": round(time.process_time() - used, 1)}
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    told = evaluate(policy, judged, draws=DRAWS)
    best = told["baselines"]["best_single"]["mean_fee"]
    fees = [entity["fee"] for entity in told["entities"] if entity["fee"] > 0]
    budgets = stated_budgets(fees, best)
    by = {way: _frontier(told[way]) for way in ("adaptive", "sequential") if told[way]}
    half = min(told["adaptive"], key=lambda point: abs(point["mean_fee"] - sum(fees) / 2))
    return {
        "rows": rows,
        "area": round(area(by["adaptive"], budgets), 5),
        "area_in_turn": round(area(by["sequential"], budgets), 5) if "sequential" in by else None,
        "error_at_half": round(by["adaptive"].error_at(sum(fees) / 2), 5),
        "known_to_within": round(float(np.diff(half["error_interval"])[0] / 2), 5),
        "learner": policy.judge.name,
        "base": policy.facts.base,
        **took,
        "peak_megabytes": peak,
    }


def of_log(name: str, rows: int, data: Path) -> tuple[Log, Log]:
    """Return rows to learn from and rows to judge by."""
    if name == "made":
        columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)
        return read_log(log(rows, 1), columns), read_log(log(JUDGED[name], 10**6), columns)
    from askwho_studies.logs import load_log  # noqa: PLC0415 - a package of its own, for this log alone

    whole = load_log(data, name)
    order = np.random.default_rng(SEED).permutation(len(whole))
    kept = JUDGED[name]
    return whole.rows(np.sort(order[kept : kept + rows])), whole.rows(np.sort(order[:kept]))


def _frontier(points: list[dict[str, Any]]) -> Frontier:
    known = [point for point in points if point["error"] is not None]
    return Frontier.of([point["mean_fee"] for point in known], [point["error"] for point in known])


def long_log(place: Path, rows: int, learner: str) -> dict[str, Any]:
    """Return what `askwho fit` takes for a log of so many rows, and what it says that it learned from."""

    def batches() -> Iterator[Table]:
        for number, start in enumerate(range(0, rows, STEP), start=1):
            yield log(min(STEP, rows - start), number)

    write_batches(place / "log.parquet", batches())
    fees = ",".join(f"{name}={fee}" for name, fee in FEES.items())
    words = ["fit", str(place / "log.parquet"), *COLUMNS, "--fees", fees, "--out", str(place / "policy"), "--json"]
    took = timed([*words, "--learner", learner], rows)
    return {"rows": rows, "learner": learner, "learned_from": load(place / "policy").facts.drawn, **took}


if __name__ == "__main__":
    main()

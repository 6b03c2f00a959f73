"""Claim: on the shared logs askwho meets the figures that it set itself, over ten splits.

Each log is split 60/40 by group ten times; askwho, as it comes, and the rivals that a figure is about are fitted on the
one part and judged on the other. Fees are multiples of the best single entity's. A figure is the mean over splits, with
the 95% interval of Student's t over them; splits share rows, so that it is about the spread over splits of these logs.
Each log has its own provenance: logs that are not run stay in the file as they are.

    ASKWHO_DATA=... python benchmarks/targets.py --workers 2 --out benchmarks/results/targets.json

With `--beside FOLDER`, a checkout of an earlier commit, that commit's code takes the same splits, and askwho's figures
stand beside its own of then, paired by split.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down
from scipy import stats
from threadpoolctl import threadpool_limits

from askwho.evaluation import Point
from askwho_studies.logs import METHODS, Priced, Split, load_log

RIVALS = {
    "imdb_apis": ("stacking (linear)", "stacking (boosted)", "features (words)"),
    "mmlu_pro_llms": ("agreement cascade",),
    "imagenet16h_humans": ("vote", "weighted vote"),
    "routellm_llms": ("forest router", "neighbour router", "threshold (linear)", "threshold (forest)"),
    "m3_forecasts": ("forest router",),
    "spoken_digit_apis": ("stacking (linear)", "stacking (boosted)", "features (linear)", "features (forest)"),
    "face_emotion_apis": ("forest router",),
}
"""Whom each log's figures are about; the slowest log first."""


def main() -> None:
    """Measure every log and split, and write down the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("ASKWHO_DATA"), required="ASKWHO_DATA" not in os.environ
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2, help="splits at a time, each in a process of its own")
    parser.add_argument("--logs", nargs="+", default=list(RIVALS), choices=list(RIVALS))
    parser.add_argument("--beside", type=Path, help="a checkout of an earlier commit, to be paired with")
    arguments = parser.parse_args()
    earlier: Path | None = arguments.beside
    by_log: dict[str, dict[int, dict[str, dict[str, float]]]] = {name: {} for name in arguments.logs}
    before: dict[str, dict[int, dict[str, float]]] = {name: {} for name in arguments.logs}
    with ProcessPoolExecutor(arguments.workers, mp_context=get_context("spawn")) as workers:
        splits = [(name, seed) for name in arguments.logs for seed in range(arguments.seeds)]
        jobs = {workers.submit(one_split, arguments.data, *each): (*each, False) for each in splits}
        if earlier is not None:
            jobs |= {workers.submit(by_earlier, earlier, arguments.data, *each): (*each, True) for each in splits}
        for job in as_completed(jobs):
            name, seed, old = jobs[job]
            found = job.result()
            if old:
                before[name][seed] = found["askwho"]
            else:
                by_log[name][seed] = found
            print(name, seed, "earlier" if old else "now", found["askwho"], flush=True)
    out: Path | None = arguments.out
    results: dict[str, Any] = json.loads(out.read_text()) if out is not None and out.exists() else {}
    run = {
        "seeds": arguments.seeds,
        "provenance": provenance(seed=0, libraries=("numpy", "scipy", "scikit-learn", "lightgbm")),
    }
    for name, found in by_log.items():
        results[name] = {**over_splits([found[seed] for seed in sorted(found)]), **run}
        if earlier is not None:
            now, then = ([part[seed] for seed in sorted(found)] for part in (by_askwho(found), before[name]))
            results[name]["beside"] = {"commit": commit_of(earlier), **paired(now, then)}
    write_down(results, out)


def one_split(data: Path, name: str, seed: int) -> dict[str, dict[str, float]]:
    """Return the figures of each method on one split of a log."""
    with threadpool_limits(1):
        split = Split.of(load_log(data, name), seed)
        single = METHODS["best single"](split)[0]
        methods = ("askwho", "best single", *RIVALS[name])
        return {method: figures(split, METHODS[method](split), single) for method in methods}


def by_earlier(checkout: Path, data: Path, name: str, seed: int) -> dict[str, dict[str, float]]:
    """Return the figures of one split by an earlier commit's code, which has its own `one_split`."""
    code = "import json, sys; from pathlib import Path; import targets; print(json.dumps(targets.one_split("
    code += "Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))"
    path = os.pathsep.join(str(checkout.absolute() / each) for each in ("src", "studies", "benchmarks"))
    command = [sys.executable, "-c", code, str(data), name, str(seed)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.splitlines()[-1])


def commit_of(checkout: Path) -> str:
    """Return the commit that a folder is a checkout of."""
    command = ("git", "-C", str(checkout), "rev-parse", "HEAD")
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def by_askwho(found: dict[int, dict[str, dict[str, float]]]) -> dict[int, dict[str, float]]:
    """Return askwho's figures by split."""
    return {seed: methods["askwho"] for seed, methods in found.items()}


def paired(now: Sequence[dict[str, float]], then: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Return the mean figures of then, and how far today's are off, split by split."""
    return {
        "then": {name: interval([each[name] for each in then]) for name in then[0]},
        "now_less_then": {
            name: interval([a[name] - b[name] for a, b in zip(now, then, strict=True)]) for name in then[0]
        },
    }


def figures(split: Split, points: list[Point], single: Point) -> dict[str, float]:
    """Return what one method's settings come to on one split."""
    regression = not split.classes and split.test.answers is not None

    def shown(error: float) -> float:
        return float(np.sqrt(error)) if regression else error

    hull = Priced.of(points, fallback=single).frontier
    fee = float(single.fees.mean()) or 1.0
    level = float(Priced.of([single]).means[1][0])
    found = {
        "fee_to_match": hull.fee_for(level) / fee,
        "error_at_its_fee": shown(hull.error_at(fee * (1 + 1e-9))),
        "least_error": shown(float(hull.errors[-1])),
        "least_fee": float(hull.fees[0]) / fee,
        "error_at_least_fee": shown(float(hull.errors[0])),
        "error_at_a_third_of_all_fees": shown(hull.error_at(float(split.price.sum()) / 3)),
        "error_at_40_fees": shown(hull.error_at(40 * fee)),
    }
    if regression:
        absolute = [Point(np.sqrt(point.errors), point.fees) for point in (single, *points)]
        found["rmse_at_three_fees"] = shown(hull.error_at(3 * fee))
        found["mae_at_three_fees"] = Priced.of(absolute[1:], fallback=absolute[0]).frontier.error_at(3 * fee)
    if split.test.answers is None:
        cheap, dear = (float(np.nanmean(split.test.fees[:, j])) for j in (split.cheapest, split.best))
        weak = float(np.nanmean(split.test.errors[:, split.cheapest]))
        budgets = np.maximum(cheap + SHARES * (dear - cheap), hull.fees[0])
        found["gap_recovered"] = float(np.mean([(weak - hull.error_at(each)) / (weak - level) for each in budgets]))
    return found


SHARES = np.linspace(0, 1, 101)
"""Shares of the queries that go to the dear one: RouteLLM's APGR is the mean over them of the gap recovered."""


def over_splits(found: Sequence[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Return each method's mean figures with their intervals, and askwho's paired differences from it."""
    out: dict[str, Any] = {}
    for method in found[0]:
        out[method] = {name: interval([each[method][name] for each in found]) for name in found[0][method]}
        if method != "askwho":
            out[method]["askwho_less_this"] = {
                name: interval([each["askwho"][name] - each[method][name] for each in found])
                for name in found[0][method]
                if name in found[0]["askwho"]
            }
    return out


def interval(values: Sequence[float]) -> list[float] | None:
    """Mean, and the 95% interval of Student's t; None where a split does not reach what is asked."""
    array = np.array(values)
    if not np.isfinite(array).all():
        return None
    reach = 0.0 if len(array) < 2 else stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array))
    return [round(float(value), 5) for value in (array.mean(), array.mean() - reach, array.mean() + reach)]


if __name__ == "__main__":
    main()

"""Claim: on the peers' own ground, pools of ten models on digits, askwho is no worse than DESlib and than stacking.

Two pools: ten different models with 15% of the data each, and ten specialists that know six classes each. Everyone
charges 1. Half of the data is the log, split 60/40 by each of ten seeds; askwho has no base of its own. It asks
everybody, as its rivals do; and, at once or in turn, as it does best on held-out training rows within half of what
asking all ten costs. Errors are paired by row, intervals are bootstraps over all seeds' rows. With
ASKWHO_DESLIB_PYTHON set to a Python that has DESlib 0.3.7, KNORA-U, KNORA-E and META-DES take part.

Seeds below 50 were seen while learners and committees were being improved: others are counted.

    python benchmarks/digits.py --out benchmarks/results/digits.json
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from digits_pool import mixed_pool, specialist_pool
from measure import provenance, write_down

from askwho.data import Columns, read_log
from askwho.evaluation import Point, adaptive_points, fixed_points, sequential_points
from askwho.fitting import fit
from askwho.replay import Replay
from askwho_studies.logs import METHODS, SkippedError, Split

RIVALS = ("best single", "vote", "stacking (linear)", "stacking (boosted)", "KNORA-U", "KNORA-E", "META-DES")


def main() -> None:
    """Compare on both pools, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--first-seed", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    results: dict[str, Any] = {
        "mixed": compared(mixed_pool, seeds),
        "specialists": compared(specialist_pool, seeds),
        "provenance": provenance(seed=arguments.first_seed, libraries=("numpy", "scikit-learn", "askwho")),
    }
    write_down(results, arguments.out)


def compared(pool: Any, seeds: range) -> dict[str, Any]:  # noqa: ANN401 - from a seed to fitted models and a log's rows
    """Accuracies and fees of every method, and askwho's paired differences, over the seeds."""
    errors: dict[str, list[np.ndarray]] = {}
    fees: dict[str, list[float]] = {}
    skipped: dict[str, str] = {}
    for seed in seeds:
        split = Split.of(log_of(*pool(seed)), seed)
        found = askwho_points(split)
        for name in RIVALS:
            try:
                found[name] = METHODS[name](split)[-1]
            except SkippedError as reason:
                skipped[name] = str(reason)
        for name, point in found.items():
            errors.setdefault(name, []).append(point.errors)
            fees.setdefault(name, []).append(float(point.fees.mean()))
        print(f"seed {seed}: { {name: round(float(point.errors.mean()), 4) for name, point in found.items()} }")
    rng = np.random.default_rng(0)
    ours = ("askwho", "askwho (half the fees)")
    return {
        "methods": {
            name: {"accuracy": round(1 - float(np.mean(np.concatenate(each))), 4), "fee": round(np.mean(fees[name]), 2)}
            for name, each in errors.items()
        },
        "skipped": skipped,
        "error_less_the_rivals": {
            mine: {name: paired(errors[mine], errors[name], rng) for name in errors if name not in ours}
            for mine in ours
        },
    }


def log_of(pool: list[Any], X: np.ndarray, y: np.ndarray) -> Any:  # noqa: ANN401 - a Log
    """What a pool answers on rows that it has not seen, as a log."""
    table: dict[str, np.ndarray] = {f"x_{i}": X[:, i] for i in range(X.shape[1])} | {"truth": y}
    table |= {f"answer_m{j}": member.predict(X) for j, member in enumerate(pool)}
    fees = {f"m{j}": 1.0 for j in range(len(pool))}
    return read_log(table, Columns(truth="truth", answers="answer_*", features="x_*", fees=fees))


def askwho_points(split: Split) -> dict[str, Point]:
    """Askwho without a base: asking everybody, and as held-out training rows have it for half of that."""
    policy = fit(split.train, base="none", random_state=split.seed)
    held = Replay.of(policy, split.test)
    points = [*adaptive_points(policy, held), *sequential_points(policy, held)]
    tried = [policy.tried, *([] if policy.turns is None else [policy.turns.tried])]
    validated = [point for each in tried for point in each.validated(policy.unit)]

    half = float(split.price.sum()) / 2
    within = [i for i, each in enumerate(validated) if each["mean_fee"] <= half]
    best = min(within, key=lambda i: (validated[i]["error"], validated[i]["mean_fee"]))
    everybody = next(point for point in fixed_points(policy, held) if point.labels["k"] == len(policy.panel))
    return {"askwho": everybody, "askwho (half the fees)": points[best]}


def paired(ours: list[np.ndarray], theirs: list[np.ndarray], rng: np.random.Generator) -> list[float]:
    """The mean difference in error, row by row, and the middle 95% of its bootstrap."""
    difference = np.concatenate(ours) - np.concatenate(theirs)
    draws = difference[rng.integers(0, len(difference), (2000, len(difference)))].mean(axis=1)
    return [round(float(v), 4) for v in (difference.mean(), *np.quantile(draws, [0.025, 0.975]))]


if __name__ == "__main__":
    main()

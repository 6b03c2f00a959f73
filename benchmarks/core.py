"""Claim: prefix metrics run at least 100 times faster than a per-row loop, and top-k faster than a full sort.

Ratios of medians over repeats taken in turn in one run. The loop is timed on a sample of rows and scaled by its share.

    python benchmarks/core.py --out benchmarks/results/core.json
"""

import argparse
import json
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from provenance import provenance

from askwho import Answers, Panel, Selection, metrics, select_top_k
from askwho.selection import rank

SEED = 0
ROWS, ENTITIES, LOOP_ROWS = 100_000, 30, 500
TOP_ROWS, TOP_K = 1_000_000, 5


def main() -> None:
    """Run both comparisons and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    results = {
        "prefix_metrics": prefix_metrics(arguments.repeats),
        "top_k": top_k(arguments.repeats),
        "provenance": provenance(seed=SEED),
    }
    text = json.dumps(results, indent=2) + "\n"
    print(text, end="")
    if arguments.out:
        partial = arguments.out.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(arguments.out)


def prefix_metrics(repeats: int) -> dict[str, object]:
    """Time every prefix metric of a classification and a regression log, both ways."""
    rng = np.random.default_rng(SEED)
    panel = Panel.two_stage({f"expert-{j}": 0.01 * j for j in range(1, ENTITIES)})
    selection = select_top_k(rng.normal(size=(ROWS, ENTITIES)), ENTITIES, panel=panel)
    labels, classes = rng.integers(0, 10, (ROWS, ENTITIES)), rng.integers(0, 10, ROWS)
    numbers, values = rng.normal(size=(ROWS, ENTITIES)), rng.normal(size=ROWS)
    states = np.zeros((ROWS, ENTITIES), dtype=np.int8)

    def vectorised() -> list[np.ndarray]:
        votes, means = Answers(labels, states), Answers(numbers, states)
        return [
            np.asarray(value)
            for value in (
                metrics.accuracy_majority(selection, votes, classes, every_k=True),
                metrics.accuracy_weighted_vote(selection, votes, classes, every_k=True),
                metrics.accuracy_top_k(selection, votes, classes, every_k=True),
                metrics.rmse_mean(selection, means, values, every_k=True),
                metrics.rmse_weighted_mean(selection, means, values, every_k=True),
                metrics.rmse_best(selection, means, values, every_k=True),
                metrics.mean_fee(selection, every_k=True),
            )
        ]

    sample = slice(0, LOOP_ROWS)

    def looped() -> list[np.ndarray]:
        return loop(selection, sample, labels, classes, numbers, values)

    small = Selection(
        panel,
        *(np.array(a[sample]) for a in (selection.order, selection.k, selection.scores)),
        fees=np.array(selection.fees[sample]),
    )
    check = metrics.accuracy_majority(small, Answers(labels[sample], states[sample]), classes[sample], every_k=True)
    np.testing.assert_allclose(looped()[0], check)
    fast, slow = in_turn(repeats, vectorised, looped)
    scaled = slow * ROWS / LOOP_ROWS
    return {
        "shape": [ROWS, ENTITIES],
        "vectorised_seconds": round(fast, 4),
        "loop_seconds": round(scaled, 1),
        "loop_timed_on_rows": LOOP_ROWS,
        "ratio": round(scaled / fast, 1),
    }


def loop(
    selection: Selection,
    rows: slice,
    labels: np.ndarray,
    classes: np.ndarray,
    numbers: np.ndarray,
    values: np.ndarray,
) -> list[np.ndarray]:
    """The same seven metrics, a query at a time: running tallies, no work done twice."""
    n, size = rows.stop - rows.start, selection.order.shape[1]
    totals = [[0.0] * size for _ in range(7)]
    for i in range(rows.start, rows.stop):
        members, score = selection.order[i].tolist(), selection.scores[i].tolist()
        said, guessed, fee = labels[i].tolist(), numbers[i].tolist(), selection.fees[i].tolist()
        label, value, top = int(classes[i]), float(values[i]), score[members[0]]
        votes: dict[int, int] = defaultdict(int)
        weighed: dict[int, float] = defaultdict(float)
        summed, weighted, weight, paid = 0.0, 0.0, 0.0, 0.0
        best, right = math.inf, False
        for r, j in enumerate(members):
            share = math.exp(score[j] - top)
            votes[said[j]] += 1
            weighed[said[j]] += share
            right = right or said[j] == label
            summed, weighted, weight = summed + guessed[j], weighted + share * guessed[j], weight + share
            best, paid = min(best, (guessed[j] - value) ** 2), paid + fee[j]
            # A dict keeps its keys in order of first vote, so max() breaks ties to the higher-ranked member.
            totals[0][r] += max(votes, key=votes.__getitem__) == label
            totals[1][r] += max(weighed, key=weighed.__getitem__) == label
            totals[2][r] += right
            totals[3][r] += (summed / (r + 1) - value) ** 2
            totals[4][r] += (weighted / weight - value) ** 2
            totals[5][r] += best
            totals[6][r] += paid
    means = [np.array(total) / n for total in totals]
    return [np.sqrt(mean) if 3 <= which <= 5 else mean for which, mean in enumerate(means)]


def top_k(repeats: int) -> dict[str, object]:
    """Time the top 5 of a million rows against NumPy's full stable argsort."""
    scores = np.random.default_rng(SEED).normal(size=(TOP_ROWS, ENTITIES))
    panel = Panel.two_stage([f"expert-{j}" for j in range(1, ENTITIES)])
    fast, slow = in_turn(
        repeats,
        lambda: select_top_k(scores, TOP_K, panel=panel),
        lambda: np.argsort(-scores, axis=1, kind="stable"),
    )
    assert (select_top_k(scores[:1000], TOP_K, panel=panel).order == rank(scores[:1000])[:, :TOP_K]).all()  # noqa: S101
    return {
        "shape": [TOP_ROWS, ENTITIES],
        "k": TOP_K,
        "select_top_k_seconds": round(fast, 4),
        "argsort_seconds": round(slow, 4),
        "ratio": round(slow / fast, 2),
    }


def in_turn(repeats: int, *candidates: Callable[[], object]) -> list[float]:
    """Median seconds of each candidate, timed in turn so that a busy machine slows all alike."""
    times: list[list[float]] = [[] for _ in candidates]
    for candidate in candidates:
        candidate()
    for _ in range(repeats):
        for candidate, seconds in zip(candidates, times, strict=True):
            start = time.perf_counter()
            candidate()
            seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds) for seconds in times]


if __name__ == "__main__":
    main()

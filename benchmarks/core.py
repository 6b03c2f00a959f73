"""Claim: prefix metrics run at least 100 times faster than a per-row loop, and top-k faster than a full sort.

Ratios of medians over repeats taken in turn in one run. The loop is timed on a sample of rows and scaled by its share.

    python benchmarks/core.py --out benchmarks/results/core.json
"""

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import in_turn, provenance, write_down

from askwho import Answers, Panel, metrics
from askwho.core import Selection, rank, select_top_k

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
    write_down(results, arguments.out)


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

    log = Log(selection, labels, classes, numbers, values)
    sample = Selection(
        panel,
        *(np.array(whole[:LOOP_ROWS]) for whole in (selection.order, selection.k, selection.scores, selection.fees)),
    )
    check = metrics.accuracy_majority(
        sample, Answers(labels[:LOOP_ROWS], states[:LOOP_ROWS]), classes[:LOOP_ROWS], every_k=True
    )
    np.testing.assert_allclose(by_definition(log)[0], check)
    np.testing.assert_allclose(by_definition(log), running(log))
    fast, plain, clever = in_turn(repeats, vectorised, lambda: by_definition(log), lambda: running(log))
    scale = ROWS / LOOP_ROWS
    return {
        "shape": [ROWS, ENTITIES],
        "vectorised_seconds": round(fast, 4),
        "loops_timed_on_rows": LOOP_ROWS,
        "loop_by_definition_seconds": round(plain * scale, 1),
        "ratio": round(plain * scale / fast, 1),
        "loop_with_running_tallies_seconds": round(clever * scale, 1),
        "ratio_to_running_tallies": round(clever * scale / fast, 1),
    }


@dataclass(frozen=True)
class Log:
    """What the loops read: a selection, labels with their truth, numbers with theirs."""

    selection: Selection
    labels: np.ndarray
    classes: np.ndarray
    numbers: np.ndarray
    values: np.ndarray

    def rows(self) -> Iterator[tuple[list[int], list[float], list[float], list[int], int, list[float], float]]:
        """Members, scores and fees, then labels and truth, then numbers and truth, a query at a time."""
        chosen = self.selection
        for i in range(LOOP_ROWS):
            yield (
                chosen.order[i].tolist(),
                chosen.scores[i].tolist(),
                chosen.fees[i].tolist(),
                self.labels[i].tolist(),
                int(self.classes[i]),
                self.numbers[i].tolist(),
                float(self.values[i]),
            )


def by_definition(log: Log) -> list[np.ndarray]:
    """The seven metrics as the paper writes them: each query, each committee of the k best, on its own."""
    totals = np.zeros((7, ENTITIES))
    for order, score, fee, said, label, guessed, value in log.rows():
        for k in range(1, ENTITIES + 1):
            members = order[:k]
            votes = Counter(said[j] for j in members)
            top = max(score[j] for j in members)
            weights = [math.exp(score[j] - top) for j in members]
            weighed: dict[int, float] = defaultdict(float)
            for j, weight in zip(members, weights, strict=True):
                weighed[said[j]] += weight
            mean = sum(guessed[j] for j in members) / k
            pull = sum(w * guessed[j] for j, w in zip(members, weights, strict=True)) / sum(weights)
            totals[:, k - 1] += (
                votes.most_common(1)[0][0] == label,
                max(weighed, key=weighed.__getitem__) == label,
                any(said[j] == label for j in members),
                (mean - value) ** 2,
                (pull - value) ** 2,
                min((guessed[j] - value) ** 2 for j in members),
                sum(fee[j] for j in members),
            )
    return rooted(totals / LOOP_ROWS)


def running(log: Log) -> list[np.ndarray]:
    """The same with running tallies, so that no committee is counted from the start."""
    totals = [[0.0] * ENTITIES for _ in range(7)]
    for order, score, fee, said, label, guessed, value in log.rows():
        votes: dict[int, int] = defaultdict(int)
        weighed: dict[int, float] = defaultdict(float)
        summed = weighted = weight = paid = 0.0
        best, right, top = math.inf, False, score[order[0]]
        for r, j in enumerate(order):
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
    return rooted(np.array(totals) / LOOP_ROWS)


def rooted(means: np.ndarray) -> list[np.ndarray]:
    """The three squared errors become their roots."""
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


if __name__ == "__main__":
    main()

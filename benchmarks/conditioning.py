"""Claim: with many entities `shift="max"` trains where the paper's `"sum"` hardly does.

A stated problem: 100 labels in 32 dimensions (x = centre of the class + noise of 0.9, centres standard normal over
sqrt(32) times 3), 6 experts, each right with probability 0.94 on 55 classes of its own and uniform elsewhere; all 106
entities free. One-stage, perceptrons (128, 128), 20,000 rows to learn from, 4,000 to choose epoch and learning rate by,
20,000 to be judged on. Each arm at its best validated rate, four seeds, all rates and seeds trained side by side.

    python benchmarks/conditioning.py --out benchmarks/results/conditioning.json
"""

import argparse
from pathlib import Path
from typing import Any, Literal

import numpy as np
from measure import provenance, write_down

from askwho.core import Panel
from askwho.engine import Training
from askwho.learners import CompSum

SEEDS = (0, 1, 2, 3)
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
LABELS, EXPERTS, KNOWN, FEATURES = 100, 6, 55, 32
TRAIN, HELD, TEST = 20_000, 4_000, 20_000


def main() -> None:
    """Train both arms, and write down what each gets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--epochs", type=int, default=40)
    arguments = parser.parse_args()
    arms = {shift: arm(shift, arguments.epochs) for shift in ("max", "sum")}
    gaps = np.array(arms["max"]["top_1_accuracy_by_seed"]) - np.array(arms["sum"]["top_1_accuracy_by_seed"])
    results: dict[str, Any] = {
        "epochs": arguments.epochs,
        "rates": list(RATES),
        **arms,
        "gap_mean": round(float(gaps.mean()), 4),
        "gap_least": round(float(gaps.min()), 4),
        "provenance": provenance(seed=SEEDS[0], libraries=("numpy", "torch")),
    }
    write_down(results, arguments.out)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, 32) and zero-one errors (n, 106) of labels and experts; the experts are the same for all seeds."""
    stated = np.random.default_rng(1234)
    centres = stated.normal(size=(LABELS, FEATURES)) / np.sqrt(FEATURES) * 3
    knows = np.stack([stated.permutation(LABELS) < KNOWN for _ in range(EXPERTS)], axis=1)
    rng = np.random.default_rng(seed)
    n = TRAIN + HELD + TEST
    truth = rng.integers(0, LABELS, n)
    X = centres[truth] + 0.9 * rng.normal(size=(n, FEATURES))
    sure = rng.random((n, EXPERTS)) < 0.94
    right = np.where(knows[truth], sure, rng.random((n, EXPERTS)) < 1 / LABELS)
    labels = (np.arange(LABELS) != truth[:, None]).astype(np.float64)
    return X.astype(np.float32), np.hstack([labels, 1.0 - right])


def arm(shift: Literal["max", "sum"], epochs: int) -> dict[str, Any]:
    """Accuracy of the entity asked first, at each rate on held-out rows, and at the best on test rows."""
    held: list[list[float]] = []
    test: list[list[float]] = []
    panel = Panel.one_stage(list(range(LABELS)), [f"expert-{j}" for j in range(EXPERTS)])
    for seed in SEEDS:
        X, errors = problem(seed)
        policy = CompSum(
            shift=shift, hidden=(128, 128), training=Training(epochs=epochs, batch=256, rate=RATES)
        ).fit_tables(
            X,
            errors[None],
            panel=panel,
            rows=np.arange(TRAIN),
            held=np.arange(TRAIN, TRAIN + HELD),
            seeds=[seed] * len(RATES),
        )
        first = policy.scores(X[TRAIN:]).argmax(axis=2)
        right = 1.0 - np.take_along_axis(errors[TRAIN:], first.T, axis=1)
        held.append(right[:HELD].mean(axis=0).tolist())
        test.append(right[HELD:].mean(axis=0).tolist())
    best = int(np.mean(held, axis=0).argmax())
    chosen = np.array(test)[:, best]
    return {
        "held_out_accuracy_by_rate": [round(float(a), 4) for a in np.mean(held, axis=0)],
        "best_rate": RATES[best],
        "top_1_accuracy": round(float(chosen.mean()), 4),
        "top_1_accuracy_by_seed": [round(float(a), 4) for a in chosen],
    }


if __name__ == "__main__":
    main()

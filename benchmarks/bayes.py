"""Claim: the policy comes to the Bayes rule: its excess deferral loss shrinks with n, for every k.

Problems whose Bayes policy is known: x uniform on [-1, 1]^2, smooth probabilities of error. Two-stage: a base and five
experts with fees. One-stage: six labels, whose probabilities are a softmax of x, and three experts with fees.
Selective: six labels and the option to abstain at 0.45. Each also with half of the experts' answers missing at random
(two-stage: of everybody's). The excess is exact: expected costs of the chosen k over those of the best k, on 20,000
fresh x, relative to the Bayes loss.

    python benchmarks/bayes.py --out benchmarks/results/bayes.json --figure benchmarks/results/bayes.png
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from measure import provenance, write_down

from askwho.core import Entity, Panel, rank
from askwho.engine import Training
from askwho.learners import CompSum

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
SEEDS = (0, 1, 2)
STEPS = 6_000


@dataclass(frozen=True)
class Problem:
    """Entities and their probabilities of error; what is drawn for a row is one truth and one answer each."""

    panel: Panel
    chances: Callable[[np.ndarray], np.ndarray]
    draw: Callable[[np.ndarray, np.random.Generator], np.ndarray]


def main() -> None:
    """Train at every size, and write down how far from Bayes each policy is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--figure", type=Path, help="where to draw the curves")
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    for name, problem in problems().items():
        for missing in (0.0, 0.5):
            if missing and name == "selective":
                continue  # labels and abstaining are never missing
            label = name + (", half missing" if missing else "")
            sizes = [n for n in SIZES if n <= arguments.largest]
            found[label] = {str(n): excess(problem, n, missing) for n in sizes}
            print(label, {n: max(each) for n, each in found[label].items()}, flush=True)
    largest = {label: max(by_n[str(arguments.largest)]) for label, by_n in found.items()}
    results: dict[str, Any] = {
        "relative_excess_by_n_and_k": found,
        "worst_at_largest": largest,
        "provenance": provenance(seed=SEEDS[0], libraries=("numpy", "torch")),
    }
    write_down(results, arguments.out)
    if arguments.figure is not None:
        draw(found, arguments.figure)


def excess(problem: Problem, n: int, missing: float) -> list[float]:
    """Relative excess for k = 1, ..., |A|, the mean over seeds."""
    rng = np.random.default_rng(99)
    fresh = rng.uniform(-1, 1, (20_000, 2)).astype(np.float32)
    panel = problem.panel
    expected = panel.error_weights * problem.chances(fresh) + panel.fees
    best = np.sort(expected, axis=1).cumsum(axis=1).mean(axis=0)
    tables: list[list[float]] = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
        errors = problem.draw(X, rng)
        if missing:
            gone = rng.random(errors.shape) < missing
            gone[:, panel.is_kind("label", "reject")] = False
            errors = np.where(gone, np.nan, errors)
        batch = min(2048, max(256, n // 40))
        epochs = max(4, min(100, STEPS * batch // n))
        settings = CompSum(training=Training(epochs=epochs, batch=batch, rate=3e-3), hidden=(64, 64))
        scores = settings.fit(X, errors, panel=panel, random_state=seed).scores(fresh)[0]
        got = np.take_along_axis(expected, rank(scores), axis=1).cumsum(axis=1).mean(axis=0)
        tables.append((got / best - 1).tolist())
    return [round(float(value), 5) for value in np.mean(tables, axis=0)]


def problems() -> dict[str, Problem]:
    """The three regimes."""
    stated = np.random.default_rng(7)
    slopes, shifts = stated.normal(size=(2, 6)) * 2.0, stated.normal(size=6)
    direction = stated.normal(size=(2, 6)) * 2.5
    skill = stated.normal(size=(2, 3)) * 2.0

    def two_stage(X: np.ndarray) -> np.ndarray:
        return 0.1 + 0.6 / (1 + np.exp(-(X @ slopes + shifts)))

    def posterior(X: np.ndarray) -> np.ndarray:
        scores = np.exp(X @ direction)
        return scores / scores.sum(axis=1, keepdims=True)

    def experts(X: np.ndarray) -> np.ndarray:
        return 0.15 + 0.6 / (1 + np.exp(-(X @ skill)))

    def labels_drawn(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        truth = (posterior(X).cumsum(axis=1) < rng.random((len(X), 1))).sum(axis=1).clip(max=5)
        return (np.arange(6) != truth[:, None]).astype(np.float64)

    def one_stage_drawn(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        wrong = rng.random((len(X), 3)) < experts(X)
        return np.hstack([labels_drawn(X, rng), wrong.astype(np.float64)])

    return {
        "two-stage": Problem(
            Panel.two_stage({f"e{j}": 0.05 - 0.005 * j for j in range(5)}),
            two_stage,
            lambda X, rng: (rng.random((len(X), 6)) < two_stage(X)).astype(np.float64),
        ),
        "one-stage": Problem(
            Panel.one_stage(list(range(6)), [Entity(f"e{j}", fee=0.05 - 0.01 * j) for j in range(3)]),
            lambda X: np.hstack([1 - posterior(X), experts(X)]),
            one_stage_drawn,
        ),
        "selective": Problem(
            Panel.selective(list(range(6)), penalty=0.45),
            lambda X: np.hstack([1 - posterior(X), np.ones((len(X), 1))]),
            lambda X, rng: np.hstack([labels_drawn(X, rng), np.ones((len(X), 1))]),
        ),
    }


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw the worst k's excess against n."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for label, by_n in found.items():
        axes.plot([int(n) for n in by_n], [max(*each, 1e-5) for each in by_n.values()], marker="o", label=label)
    axes.axhline(0.02, color="grey", linewidth=1, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="rows to learn from", ylabel="relative excess deferral loss, worst k")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()

"""Claim: the frontier of k(x) over 17 λ comes 50 times faster than from a plain loop of trainings.

The study is California: a policy, then k(x) at the paper's 17 λ for three committee errors (mean, weighted mean, best
of k), four seeds. Three ways, on the same machine in one run:

plain loop     the paper's settings (100 epochs, batches of 256), one network at a time, rows drawn by torch's
               DataLoader: 1 policy and 51 trainings of k(x) a seed, 208 in all; timed over a stated number of epochs of
               three of them and scaled up.
side by side   the same trainings of k(x) as one network of 51 members a seed; timed over a stated number of epochs.
default        a forest of expected errors, cross-fitted in five folds, and one curve a committee error; then 17 λ on
               the test rows. Timed whole.

    ASKWHO_DATA=... python benchmarks/california_speed.py --out benchmarks/results/california_speed.json
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import provenance, write_down
from torch.utils.data import DataLoader, TensorDataset

from askwho.aggregation import Committee, best_of_k
from askwho.core import Answers, Selection, folds, in_order, rank
from askwho.engine import Mlp, Training, train
from askwho.learners import Forest, cross_fit
from askwho.losses import deferral_weights, weighted_comp_sum
from askwho.metrics import prefix_errors
from askwho.policy import Calibration, Curve
from askwho_studies.paper._california import LAMBDAS, PAPER_TRAINING, California, california

SEEDS = (0, 1, 2, 3)
METRICS = ("mean", "weighted-mean", "best-of-k")
EPOCHS = PAPER_TRAINING.epochs


def main() -> None:
    """Time the three ways, and write down their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"))
    parser.add_argument("--loop-epochs", type=int, default=4, help="epochs of each of three trainings to time")
    parser.add_argument("--together-epochs", type=int, default=4)
    arguments = parser.parse_args()
    data = [california(Path(arguments.data), seed) for seed in SEEDS]
    start = time.perf_counter()
    areas = [default(each, seed) for each, seed in zip(data, SEEDS, strict=True)]
    ours = time.perf_counter() - start
    loop = plain_loop(data[0], arguments.loop_epochs)
    together = side_by_side(data, arguments.together_epochs)
    trainings = len(SEEDS) * len(METRICS) * len(LAMBDAS)
    seconds = {
        "plain_loop": loop * EPOCHS * (trainings + len(SEEDS)),
        "plain_loop_of_k_alone": loop * EPOCHS * trainings,
        "side_by_side_of_k_alone": together * EPOCHS,
        "default": ours,
    }
    results: dict[str, Any] = {
        "trainings": trainings,
        "timed_epochs": {"plain_loop": 3 * arguments.loop_epochs, "side_by_side": arguments.together_epochs},
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "default_times_faster": round(seconds["plain_loop"] / seconds["default"], 1),
        "side_by_side_times_faster": round(seconds["plain_loop_of_k_alone"] / seconds["side_by_side_of_k_alone"], 1),
        "default_frontier_of_seed_0": areas[0],
        "threads": torch.get_num_threads(),
        "provenance": provenance(seed=SEEDS[0], libraries=("numpy", "torch", "scikit-learn")),
    }
    write_down(results, arguments.out)


def default(data: California, seed: int) -> dict[str, Any]:
    """Expected errors, cross-fitted; one curve a metric; RMSE × 100 and mean fee on test rows at each λ."""
    X, errors = data.X[data.train], data.errors[data.train]
    fold = folds(np.arange(len(X)), 5, random_state=seed)
    raw = cross_fit(Forest, X, errors, fold, random_state=seed)
    calibration = Calibration.fit(raw, errors)
    expected, order = calibration.apply(raw), rank(-calibration.apply(raw))
    learner = Forest(seed).fit(X, errors)
    asked = data.X[data.test]
    judged = calibration.apply(learner.predict(asked))
    ranked = rank(-judged)
    fees = np.cumsum(in_order(np.broadcast_to(data.panel.fees, judged.shape), ranked), axis=1)
    found: dict[str, Any] = {}
    for metric in METRICS:
        taught = prefix(data, data.train, -expected, order, metric)
        curve = Curve.fit(X, expected, [order], [taught], random_state=seed).predict(asked, judged, ranked)
        got = prefix(data, data.test, -judged, ranked, metric)
        sizes = [(curve + price * fees).argmin(axis=1)[:, None] for price in LAMBDAS]
        found[metric] = [
            [
                round(100 * float(np.sqrt(in_order(got, k).mean())), 2),
                round(float(in_order(fees, k).mean()), 4),
            ]
            for k in sizes
        ]
    return found


def plain_loop(data: California, epochs: int) -> float:
    """Seconds an epoch of one training takes in a plain loop, the mean of one for each metric, validation included."""
    seconds = 0.0
    X = torch.from_numpy(data.X[data.train])
    for metric in METRICS:
        weights = targets(data, metric, 1.0)
        start = time.perf_counter()
        cut = int(0.9 * len(X))
        rows = DataLoader(TensorDataset(X[:cut], weights[:cut]), batch_size=256, shuffle=True)
        held = DataLoader(TensorDataset(X[cut:], weights[cut:]), batch_size=256)
        network = torch.nn.Sequential(
            torch.nn.Linear(X.shape[1], 64),
            torch.nn.ReLU(),
            torch.nn.Linear(64, 64),
            torch.nn.ReLU(),
            torch.nn.Linear(64, weights.shape[1]),
        )
        optimizer = torch.optim.Adam(network.parameters(), lr=5e-4)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
        for _ in range(epochs):
            for x, weight in rows:
                optimizer.zero_grad()
                weighted_comp_sum(network(x), weight).mean().backward()
                optimizer.step()
            schedule.step()
            with torch.no_grad():
                sum(float(weighted_comp_sum(network(x), weight).sum()) for x, weight in held)
        seconds += time.perf_counter() - start
    return seconds / (epochs * len(METRICS))


def side_by_side(data: list[California], epochs: int) -> float:
    """Seconds an epoch of all trainings takes, metrics × λ as one network a seed."""
    seconds = 0.0
    for each in data:
        table = torch.stack([targets(each, metric, price) for metric in METRICS for price in LAMBDAS])
        network = Mlp(each.X.shape[1], table.shape[2], seeds=range(len(table)))
        rows = torch.arange(len(each.train))
        cut = int(0.9 * len(rows))
        plan = Training(epochs=epochs, batch=256, rate=5e-4)
        inputs = torch.from_numpy(each.X[each.train])
        start = time.perf_counter()
        train(network, inputs, [table], weighted_comp_sum, rows=rows[:cut], held=rows[cut:], training=plan)
        seconds += time.perf_counter() - start
    return seconds / epochs


def targets(data: California, metric: str, price: float) -> torch.Tensor:
    """Weights of Φ_card at a price, (n, 6); the ranking, which does not matter here, is by mean error."""
    order = np.tile(data.errors[data.train].mean(axis=0).argsort(), (len(data.train), 1))
    losses = prefix(data, data.train, np.zeros(order.shape), order, metric)
    losses = losses + price * np.cumsum(data.panel.fees[order], axis=1)
    return deferral_weights(torch.from_numpy(losses)).float()


def prefix(data: California, rows: np.ndarray, scores: np.ndarray, order: np.ndarray, metric: str) -> np.ndarray:
    """Errors of the committees of every size, (n, 6)."""
    if metric == "best-of-k":
        return best_of_k(in_order(data.errors[rows], order))
    fees = np.array(np.broadcast_to(data.panel.fees, scores.shape))
    chosen = Selection(data.panel, order, np.ones(len(order), dtype=np.intp), np.array(scores), fees)
    said = Answers(data.answers.values[rows], data.answers.states[rows])
    return prefix_errors(Committee.of(chosen, said), data.truth[rows], combine=metric, error="squared")


if __name__ == "__main__":
    main()

"""Claim: of three figures of the paper that are not reached here it is known how far they are, and from which side.

- `base`: CIFAR-100's base, 59.74, by "ResNet-4": a residual network of each depth, with and without moved images,
  trained as printed. Accuracy on test images.
- `votes`: SVHN's 71.56 by a majority of six small networks. Networks of several architectures and widths, each on its
  own random fifth of all training images, three epochs; sixes of them as accurate as the paper's six, at random. What
  their majority gets, over how far their errors go together.
- `regions`: California's entities from 15.72 to 40.26 and the mean's 8.53: regions of several kinds and sizes, answers
  kept to the target's range. Beside them what one perceptron and boosted trees get that learned from every block.

A part that is not run stays in the file as it is. The first two take minutes on a GPU, the third an hour of one core.

    ASKWHO_DATA=... python benchmarks/unreached.py base --out benchmarks/results/unreached.json
    ASKWHO_DATA=... python benchmarks/unreached.py votes --figure benchmarks/results/unreached.png --out ...
    ASKWHO_DATA=... python benchmarks/unreached.py regions --workers 2 --out ...
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import provenance, write_down
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits
from torch import nn

from askwho.engine import Training, resnet
from askwho_studies.paper._california import FEES, Regions, california, windows
from askwho_studies.paper._california_study import Plan, scored
from askwho_studies.paper._frontiers import FIXED, ONCE
from askwho_studies.paper._image_experiments import EXPERIMENTS, Base
from askwho_studies.paper._image_scores import PAPER_SVHN, split
from askwho_studies.paper._image_training import fit_classifier, lenet, outputs, perceptron, small_cnn
from askwho_studies.paper._images import read_images
from askwho_studies.paper._summary import measure, shown, spread

DEPTHS = (4, 6, 8, 10)
"""Every depth that the engine's residual network has."""
PAPER_BASE, PAPER_VOTE = 59.74, 71.56
"""What is not reached, in percent."""
MEMBERS = 6
"""As many networks as the paper's."""
NETWORKS = 12
"""So many of each architecture and width: enough sixes."""
CLOSE = 2.0
"""Points that a network may be off the accuracy whose place it takes: the study's own are, in the mean over seeds."""
SIXES = 4000
"""Draws at random for each kind of committee: the figure's cloud no longer changes."""
SHARES = (0.1, 0.2, 0.3, 0.5)
"""Shares of the training blocks that a region holds; the study's is 0.3."""
COUNTIES = 58
"""California has so many."""


def main() -> None:
    """Measure one part, and write it beside the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--figure", type=Path, help="where to draw the votes")
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2, help="networks or regions at a time, each in its own process")
    arguments = parser.parse_args()
    start = time.perf_counter()
    jobs, work, together = PARTS[arguments.part]
    each = [(*job, seed) for seed in range(arguments.seeds) for job in jobs()]
    with ProcessPoolExecutor(arguments.workers, mp_context=get_context("spawn")) as workers:
        found = list(workers.map(partial(work, arguments.data), each))
    part = together(arguments.data, each, found)
    if arguments.figure is not None and arguments.part == "votes":
        draw(part["sixes"], arguments.figure)
    part = {
        **{key: value for key, value in part.items() if key != "sixes"},
        "seconds": round(time.perf_counter() - start, 1),
        "provenance": provenance(seed=arguments.seeds, libraries=("numpy", "scipy", "scikit-learn", "torch", "askwho")),
    }
    old = json.loads(arguments.out.read_text()) if arguments.out is not None and arguments.out.exists() else {}
    write_down({**old, arguments.part: part}, arguments.out)


# The base of CIFAR-100.


def base_jobs() -> list[tuple[Any, ...]]:
    """Return every reading: depth, and whether images are moved."""
    return [(depth, moved) for depth in reversed(DEPTHS) for moved in (False, True)]


def base(data: Path, job: tuple[int, bool, int]) -> tuple[float, float]:
    """Return the accuracy on test images of one reading and seed in percent, and how long it took."""
    depth, moved, seed = job
    start = time.perf_counter()
    experiment = EXPERIMENTS["cifar100"]
    images = read_images(data, experiment.data)
    rows = split(experiment, images, seed)
    # As the study trains its base for all images but those that policies learn from.
    model = fit_classifier(
        images, rows=rows.policy, held=rows.learn, depth=depth, moved=moved, training=Base().training, seed=10 * seed
    )
    right = outputs(model, images, rows.test).argmax(axis=1) == images.labels[rows.test]
    return 100 * float(right.mean()), time.perf_counter() - start


def bases(_data: Path, jobs: Sequence[tuple[int, bool, int]], found: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return the table of readings."""
    readings: dict[tuple[int, bool], list[float]] = {}
    for (depth, moved, _), (accuracy, _) in zip(jobs, found, strict=True):
        readings.setdefault((depth, moved), []).append(accuracy)
    rows = [
        {"depth": depth, "moved": moved, "accuracy": spread(got)[0], "deviation": _known(spread(got)[1]), "seeds": got}
        for (depth, moved), got in sorted(readings.items())
    ]
    return {"paper": PAPER_BASE, "readings": rows}


# The votes of SVHN.


def residual(width: int) -> Callable[[int], nn.Module]:
    """Return a maker of narrow residual networks of depth 4."""
    return lambda seed: resnet(4, 10, width=width, seed=seed)


ARCHITECTURES: Mapping[str, tuple[Callable[[int], Callable[[int], nn.Module]], tuple[int, ...]]] = {
    "the study's": (small_cnn, (4, 5, 6)),
    "LeNet": (lenet, (1, 2)),
    "residual": (residual, (2, 3, 4)),
    "perceptron": (perceptron, (16, 32, 64)),
}
"""Makers, and widths of which some give networks about as accurate as the paper's."""


@dataclass(frozen=True, eq=False)
class Network:
    """What one network says.

    Args:
        kind: its architecture.
        held: accuracy on images that choose, in percent.
        said: shape (t,), of the test images.
    """

    kind: str
    held: float
    said: np.ndarray


def vote_jobs() -> list[tuple[Any, ...]]:
    """Return every architecture, width and number of a network."""
    kinds = [(name, width) for name, (_, widths) in ARCHITECTURES.items() for width in widths]
    return [(name, width, list(range(NETWORKS))) for name, width in kinds]


def networks(data: Path, job: tuple[str, int, Sequence[int], int]) -> list[Network]:
    """Return networks of one architecture and width, each trained as printed on a random fifth of all images."""
    name, width, numbers, seed = job
    torch.set_num_threads(1)
    experiment = EXPERIMENTS["svhn-all-images"]
    images = read_images(data, experiment.data)
    rows = split(experiment, images, seed)
    training = Training(epochs=3, batch=64, rate=1e-3, schedule="constant")
    found: list[Network] = []
    for number in numbers:
        mine = np.random.default_rng([seed, 3, width, number]).choice(rows.policy, images.n_train // 5, replace=False)
        cut = len(mine) // 10
        made = ARCHITECTURES[name][0](width)
        model = fit_classifier(
            images, rows=mine[cut:], held=mine[:cut], module=made, training=training, seed=1000 * seed + number
        )
        held, test = (outputs(model, images, part).argmax(axis=1) for part in (rows.learn, rows.test))
        right = 100 * float((held == images.labels[rows.learn]).mean())
        found.append(Network(f"{name}, {width}", right, test.astype(np.int8)))
    return found


def votes(
    data: Path, jobs: Sequence[tuple[str, int, Sequence[int], int]], found: Sequence[Sequence[Network]]
) -> dict[str, Any]:
    """Return what sixes get: of one architecture, and of several, over how far their errors go together."""
    truth = read_images(data, "svhn").labels[-len(found[0][0].said) :]
    rng = np.random.default_rng(0)
    sixes: dict[str, list[tuple[float, float]]] = {}
    seeds = sorted({job[-1] for job in jobs})
    for seed in seeds:
        trained = {
            kind: [n for job, got in zip(jobs, found, strict=True) if job[-1] == seed and job[0] == kind for n in got]
            for kind in ARCHITECTURES
        }
        pools = {**trained, "mixed": [n for got in trained.values() for n in got]}
        for kind, pool in pools.items():
            drawn = (six(pool, rng) for _ in range(SIXES // len(seeds)))
            sixes.setdefault(kind, []).extend(judged(each, truth) for each in drawn if each is not None)
    mixed = np.array([point for points in sixes.values() for point in points])
    slope, level = np.polyfit(mixed[:, 0], mixed[:, 1], 1)
    kinds = sorted({(n.kind, job[-1]) for job, got in zip(jobs, found, strict=True) for n in got})
    return {
        "paper": {"majority": PAPER_VOTE, "accuracies": PAPER_SVHN},
        "held_out_accuracies": {
            f"{kind}, seed {seed}": round(
                float(
                    np.mean(
                        [n.held for j, g in zip(jobs, found, strict=True) if j[-1] == seed for n in g if n.kind == kind]
                    )
                ),
                2,
            )
            for kind, seed in kinds
        },
        "committees": {kind: summed(points) for kind, points in sixes.items()},
        "points_for_a_tenth_of_correlation": float(slope) / 10,
        "correlation_at_the_papers_majority": float((PAPER_VOTE - level) / slope),
        "sixes": sixes,
    }


def six(pool: Sequence[Network], rng: np.random.Generator) -> list[Network] | None:
    """Return a network for each of the paper's accuracies, drawn from those close to it; None where there is none."""
    chosen: list[Network] = []
    for wanted in PAPER_SVHN:
        close = [n for n in pool if abs(n.held - wanted) <= CLOSE and all(n is not other for other in chosen)]
        if not close:
            return None
        chosen.append(close[int(rng.integers(len(close)))])
    return chosen


def judged(committee: Sequence[Network], truth: np.ndarray) -> tuple[float, float]:
    """Return the mean correlation of two members' errors, and the accuracy of the majority in percent.

    Ties go to the member that is best on images that choose.
    """
    ordered = sorted(committee, key=lambda n: -n.held)
    said = np.stack([n.said for n in ordered])
    together = np.corrcoef(said != truth)[np.triu_indices(MEMBERS, 1)].mean()
    # A rank breaks ties: it counts more than all below it together, and all of them less than one vote.
    weights = 1 + 0.5 ** np.arange(2, 2 + MEMBERS)
    ballots = np.zeros((10, said.shape[1]))
    for member, weight in zip(said, weights, strict=True):
        ballots[member, np.arange(said.shape[1])] += weight
    return float(together), 100 * float((ballots.argmax(axis=0) == truth).mean())


def summed(points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return how many sixes there are, and the spread of their correlations and majorities."""
    if not points:
        return {"sixes": 0}
    correlation, accuracy = np.array(points).T
    return {
        "sixes": len(points),
        "correlation": {"mean": float(correlation.mean()), "least": float(correlation.min())},
        "majority": {"mean": float(accuracy.mean()), "best": float(accuracy.max())},
        "reach_the_paper": float((accuracy >= PAPER_VOTE).mean()),
    }


def draw(sixes: Mapping[str, Sequence[tuple[float, float]]], path: Path) -> None:
    """Draw what a majority of six gets over how far their errors go together."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - for the figure alone

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axis = figure.subplots()
    for kind, points in sixes.items():
        if points:
            shown_points = np.array(points)[:400]  # more would hide each other
            axis.plot(*shown_points.T, ".", markersize=3, label=kind)
    axis.axhline(PAPER_VOTE, color="black", linewidth=0.8, linestyle="--", label=f"the paper's {PAPER_VOTE}")
    axis.set_xlabel("mean correlation of two members' errors")
    axis.set_ylabel("accuracy of the majority (%)")
    axis.set_title("SVHN: sixes of small networks, each as accurate as the paper's", fontsize=10)
    axis.legend(fontsize=8, markerscale=3)
    figure.savefig(path, dpi=90)


# The regions of California.


def latitudes(place: np.ndarray, train: np.ndarray, rng: np.random.Generator, *, share: float) -> np.ndarray:
    """Return windows of equal size from north to south."""
    along = train[np.argsort(-place[train, 0], kind="stable")]
    size = int(share * len(along))
    starts = np.linspace(0, len(along) - size, len(FEES)).astype(int)
    return np.stack([rng.permutation(along[start : start + size]) for start in starts])


def clusters(place: np.ndarray, train: np.ndarray, rng: np.random.Generator, *, share: float) -> np.ndarray:
    """Return the blocks nearest to each of six centres by k-means."""
    centres = KMeans(len(FEES), random_state=int(rng.integers(2**31))).fit(place[train]).cluster_centers_
    size = int(share * len(train))
    away = np.linalg.norm(place[train][None] - centres[:, None], axis=2)
    return np.stack([rng.permutation(train[np.argsort(row, kind="stable")[:size]]) for row in away])


def cells(place: np.ndarray, train: np.ndarray, rng: np.random.Generator, *, share: float) -> np.ndarray:
    """Return cells the size of counties, by k-means, drawn at random for each entity until it has its share."""
    state = int(rng.integers(2**31))
    cell = KMeans(COUNTIES, random_state=state).fit_predict(place[train])
    size = int(share * len(train))
    found: list[np.ndarray] = []
    for _ in FEES:
        order = rng.permutation(COUNTIES)[cell]
        found.append(rng.permutation(train[np.argsort(order, kind="stable")[:size]]))
    return np.stack(found)


def everywhere(_: np.ndarray, train: np.ndarray, rng: np.random.Generator, *, share: float) -> np.ndarray:
    """Return blocks drawn at random from the whole state: no regions at all."""
    return np.stack([rng.permutation(train)[: int(share * len(train))] for _ in FEES])


KINDS: Mapping[str, Callable[..., np.ndarray]] = {
    "along the coast, as in the study": windows,
    "latitude": latitudes,
    "k-means": clusters,
    "county-like cells": cells,
    "none: blocks at random": everywhere,
}
"""What gives an entity its blocks."""


def region_jobs() -> list[tuple[Any, ...]]:
    """Return every kind of regions and every share; and the whole state, where all kinds are one."""
    return [*((kind, share) for kind in KINDS for share in SHARES), ("none: blocks at random", 1.0)]


def region(data: Path, job: tuple[str, float, int]) -> dict[str, Any]:
    """Return entities' RMSE × 100, the best and the mean of all six, and what fixed k and k(x) get under the mean."""
    kind, share, seed = job
    torch.set_num_threads(1)
    with threadpool_limits(1):
        regions: Regions = partial(KINDS[kind], share=share)
        raw = california(data, seed, regions=regions, device="cpu")
        whole = raw.bounded()
        plan = Plan(seeds=(seed,), repetitions=1)
        measured = measure(scored(whole, "sum", plan, seed, {}), surrogate=None, repetitions=1, random_state=seed)
        test = whole.test

        def rmse(squares: np.ndarray) -> float:
            return float(shown(squares.mean(), "regression"))

        found: dict[str, Any] = {
            "entities": [rmse(column) for column in whole.errors[test].T],
            "entities, answers as they come": [rmse(column) for column in raw.errors[test].T],
            "best of six": rmse(whole.errors[test].min(axis=1)),
            "mean of six": rmse(np.square(whole.answers.values[test].mean(axis=1) - whole.truth[test])),
        }
        for name, method in (("fixed k", FIXED), ("k(x)", ONCE)):
            points = measured.metrics["mean"][method]
            found[f"mean, {name}"] = float(shown(points.errors[points.best], "regression"))
            found[f"fee of {name}"] = float(points.fees[points.best])
        if share == 1:
            trees = HistGradientBoostingRegressor(max_iter=1000, random_state=seed)
            trees.fit(whole.X[whole.train], whole.truth[whole.train])
            found["boosted trees"] = rmse(np.square(trees.predict(whole.X[test]) - whole.truth[test]))
        return found


def regions_together(
    _data: Path, jobs: Sequence[tuple[str, float, int]], found: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return means over seeds, kind by kind and share by share."""
    rows: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for (kind, share, _), got in zip(jobs, found, strict=True):
        rows.setdefault((kind, share), []).append(got)
    return {
        "paper": {"entities": [15.72, 40.26], "best of six": 6.21, "mean, fixed k": 10.08, "mean, k(x)": 8.53},
        "regions": [
            {"kind": kind, "share": share, **{key: _mean([got[key] for got in each]) for key in each[0]}}
            for (kind, share), each in rows.items()
        ],
    }


def _mean(values: Sequence[Any]) -> Any:  # noqa: ANN401 - a number, or those of the entities from the least to the most
    table = np.sort(np.array(values), axis=-1) if isinstance(values[0], list) else np.array(values)
    return np.round(table.mean(axis=0), 4).tolist()


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


PARTS: Mapping[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., dict[str, Any]]]] = {
    "base": (base_jobs, base, bases),
    "votes": (vote_jobs, networks, votes),
    "regions": (region_jobs, region, regions_together),
}
"""Of each part what there is to do, what does one of it, and what puts it together."""

if __name__ == "__main__":
    main()

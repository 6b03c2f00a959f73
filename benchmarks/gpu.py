"""Claim: the engine trains the one-stage CIFAR-10 policy faster than a plain compiled loop, and as well as a CPU does.

Throughput: ResNet-4 on 21 batches of 2048 images, bfloat16, images on the device, in one run: the engine, epoch by
epoch as it reports them, its look at held-out images included, against a plain loop (PyTorch's own layers, network and
loss in one torch.compile as the engine has them, autocast, channels last, fused AdamW, batches drawn on the device), in
turn; beside it the same loop with its loss left out of the compilation, as it is mostly written. Compilation and the
first epochs are left out; medians. The share of the peak is of a large bfloat16 matrix product in the same run.

Accuracy: a narrow policy on a subset of the images, bfloat16 on the GPU against float32 on the CPU, by seed.

    ASKWHO_DATA=... python benchmarks/gpu.py --out benchmarks/results/gpu.json
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import provenance, write_down
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from askwho.core import augmented_costs
from askwho.engine import Pixels, Training
from askwho.losses import deferral_weights, weighted_comp_sum
from askwho_studies.paper._image_experiments import EXPERIMENTS
from askwho_studies.paper._image_scores import panel_of
from askwho_studies.paper._image_training import fit_policy, outputs
from askwho_studies.paper._images import Images, read_images
from askwho_studies.paper._pools import known_classes, specialists

BATCH, DEPTH, WIDTH = 2048, 4, 64
# Epochs that are not timed: compilation, and the first launches.
FIRST = 3


def main() -> None:
    """Time and compare, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="holds images/cifar10_*.zip")
    parser.add_argument("--device", default="cuda", help="cpu tries out that everything runs, with --images")
    parser.add_argument("--images", type=int, default=45_000)
    parser.add_argument("--epochs", type=int, default=20, help="timed, of each way, in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--subset", type=int, default=8_000, help="images to compare accuracies by")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    images = read_images(arguments.data, "cifar10")
    costs = policy_costs(images, 0)
    # Whole batches: what is left over would be compiled anew.
    rows = images.train[: arguments.images // BATCH * BATCH or arguments.images]
    held = images.train[-1_000:]
    ways: dict[str, Callable[[], list[float]]] = {
        "engine": lambda: engine(images, costs, rows, held, arguments.epochs, arguments.device),
        "plain loop": lambda: plain_loop(images, costs, rows, arguments.epochs, arguments.device, whole=True),
        "plain loop, loss apart": lambda: plain_loop(images, costs, rows, arguments.epochs, arguments.device),
    }
    # In turn, so that a machine that slows down slows both.
    rounds = [{way: measure() for way, measure in ways.items()} for _ in range(arguments.rounds)]
    seconds = {way: statistics.median(chain.from_iterable(each[way] for each in rounds)) for way in ways}
    speed = {way: len(rows) / each for way, each in seconds.items()}
    peak, needed = matrix_peak(arguments.device), flops_of_an_image(costs.shape[1])
    results: dict[str, Any] = {
        "images_a_second": {way: round(each) for way, each in speed.items()},
        "engine_against_plain_loop": round(speed["engine"] / speed["plain loop"], 3),
        "by_round": [round(statistics.median(r["plain loop"]) / statistics.median(r["engine"]), 3) for r in rounds],
        "peak_teraflops": round(peak / 1e12, 1),
        "engine_share_of_peak": round(speed["engine"] * needed / peak, 3),
        "top_1_accuracy_by_seed": accuracies(images, arguments.subset, arguments.seeds, arguments.device),
        "provenance": provenance(seed=0, libraries=("numpy", "torch")),
    }
    write_down(results, arguments.out)


def policy_costs(images: Images, seed: int) -> np.ndarray:
    """μ of the experiment's ten labels and six synthetic specialists, shape (n, 16)."""
    experiment = EXPERIMENTS["cifar10"]
    said = specialists(images.labels, known_classes(6, 5, 10), 10, random_state=seed)
    labels = np.broadcast_to(np.arange(10), (len(said), 10))
    errors = (np.column_stack([labels, said]) != images.labels[:, None]).astype(np.float64)
    return augmented_costs(errors, panel=panel_of(experiment, images))


def engine(
    images: Images, costs: np.ndarray, rows: np.ndarray, held: np.ndarray, epochs: int, device: str
) -> list[float]:
    """Seconds of each epoch as the engine trains it."""
    ended: list[float] = []

    def at_the_end_of_an_epoch(line: str) -> None:
        if line.startswith("epoch"):
            synchronise(device)
            ended.append(time.perf_counter())

    fit_policy(
        images,
        costs,
        rows=rows,
        held=held,
        depth=DEPTH,
        width=WIDTH,
        moved=False,
        training=replace(EXPERIMENTS["cifar10"].training, epochs=epochs + FIRST, compiled=device == "cuda"),
        shift="max",
        seed=0,
        device=device,
        progress=at_the_end_of_an_epoch,
    )
    return np.diff(ended[FIRST - 1 :]).tolist()


def plain_loop(
    images: Images, costs: np.ndarray, rows: np.ndarray, epochs: int, device: str, *, whole: bool = False
) -> list[float]:
    """Seconds of each epoch of a loop such as anybody writes, with the images on the device.

    Args:
        images: all of them.
        costs: μ of every image.
        rows: which images are learned from.
        epochs: that are timed.
        device: where.
        whole: whether network and loss are compiled together.
    """
    mean, deviation = images.scale
    module: Any = nn.Sequential(Pixels(mean.tolist(), deviation.tolist()), plain_network(costs.shape[1]))
    module = module.to(device).to(memory_format=torch.channels_last)
    torch.compiler.reset()

    def scored(some: torch.Tensor) -> torch.Tensor:
        with torch.autocast(device, dtype=torch.bfloat16):
            return module(some)

    def lost(some: torch.Tensor, weights: torch.Tensor, call: Callable[..., Any] = scored) -> torch.Tensor:
        return weighted_comp_sum(call(some).float()[None], weights[None]).mean()

    step: Callable[..., Any] = lost
    if device == "cuda":
        step = torch.compile(lost) if whole else partial(lost, call=torch.compile(scored))
    pixels = torch.from_numpy(images.rows[rows]).to(device)
    weights = deferral_weights(torch.from_numpy(costs[rows]), shift="max").float().to(device)
    optimiser = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=device == "cuda")
    taken: list[float] = []
    for _ in range(epochs + FIRST):
        synchronise(device)
        start = time.perf_counter()
        order = torch.randperm(len(rows), device=device)
        for batch in order.split(BATCH):
            loss = step(pixels[batch], weights[batch])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        synchronise(device)
        taken.append(time.perf_counter() - start)
    return taken[FIRST:]


def plain_network(n_outputs: int) -> nn.Module:
    """ResNet-4 of PyTorch's own layers."""
    return nn.Sequential(
        nn.Conv2d(3, WIDTH, 3, padding=1, bias=False),
        nn.BatchNorm2d(WIDTH),
        nn.ReLU(),
        Around(
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False),
            nn.BatchNorm2d(WIDTH),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False),
            nn.BatchNorm2d(WIDTH),
        ),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(WIDTH, n_outputs),
    )


class Around(nn.Sequential):
    """Layers with a way around them."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - the name that Sequential gives it
        """Return relu(input + layers(input))."""
        return torch.relu(input + super().forward(input))


def accuracies(images: Images, subset: int, seeds: int, device: str) -> dict[str, list[float]]:
    """Accuracy of the entity ranked first, on test images, of the same narrow policy trained in both ways."""
    training = Training(epochs=8, batch=256, rate=2e-3)
    ways = {"float32 on the CPU": ("cpu", "float32"), f"bfloat16 on {device}": (device, "bfloat16")}
    found: dict[str, list[float]] = {way: [] for way in ways}
    test = images.test[:subset]
    for seed in range(seeds):
        costs = policy_costs(images, seed)
        for way, (where, precision) in ways.items():
            module, _ = fit_policy(
                images,
                costs,
                rows=images.train[:subset],
                held=images.train[-1_000:],
                depth=DEPTH,
                width=16,
                moved=False,
                training=replace(training, precision=precision),
                shift="max",
                seed=seed,
                device=where,
            )
            first = outputs(module, images, test, where).argmax(axis=1)
            errors = costs[test, first] - np.append(np.zeros(10), EXPERIMENTS["cifar10"].fees)[first]
            found[way].append(round(1 - float(errors.mean()), 4))
    return found


def matrix_peak(device: str) -> float:
    """Operations a second of a large matrix product in bfloat16."""
    size = 8192 if device == "cuda" else 512
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        torch.mm(a, b)
    taken: list[float] = []
    for _ in range(20):
        synchronise(device)
        start = time.perf_counter()
        torch.mm(a, b)
        synchronise(device)
        taken.append(time.perf_counter() - start)
    return 2 * size**3 / statistics.median(taken)


def flops_of_an_image(outputs_: int) -> float:
    """Operations of one image forwards and backwards."""
    module = plain_network(outputs_)
    counter = FlopCounterMode(display=False)
    with counter:
        module(torch.zeros(2, 3, 32, 32)).sum().backward()
    return counter.get_total_flops() / 2


def synchronise(device: str) -> None:
    """Wait until the GPU is done."""
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()

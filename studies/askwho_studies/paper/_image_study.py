"""The paper's experiments on images, each out of one command."""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from askwho.engine import require_torch
from askwho.fitting import SurrogateCardinality
from askwho_studies._kept import fingerprint, kept
from askwho_studies.paper._frontiers import REPETITIONS, Progress
from askwho_studies.paper._image_claims import image_claims
from askwho_studies.paper._image_experiments import EXPERIMENTS, Experiment
from askwho_studies.paper._image_scores import TRAINED_BY, rates_chosen, scored, trained_on
from askwho_studies.paper._images import Images, read_images
from askwho_studies.paper._panels import ENCODER, NO_ENCODER, study, write
from askwho_studies.paper._scored import LAMBDAS, Scored
from askwho_studies.paper._summary import Measured, measure, summary

SEEDS = 4
"""The paper's four independent runs."""
FEATURES = 32
"""So many main directions of the encoder's output are what k(x) is learned from."""
QUICK_IMAGES = (5000, 1500)
"""Training and test images of a quick run: that everything runs, in about a minute on two cores."""


def run_images(
    name: str,
    data: Path,
    *,
    out: Path | None = None,
    seeds: int | None = None,
    arms: Collection[str] | None = None,
    quick: bool = False,
    workers: int = 2,
    device: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return an experiment's results, and write them where `out` says: `<name>.json`, `.md` and `.png`.

    Scores of trained policies are kept in `<out>/scores/<name>`: a run that was interrupted goes on from there.

    Args:
        name: a name in `EXPERIMENTS`.
        data: the folder that holds `images/`.
        out: a folder; nothing is written unless said.
        seeds: how many; four, or one for a quick run, unless said.
        arms: some of the experiment's arms, by name; all unless said.
        quick: few images, one narrow network, few epochs.
        workers: how many policies are measured at a time, each in a process of its own; they are trained one by one.
        device: `"cpu"`, `"cuda"`; by itself unless said.
        progress: called with a line of text as the experiment goes on.
    """
    require_torch("The paper's policy")
    start = time.perf_counter()
    say = progress or (lambda _: None)
    full = EXPERIMENTS[name]
    experiment = full.quick() if quick else full
    images = read_images(data, experiment.data, most=QUICK_IMAGES if quick else None)
    numbers = range(seeds if seeds is not None else 1 if quick else SEEDS)
    place = Path("askwho-results") if out is None else out
    cache = place / "scores" / (f"{experiment.kept_as}-quick" if quick else experiment.kept_as)
    features, encoder = (None, None) if quick else frozen_features(images, cache, device)
    say(f"{len(images.rows)} images; k(x) is learned from {encoder or 'the scores of the policy'}")
    by_arm: dict[str, list[Measured]] = {arm: [] for arm in arms or experiment.arms}
    jobs = (
        (
            scored(
                experiment,
                arm,
                images,
                seed,
                data=data,
                cache=cache,
                features=features,
                quick=quick,
                device=device,
                progress=say,
            ),
            seed,
        )
        for seed in numbers
        for arm in by_arm
    )
    work = partial(_measured, experiment, device, quick=quick)
    for place, measured in enumerate(_each(work, jobs, workers if len(numbers) * len(by_arm) > 1 else 1)):
        seed, arm = numbers[place // len(by_arm)], list(by_arm)[place % len(by_arm)]
        by_arm[arm].append(measured)
        say(f"{arm}, seed {seed}: measured after {time.perf_counter() - start:.0f} s")
    found = study(
        name,
        task="classification",
        seeds=list(numbers),
        quick=quick,
        seconds=time.perf_counter() - start,
        settings={
            # A policy may be that of an arm that was left out, so only here is it left out.
            **_settings(replace(experiment, arms={arm: experiment.arms[arm] for arm in by_arm}), images, encoder),
            "policies trained on": trained_on(cache),
            "rates chosen": rates_chosen(cache, {arm: experiment.arms[arm] for arm in by_arm}),
        },
        arms={arm: summary(measured) for arm, measured in by_arm.items()},
        claims=image_claims(name, by_arm),
    )
    if out is not None:
        say(f"{', '.join(write(found, out))} in {out}")
    return found


def _measured(experiment: Experiment, device: str | None, job: tuple[Scored, int], *, quick: bool) -> Measured:
    found, seed = job
    # Side by side the threads of small matrix products only wait for each other.
    with threadpool_limits(1):
        return measure(
            found,
            surrogate=SurrogateCardinality(hidden=(), training=experiment.cardinality),
            at_best=experiment.at_best,
            prices=LAMBDAS[::4] if quick else LAMBDAS,
            repetitions=5 if quick else REPETITIONS,
            random_state=seed,
            device=device,
        )


def _each(
    work: Callable[[tuple[Scored, int]], Measured], jobs: Iterable[tuple[Scored, int]], workers: int
) -> Iterator[Measured]:
    """The jobs' results in their order, so many at a time; no more jobs are made than are being worked on."""
    if workers == 1:
        yield from map(work, jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[Measured]] = deque()
        for job in jobs:
            waiting.append(pool.submit(work, job))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def frozen_features(images: Images, cache: Path, device: str | None) -> tuple[np.ndarray | None, str | None]:
    """Return what a frozen encoder makes of the images, and its name; from the cache if it is there."""
    from askwho_studies.paper._image_training import encoded  # noqa: PLC0415 - the seam to torch

    def make() -> dict[str, np.ndarray]:
        found = encoded(images, size=FEATURES, device=device)
        features, name = (np.zeros((0, 0)), "") if found is None else found
        return {"features": features.astype(np.float16), "encoder": np.array(name)}

    code = fingerprint(*(f"askwho_studies.paper.{name}" for name in ("_images", "_image_training")))
    path = cache / "features.npz"
    stored = kept(path, f"{images.described}, {FEATURES} directions, code: {code}", make)
    if not stored["features"].size:
        path.unlink(missing_ok=True)  # one may be installed before the next run
        return None, None
    return stored["features"].astype(np.float32), str(stored["encoder"])


def _settings(experiment: Experiment, images: Images, encoder: str | None) -> dict[str, Any]:
    return {
        "images": [images.n_train, len(images.rows) - images.n_train],
        "images as": images.form,
        ENCODER: encoder or NO_ENCODER,
        "code that trains": fingerprint(*TRAINED_BY),
        **{key: value for key, value in asdict(experiment).items() if key not in ("name", "data")},
    }

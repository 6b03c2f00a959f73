"""An image experiment up to its policies' scores, kept in files so that a run goes on where it stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho.core import Answers, Panel, augmented_costs, each_fold, folds
from askwho.engine import Training
from askwho.learners import log_shares
from askwho_studies._kept import fingerprint, kept
from askwho_studies.paper._image_experiments import CHOOSE_ROWS, LEARN_ROWS, Arm, Experiment
from askwho_studies.paper._images import Images
from askwho_studies.paper._pools import SVHN_CLASSES, annotators, drawn_classes, known_classes, specialists
from askwho_studies.paper._scored import Part, Scored

Progress = Callable[[str], None]

# Trained experts learn from this share of the training images; policies never do: answers there are too good.
_EXPERT_SHARE = 0.5
# Found by a few trials on held-out images: about as accurate as the paper's six.
_SMALL_CNN_WIDTH = 5
# So many are trained, and the six nearest to the paper's accuracies taken.
_SMALL_CNNS = 24
PAPER_SVHN = (63.51, 55.53, 61.56, 62.60, 66.66, 64.26)
"""The paper's accuracies of the six small networks."""
TRAINED_BY = (
    "askwho.core",
    "askwho.engine",
    "askwho.losses",
    *(f"askwho_studies.paper.{name}" for name in ("_image_scores", "_image_training", "_images", "_pools")),
)
"""The modules that decide what a trained network says; settings are marked beside them."""


@dataclass(frozen=True, eq=False)
class Split:
    """Which images are for what.

    Args:
        experts: to train experts, where they are trained on images that the policy does not learn from.
        policy: to learn the policy from.
        learn: to choose its best weights, and to learn k(x) from.
        choose: to choose k and λ by.
        test: for the figures.
    """

    experts: Int[np.ndarray, " e"]
    policy: Int[np.ndarray, " p"]
    learn: Int[np.ndarray, " l"]
    choose: Int[np.ndarray, " c"]
    test: Int[np.ndarray, " t"]


def split(experiment: Experiment, images: Images, seed: int) -> Split:
    """Return a seed's split of the training images; with people, who labelled no test image, a fifth of them tests."""
    shuffled = np.random.default_rng(seed).permutation(images.train)
    test = images.test
    if experiment.pool == "people":
        test, shuffled = shuffled[: len(shuffled) // 5], shuffled[len(shuffled) // 5 :]
    apart = experiment.pool in ("digit specialists", "small networks")
    cut = int(_EXPERT_SHARE * len(shuffled)) if apart else 0
    experts, rest = shuffled[:cut], shuffled[cut:]
    learn, choose = min(LEARN_ROWS, len(rest) // 6), min(CHOOSE_ROWS, len(rest) // 12)
    return Split(experts, rest[learn + choose :], rest[:learn], rest[learn : learn + choose], test)


def panel_of(experiment: Experiment, images: Images) -> Panel:
    """Return who can be asked."""
    experts = {f"expert-{j}": fee for j, fee in enumerate(experiment.fees, start=1)}
    return Panel.one_stage(list(range(images.n_classes)), experts) if experiment.one_stage else Panel.two_stage(experts)


def said_by(
    experiment: Experiment, images: Images, rows: Split, seed: int, data: Path, *, quick: bool, device: str | None
) -> Int[np.ndarray, "n j"]:
    """Return what the base, where there is one, and the experts say of every image, shape (n, J)."""
    if experiment.pool == "people":
        people = annotators(data, images.labels[images.train])[: images.n_train]
        said = np.concatenate([people, np.zeros((len(images.rows) - len(people), 3), dtype=np.int64)])
    elif experiment.pool in ("specialists", "drawn specialists", "base and specialists"):
        sizes = len(experiment.fees), 5 if images.n_classes == 10 else 55, images.n_classes
        drawn = experiment.pool == "drawn specialists"
        known = drawn_classes(*sizes, random_state=seed) if drawn else known_classes(*sizes)
        said = specialists(images.labels, known, images.n_classes, random_state=seed)
    else:
        if experiment.one_stage:
            return _digit_specialists(images, rows, seed, quick, device)
        return _small_networks(experiment, images, rows, seed, quick, device)
    return (
        said if experiment.one_stage else np.column_stack([_base(experiment, images, rows, seed, quick, device), said])
    )


def answers_of(
    experiment: Experiment,
    images: Images,
    rows: Split,
    seed: int,
    *,
    data: Path,
    cache: Path,
    quick: bool = False,
    device: str | None = None,
) -> Int[np.ndarray, "n j"]:
    """Return what `said_by` gives, kept in a file of the cache."""

    def make() -> dict[str, np.ndarray]:
        return {"said": said_by(experiment, images, rows, seed, data, quick=quick, device=device).astype(np.uint8)}

    found = kept(cache / f"answers-{seed}.npz", _asked(experiment, images, quick=quick), make)
    return found["said"].astype(np.int64)


def scored(
    experiment: Experiment,
    arm: str,
    images: Images,
    seed: int,
    *,
    data: Path,
    cache: Path,
    features: Float[np.ndarray, "n e"] | None,
    quick: bool = False,
    device: str | None = None,
    progress: Progress | None = None,
) -> Scored:
    """Return one seed of one arm, its policy trained, or its scores read from the cache.

    Args:
        experiment: which.
        arm: a name in its arms.
        images: all of them.
        seed: of split, experts, weights and batches.
        data: the data folder.
        cache: a folder; scores and answers are kept there.
        features: shape (n, e), what k(x) is learned from; the policy's own scores unless said.
        quick: whether networks other than the policy are to be quick, too.
        device: by itself unless said.
        progress: called with a line of text now and then.
    """
    rows = split(experiment, images, seed)
    panel = panel_of(experiment, images)
    asked = _asked(experiment, images, quick=quick)
    said = answers_of(experiment, images, rows, seed, data=data, cache=cache, quick=quick, device=device)
    answers = Answers.from_table(said, panel)
    errors = (answers.values != images.labels[:, None]).astype(np.float64)
    settings = experiment.arms[arm]
    training = _training(experiment, settings)
    policy = replace(settings, rates=(), folds=0, encoded=False)
    if settings.rates:
        training = replace(training, rate=_best_rate(experiment, arm, images, rows, panel, errors, cache, device))
    if training.rate == experiment.training.rate:
        # The printed rate is the best, or k(x) alone differs: the policy is another arm's.
        arm = next((n for n, a in experiment.arms.items() if a == policy), arm)
    file, mark = f"{_file(arm)}-{seed}", f"{asked}; {policy}; {training}"

    def score(name: str, taught: np.ndarray, wanted: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        how = policy, training, images, taught, rows.learn, wanted, panel, errors, seed, device, progress
        found = kept(cache / f"{name}.npz", mark, lambda: _scores(*how))
        if progress is not None:
            progress(f"{experiment.name}, {name}: policy's held-out loss {float(found['held']):.4f}")
        return found

    index = {"learn": rows.learn, "choose": rows.choose, "test": rows.test}
    found = score(file, rows.policy, index)
    if settings.folds:
        fold = folds(np.arange(len(rows.policy)), settings.folds, random_state=seed)
        for each, (seen, left) in enumerate(each_fold(fold), start=1):
            more = {"left": rows.policy[left]}
            crossed = score(f"{file}-fold-{each}-of-{settings.folds}", rows.policy[seen], more)["left"]
            found["learn"] = np.concatenate([found["learn"], crossed])
            index["learn"] = np.concatenate([index["learn"], more["left"]])
    parts: dict[str, Part] = {}
    for name, of in index.items():
        scores = log_shares(found[name])
        heard = Answers(answers.values[of], answers.states[of])
        known = (scores if features is None else features[of]).astype(np.float32)
        # As the k(x) that is learned once: scores from the best to the worst, and each entity's.
        seen = [-np.sort(-scores, axis=1), scores, *([known] if settings.encoded else [])]
        seen = np.concatenate(seen, axis=1, dtype=np.float32)
        parts[name] = Part(known, scores, heard, images.labels[of], errors[of], seen)
    return Scored(panel, "classification", learn=parts["learn"], choose=parts["choose"], test=parts["test"])


def _asked(experiment: Experiment, images: Images, *, quick: bool) -> str:
    """What answers depend on beside the seed."""
    who = f"{experiment.kept_as}, {experiment.pool}, {experiment.base}"
    return f"{who}, {images.described}, quick: {quick}, code: {fingerprint(*TRAINED_BY)}"


def trained_on(cache: Path) -> list[str]:
    """Return the processors that the kept policies were trained on."""
    found: set[str] = set()
    for path in cache.glob("*.npz"):
        with np.load(path, allow_pickle=False) as stored:
            if "trained_on" in stored.files:
                found.add(str(stored["trained_on"]))
    return sorted(found)


def rates_chosen(cache: Path, arms: Mapping[str, Arm]) -> dict[str, float]:
    """Return the learning rate that was found best for each arm that chooses one."""
    chosen: dict[str, float] = {}
    for name in (name for name, arm in arms.items() if arm.rates):
        with np.load(cache / f"rates-{_file(name)}.npz", allow_pickle=False) as stored:
            chosen[name] = _least(stored)
    return chosen


def _least(tried: Mapping[str, np.ndarray]) -> float:
    """The rate whose loss on held-out images was the least."""
    return float(tried["rates"][tried["held"].argmin()])


def _file(arm: str) -> str:
    """What an arm is called in the names of files."""
    return arm.replace(" ", "-").replace(",", "")


def _training(experiment: Experiment, arm: Arm) -> Training:
    return experiment.training if arm.epochs is None else replace(experiment.training, epochs=arm.epochs)


def _best_rate(
    experiment: Experiment,
    name: str,
    images: Images,
    rows: Split,
    panel: Panel,
    errors: np.ndarray,
    cache: Path,
    device: str | None,
) -> float:
    """The rate with the least held-out loss, tried for a third of the epochs with the first seed met."""
    arm = experiment.arms[name]
    training = _training(experiment, arm)

    def tried() -> dict[str, np.ndarray]:
        short = replace(training, epochs=max(1, training.epochs // 3))
        held = [
            _scores(
                arm, replace(short, rate=rate), images, rows.policy, rows.learn, {}, panel, errors, 0, device, None
            )["held"]
            for rate in arm.rates
        ]
        return {"rates": np.array(arm.rates), "held": np.array(held)}

    mark = f"{_asked(experiment, images, quick=False)}; {arm}; {training}"
    return _least(kept(cache / f"rates-{_file(name)}.npz", mark, tried))


def _scores(
    arm: Arm,
    training: Training,
    images: Images,
    taught: np.ndarray,
    held: np.ndarray,
    wanted: Mapping[str, np.ndarray],
    panel: Panel,
    errors: np.ndarray,
    seed: int,
    device: str | None,
    progress: Progress | None,
) -> dict[str, np.ndarray]:
    """A trained policy's scores of images that it has not seen, and its loss on those that chose its weights."""
    from askwho_studies.paper._image_training import device_name, fit_policy, outputs  # noqa: PLC0415 - imports torch

    module, loss = fit_policy(
        images,
        augmented_costs(errors, panel=panel),
        rows=taught,
        held=held,
        depth=arm.depth,
        width=arm.width,
        moved=arm.moved,
        training=training,
        shift=arm.shift,
        seed=seed,
        device=device,
        progress=progress,
    )
    found = {name: outputs(module, images, rows, device) for name, rows in wanted.items()}
    return {**found, "held": np.array(loss), "trained_on": np.array(device_name(device))}


def _base(
    experiment: Experiment,
    images: Images,
    rows: Split,
    seed: int,
    quick: bool,  # noqa: FBT001
    device: str | None,
) -> np.ndarray:
    """A residual network's answers: of images a policy learns from, by networks that have not seen them."""
    from askwho_studies.paper._image_training import fit_classifier, outputs  # noqa: PLC0415

    base = experiment.base
    training = replace(base.training, epochs=2, compiled=False) if quick else base.training
    said = np.zeros(len(images.rows), dtype=np.int64)

    def fit(learn: np.ndarray, where: np.ndarray, each: int) -> None:
        model = fit_classifier(
            images,
            rows=learn,
            held=rows.learn,
            depth=4 if quick else base.depth,
            width=16 if quick else 64,
            moved=base.moved,
            training=training,
            seed=10 * seed + each,
            device=device,
        )
        said[where] = outputs(model, images, where, device).argmax(axis=1)

    fit(rows.policy, np.concatenate([rows.learn, rows.choose, rows.test]), 0)
    for each, (seen, held) in enumerate(each_fold(folds(np.arange(len(rows.policy)), 2, random_state=seed)), start=1):
        fit(rows.policy[seen], rows.policy[held], each)
    return said


def _digit_specialists(images: Images, rows: Split, seed: int, quick: bool, device: str | None) -> np.ndarray:  # noqa: FBT001
    """Six residual networks, each trained on three digits alone."""
    from askwho_studies.paper._image_training import fit_classifier, outputs  # noqa: PLC0415

    training = Training(epochs=2 if quick else 20, batch=256, rate=1e-3)
    answers: list[np.ndarray] = []
    for j, digits in enumerate(SVHN_CLASSES):
        mine = rows.experts[np.isin(images.labels[rows.experts], digits)]
        cut = len(mine) // 10
        model = fit_classifier(
            images,
            rows=mine[cut:],
            held=mine[:cut],
            depth=4 if quick else 10,
            width=16 if quick else 64,
            training=training,
            seed=10 * seed + j,
            device=device,
        )
        answers.append(outputs(model, images, np.arange(len(images.rows)), device).argmax(axis=1))
    return np.column_stack(answers)


def _small_networks(
    experiment: Experiment,
    images: Images,
    rows: Split,
    seed: int,
    quick: bool,  # noqa: FBT001
    device: str | None,
) -> np.ndarray:
    """Six small networks on a fifth of the images each; of two dozen those nearest to the paper's six accuracies.

    Accuracies are compared on the images that k(x) is learned from, never on test images.
    """
    from askwho_studies.paper._image_training import (  # noqa: PLC0415
        fit_classifier,
        lenet,
        outputs,
        perceptron,
        small_cnn,
    )

    rng = np.random.default_rng([seed, 3])
    pool = rows.experts if len(rows.experts) else rows.policy
    kinds = [small_cnn(_SMALL_CNN_WIDTH)]
    if experiment.pool == "small networks of several kinds":
        # Widths whose accuracies are among the paper's: benchmarks/unreached.py.
        kinds = [*map(small_cnn, (4, 5, 6)), *map(perceptron, (16, 32)), lenet(2)]
    training = Training(epochs=3, batch=64, rate=1e-3, schedule="constant")
    models: list[Any] = []
    right: list[float] = []
    for j in range(6 if quick else _SMALL_CNNS):
        mine = rng.choice(pool, min(len(pool), images.n_train // 5), replace=False)
        cut = len(mine) // 10
        model = fit_classifier(
            images,
            rows=mine[cut:],
            held=mine[:cut],
            module=kinds[j % len(kinds)],
            training=training,
            seed=100 * seed + j,
            device=device,
        )
        models.append(model)
        said = outputs(model, images, rows.learn, device).argmax(axis=1)
        right.append(100 * float((said == images.labels[rows.learn]).mean()))
    chosen: list[int] = []
    for wanted in PAPER_SVHN:
        left = [j for j in range(len(models)) if j not in chosen]
        chosen.append(min(left, key=lambda j: abs(right[j] - wanted)))
    everything = np.arange(len(images.rows))
    return np.column_stack([outputs(models[j], images, everything, device).argmax(axis=1) for j in chosen])

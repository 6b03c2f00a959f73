"""One seed of an experiment as every method gets it: the same inputs, answers, and parts of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, Shaped

from askwho._types import FloatTable
from askwho.core import Answers, Cell, Panel, folds
from askwho_studies.paper._california import FEES, california
from askwho_studies.paper._image_experiments import EXPERIMENTS as IMAGE_EXPERIMENTS
from askwho_studies.paper._image_scores import answers_of, split
from askwho_studies.paper._image_study import QUICK_IMAGES, frozen_features
from askwho_studies.paper._images import Images, read_images
from askwho_studies.paper._scored import Part, Scored, Task

EXPERIMENTS: Mapping[str, str] = {
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "svhn-one-stage": "SVHN, one stage",
    "svhn": "SVHN, two stages",
    "cifar10-people": "people",
    "california": "California",
}
"""The experiments by the name that the command knows, and what tables call them."""
# Rows of California in a quick run: that everything runs.
_QUICK_ROWS = 3000
# An image is so many pixels a side where there is no encoder: colours and their place, nothing finer.
_SHRUNK = 4
# A quarter of California's training rows are held out as in the image experiments: three fifths of these choose weights
# and teach calibration and k(x), two fifths choose settings.
_HELD_FOLDS, _CHOOSE_FOLDS, _FOLDS = 3, 2, 20


@dataclass(frozen=True, eq=False)
class Entities:
    """Who can be asked about every row, what they say, and how wrong it is.

    Args:
        panel: labels and experts, or a base and experts.
        answers: shape (n, |A|).
        errors: ψ, shape (n, |A|).
    """

    panel: Panel
    answers: Answers
    errors: FloatTable


@dataclass(frozen=True, eq=False)
class Problem:
    """One seed of an experiment.

    Args:
        task: classification or regression.
        X: what is known before asking, shape (n, d): the same for every method.
        truth: shape (n,).
        said: what the experts say, shape (n, J); where no model is learned beside them the first is the base.
        fees: of those columns; the base is free.
        n_labels: how many classes a model has to choose from; 0 where the base is given.
        fit: rows to learn from.
        held: rows that choose the best weights and rates, and teach calibration and k(x).
        choose: rows that settings are chosen by.
        test: rows for the figures.
        encoder: what made `X` of images.
    """

    task: Task
    X: Float[np.ndarray, "n d"]
    truth: Shaped[np.ndarray, " n"]
    said: Shaped[np.ndarray, "n j"]
    fees: tuple[float, ...]
    n_labels: int
    fit: Int[np.ndarray, " f"]
    held: Int[np.ndarray, " h"]
    choose: Int[np.ndarray, " c"]
    test: Int[np.ndarray, " t"]
    encoder: str | None = None

    @property
    def judged(self) -> Int[np.ndarray, " q"]:
        """The rows that nothing is fitted to: held, choose and test, in this order."""
        return np.concatenate([self.held, self.choose, self.test])

    def one_stage(self) -> Entities:
        """Return labels and experts: the model is learned together with who is asked."""
        panel = Panel.one_stage(list(range(self.n_labels)), _named(self.fees))
        answers = Answers.from_table(self.said, panel)
        return Entities(panel, answers, (answers.values != self.truth[:, None]).astype(np.float64))

    def two_stage(self, base: Shaped[np.ndarray, " n"] | None = None) -> Entities:
        """Return a base and experts: the model is there before anybody learns who is asked.

        Args:
            base: shape (n,), what the model says; the first of `said` where the base is given.
        """
        said = self.said if base is None else np.column_stack([base, self.said])
        fees = self.fees[1:] if base is None else self.fees
        answers = Answers(said, np.full(said.shape, Cell.ANSWERED, dtype=np.int8))
        wrong = said - self.truth[:, None]
        errors = np.square(wrong) if self.task == "regression" else (wrong != 0).astype(np.float64)
        return Entities(Panel.two_stage(_named(fees)), answers, errors)

    def scored(self, entities: Entities, scores: Float[np.ndarray, "q a"], *, width: int | None = None) -> Scored:
        """Return the parts with scores of `judged` rows, for `frontiers`."""
        cuts = np.cumsum([len(self.held), len(self.choose)])
        parts = [
            Part(
                self.X[rows],
                each.astype(np.float64),
                Answers(entities.answers.values[rows], entities.answers.states[rows]),
                self.truth[rows],
                entities.errors[rows],
            )
            for rows, each in zip((self.held, self.choose, self.test), np.split(scores, cuts), strict=True)
        ]
        return Scored(entities.panel, self.task, *parts, width=width)


def problem(
    name: str, data: Path, seed: int, *, cache: Path, quick: bool = False, device: str | None = None
) -> Problem:
    """Return a seed of an experiment.

    Args:
        name: in `EXPERIMENTS`.
        data: the folder of data.
        seed: of split and answers.
        cache: the folder of kept answers and features, which the experiments of the paper share.
        quick: few rows.
        device: for networks that answer; by itself unless said.
    """
    if name == "california":
        return _housing(data, seed, quick=quick)
    experiment = IMAGE_EXPERIMENTS[name]
    given = experiment.pool == "small networks"
    # Where the experiment trains a base beside synthetic experts, the model here is each method's own.
    if not (given or experiment.one_stage):
        experiment = replace(experiment, one_stage=True, policies=f"{name}-experts")
    images = read_images(data, experiment.data, most=QUICK_IMAGES if quick else None)
    mark = "-quick" if quick else ""
    features, encoder = (None, None) if quick else frozen_features(images, cache / name, device)
    rows = split(experiment, images, seed)
    kept = cache / f"{experiment.kept_as}{mark}"
    said = answers_of(experiment, images, rows, seed, data=data, cache=kept, quick=quick, device=device)
    return Problem(
        "classification",
        _shrunk(images) if features is None else features,
        images.labels,
        said,
        (0.0, *experiment.fees) if given else experiment.fees,
        0 if given else images.n_classes,
        *(np.sort(each) for each in (rows.policy, rows.learn, rows.choose, rows.test)),
        encoder=encoder,
    )


def _housing(data: Path, seed: int, *, quick: bool) -> Problem:
    whole = california(data, seed).bounded()
    train = np.random.default_rng(seed).permutation(whole.train)[: _QUICK_ROWS if quick else None]
    fold = folds(np.arange(len(train)), _FOLDS, random_state=seed)
    held, chosen = fold < _HELD_FOLDS, (fold >= _HELD_FOLDS) & (fold < _HELD_FOLDS + _CHOOSE_FOLDS)
    return Problem(
        "regression",
        whole.X,
        whole.truth,
        whole.answers.values,
        FEES,
        0,
        fit=np.sort(train[~held & ~chosen]),
        held=np.sort(train[held]),
        choose=np.sort(train[chosen]),
        test=whole.test,
    )


def _shrunk(images: Images) -> Float[np.ndarray, "n d"]:
    """Each channel's mean over squares of an image, shape (n, 48)."""
    side = 32 // _SHRUNK
    cells = images.rows.reshape(-1, 3, _SHRUNK, side, _SHRUNK, side).mean(axis=(3, 5), dtype=np.float32)
    return cells.reshape(len(images.rows), -1) / 255


def _named(fees: Sequence[float]) -> dict[str, float]:
    return {f"expert-{j}": fee for j, fee in enumerate(fees, start=1)}

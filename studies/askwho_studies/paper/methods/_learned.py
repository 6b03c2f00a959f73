"""Methods that learn a score for everybody who can be asked, and ask whom it puts first."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from jaxtyping import Float

from askwho.core import augmented_costs, each_fold, folds
from askwho.engine import Training
from askwho.learners import CompSum, Perceptrons, Shares, fit_perceptrons, log_shares
from askwho_studies.paper.methods._problem import Entities, Problem

RATES = (3e-4, 1e-3, 3e-3)
"""Half a decade around Adam's usual rate, on either side; each method takes the best of them on the first seed."""
HIDDEN = (64, 64)
"""The paper's policy on California, for every method."""
TRAINING = Training(epochs=50, batch=512, patience=10, precision="float32")
"""Alike for every method: 4,000 steps on 44,000 images, fewer where held-out rows stopped getting better."""
# The model of two stages answers rows that it learned from too well: these are answered by others of so many folds.
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was learned.

    Args:
        outputs: of `judged` rows, shape (q, |A|), as the surrogate has them.
        rate: the learning rate, the best of those that were tried.
        seconds: how long it took.
    """

    outputs: Float[np.ndarray, "q a"]
    rate: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Model:
    """A classifier that was learned by itself, for methods of two stages.

    Args:
        said: of every row, shape (n,); of rows to learn from out of fold.
        log_chances: of each class on `judged` rows, shape (q, classes).
        rate: as in `Fitted`.
        seconds: likewise.
    """

    said: np.ndarray
    log_chances: Float[np.ndarray, "q c"]
    rate: float
    seconds: float


def fit_scores(
    problem: Problem,
    entities: Entities,
    surrogate: CompSum,
    *,
    rates: Sequence[float],
    training: Training,
    seed: int,
    device: str | None = None,
) -> Fitted:
    """Return the scores that a surrogate learns, by the best of several rates on held-out rows.

    Costs are errors plus fees; for surrogates that take costs up to 1 they are cut there, as a fee on top of a wrong
    answer would be more.

    Args:
        problem: the rows.
        entities: who can be asked.
        surrogate: which, and its settings.
        rates: learning rates, tried side by side.
        training: all else of it.
        seed: of weights and batches.
        device: by itself unless said.
    """
    start = time.perf_counter()
    facts, panel = surrogate.facts, entities.panel
    table = entities.errors if facts.takes == "errors" else augmented_costs(entities.errors, panel=panel)
    if facts.bounded:
        table = np.minimum(table, 1.0)
    settings = replace(surrogate, hidden=HIDDEN, training=replace(training, rate=tuple(rates)))
    found = settings.fit_tables(
        problem.X,
        table[None],
        panel=panel,
        rows=problem.fit,
        held=problem.held,
        seeds=[seed] * len(rates),
        device=device,
    )
    networks = cast("Perceptrons", found.scorer if isinstance(found, Shares) else found)
    best = int(networks.held.argmin())
    outputs = networks.take(np.array([best])).outputs(problem.X[problem.judged])[0]
    return Fitted(outputs.astype(np.float64), float(rates[best]), time.perf_counter() - start)


def fit_model(
    problem: Problem, *, rates: Sequence[float], training: Training, seed: int, device: str | None = None
) -> Model:
    """Return a classifier by cross-entropy, the first of the two stages; arguments as in `fit_scores`."""
    start = time.perf_counter()

    def fit(rows: np.ndarray, tried: Sequence[float]) -> Perceptrons:
        from torch.nn.functional import cross_entropy  # noqa: PLC0415 - the seam to torch

        return fit_perceptrons(
            problem.X,
            [problem.truth[None]],
            lambda scores, truth: cross_entropy(scores.flatten(0, 1), truth.flatten(), reduction="none").view(
                truth.shape
            ),
            outputs=problem.n_labels,
            hidden=HIDDEN,
            training=replace(training, rate=tuple(tried)),
            rows=rows,
            held=np.tile(problem.held, (*rows.shape[:-1], 1)),
            seeds=[seed] * len(tried),
            device=device,
        )

    models = fit(problem.fit, rates)
    best = int(models.held.argmin())
    chances = log_shares(models.take(np.array([best])).outputs(problem.X[problem.judged])[0])
    said = np.zeros(len(problem.X), dtype=np.int64)
    said[problem.judged] = chances.argmax(axis=1)
    fold = list(each_fold(folds(np.arange(len(problem.fit)), _FOLDS, random_state=seed)))
    # Folds may differ by a row; side by side all learn from equally many.
    fewest = min(len(seen) for seen, _ in fold)
    crossed = fit(problem.fit[np.stack([seen[:fewest] for seen, _ in fold])], [rates[best]] * _FOLDS)
    for each, (_, left) in enumerate(fold):
        rows = problem.fit[left]
        said[rows] = crossed.take(np.array([each])).outputs(problem.X[rows])[0].argmax(axis=1)
    return Model(said, chances, float(rates[best]), time.perf_counter() - start)


def chances(surrogate: str, outputs: Float[np.ndarray, "q a"], n_labels: int) -> Float[np.ndarray, "q a"] | None:
    """Return each entity's probability of being right as the method's authors estimate it; None where they do not.

    Mozannar and Sontag: a share over that of all labels together, at most 1 (Verma, Barrejón, Nalisnick. AISTATS 2023,
    Equation 5). One-vs-all: each binary problem's own. Asymmetric softmax: its shares.
    """
    if surrogate == "mozannar-sontag":
        shares = np.exp(log_shares(outputs))
        return np.minimum(shares / shares[:, :n_labels].sum(axis=1, keepdims=True), 1.0)
    if surrogate == "one-vs-all":
        return np.exp(-np.logaddexp(0.0, -outputs))
    if surrogate == "asymmetric-softmax":
        labels = outputs[:, :n_labels]
        others = labels.copy()
        np.put_along_axis(others, labels.argmax(axis=1)[:, None], -np.inf, axis=1)
        margin = outputs[:, n_labels:] - np.logaddexp.reduce(others, axis=1, keepdims=True)
        return np.concatenate([np.exp(log_shares(labels)), np.exp(-np.logaddexp(0.0, -margin))], axis=1)
    return None

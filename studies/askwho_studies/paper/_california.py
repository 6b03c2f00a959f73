"""California housing with six localised experts: the paper's tabular experiment, as data."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from askwho.core import Answers, Cell, Panel
from askwho.engine import Training
from askwho.learners import fit_regressors
from askwho_studies.data import HOUSING_FILE, SETS, held, read_housing, require
from askwho_studies.paper._scored import LAMBDAS

__all__ = ["FEES", "LAMBDAS", "PAPER_TRAINING", "REGION", "California", "Regions", "california", "housing", "windows"]

FEES = (0.0, 0.05, 0.045, 0.040, 0.035, 0.03)
"""The base is free; the paper's schedule for the five experts, the first the most expensive."""
REGION = 0.3
"""Each entity learns from this share of the blocks, consecutive along the coast from north-west to south-east."""
PAPER_TRAINING = Training(epochs=100, batch=256, rate=5e-4)
"""The paper's settings for policy and k(x)."""


@dataclass(frozen=True, eq=False)
class California:
    """One split: features as they are known, truths scaled to [0, 1], and what six entities answer.

    Args:
        X: shape (n, 8), standardised by the training rows.
        truth: shape (n,).
        answers: of base and experts.
        panel: who they are.
        train: indices of the training rows.
        test: indices of the test rows.
    """

    X: Float[np.ndarray, "n d"]
    truth: Float[np.ndarray, " n"]
    answers: Answers
    panel: Panel
    train: Int[np.ndarray, " r"]
    test: Int[np.ndarray, " s"]

    @property
    def errors(self) -> Float[np.ndarray, "n a"]:
        """Squared errors, shape (n, 6)."""
        return np.square(self.answers.values - self.truth[:, None])

    def bounded(self) -> "California":
        """Return the same experiment with answers kept to the target's range, 0 to 1.

        The census itself stops at $500,001. An entity far from home answers up to 18 times that for a block with
        1,243 people a household, and that one row of thousands then decides every RMSE.
        """
        return replace(self, answers=Answers(np.clip(self.answers.values, 0.0, 1.0), self.answers.states))


Regions = Callable[[np.ndarray, np.ndarray, np.random.Generator], Int[np.ndarray, "a r"]]
"""From coordinates (n, 2), training rows and a generator to each entity's training rows, shuffled."""


def windows(
    place: np.ndarray, train: np.ndarray, rng: np.random.Generator, *, share: float = REGION
) -> Int[np.ndarray, "a r"]:
    """Return each entity's training rows, shuffled, shape (6, r): windows along the blocks' first principal axis.

    Args:
        place: shape (n, 2), latitude and longitude.
        train: the training rows.
        rng: shuffles.
        share: of the training rows that a window holds.
    """
    centred = place - place[train].mean(axis=0)
    axis = np.linalg.svd(centred[train], full_matrices=False)[2][0]
    # From north-west to south-east, whatever sign the decomposition chose.
    along = train[np.argsort(centred[train] @ (axis if axis[0] < 0 else -axis), kind="stable")]
    size = int(share * len(along))
    starts = np.linspace(0, len(along) - size, len(FEES)).astype(int)
    return np.stack([rng.permutation(along[start : start + size]) for start in starts])


def california(data: Path, seed: int, *, regions: Regions = windows, device: str | None = None) -> California:
    """Return the experiment's data for a seed: an 80/20 split, and six perceptrons, each of a region of its own.

    The paper names neither the regions nor the target's scale. Here blocks are put in order along the first principal
    axis of their coordinates, and the six regions are windows of equal size along it, partly overlapping; the target
    runs from 0 to 1, which fits the published RMSE × 100 of 15 to 40. Entities train on training rows only.

    Args:
        data: the folder of data.
        seed: of split, regions and entities.
        regions: what gives each entity its training rows; the windows unless said.
        device: by itself unless said.
    """
    raw, value = housing(data)
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(raw))
    train, test = np.sort(shuffled[: int(0.8 * len(raw))]), np.sort(shuffled[int(0.8 * len(raw)) :])
    X = (raw - raw[train].mean(axis=0)) / raw[train].std(axis=0)
    truth = (value - value.min()) / (value.max() - value.min())
    taught = regions(raw[:, 6:8], train, rng)
    cut = int(0.9 * taught.shape[1])
    entities = fit_regressors(
        X,
        truth,
        hidden=(64, 64),
        training=Training(epochs=30, batch=256, rate=1e-3, schedule="constant"),
        rows=taught[:, :cut],
        held=taught[:, cut:],
        seeds=[seed * 100 + j for j in range(len(FEES))],
        device=device,
    )
    said = entities.outputs(X)[:, :, 0].T.astype(np.float64)
    answers = Answers(said, np.full(said.shape, Cell.ANSWERED, dtype=np.int8))
    panel = Panel.two_stage({f"expert-{j}": fee for j, fee in enumerate(FEES[1:], start=1)})
    return California(X.astype(np.float32), truth, answers, panel, train, test)


def housing(data: Path) -> tuple[Float[np.ndarray, "n 8"], Float[np.ndarray, " n"]]:
    """Return the census: features (n, 8) and values (n,), from its official file or from arrays."""
    require(data, ["california"])
    wanted = SETS["california"]
    if held(data, "california").form == "official":
        return read_housing(data / wanted.folder / HOUSING_FILE)
    with np.load(data / wanted.others[0], allow_pickle=False) as stored:
        return stored["X"].astype(np.float64), stored["y"].astype(np.float64)

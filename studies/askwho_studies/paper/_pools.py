"""Who can be asked about an image: synthetic specialists, trained networks, and real people."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int

from askwho.exceptions import InvalidInputError
from askwho_studies.data import PEOPLE, SETS, held, read_people, require

FEES_OF_FIVE = (0.05, 0.045, 0.040, 0.035, 0.03)
"""The paper's schedule, the first expert the most expensive."""
FEES_OF_SIX = (*FEES_OF_FIVE, 0.025)
"""The paper has six experts in one stage and names five fees: the sixth goes on with the same step."""
SPECIALIST_ACCURACY = 0.94
"""The paper's p, on the classes that a synthetic expert knows."""
SVHN_CLASSES = ((1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6), (5, 6, 7), (8, 9, 0))
"""The three digits of each specialist. With the digits' shares of the test images these windows give 46, 36, 30, 27, 24
and 19 percent, times an accuracy of about 0.96 the paper's 45.16, 35.56, 28.64, 25.68, 23.64 and 18.08; windows that
share one digit, as the paper's text has it, would not."""


def known_classes(n_experts: int, n_known: int, n_classes: int) -> list[np.ndarray]:
    """Return the classes that each specialist knows: windows of equal size, evenly spread round the circle of classes.

    >>> [classes.tolist() for classes in known_classes(3, 2, 4)]
    [[0, 1], [1, 2], [3, 0]]
    """
    starts = [round(j * n_classes / n_experts) for j in range(n_experts)]
    return [(start + np.arange(n_known)) % n_classes for start in starts]


def drawn_classes(n_experts: int, n_known: int, n_classes: int, *, random_state: int) -> list[np.ndarray]:
    """Return the classes that each specialist knows, drawn at random: a class may be known to few, or to nobody."""
    rng = np.random.default_rng([random_state, 5])
    return [rng.choice(n_classes, n_known, replace=False) for _ in range(n_experts)]


def specialists(
    truth: Int[np.ndarray, " n"], known: Sequence[np.ndarray], n_classes: int, *, random_state: int
) -> Int[np.ndarray, "n j"]:
    """Return what synthetic specialists say, shape (n, J): right with probability 0.94 on classes they know.

    Otherwise they say another class there, and any class at all elsewhere, each as likely as the next.
    """
    rng = np.random.default_rng([random_state, 7])
    said = rng.integers(0, n_classes, (len(truth), len(known)))
    for j, classes in enumerate(known):
        knows = np.isin(truth, classes)
        other = (truth + rng.integers(1, n_classes, len(truth))) % n_classes
        right = rng.random(len(truth)) < SPECIALIST_ACCURACY
        said[:, j] = np.where(knows, np.where(right, truth, other), said[:, j])
    return said


def annotators(data: Path, truth: Int[np.ndarray, " r"] | None = None) -> Int[np.ndarray, "n 3"]:
    """Return the labels that three people gave to each CIFAR-10 training image, shape (50000, 3).

    Args:
        data: the folder of data.
        truth: shape (r,), the labels of the first training images: people's labels in another order are refused.
    """
    require(data, ["cifar10n"])
    if held(data, "cifar10n").form == "official":
        stored = read_people(data / SETS["cifar10n"].folder / PEOPLE)
    else:
        with np.load(data / SETS["cifar10n"].others[0], allow_pickle=False) as arrays:
            stored = {name: arrays[f"c10_{name}"] for name in ("clean_label", *(f"random_label{j}" for j in (1, 2, 3)))}
    if truth is not None and not np.array_equal(stored["clean_label"][: len(truth)], truth):
        raise InvalidInputError(
            "`data` must hold cifar10n in the order of cifar10's training images, got labels of other images."
        )
    return np.column_stack([stored[f"random_label{j}"] for j in (1, 2, 3)]).astype(np.int64)

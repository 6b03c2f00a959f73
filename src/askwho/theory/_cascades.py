"""Cascades as panels, scores and k(x): the paper's embedding (Appendix A.6), and a baseline of its own."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import FloatTable
from askwho.core import Answers, Cell, Panel, Selection, in_order, select_adaptive
from askwho.exceptions import InvalidInputError


def cascade_scores(order: ArrayLike, k: ArrayLike) -> FloatTable:
    """Return scores whose top-k set is the first k entities of a fixed order, shape (n, |A|).

    Paper, Appendix A.6, score construction: 2 − rank/(k + 1) within the cascade's set, −rank/(|A| + 1) outside.

    Args:
        order: shape (|A|,), the evaluation order ρ, a permutation of the entities.
        k: shape (n,), how many stages each query runs through.

    >>> cascade_scores([2, 0, 1], [1])
    array([[-0.25, -0.5 ,  1.5 ]])
    """
    stages = _permutation(order)
    size = len(stages)
    depth = check.cardinalities(k, np.size(k), size)[:, None]
    place = np.arange(1, size + 1)
    inside = 2.0 - place / (depth + 1)
    outside = -(place - depth) / (size + 1)
    scores = np.empty((len(depth), size))
    scores[:, stages] = np.where(place <= depth, inside, outside)
    return scores


@dataclass(frozen=True, eq=False)
class Cascade:
    """Ask in a fixed order until somebody is confident enough.

    The paper asks for increasing thresholds; nothing depends on it, and any in [0, 1] are taken. The last stage
    always answers.

    Args:
        panel: who can be asked.
        order: shape (|A|,), the evaluation order ρ.
        thresholds: shape (|A|,), ν of each stage: it answers where its confidence reaches it.
    """

    panel: Panel
    order: Int[np.ndarray, " a"]
    thresholds: Float[np.ndarray, " a"]

    @classmethod
    def fixed(cls, panel: Panel, order: ArrayLike, k: int) -> "Cascade":
        """Return the cascade that always stops after k stages."""
        size = int(check.cardinalities(k, 1, len(panel))[0])
        # A confidence is at most 1 and at least 0: the first k − 1 stages never pass, the k-th always does.
        thresholds = np.where(np.arange(len(panel)) < size - 1, np.inf, 0.0)
        return cls(panel, _permutation(order), thresholds)

    def __post_init__(self) -> None:
        size = (len(self.panel),)
        object.__setattr__(self, "order", _permutation(self.order))
        object.__setattr__(self, "thresholds", check.numeric(self.thresholds, "thresholds"))
        check.same_shape(self.order, "order", size, "a permutation of the panel's entities")
        check.same_shape(self.thresholds, "thresholds", size, "one threshold for each stage")
        bad = ~((self.thresholds >= 0) & ((self.thresholds <= 1) | np.isposinf(self.thresholds)))
        if bad.any():
            raise InvalidInputError(
                f"`thresholds` must be between 0 and 1 (infinite: never stop there), got {self.thresholds[bad][0]}."
            )

    def cardinality(self, confidences: ArrayLike) -> Int[np.ndarray, " n"]:
        """Return k(x), the stage that answers each query, shape (n,).

        Args:
            confidences: conf(x, j), shape (n, |A|), in [0, 1], by entity.
        """
        table = check.table(confidences, "confidences", entities=self.panel.names)
        if (table < 0).any() or (table > 1).any():
            raise InvalidInputError(
                f"`confidences` must be between 0 and 1, got values from {table.min():g} to {table.max():g}."
            )
        passed = table[:, self.order] >= self.thresholds
        passed[:, -1] = True
        return passed.argmax(axis=1) + 1

    def select(self, confidences: ArrayLike, *, fees: ArrayLike | None = None) -> Selection:
        """Return the top-k(x) selection that allocates exactly what the cascade does (paper, Appendix A.6)."""
        k = self.cardinality(confidences)
        return select_adaptive(cascade_scores(self.order, k), k, panel=self.panel, fees=fees)

    def predict(
        self, selection: Selection, answers: Answers
    ) -> "tuple[Shaped[np.ndarray, ' n'], Bool[np.ndarray, ' n']]":
        """Return what the last stage of each query said, and where that is an answer, two arrays of shape (n,).

        A cascade does not combine.
        """
        last = in_order(selection.order, selection.k[:, None] - 1)
        return in_order(answers.values, last)[:, 0], in_order(answers.states, last)[:, 0] == Cell.ANSWERED


def _permutation(order: ArrayLike) -> Int[np.ndarray, " a"]:
    stages = np.asarray(order)
    if stages.ndim != 1 or stages.dtype.kind not in "iu" or not np.array_equal(np.sort(stages), np.arange(stages.size)):
        raise InvalidInputError(f"`order` must be a permutation of the entities' indices, got {order!r}.")
    return stages.astype(np.intp)

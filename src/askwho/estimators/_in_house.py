"""Who answers in-house, in front of the experts and for nothing: a base predictor, or the labels themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from askwho import _validation as check
from askwho.answers import Answers, Cell
from askwho.estimators._experts import Source, consult
from askwho.estimators._log import TrainingLog, answered, beside
from askwho.exceptions import InvalidInputError
from askwho.learners import each_fold, own_base
from askwho.panel import Entity, Panel
from askwho.policy import with_base


@dataclass(frozen=True, eq=False)
class Pool:
    """Who can be asked, and what the log holds of them.

    Args:
        panel: who they are.
        answers: encoded, shape (n, |A|).
        fees: what each charged, shape (n, |A|).
    """

    panel: Panel
    answers: Answers
    fees: Float[np.ndarray, "n a"]

    @classmethod
    def of_experts(cls, names: Sequence[str], answers: Answers, fees: Float[np.ndarray, "n a"]) -> "Pool":
        """Return the experts alone; the panel holds the mean of what each charged."""
        experts = [Entity(name, fee=float(fee)) for name, fee in zip(names, fees.mean(axis=0), strict=True)]
        return cls(Panel(tuple(experts)), answers, fees)

    def behind(self, panel: Panel, answers: Answers) -> "Pool":
        """Return the pool with free entities in front of it.

        Args:
            panel: the newcomers, then everybody of this one.
            answers: the newcomers', encoded, shape (n, newcomers).
        """
        free = np.zeros((len(self.fees), len(panel) - len(self.panel)))
        return Pool(panel, beside([answers, self.answers]), np.hstack([free, self.fees]))


def own_or_given_base(base: Any, experts: Pool, log: TrainingLog) -> tuple[Source | None, Pool]:  # noqa: ANN401
    """Return the base, if there is one, and the experts behind it."""
    if base is None or (isinstance(base, str) and base == "none"):
        return None, experts
    panel = with_base(experts.panel)
    if isinstance(base, str):
        check.one_of(base, "base", ["auto", "none"])
        _check_two_classes_stay(log)
        trial = own_base(log.rows.array, None, log.plain_truth, log.fold, task=log.target.task, random_state=log.seed)
        if trial is None:
            return None, experts
        source, said = Source(panel.names[0], trial.base.model, "array"), answered(trial.answers)
    elif callable(getattr(base, "predict", None)) and not isinstance(base, type):
        source, said = consult(panel.names[0], base, log.rows, log.truth, log.fold, seed=log.seed)
    else:
        raise InvalidInputError(f"`base` must be 'auto', None, or an estimator that has `predict`, got {base!r}.")
    return source, experts.behind(panel, log.target.encode(said))


def with_labels(classes: Shaped[np.ndarray, " C"], experts: Pool) -> Pool:
    """Return the experts behind the labels, of which each always answers itself (paper, Section 3, A^1s)."""
    labels: list[Any] = classes.tolist()
    taken = [name for name in experts.panel.names if name in map(str, labels)]
    if taken:
        raise InvalidInputError(
            f"`experts` and columns of `answers` must not be named like a label of `y`, got {taken[0]!r}: rename it."
        )
    said = np.tile(np.arange(len(labels)), (len(experts.fees), 1))
    panel = Panel.one_stage(labels, experts.panel.entities)
    return experts.behind(panel, Answers(said, np.full(said.shape, Cell.ANSWERED, dtype=np.int8)))


def _check_two_classes_stay(log: TrainingLog) -> None:
    """Raise where holding out a fold would leave the base one class to learn."""
    if log.target.task == "regression":
        return
    for seen, held in each_fold(log.fold):
        left = np.unique(log.plain_truth[seen])
        if len(left) < 2:
            raise InvalidInputError(
                f"`y` must hold two classes whichever fold is held out, got only {left[0]!s} without the "
                f"{len(held)} rows of one: add rows of the rare classes, change `groups`, or set `base=None`."
            )

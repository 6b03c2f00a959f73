"""The log that teaches the router: what experts answer to rows they were not fitted on; and asking the chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Shaped

from askwho import _validation as check
from askwho.answers import Answers, Cell, column
from askwho.estimators._experts import Queries, Source, ask, consult, default_experts, named_experts
from askwho.estimators._targets import Target
from askwho.panel import Entity, Panel


@dataclass(frozen=True, eq=False)
class TrainingLog:
    """What `fit` was given, once it is valid.

    Args:
        rows: the queries.
        truth: shape (n,), as the user gave it.
        fold: the fold of each row, shape (n,).
        target: labels or numbers.
        seed: of everything.
    """

    rows: Queries
    truth: Shaped[np.ndarray, " n"]
    fold: Int[np.ndarray, " n"]
    target: Target
    seed: int

    @cached_property
    def plain_truth(self) -> Shaped[np.ndarray, " n"]:
        """The truth as text or numbers, never as objects; a regression's as floats, for answers to be floats too."""
        if self.target.task == "regression":
            return self.truth.astype(np.float64)
        return column(self.truth.tolist(), "y") if self.truth.dtype.kind == "O" else self.truth

    @cached_property
    def encoded_truth(self) -> Shaped[np.ndarray, " n"]:
        """The truth as the router takes it, shape (n,)."""
        return self.target.encode(answered(self.plain_truth)).values[:, 0]

    @property
    def commonest(self) -> float | int:
        """The best constant prediction, encoded: the commonest class, or the mean."""
        if self.target.task == "regression":
            return float(self.encoded_truth.mean())
        return int(np.bincount(self.encoded_truth).argmax())

    def decoded(self, said: Answers) -> Answers:
        """Return encoded answers as the user knows them: the user's own error function sees no codes."""
        return Answers(self.target.decode(said.values), said.states)


def pool_answers(experts: Any, log: TrainingLog) -> tuple[list[Source], list[str], Answers]:  # noqa: ANN401
    """Return live experts ready to be asked, their names, and their encoded answers to the log, shape (n, J)."""
    pool = default_experts(log.target.task) if experts is None else named_experts(experts)
    found = [consult(name, model, log.rows, log.truth, log.fold, seed=log.seed) for name, model in pool]
    return (
        [source for source, _ in found],
        [name for name, _ in pool],
        beside([log.target.encode(a) for _, a in found]),
    )


def recorded_answers(given: Any, log: TrainingLog) -> tuple[list[str], Answers]:  # noqa: ANN401
    """Return the names of the columns of a table of answers, and these encoded, shape (n, J)."""
    if isinstance(given, Mapping) or (hasattr(given, "columns") and not isinstance(given, np.ndarray)):
        names = [str(name) for name in (given if isinstance(given, Mapping) else given.columns)]
    else:
        shape = np.shape(given) if isinstance(given, np.ndarray) else np.array(given, dtype=object).shape
        names = [f"expert-{j}" for j in range(shape[1] if len(shape) > 1 else 1)]
    said = log.target.encode(Answers.from_table(given, _experts_panel(names)))
    check.same_shape(said.values, "answers", (len(log.rows), len(names)), "one row for each row of `X`")
    return names, said


def gather(
    sources: Sequence[Source],
    rows: Queries | None,
    wanted: Bool[np.ndarray, "n a"],
    *,
    recorded: Any,  # noqa: ANN401
    panel: Panel,
    target: Target,
) -> Answers:
    """Return encoded answers, shape (n, |A|): the sources are asked where wanted, the others are on record.

    Labels need no asking: they answer for themselves.

    Args:
        sources: who is there to ask, the first of the panel after its labels.
        rows: the queries.
        wanted: who is to be asked.
        recorded: a table of answers of the experts (n, J), or None.
        panel: who could be asked.
        target: labels or numbers.
    """
    blank = target.encode(Answers(np.zeros(wanted.shape), np.full(wanted.shape, Cell.NOT_ASKED, dtype=np.int8)))
    values, states = blank.values, blank.states
    first = len(panel.labels)
    values[:, :first], states[:, :first] = np.arange(first), Cell.ANSWERED
    if rows is not None:
        for j, (chosen, said) in enumerate(ask(sources, rows, wanted[:, first : first + len(sources)]), start=first):
            heard = target.encode(said)
            values[chosen, j], states[chosen, j] = heard.values[:, 0], heard.states[:, 0]
    if recorded is not None:
        experts = [entity.name for entity in panel.entities if entity.kind == "expert"]
        table = target.encode(Answers.from_table(recorded, _experts_panel(experts)))
        check.same_shape(table.values, "answers", (len(wanted), len(experts)), "one row for each row of `X`")
        values[:, -len(experts) :], states[:, -len(experts) :] = table.values, table.states
    return Answers(values, states)


def answered(values: np.ndarray) -> Answers:
    """Return a column of answers, shape (n, 1), all of them given."""
    return Answers(values[:, None], np.full((len(values), 1), Cell.ANSWERED, dtype=np.int8))


def beside(parts: Sequence[Answers]) -> Answers:
    """Return the answers of several groups of entities side by side, shape (n, |A|)."""
    return Answers(np.hstack([part.values for part in parts]), np.hstack([part.states for part in parts]))


def _experts_panel(names: Sequence[str]) -> Panel:
    return Panel(tuple(Entity(name) for name in names))

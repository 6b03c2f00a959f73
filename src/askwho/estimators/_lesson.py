"""The log that an estimator builds: what experts answer to rows they were not fitted on; and asking the chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from askwho import _validation as check
from askwho.core import OWN, Answers, Cell, Entity, Panel, folds, task_errors
from askwho.data import Charged, Columns, Log, Sampling, scored_by
from askwho.estimators._experts import Queries, Source, ask, consult, default_experts, named_experts
from askwho.estimators._fees import expert_fees
from askwho.estimators._targets import Labels, Truths
from askwho.exceptions import InvalidInputError

KNOWN = "X"
"""The column of the log that holds what is known: a row of numbers a query."""


@dataclass(frozen=True, eq=False)
class Live:
    """Who is there to be asked, and what they are asked for.

    Args:
        sources: in the panel's order: a base that was given, then live experts; none where answers were recorded.
        truths: labels or numbers.
    """

    sources: tuple[Source, ...]
    truths: Truths

    @property
    def experts(self) -> tuple[str, ...]:
        """The names of the live experts."""
        return tuple(source.name for source in self.sources if source.kind == "expert")

    def hear(
        self,
        rows: Queries,
        wanted: Bool[np.ndarray, "n a"],
        panel: Panel,
        recorded: Any,  # noqa: ANN401
    ) -> Answers:
        """Return what is said, shape (n, |A|): the sources are asked where wanted, the others are on record.

        Args:
            rows: the queries.
            wanted: who is to be asked.
            panel: who could be asked.
            recorded: a table of answers of the experts (n, J), or None.
        """
        blank = Answers(np.zeros(wanted.shape), np.full(wanted.shape, Cell.NOT_ASKED, dtype=np.int8))
        said = self.truths.usable(blank)
        values, states = said.values, said.states
        places = [panel.names.index(source.name) for source in self.sources]
        for j, (chosen, heard) in zip(places, ask(self.sources, rows, wanted[:, places]), strict=True):
            if len(chosen):
                one = self.truths.usable(heard)
                values = values.astype(np.result_type(values, one.values))
                values[chosen, j], states[chosen, j] = one.values[:, 0], one.states[:, 0]
        if recorded is not None:
            names = [entity.name for entity in panel.entities if entity.kind == "expert"]
            table = self.truths.usable(Answers.from_table(recorded, _panel(names)))
            check.same_shape(table.values, "answers", (len(wanted), len(names)), "one row for each row of `X`")
            values = values.astype(np.result_type(values, table.values))
            places = [panel.names.index(name) for name in names]
            values[:, places], states[:, places] = table.values, table.states
        return Answers(values, states)


def lesson(
    rows: Queries,
    y: np.ndarray,
    truths: Truths,
    *,
    experts: Any,  # noqa: ANN401 - by scikit-learn's contract anything
    base: Any,  # noqa: ANN401
    answers: Any,  # noqa: ANN401
    fees: Any,  # noqa: ANN401
    groups: Any,  # noqa: ANN401
    info: Any,  # noqa: ANN401
    fold: Int[np.ndarray, " n"],
    error: Any,  # noqa: ANN401
    one_stage: bool,
    seed: int,
) -> tuple[Log, Live]:
    """Return the log that teaches an estimator's policy, and who is there to be asked.

    Args:
        rows: the queries.
        y: shape (n,), the truth as the user gave it.
        truths: labels or numbers.
        experts: live ones, or None.
        base: an estimator that is the base; anything else is `fit`'s business.
        answers: a table of recorded answers, or None.
        fees: what the experts charge.
        groups: shape (n,), or None.
        info: shape (n, J), what came back with recorded answers, or None.
        fold: shape (n,), for experts that are not fitted.
        error: how an answer is scored.
        one_stage: whether the labels are entities.
        seed: of experts that have none.
    """
    n, right = len(rows), truths.plain(y)
    sources: list[Source] = []
    if answers is None:
        pool = default_experts(truths.task) if experts is None else named_experts(experts)
        found = [consult(name, model, rows, y, fold, seed=seed) for name, model in pool]
        sources, names = [source for source, _ in found], [name for name, _ in pool]
        said = _beside([truths.usable(each) for _, each in found])
    else:
        names, said = _recorded(answers, truths, n)
    charged = expert_fees(fees, names, n)
    # A constant fee is itself: its mean over many rows would be off in the last digits.
    usual = charged[0] if (charged == charged[0]).all() else charged.mean(axis=0)
    entities: tuple[Entity, ...] = tuple(Entity(name, fee=float(fee)) for name, fee in zip(names, usual, strict=True))
    if one_stage and isinstance(truths, Labels):
        panel, front = _with_labels(right, truths, entities, n)
    elif callable(getattr(base, "predict", None)) and not isinstance(base, type):
        first = Entity(next(name for name in ("base", "given-base", "the-base") if name not in names), "base")
        source, own = consult(first.name, base, rows, y, fold, seed=seed)
        sources.insert(0, Source(source.name, source.model, kind="base"))
        panel, front = Panel((first, *entities)), truths.usable(own)
    else:
        panel, front = Panel(entities), None
    if front is not None:
        said = _beside([front, said])
        charged = np.hstack([np.zeros((n, front.values.shape[1])), charged])
    told = told_of(info, panel, n)
    columns = Columns(
        truth="y",
        answers="answer_*",
        features=KNOWN,
        info=None if told is None else "info_*",
        task=truths.task,
        error=truths.error if isinstance(truths, Labels) else error if isinstance(error, str) else OWN,
    )
    # Of classes, whatever the user says comes to what each mistake costs.
    error = columns.scoring if isinstance(truths, Labels) else error
    log = Log(
        columns=columns,
        panel=panel,
        task=truths.task,
        known={KNOWN: rows.array},
        answers=said,
        truth=right,
        errors=task_errors(said, right, panel=panel, error=scored_by(error, truths.task)),
        charged=Charged(charged),
        sampling=Sampling(np.arange(n) if groups is None else groups),
        info=np.full(said.values.shape, np.nan) if told is None else told,
        error=error,
    )
    return log, Live(tuple(sources), truths)


def told_of(info: Any, panel: Panel, n: int) -> np.ndarray | None:  # noqa: ANN401
    """Return what came back with the experts' answers as a table of the whole panel, shape (n, |A|), or None."""
    if info is None:
        return None
    experts = np.flatnonzero(panel.is_kind("expert"))
    names = [panel.names[j] for j in experts]
    if isinstance(info, Mapping):
        check.columns(list(info), names, "info")
        info = np.column_stack([check.finite_or_nan(info[name], f"info of {name}") for name in names])
    given = check.table(info, "info", entities=names, allow_nan=True)
    check.same_shape(given, "info", (n, len(experts)), "one row for each row of `X`, one column for each expert")
    told = np.full((n, len(panel)), np.nan)
    told[:, experts] = given
    return told


def group_column(groups: Any, n: int) -> np.ndarray | None:  # noqa: ANN401
    """Return the groups as an array (n,), or None."""
    if groups is None:
        return None
    array = np.asarray(groups)
    check.same_shape(array, "groups", (n,), "one group for each row of `X`")
    return array


def expert_folds(
    y: np.ndarray, groups: np.ndarray | None, count: int, *, truths: Truths, seed: int
) -> Int[np.ndarray, " n"]:
    """Return the fold of each row for experts that are not fitted, shape (n,).

    Groups stay whole; without groups each label is spread evenly. Unlike scikit-learn's stratified folds it takes
    labels rarer than there are folds without a word.
    """
    n = len(y)
    if groups is not None or truths.task == "regression":
        return folds(np.arange(n) if groups is None else groups, count, random_state=seed)
    shuffled = np.random.default_rng(seed).permutation(n)
    fold = np.empty(n, dtype=np.intp)
    fold[shuffled[np.argsort(y[shuffled], kind="stable")]] = np.arange(n) % count
    return fold


def _with_labels(right: np.ndarray, truths: Labels, experts: tuple[Entity, ...], n: int) -> tuple[Panel, Answers]:
    """The experts behind the labels, of which each always answers itself (paper, Section 3, A^1s)."""
    labels: list[Any] = truths.plain(truths.classes).tolist()
    taken = [entity.name for entity in experts if entity.name in map(str, labels)]
    if taken:
        raise InvalidInputError(
            f"`experts` and columns of `answers` must not be named like a label of `y`, got {taken[0]!r}: rename it."
        )
    said = np.tile(np.array(labels, dtype=right.dtype), (n, 1))
    return Panel.one_stage(labels, experts), Answers(said, np.full(said.shape, Cell.ANSWERED, dtype=np.int8))


def _recorded(given: Any, truths: Truths, n: int) -> tuple[list[str], Answers]:  # noqa: ANN401
    """The names of the columns of a table of answers, and these, shape (n, J)."""
    if isinstance(given, Mapping) or (hasattr(given, "columns") and not isinstance(given, np.ndarray)):
        names = [str(name) for name in (given if isinstance(given, Mapping) else given.columns)]
    else:
        shape = np.shape(given) if isinstance(given, np.ndarray) else np.array(given, dtype=object).shape
        names = [f"expert-{j}" for j in range(shape[1] if len(shape) > 1 else 1)]
    said = truths.usable(Answers.from_table(given, _panel(names)))
    check.same_shape(said.values, "answers", (n, len(names)), "one row for each row of `X`")
    return names, said


def _beside(parts: Sequence[Answers]) -> Answers:
    return Answers(np.hstack([part.values for part in parts]), np.hstack([part.states for part in parts]))


def _panel(names: Sequence[str]) -> Panel:
    return Panel(tuple(Entity(name) for name in names))

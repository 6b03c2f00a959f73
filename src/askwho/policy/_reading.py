"""What came back, from a table to answers: by the log's columns or the entities' names, matched by id."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from askwho import _validation as check
from askwho.core import Answers, Cell, Panel, is_null
from askwho.data import Table, as_texts, named, table_of
from askwho.exceptions import InvalidInputError
from askwho.policy._decision import Decisions
from askwho.policy._ids import checked_ids

if TYPE_CHECKING:
    from askwho.policy._policy import Policy


@dataclass(frozen=True, eq=False)
class Came:
    """What came back with decisions, row by row.

    Args:
        answers: of those who do not answer for themselves, or of the whole panel.
        info: shape (n, |A|), what came back with the answers; None where nothing ever does.
        fees: shape (n, |A|), what was charged: said by the table, or as the decisions expected.
    """

    answers: Answers
    info: Float[np.ndarray, "n a"] | None
    fees: Float[np.ndarray, "n a"]


def what_came(policy: "Policy", decisions: Decisions, table: Table, *, by_position: bool) -> Came:
    """Return what a table says came back, in the order of the decisions."""
    rows = _matched(decisions, table, policy.id_column, by_position=by_position)
    there = rows >= 0
    answers = _answers(policy, table, needed=True)
    answers = answers.at(rows)
    states = np.where(there[:, None], answers.states, np.int8(Cell.NOT_ASKED)).astype(np.int8)
    info = info_of(policy, table)
    if info is not None:
        info = np.where(there[:, None], info[rows], np.nan)
    fees = np.array(decisions.seen.fees)
    if isinstance(policy.columns.fees, str):
        for name, source in named(policy.columns.fees, list(table), "fees", optional=True).items():
            if name in policy.panel.names:
                j = policy.panel.names.index(name)
                charged = check.finite_or_nan(table[source], source)[rows]
                fees[:, j] = np.where(there & ~np.isnan(charged), charged, fees[:, j])
        check.nonnegative(fees, "fees")
    return Came(replace(answers, states=states), info, fees)


def answers_so_far(
    policy: "Policy",
    queries: Table | None,
    given: Any,  # noqa: ANN401 - answers, or a table in any form
    info: Float[np.ndarray, "n _"] | None,
    n: int,
) -> tuple[Answers | None, Float[np.ndarray, "n a"] | None]:
    """Return what was answered so far, and what came with it, row by row with n queries."""
    info = whole_info(policy.panel, info, n)
    if isinstance(given, Answers):
        return given, info
    table = queries if given is None else table_of(given, "answers")
    if table is None:
        return None if info is None or policy.columns.answers is not None else _told(policy.panel, info), info
    length = len(next(iter(table.values())))
    if length != n:
        raise InvalidInputError(f"`answers` must have a row for each of the {n} queries, got {length}.")
    return _answers(policy, table, needed=False), info_of(policy, table) if info is None else info


def whole_info(panel: Panel, info: Float[np.ndarray, "n _"] | None, n: int) -> Float[np.ndarray, "n a"] | None:
    """Return what came back with answers, shape (n, |A|): given so, or of those alone who do not answer for themselves.

    Nothing comes back from those who do.
    """
    if info is None or info.shape == (n, len(panel)):
        return info
    outside = np.flatnonzero(~panel.own)
    check.same_shape(info, "info", (n, len(outside)), "one for each query and entity, as the answers have")
    whole = np.full((n, len(panel)), np.nan)
    whole[:, outside] = info
    return whole


def info_of(policy: "Policy", table: Table) -> Float[np.ndarray, "n a"] | None:
    """Return what came back with the answers, shape (n, |A|), NaN where nothing did; None where nothing ever does."""
    pattern = policy.columns.info
    if pattern is None:
        return None
    told = np.full((len(next(iter(table.values()))), len(policy.panel)), np.nan)
    for name, source in named(pattern, list(table), "info", optional=True).items():
        if name in policy.panel.names:
            told[:, policy.panel.names.index(name)] = check.finite_or_nan(table[source], source)
    return told


def _answers(policy: "Policy", table: Table, *, needed: bool) -> Answers:
    """The answers of everybody who does not answer for itself, by the log's columns or by name."""
    panel, pattern = policy.panel, str(policy.columns.answers)
    outside = tuple(entity for entity, own in zip(panel.entities, panel.own, strict=True) if not own)
    if policy.columns.answers is None:
        return _of_grades(policy, table, needed=needed)
    there = named(pattern, list(table), "answers", optional=True)
    if not any(entity.name in there for entity in outside):
        there = {entity.name: entity.name for entity in outside if entity.name in table}
    if needed and not there:
        raise InvalidInputError(f"`answers` must have columns of answers, {pattern!r}, got {list(table)}.")
    n = len(next(iter(table.values())))
    same = policy.columns.same
    given = {
        entity.name: as_texts(table[there[entity.name]], same)
        if entity.name in there
        else np.full(n, None, dtype=object)
        for entity in outside
    }
    # An empty cell tells nothing: nobody was asked, or nothing came yet.
    return Answers.from_table(given, Panel(outside))


def _of_grades(policy: "Policy", table: Table, *, needed: bool) -> Answers:
    """Who was asked, where nobody knows a grade yet: of whom something came back, or an answer stands by the name."""
    panel, info = policy.panel, info_of(policy, table)
    there = {name for name in panel.names if name in table}
    told = named(policy.columns.info, list(table), "info", optional=True) if policy.columns.info else {}
    if needed and not there and not any(name in told for name in panel.names):
        raise InvalidInputError(
            f"`answers` must have columns of what came back, {policy.columns.info!r}, or of the entities' names, got "
            f"{list(table)}."
        )
    spoke = np.zeros((len(next(iter(table.values()))), len(panel)), dtype=bool) if info is None else ~np.isnan(info)
    for name in there:
        spoke[:, panel.index(name)] |= ~is_null(table[name])
    return _spoke(spoke)


def _told(panel: Panel, info: Float[np.ndarray, "n a"]) -> Answers:
    """Who was asked, by what came back alone."""
    return _spoke(~np.isnan(info) & ~panel.own)


def _spoke(spoke: Bool[np.ndarray, "n a"]) -> Answers:
    """Answers of which nothing is known but whose there are."""
    states = np.where(spoke, Cell.ANSWERED, Cell.NOT_ASKED).astype(np.int8)
    return Answers(np.zeros(states.shape), states)


def _matched(decisions: Decisions, table: Table, name: str, *, by_position: bool) -> np.ndarray:
    """Which row of the table belongs to each decision, shape (n,); −1 where none does."""
    n, length = len(decisions), len(next(iter(table.values())))
    if name not in table:
        if not by_position:
            raise InvalidInputError(
                f"`answers` must have the column {name!r} that names the queries, got {list(table)}: "
                "add it, or say that rows are matched by position."
            )
        if length != n:
            raise InvalidInputError(f"`answers` must have a row for each route, got {length} for {n}.")
        return np.arange(n)
    place = {each: row for row, each in enumerate(checked_ids(table[name], length, name).tolist())}
    rows = np.array([place.get(each, -1) for each in decisions.ids.tolist()], dtype=np.intp)
    unknown = set(place) - set(decisions.ids.tolist())
    if unknown:
        raise InvalidInputError(f"`{name}` must be one that was routed, got {sorted(unknown)[0]!r}, which was not.")
    return rows

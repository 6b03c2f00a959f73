"""Routes and the answers to them, batch by batch: side by side where both are in one order, by an index where not."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from askwho.core import Answers, Cell
from askwho.data import Table, id_texts, read_batches, table_of
from askwho.exceptions import InvalidInputError
from askwho.policy import Decisions, Policy, answer_columns, route_columns


def matched(
    policy: Policy, routes: Path, answers: Path, *, by_position: bool
) -> Iterator[tuple[Decisions, Table | Answers]]:
    """Yield batches of routes, read back, each with the answers to it.

    Files in one order are read side by side, and never held whole; of any other order the answers are.

    Args:
        policy: that made the routes.
        routes: what `askwho route` wrote.
        answers: what came back.
        by_position: whether rows are matched by their place.
    """
    name = policy.id_column
    index: dict[str, int] = {}
    whole: Table | None = None
    taken = np.zeros(0, dtype=bool)
    before = 0
    pairs = itertools.zip_longest(
        read_batches(routes, name="routes", texts=policy.route_texts, only=route_columns),
        read_batches(answers, name="answers", texts=[name], only=lambda there: answer_columns(policy, there)),
    )
    for routed, answered in pairs:
        if by_position:
            _same_length(routed, answered, before)
        if whole is None and routed is not None and answered is not None:
            aside = by_position or _ids(routed, "id") == _ids(answered, name)
            if aside:
                before += len(next(iter(routed.values())))
                yield policy.read(routed), answered
                continue
        if whole is None:
            whole = table_of(answers, "answers", texts=[name])
            listed = _ids(whole, name)
            index = {each: row for row, each in enumerate(listed)}
            if len(index) < len(listed):
                raise InvalidInputError(f"`{name}` must name each query once, got one of them twice in the answers.")
            # Those who were read side by side came first.
            taken = np.arange(len(index)) < before
        if routed is None:
            continue
        decisions = policy.read(routed)
        rows = np.array([index[each] for each in decisions.ids.tolist() if each in index], dtype=np.intp)
        if taken[rows].any():
            raise InvalidInputError(f"`{name}` must name each query once, got one of them twice in the routes.")
        taken[rows] = True
        some = {column: values[rows] for column, values in whole.items()}
        yield decisions, some if rows.size else _nothing(decisions)
    if not taken.all():
        raise InvalidInputError(
            f"`{name}` must be one that was routed, got {int((~taken).sum())} in the answers that were not, such as "
            f"{list(index)[int(taken.argmin())]!r}."
        )


def _nothing(decisions: Decisions) -> Answers:
    """What came back of queries of which nothing did yet."""
    states = np.full((len(decisions), len(decisions.panel)), Cell.NOT_ASKED, dtype=np.int8)
    return Answers(np.zeros(states.shape), states)


def _ids(table: Table, name: str) -> list[str]:
    if name not in table:
        what = "routes" if name == "id" and "order" in table else "answers"
        hint = "route again." if what == "routes" else "add it, or pass --by-position to match row by row."
        raise InvalidInputError(f"`{what}` must have the column {name!r}, got {list(table)}: {hint}")
    return [str(value) for value in id_texts(table[name]).tolist()]


def _same_length(routes: Table | None, answers: Table | None, before: int) -> None:
    n, m = (0 if table is None else len(next(iter(table.values()))) for table in (routes, answers))
    if n != m:
        raise InvalidInputError(f"`answers` must have a row for each route, got {before + m} for {before + n}.")

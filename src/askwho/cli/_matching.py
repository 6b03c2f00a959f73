"""Routes and the answers to them, batch by batch: side by side where both are in one order, by an index where not."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from askwho.data import Table, id_texts, read_batches, read_table
from askwho.exceptions import InvalidInputError


def matched(routes: Path, answers: Path, name: str, *, by_position: bool) -> Iterator[tuple[Table, Table]]:
    """Yield batches of routes, each with the answers to it.

    Files in one order are read side by side, and never held whole; of any other order the answers are.

    Args:
        routes: what `askwho route` wrote.
        answers: what came back.
        name: the column of ids in the answers.
        by_position: whether rows are matched by their place.
    """
    index: dict[str, int] | None = None
    whole: Table = {}
    used = before = 0
    pairs = itertools.zip_longest(read_batches(routes, name="routes"), read_batches(answers, name="answers"))
    for routed, answered in pairs:
        if by_position:
            before = _same_length(routed, answered, before)
        if index is None and routed is not None and answered is not None:
            side_by_side = by_position or _ids(routed, "id") == _ids(answered, name)
            if side_by_side:
                used += len(routed["k"]) if "k" in routed else 0
                yield routed, answered
                continue
        if index is None:
            whole = read_table(answers)
            listed = _ids(whole, name)
            index = {each: row for row, each in enumerate(listed)}
            if len(index) < len(listed):
                raise InvalidInputError(f"`{name}` must name each query once, got one of them twice in the answers.")
        if routed is None:
            continue
        rows = [index[each] for each in _ids(routed, "id") if each in index]
        used += len(rows)
        if not rows:
            raise InvalidInputError(f"`{name}` must be one that was routed: the answers hold none of these routes.")
        yield routed, {column: values[np.array(rows)] for column, values in whole.items()}
    if index is not None and used < len(index):
        raise InvalidInputError(
            f"`{name}` must be one that was routed, got {len(index) - used} in the answers that were not."
        )


def _ids(table: Table, name: str) -> list[str]:
    if name not in table:
        what = "routes" if name == "id" and "order" in table else "answers"
        hint = "route again." if what == "routes" else "add it, or pass --by-position to match row by row."
        raise InvalidInputError(f"`{what}` must have the column {name!r}, got {list(table)}: {hint}")
    return id_texts(table[name]).tolist()


def _same_length(routes: Table | None, answers: Table | None, before: int) -> int:
    n, m = (0 if table is None else len(next(iter(table.values()))) for table in (routes, answers))
    if n != m:
        raise InvalidInputError(f"`answers` must have a row for each route, got {before + m} for {before + n}.")
    return before + n

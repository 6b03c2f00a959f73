"""Who can be asked, as a user types it: names, who is away, or columns of the queries that say so for each."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from askwho.core import Panel, is_null
from askwho.data import Table, named
from askwho.exceptions import InvalidInputError
from askwho.policy._available import check_known, who_is_there

if TYPE_CHECKING:
    from askwho.policy._policy import Policy

# Before the name of somebody who is away, as before a column that a pattern leaves out.
_AWAY = "!"


def told_columns(given: str | None, present: Sequence[str]) -> list[str]:
    """Return the columns of queries that say who can be asked, of those that are there.

    Args:
        given: as in `told_there`.
        present: the columns that there are.
    """
    return (
        []
        if given is None or not _of_queries(given)
        else list(named(given, present, "available", optional=True).values())
    )


def told_there(policy: "Policy", given: str | None, table: Table, *, somebody: bool) -> Bool[np.ndarray, "n a"] | None:
    """Return who can be asked about each query, shape (n, |A|), or None where nothing is said of it.

    Args:
        policy: that asks.
        given: `anna,bert` for these alone; `!anna,!bert` for all but these; with a star a pattern of columns, such as
            `there_*`, that are true where an entity can be asked, and whoever has none cannot. A base of our own always
            can, unless it has a column.
        table: the queries.
        somebody: whether there must be somebody for each of them.
    """
    if given is None:
        return None
    panel, n = policy.panel, len(next(iter(table.values())))
    if _of_queries(given):
        columns = named(given, list(table), "available", optional=True)
        if not columns:
            raise InvalidInputError(
                f"`available` must match columns of the queries, got {given!r}: they have {', '.join(table)}."
            )
        check_known(panel, list(columns))
        mask = who_is_there(panel, {who: _mask(table, column) for who, column in columns.items()}, n, somebody=False)
    else:
        mask = who_is_there(panel, _names(given, panel), n, somebody=False)
    nobody = np.flatnonzero(~mask.any(axis=1))
    if somebody and len(nobody):
        ids = table.get(policy.id_column)
        which = "some queries" if ids is None else f"the query {str(ids[nobody[0]])!r}"
        raise InvalidInputError(f"`available` must leave somebody to ask, got {given!r}: nobody is there for {which}.")
    return mask


def _of_queries(given: str) -> bool:
    return "*" in given


def _names(given: str, panel: Panel) -> dict[str, bool]:
    """Who is there, and who is not, by name or as all but some."""
    names = panel.names
    # Whoever has a comma in his name is named alone.
    whole = given.strip()
    alone = whole in names or whole.removeprefix(_AWAY) in names
    pieces = [whole] if alone else [piece.strip() for piece in given.split(",") if piece.strip()]
    away = [piece.removeprefix(_AWAY) for piece in pieces if piece.startswith(_AWAY) and piece not in names]
    if not away and pieces:
        return dict.fromkeys(pieces, True)
    if len(away) < len(pieces) or not pieces:
        raise InvalidInputError(
            f"`available` must be who is there, such as {names[0]!r}, or who is away, such as {_AWAY + names[0]!r}, "
            f"or columns of the queries, such as 'there_*', got {given!r}."
        )
    check_known(panel, away)
    return {name: name not in away for name in names}


def _mask(table: Mapping[str, np.ndarray], name: str) -> Bool[np.ndarray, " n"]:
    """A column of who is there: true and false, or 1 and 0."""
    cells = table[name]
    if cells.ndim == 1:
        if is_null(cells).any():
            raise InvalidInputError(
                f"`available` must be true or false for each query, got an empty cell in {name!r}: write false where "
                "somebody is away."
            )
        if all(cell in (0, 1) for cell in set(cells.tolist())):
            return cells.astype(bool)
    raise InvalidInputError(f"`available` must be true or false for each query, got something else in {name!r}.")

"""Columns of a panel that has changed: one entity more, or one fewer."""

from collections.abc import Mapping
from dataclasses import replace

from askwho.data._columns import LEFT_OUT, Columns, named
from askwho.exceptions import InvalidInputError


def column_of(columns: Columns, name: str) -> str:
    """Return the column of somebody's answers, or grades: what the pattern's star stands for is the name."""
    pattern = str(columns.grades if columns.answers is None else columns.answers)
    return _column(pattern, name)


def with_entity(columns: Columns, name: str, fees: Mapping[str, float]) -> Columns:
    """Return the columns of a log that has somebody more, or has somebody back.

    Args:
        columns: of the others.
        name: whose column may be there now.
        fees: what everybody charges, he too.
    """
    what = "grades" if columns.answers is None else "answers"
    charged = columns.fees
    if isinstance(charged, str):
        charged = _joined(charged, name)
    elif charged is not None or any(fees.values()):
        charged = dict(fees)
    return replace(columns, **{what: _joined(str(getattr(columns, what)), name)}, fees=charged)


def without_entity(columns: Columns, name: str) -> Columns:
    """Return the columns of a log whose column of somebody, where it is still there, is not read."""
    what = "grades" if columns.answers is None else "answers"
    charged, nulls = columns.fees, columns.nulls
    if isinstance(charged, str):
        charged = _left_out(charged, name)
    elif charged is not None:
        charged = {other: fee for other, fee in charged.items() if other != name}
    if isinstance(nulls, Mapping):
        nulls = {other: meaning for other, meaning in nulls.items() if other != name}
    return replace(columns, **{what: _left_out(str(getattr(columns, what)), name)}, fees=charged, nulls=nulls)


def _pieces(pattern: str) -> list[str]:
    return [piece.strip() for piece in pattern.split(",")]


def _column(pattern: str, name: str) -> str:
    """The first column that a pattern would call by that name; the name itself where no star does."""
    stars = [piece for piece in _pieces(pattern) if piece.count("*") == 1 and not piece.startswith(LEFT_OUT)]
    return stars[0].replace("*", name) if stars and name not in _pieces(pattern) else name


def _joined(pattern: str, name: str) -> str:
    """The pattern, so that it means the column of that name too."""
    column = _column(pattern, name)
    pieces = [piece for piece in _pieces(pattern) if piece != _but(column)]
    found = named(",".join(pieces), [column], "answers", optional=True)
    if name not in found:
        if "," in column:
            raise InvalidInputError(f"`name` must be without commas where columns are listed, got {name!r}.")
        pieces.append(column)
    return ",".join(pieces)


def _left_out(pattern: str, name: str) -> str:
    """The pattern, so that it does not mean the column of that name any more."""
    column = _column(pattern, name)
    pieces = [piece for piece in _pieces(pattern) if piece != column]
    if named(",".join(pieces), [column], "answers", optional=True):
        pieces.append(_but(column))
    return ",".join(pieces)


def _but(column: str) -> str:
    # A comma ends a piece: any letter may stand in its place.
    return LEFT_OUT + column.replace(",", "?")

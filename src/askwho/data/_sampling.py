"""How a log's rows came to be there: which belong together, when each was, and with what probability it is as it is."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped

from askwho import _validation as check
from askwho.core import is_null
from askwho.data._columns import Columns
from askwho.data._tables import Table
from askwho.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class Sampling:
    """The sampling design of a log, as far as its columns tell.

    Args:
        groups: shape (n,), what must stay on one side of a split.
        time: shape (n,), when each row was, in whatever unit, as numbers that grow; None where no column says.
        propensity: shape (n,), the probability with which a row tells what it tells: that those were asked who were,
            and that the truth was looked up; None likewise.
        dated: whether `time` is in seconds since 1970, of dates.
        audited: shape (n,), of which rows the truth is known; None where it is of all, or where there are grades.
        drawn_from: how many rows there were, where these are a sample of them; None where they are all.
    """

    groups: Shaped[np.ndarray, " n"]
    time: Float[np.ndarray, " n"] | None = None
    propensity: Float[np.ndarray, " n"] | None = None
    dated: bool = False
    audited: Bool[np.ndarray, " n"] | None = None
    drawn_from: int | None = None

    @classmethod
    def of(cls, table: Table, columns: Columns, *, first: int = 0) -> "Sampling":
        """Return what the columns of a table tell of it.

        Args:
            table: columns by name.
            columns: which column is what.
            first: which row of the log the first of the table is.
        """
        n = len(next(iter(table.values())))
        chance = columns.propensity
        unknown = np.zeros(n, dtype=bool) if columns.truth is None else is_null(table[columns.truth])
        time, dated = (None, False) if columns.time is None else _times(table[columns.time], columns.time)
        return cls(
            table[columns.groups] if columns.groups else np.arange(first, first + n),
            time,
            # Of a later log it may not be told, though it was of the first.
            None if chance is None or chance not in table else _probabilities(table[chance], chance),
            dated,
            ~unknown if unknown.any() else None,
        )

    def check_told(self, errors: Float[np.ndarray, "n a"], columns: Columns, *, first: int = 0) -> None:
        """Raise where a row tells something, and not with what probability, though others do.

        Args:
            errors: shape (n, |A|), NaN where nobody was asked, or nobody knows.
            columns: which column is what.
            first: which row of the log the first of these is.
        """
        if self.propensity is None:
            return
        missing = np.flatnonzero(~np.isnan(errors).all(axis=1) & np.isnan(self.propensity))
        if len(missing):
            raise InvalidInputError(
                f"`propensity` must be told wherever somebody was asked, got {len(missing)} empty cells in "
                f"{columns.propensity!r}, the first in row {first + missing[0]}: where a set was certain it is 1."
            )

    def rows(self, index: Any) -> "Sampling":  # noqa: ANN401 - whatever picks rows of an array
        """Return the design of some of the rows."""
        time, propensity, audited = (
            None if each is None else each[index] for each in (self.time, self.propensity, self.audited)
        )
        return Sampling(self.groups[index], time, propensity, self.dated, audited, self.drawn_from)


def moment(time: float, *, dated: bool) -> str:
    """Return a moment as it is shown: a date as ISO 8601 writes it, as short as it can be, or a number.

    >>> moment(1767225600.0, dated=True), moment(1767268800.5, dated=True), moment(12.5, dated=False)
    ('2026-01-01', '2026-01-01T12:00:00.500000', '12.5')
    """
    if not dated:
        return f"{time + 0.0:.10g}"
    day, _, hour = str(np.datetime64(round(time * 1e6), "us")).partition("T")
    hour = hour.removesuffix(".000000")
    return day if hour == "00:00:00" else f"{day}T{hour}"


def _times(values: np.ndarray, name: str) -> tuple[np.ndarray, bool]:
    """When each row was, as numbers, and whether by dates: these become seconds; texts must be ISO 8601's."""
    if is_null(values).any():
        raise InvalidInputError(f"`time` must be known of every query, got an empty cell in {name!r}: fill it.")
    if values.dtype.kind in "OU" and any(not isinstance(each, int | float) for each in values.tolist()):
        try:
            # Offsets from UTC are read by Python alone; without one a time is taken as it stands.
            values = np.array([_instant(each) for each in values.tolist()], dtype="datetime64[us]")
        except ValueError:
            raise InvalidInputError(
                f"`time` must hold numbers, dates, or texts such as 2026-01-31T12:00, got something else in {name!r}."
            ) from None
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]").astype(np.int64) / 1e6, True
    return check.table(check.numeric(values, name)[:, None], name)[:, 0], False


def _instant(value: object) -> np.datetime64:
    if isinstance(value, np.datetime64):
        return value
    said = datetime.fromisoformat(str(value))
    return np.datetime64(said if said.tzinfo is None else said.astimezone(UTC).replace(tzinfo=None))


def _probabilities(values: np.ndarray, name: str) -> np.ndarray:
    """Probabilities of what was seen to happen: above 0, at most 1."""
    found = check.finite_or_nan(values, name)
    wrong = np.flatnonzero(~((found > 0.0) & (found <= 1.0)) & ~np.isnan(found))
    if len(wrong):
        raise InvalidInputError(
            f"`{name}` must hold probabilities above 0 and at most 1, got {found[wrong[0]]:g} in row {wrong[0]}."
        )
    return found

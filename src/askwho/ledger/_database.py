"""What the books ask of a database: a few verbs that SQLite and PostgreSQL both have."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from askwho.exceptions import AskwhoError

Rows = list[tuple[Any, ...]]
"""What a query finds."""
Query = tuple[str, Sequence[Any]]
"""A query, and its values."""
Write = tuple[str, Sequence[Sequence[Any]]]
"""A statement, and rows of values to carry it out for; one row of none where it takes none."""


class LedgerError(AskwhoError):
    """The database could not be reached, was locked for too long, or failed; the message says what it said."""


class BusyError(Exception):
    """Another process is within a transaction, and nobody was to wait for its end."""


class UndoneError(Exception):
    """A transaction that certainly does not stand: something in it was refused before its end."""


@runtime_checkable
class Database(Protocol):
    """One connection. Statements are written with `?` for each value, in words that both databases know."""

    clustered: str
    """What is said behind a table whose rows are to lie in the order of their key, where that can be said."""

    def among(self, keys: Sequence[str]) -> tuple[str, tuple[Any, ...]]:
        """Return what is said behind a column that must be one of some keys, and its values.

        There are a few ways to say it, whatever their number is: a statement that was said before is not read again.
        """
        ...

    local: bool
    """Whether a transaction that need not outlast the loss of power waits for neither a network nor a disk."""

    def begin(self, queries: Sequence[Query], *, durable: bool, wait: bool = True) -> tuple[int, list[Rows]]:
        """Begin a transaction before which all others have ended, and beside which none begins.

        Args:
            queries: what to look up first, all at once.
            durable: whether what is committed must outlast the loss of power.
            wait: whether to wait for the others; if not, `BusyError` where there is one. One that is not `local` waits.

        Returns:
            The version of the tables, and what each query finds.
        """
        ...

    def prepare(self) -> bool:
        """Begin a transaction likewise, where there may be no tables yet; return whether there are."""
        ...

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Return what a query finds."""
        ...

    def commit(self, writes: Sequence[Write] = ()) -> None:
        """Write, and end the transaction: all of it stands, or none (`UndoneError`), or nobody knows (other errors)."""
        ...

    def close(self) -> None:
        """Leave; what was not committed is undone."""
        ...


@runtime_checkable
class Place(Protocol):
    """Where a ledger is."""

    def connect(self) -> Database:
        """Return a new connection that may write; create what is not there."""
        ...

    def reader(self) -> Database:
        """Return a new connection that only reads, and creates nothing."""
        ...

    def remove(self) -> None:
        """Clear away what must not outlast the ledger; a place that is to stay keeps everything."""
        ...

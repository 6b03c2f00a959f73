"""What the books ask of a database: a few verbs that SQLite and PostgreSQL both have."""

from collections.abc import Sequence
from typing import Any, Protocol

from askwho.exceptions import AskwhoError


class LedgerError(AskwhoError):
    """The database could not be reached, was locked for too long, or failed; the message says what it said."""


class Database(Protocol):
    """One connection. Statements are written with `?` for each value, in words that both databases know."""

    def begin(self, *, durable: bool) -> int:
        """Begin a transaction before which all others have ended and beside which none begins; return the version.

        Args:
            durable: whether what is committed must outlast the loss of power.
        """
        ...

    def prepare(self) -> bool:
        """Begin a transaction likewise, where there may be no tables yet; return whether there are."""
        ...

    def commit(self) -> None:
        """End the transaction: all of it stands."""
        ...

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        ...

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Carry out one statement for each of some rows of values."""
        ...

    def close(self) -> None:
        """Leave; what was not committed is undone."""
        ...


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

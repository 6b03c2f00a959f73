"""PostgreSQL: the same tables on a server. What differs from SQLite is in this file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from askwho.exceptions import InvalidInputError, missing_dependency
from askwho.ledger._database import Database, LedgerError, Query, Rows, UndoneError, Write

if TYPE_CHECKING:
    import psycopg

# Any number that others are unlikely to take ("askwho" by telephone keys): who makes the tables locks it.
_MAKING = 275946
# Seconds to wait for a server that does not answer, unless the address says otherwise.
_PATIENCE = 10


class Postgres:
    """A connection to a server.

    Transactions are in a row over all processes, as those of SQLite are: each begins by locking the one row of
    `askwho_ledger`. Read committed, so that what others committed while it waited is seen. Unless it is to be durable a
    commit waits for no disk (`synchronous_commit` off): should the server's machine lose power, the last commits are
    undone, in their order and whole, those of some 0.6 s with the server's usual settings.
    """

    def __init__(self, url: str, *, only_read: bool = False) -> None:
        driver = _driver()
        patience = {} if "connect_timeout" in url else {"connect_timeout": _PATIENCE}
        try:
            self._connection: psycopg.Connection[Any] = driver.connect(url, autocommit=True, **patience)
        except driver.Error as error:
            raise LedgerError(
                f"The ledger must be reached, got no connection to {masked(url)}: {_said(error)}."
            ) from None
        if only_read:
            self._connection.execute("SET default_transaction_read_only = on")

    clustered = ""
    local = False

    def among(self, keys: Sequence[str]) -> tuple[str, tuple[Any, ...]]:
        """Return what is said behind a column that must be one of some keys, which are one value."""
        return "= ANY(?)", (list(keys),)

    def begin(self, queries: Sequence[Query], *, durable: bool, wait: bool = True) -> tuple[int, list[Rows]]:
        """Begin a transaction, once no other process is within one; all in one message and its answer."""
        del wait  # there is a server between
        with self._connection.pipeline():
            self._connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            self._connection.execute(f"SET LOCAL synchronous_commit = {'on' if durable else 'off'}".encode())
            locked = self._connection.execute("SELECT version FROM askwho_ledger FOR UPDATE")
            found = [self._connection.execute(_spelt(sql), values or None) for sql, values in queries]
        ((version,),) = locked.fetchall()
        return int(version), [cursor.fetchall() for cursor in found]

    def prepare(self) -> bool:
        """Begin a transaction where there may be no tables; return whether there are."""
        self._connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        self._connection.execute(f"SELECT pg_advisory_xact_lock({_MAKING})".encode())
        return self.exists()

    def exists(self) -> bool:
        """Return whether there are tables."""
        ((found,),) = self.rows("SELECT to_regclass('askwho_ledger') IS NOT NULL")
        return bool(found)

    def commit(self, writes: Sequence[Write] = ()) -> None:
        """Write, and end the transaction, in one message."""
        try:
            with self._connection.pipeline(), self._connection.cursor() as cursor:
                for sql, rows in writes:
                    cursor.executemany(_spelt(sql), rows)
                cursor.execute("COMMIT")
        except Exception as error:
            # What the server refuses it undoes; if it is gone, nobody knows how far it came.
            if self._connection.broken or self._connection.closed:
                raise
            raise UndoneError(str(error)) from error

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Return what a query finds."""
        return self._connection.execute(_spelt(sql), values or None).fetchall()

    def close(self) -> None:
        """Leave; what was not committed is undone."""
        self._connection.close()


@dataclass(frozen=True)
class PostgresPlace:
    """A database of a server.

    Args:
        url: `postgresql://user:password@host/database`, as psycopg reads it.
    """

    url: str

    def connect(self) -> Database:
        """Return a new connection that may write."""
        return Postgres(self.url)

    def reader(self) -> Database:
        """Return a new connection that only reads, and creates nothing."""
        database = Postgres(self.url, only_read=True)
        if not database.exists():
            database.close()
            raise InvalidInputError(f"`ledger` must be a ledger that is there, got {self}, where there are no tables.")
        return database

    def remove(self) -> None:
        """Keep everything."""

    def __str__(self) -> str:
        return masked(self.url)

    def __repr__(self) -> str:
        return f"PostgresPlace({masked(self.url)!r})"


def masked(url: str) -> str:
    """Return an address without its secrets.

    >>> masked("postgresql://me:secret@host:5432/books?password=secret")
    'postgresql://me:***@host:5432/books'
    """
    parts = urlsplit(url)
    user, sign, host = parts.netloc.rpartition("@")
    # A password whose sign was forgotten stands where the port does.
    host, colon, port = host.partition(":")
    shown = f"{host}{colon}{port if port.isdecimal() else '***' if port else ''}"
    return f"{parts.scheme}://{user.partition(':')[0] + ':***@' if sign else ''}{shown}{parts.path}"


def _said(error: Exception) -> str:
    """What a server or its driver said last, without what it quotes: of a garbled address that may be the password."""
    first = (str(error).strip().splitlines() or [""])[0]
    return re.sub(r'"[^"]*"', '"…"', first.rpartition(": ")[2])


def _spelt(sql: str) -> bytes:
    """A statement with the signs for values that psycopg knows; none of ours holds a question mark, or a percent."""
    return sql.replace("?", "%s").encode()


def _driver() -> Any:  # noqa: ANN401 - the module
    try:
        import psycopg  # noqa: PLC0415 - an extra, imported where it is needed
    except ImportError:
        raise missing_dependency("A ledger in PostgreSQL", "psycopg", "live") from None
    return psycopg

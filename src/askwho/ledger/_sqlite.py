"""SQLite: a file, written by one at a time, read by all meanwhile."""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askwho.exceptions import InvalidInputError
from askwho.ledger._database import BusyError, Database, LedgerError, Query, Rows, UndoneError, Write

# Seconds that another process may keep the file before a transaction is given up: its longest one, and then plenty.
_PATIENCE = 30.0
# Seconds between two looks at a file that another process writes: a transaction takes about as long. SQLite's own
# waiting sleeps up to a tenth of a second.
_LOOK_AGAIN = 0.0005
# Seconds between two times that what was committed is put on the disk for good: what the loss of power may cost.
_SYNC_EVERY = 1.0
# Bytes that the write-ahead log may grow to before the thread that puts it on the disk moves it into the file itself.
# Then the log is begun anew, and all must wait until the disk has it: not every second, and not every few commits.
_LONG_LOG = 16 << 20
# Pages of 4 KiB that it may grow to before whoever writes does so himself. The thread may never come to an end under
# load; this does.
_MOST_PAGES = 16_000


# Keys that are told one by one: a list in JSON takes SQLite longer to read than some rows.
_FEW = 4
# How that is said, by how many there are: a text that is made once is parsed once.
_SIGNS = [f"IN ({', '.join('?' * count)})" for count in range(_FEW + 1)]


class Sqlite:
    """A connection to a file in write-ahead mode.

    `synchronous` is NORMAL: a commit waits for no disk, and outlasts the end of the process, whatever ends it. The loss
    of power may undo the last commits, in their order and whole; a thread of its own puts them on the disk every
    second. A durable commit (FULL) waits for the disk, two to four milliseconds on many.
    """

    def __init__(self, path: Path, *, only_read: bool = False) -> None:
        self._durable = False
        try:
            address = f"{path.resolve().as_uri()}?mode={'rw' if only_read else 'rwc'}"
            # Whoever uses it holds no transaction open across threads: it is handed over from opener to writer once.
            self._connection = sqlite3.connect(
                address, uri=True, timeout=0.0, isolation_level=None, check_same_thread=False
            )
            if only_read:
                # What is no database is told by the first look into it.
                self._connection.execute("PRAGMA schema_version")
                self._connection.execute("PRAGMA query_only = ON")
            else:
                _patiently(lambda: self._connection.execute("PRAGMA journal_mode = WAL"))
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute(f"PRAGMA wal_autocheckpoint = {_MOST_PAGES}")
        except sqlite3.Error as error:
            raise LedgerError(f"The ledger must be a SQLite file, got {str(path)!r}: {error}.") from None
        self._syncer = None if only_read else _Syncer(path)

    clustered = "WITHOUT ROWID"
    local = True

    def among(self, keys: Sequence[str]) -> tuple[str, tuple[Any, ...]]:
        """Return what is said behind a column that must be one of some keys: one by one where they are few."""
        if len(keys) <= _FEW:
            return _SIGNS[len(keys)], tuple(keys)
        return "IN (SELECT value FROM json_each(?))", (json.dumps(keys),)

    def begin(self, queries: Sequence[Query], *, durable: bool, wait: bool = True) -> tuple[int, list[Rows]]:
        """Begin a transaction, once no other process writes; return the version, and what each query finds."""
        if durable != self._durable:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        _patiently(lambda: self._connection.execute("BEGIN IMMEDIATE"), wait=wait)
        ((version,),) = self.rows("SELECT version FROM askwho_ledger")
        return int(version), [self.rows(sql, values) for sql, values in queries]

    def prepare(self) -> bool:
        """Begin a transaction in a file that may be new; return whether there are tables."""
        _patiently(lambda: self._connection.execute("BEGIN IMMEDIATE"))
        return self.exists()

    def exists(self) -> bool:
        """Return whether there are tables."""
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'askwho_ledger'"))

    def commit(self, writes: Sequence[Write] = ()) -> None:
        """Write, and end the transaction."""
        try:
            for sql, rows in writes:
                self._connection.executemany(sql, rows)
        except Exception as error:
            raise UndoneError(str(error)) from error
        self._connection.execute("COMMIT")
        if self._syncer is not None and not self._syncer.behind.is_set():
            self._syncer.behind.set()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Return what a query finds."""
        return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        """Leave; what was not committed is undone."""
        if self._syncer is not None:
            self._syncer.stop()
        self._connection.close()


class _Syncer(threading.Thread):
    """Puts what was committed on the disk for good, every second, beside whoever writes.

    The log of a database is read up to its last whole commit: once it is on the disk, so is what was committed.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(name="askwho-ledger-sync", daemon=True)
        self.behind = threading.Event()
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._ending = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._ending.wait(_SYNC_EVERY):
            if self.behind.is_set():
                self.behind.clear()
                try:
                    self._sync()
                except (sqlite3.Error, OSError):
                    self.behind.set()  # somebody else was at it: the next time, then

    def _sync(self) -> None:
        # SQLite locks the file and its index, never the log: it may be opened and closed beside it.
        with self._log.open("rb+") as log:
            os.fsync(log.fileno())
            long = log.seek(0, os.SEEK_END) >= _LONG_LOG
        if long:
            # A connection for each time: one that is kept would hold the file open when its owner has left it.
            with contextlib.closing(sqlite3.connect(self._path, timeout=0.0, isolation_level=None)) as file:
                file.execute("PRAGMA wal_checkpoint(PASSIVE)")
                # Whoever writes next begins the log anew, and waits for the disk: rather here than where a query waits.
                file.execute("UPDATE askwho_ledger SET version = version")

    def stop(self) -> None:
        """End the thread; whoever closes the file last puts everything on the disk."""
        self._ending.set()
        self.join()


@dataclass(frozen=True)
class SqlitePlace:
    """A file.

    Args:
        path: of the file.
        scratch: a folder that goes when the ledger is closed; None where the file is to stay.
    """

    path: Path
    scratch: Path | None = None

    @classmethod
    def in_memory(cls) -> "SqlitePlace":
        """Return a place that nothing outlasts: a file among the temporary ones, so that readers find it too."""
        folder = Path(tempfile.mkdtemp(prefix="askwho-ledger-"))
        return cls(folder / "ledger.sqlite", folder)

    def connect(self) -> Database:
        """Return a new connection that may write; create the file if it is not there."""
        if not self.path.resolve().parent.is_dir():
            raise InvalidInputError(f"`ledger` must lie in a folder that is there, got {str(self.path)!r}.")
        return Sqlite(self.path)

    def reader(self) -> Database:
        """Return a new connection that only reads, and creates nothing."""
        if not self.path.is_file():
            raise InvalidInputError(f"`ledger` must be a ledger that is there, got {str(self.path)!r}: is it another?")
        database = Sqlite(self.path, only_read=True)
        if not database.exists():
            database.close()
            raise InvalidInputError(f"`ledger` must be a ledger, got {str(self.path)!r}, which holds other tables.")
        return database

    def remove(self) -> None:
        """Clear away what is temporary."""
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def __str__(self) -> str:
        return ":memory:" if self.scratch is not None else str(self.path)


def _patiently(action: Any, *, wait: bool = True) -> None:  # noqa: ANN401 - a statement to try
    """Carry out a statement, again and again while another process writes; or once, if nobody is to wait."""
    last = time.monotonic() + _PATIENCE
    while True:
        try:
            action()
        except sqlite3.OperationalError as error:
            # The low byte of an extended code is the plain one.
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if not wait:
                raise BusyError from None
            if time.monotonic() > last:
                raise LedgerError(
                    f"The ledger must be free within {_PATIENCE:g} s, got a file that another process keeps locked: "
                    "which has it open for writing?"
                ) from None
            time.sleep(_LOOK_AGAIN)
        else:
            return

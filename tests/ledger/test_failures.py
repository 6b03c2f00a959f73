"""A database that fails: who waits learns of it, nothing is half-booked, and the ledger goes on."""

import asyncio
import os
import sqlite3
from contextlib import closing

import pytest

from askwho.ledger import Balance, LedgerError, _sqlite
from tests.ledger.books import call, run, sums_are_right
from tests.ledger.test_cancelled import kept_busy


def test_a_connection_that_was_cut_is_made_anew(postgres):
    import psycopg  # noqa: PLC0415 - there is a server, so there is the driver

    url = postgres()

    async def story(ledger):
        await ledger.set_budget("all", 100)
        for id_ in ("a", "b"):
            with psycopg.connect(url, autocommit=True) as other:
                cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
                assert other.execute(cut, [other.info.dbname, other.info.backend_pid]).fetchall() == [(True,)]
            assert await ledger.hold([call(id_, 10)], budgets=["all"]) == [True]
        return await ledger.balance("all")

    assert run(url, story) == Balance(100, 0, 20)


def test_a_commit_of_which_nobody_knows_leaves_no_hold(url, monkeypatch):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        database = ledger._writer._database
        commit = type(database).commit

        def and_then_break(self, writes=()):
            commit(self, writes)
            monkeypatch.undo()
            raise OSError("the cable was pulled")

        monkeypatch.setattr(type(database), "commit", and_then_break)
        with pytest.raises(LedgerError, match="must be written, got OSError: the cable was pulled"):
            await ledger.hold([call("a", 60)], budgets=["all"])
        return await ledger.balance("all"), [b.status for b in ledger.booked()]

    # It did stand; and since nobody was told, it is given back.
    assert run(url, story) == (Balance(100, 0, 0), ["freed"])
    sums_are_right(url)


def test_what_the_database_refuses_fails_alone(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        bad = call("bad", 10)
        # Past all checks, by force: a text that neither database takes.
        object.__setattr__(bad, "expert", "\ud800")
        with kept_busy(url):
            holds = [
                asyncio.create_task(ledger.hold([each], budgets=["all"])) for each in (call("a", 1), bad, call("b", 2))
            ]
            await asyncio.sleep(0.01)
        found = await asyncio.gather(*holds, return_exceptions=True)
        assert found[0] == found[2] == [True]
        assert isinstance(found[1], LedgerError)
        return await ledger.balance("all")

    assert run(url, story) == Balance(100, 0, 3)
    sums_are_right(url)


def test_a_file_that_stays_locked_is_given_up_with_a_reason(tmp_path, monkeypatch):
    url = str(tmp_path / "ledger.sqlite")
    monkeypatch.setattr(_sqlite, "_PATIENCE", 0.05)

    async def story(ledger):
        await ledger.set_budget("all", 100)
        with kept_busy(url), pytest.raises(LedgerError, match="that another process keeps locked"):
            await ledger.hold([call("a", 60)], budgets=["all"])
        assert await ledger.hold([call("a", 60)], budgets=["all"]) == [True]
        return await ledger.balance("all")

    assert run(url, story) == Balance(100, 0, 60)


def test_what_was_committed_is_put_on_the_disk_every_while(tmp_path, monkeypatch):
    monkeypatch.setattr(_sqlite, "_SYNC_EVERY", 0.005)
    path, synced = tmp_path / "ledger.sqlite", []

    def copied(file):
        # What is on the disk from now on, whatever befalls the machine.
        synced.append((os.fstat(file).st_ino, os.pread(file, 1 << 20, 0), path.read_bytes()))

    async def story(ledger):
        await ledger.set_budget("all", 100)
        log = path.with_name("ledger.sqlite-wal").stat().st_ino
        monkeypatch.setattr(_sqlite.os, "fsync", copied)
        await ledger.set_budget("all", 200)
        for _ in range(2000):
            await asyncio.sleep(0.005)
            if synced:
                return log
        return None

    log = run(str(path), story)
    monkeypatch.undo()
    assert synced
    assert synced[-1][0] == log
    (tmp_path / "copy.sqlite").write_bytes(synced[-1][2])
    (tmp_path / "copy.sqlite-wal").write_bytes(synced[-1][1])
    with closing(sqlite3.connect(tmp_path / "copy.sqlite")) as connection:
        assert connection.execute("SELECT cap FROM askwho_budgets").fetchall() == [(200,)]


def test_a_log_that_grew_long_is_moved_into_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_sqlite, "_SYNC_EVERY", 0.005)
    monkeypatch.setattr(_sqlite, "_LONG_LOG", 1)
    path = tmp_path / "ledger.sqlite"

    async def story(ledger):
        await ledger.set_budget("all", 100)
        for _ in range(2000):
            await asyncio.sleep(0.005)
            # A copy of the file without its write-ahead log: what is left if that was never put on the disk.
            (tmp_path / "copy.sqlite").write_bytes(path.read_bytes())
            connection = sqlite3.connect(tmp_path / "copy.sqlite")
            try:
                if connection.execute("SELECT count(*) FROM askwho_budgets").fetchone() == (1,):
                    return True
            except sqlite3.Error:
                pass
            finally:
                connection.close()
        return False

    assert run(str(path), story)

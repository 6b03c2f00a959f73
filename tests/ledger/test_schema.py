"""Tables of every earlier version are brought up to today's; newer ones are refused."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from askwho.exceptions import InvalidInputError
from askwho.ledger import Balance, LedgerError, _schema, open_ledger, read_ledger
from askwho.ledger._ledger import _place_of
from tests.ledger.books import Clock, call, raw, run, sums_are_right

# What a ledger of each earlier version wrote, as SQL that both databases know: never to be changed.
VERSIONS = sorted(Path(__file__).parent.glob("version_*.sql"))


def restore(url, path):
    database = _place_of(url).connect()
    assert not database.prepare()
    text = path.read_text(encoding="utf-8").replace("{clustered}", database.clustered)
    database.commit([(statement, [()]) for statement in text.split(";\n") if statement.strip()])
    database.close()


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_every_earlier_version_is_brought_up(url, path):
    restore(url, path)

    async def story(ledger):
        balance = await ledger.balance("all")
        await ledger.settle("c2", charged=40)
        assert await ledger.hold([call("c4", 51), call("c5", 50)], budgets=["all"]) == [False, True]
        return balance, ledger.export()

    balance, columns = run(url, story)
    assert balance == Balance(100, 10, 60)
    assert columns["answer_a"] == ["yes"]
    assert columns["truth"] == ["no"]
    assert raw(url, "SELECT version FROM askwho_ledger") == [(_schema.known_version(),)]
    sums_are_right(url)


def test_there_is_a_ledger_of_every_version():
    assert [path.stem for path in VERSIONS] == [f"version_{i + 1}" for i in range(_schema.known_version())]


def test_a_step_is_taken_once_by_whoever_comes_first(url, monkeypatch):
    run(url, lambda ledger: ledger.set_budget("all", 100))
    step = ("ALTER TABLE askwho_budgets ADD COLUMN note TEXT", "UPDATE askwho_budgets SET note = 'old'")
    monkeypatch.setattr(_schema, "MIGRATIONS", (*_schema.MIGRATIONS, step))
    for _ in range(2):  # were it taken twice, the column would be there
        run(url, lambda ledger: ledger.balance("all"))
    assert raw(url, "SELECT version FROM askwho_ledger") == [(2,)]
    assert raw(url, "SELECT note FROM askwho_budgets") == [("old",)]


def test_a_step_that_fails_leaves_what_was_there(url, monkeypatch):
    run(url, lambda ledger: ledger.set_budget("all", 100))
    step = ("ALTER TABLE askwho_budgets ADD COLUMN note TEXT", "UPDATE nowhere SET note = 'old'")
    with monkeypatch.context() as patch:
        patch.setattr(_schema, "MIGRATIONS", (*_schema.MIGRATIONS, step))
        with pytest.raises(LedgerError, match=r"must be made, got a database that says: .*nowhere"):
            open_ledger(url)
    assert run(url, lambda ledger: ledger.balance("all")) == Balance(100, 0, 0)
    assert raw(url, "SELECT version FROM askwho_ledger") == [(1,)]


def newer(url):
    database = _place_of(url).connect()
    database.prepare()
    database.commit([("UPDATE askwho_ledger SET version = 99", [()])])
    database.close()


def test_a_newer_ledger_is_refused_with_a_reason(url):
    run(url, lambda ledger: ledger.set_budget("all", 100))
    newer(url)
    for act in (open_ledger, read_ledger):
        with pytest.raises(LedgerError, match="must be of version 1 at the most, got version 99: a newer askwho wrote"):
            act(url)


def test_a_ledger_that_becomes_newer_meanwhile_is_left_alone(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        newer(url)
        with pytest.raises(LedgerError, match="got version 99"):
            await ledger.hold([call("a")], budgets=["all"])

    run(url, story)
    assert raw(url, "SELECT count(*) FROM askwho_calls") == [(0,)]


@pytest.mark.parametrize("address", ["mysql://host/books", "sqlite://", "sqlite:///", "https://host/books"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InvalidInputError, match=r"`ledger` must be a path, sqlite:///path or postgresql://"):
        open_ledger(address)


def test_sqlite_addresses_are_read_by_the_usual_rule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for address in ("one.sqlite", "sqlite:///two%20words.sqlite", f"sqlite:///{tmp_path}/three.sqlite"):
        asyncio.run(open_ledger(address).close())
    assert {path.name for path in tmp_path.iterdir()} == {"one.sqlite", "two words.sqlite", "three.sqlite"}


def test_reading_creates_nothing_and_tells_what_is_no_ledger(tmp_path):
    with pytest.raises(InvalidInputError, match="must be a ledger that is there"):
        read_ledger(tmp_path / "none.sqlite")
    with pytest.raises(InvalidInputError, match="must lie in a folder that is there"):
        open_ledger(tmp_path / "nowhere" / "ledger.sqlite")
    assert not list(tmp_path.iterdir())
    (tmp_path / "text").write_text("no database, and quite some text that says so" * 20)
    for act in (open_ledger, read_ledger):
        with pytest.raises(LedgerError, match="must be a SQLite file"):
            act(tmp_path / "text")
    connection = sqlite3.connect(tmp_path / "other.sqlite")
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    before = (tmp_path / "other.sqlite").read_bytes()
    with pytest.raises(InvalidInputError, match="which holds other tables"):
        read_ledger(tmp_path / "other.sqlite")
    assert (tmp_path / "other.sqlite").read_bytes() == before


def test_a_ledger_in_memory_is_gone_when_it_is_closed():
    ledger = open_ledger(":memory:", clock=Clock())
    place = ledger._place.path
    asyncio.run(ledger.set_budget("all", 1))
    assert place.exists()
    asyncio.run(ledger.close())
    assert not place.parent.exists()
    assert repr(ledger) == "Ledger(':memory:')"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:hush@127.0.0.1:1/books?password=hush&connect_timeout=2", "me:***@127.0.0.1:1/books"),
        ("postgresql://me:hush@hush@127.0.0.1:1/books?connect_timeout=2", "me:***@127.0.0.1:1/books"),
        ("postgresql://me:hush/books", "me:***/books"),
        ("postgresql://me@127.0.0.1:1/books?passwort=hush", "me:***@127.0.0.1:1/books"),
    ],
)
def test_no_message_tells_a_password(address, shown):
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="must be reached, got no connection to") as refused:
        open_ledger(address)
    said = f"{refused.value} {refused.value!r} {_place_of(address)!r} {_place_of(address)}"
    assert f"postgresql://{shown}: " in said
    assert "hush" not in said
    assert refused.value.__cause__ is None

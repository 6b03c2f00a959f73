"""Ledgers to test: each test that takes `url` runs on SQLite and on PostgreSQL."""

import pytest

from tests.ledger.postgres import server


@pytest.fixture(scope="session")
def postgres():
    """A function that makes a database on a server of our own, and returns its URL."""
    with server() as create:
        yield create


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """Where a new ledger may be."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return request.getfixturevalue("postgres")()

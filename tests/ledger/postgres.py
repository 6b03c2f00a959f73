"""A PostgreSQL server of our own for the tests: a scratch cluster on a socket, and a new database for each ledger."""

import os
import shutil
import subprocess
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

# Debian keeps the server's programs off the path; the newest version first.
HOMES = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), Path("/usr/local/pgsql/bin")]


def program(name):
    """Where a program of the server is, or None."""
    return next((str(home / name) for home in HOMES if (home / name).is_file()), None) or shutil.which(name)


@contextmanager
def server():
    """Start a server that listens on a socket alone; yield a function that makes a database and returns its URL."""
    psycopg = pytest.importorskip("psycopg", reason="a ledger in PostgreSQL needs psycopg")
    initdb, control = program("initdb"), program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("no PostgreSQL server is installed here: apt-get install postgresql")
    # A socket's path must be short, so not below pytest's own folders.
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    # The server refuses to run as root: then it runs as its own user, where there is one.
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    if user:
        try:
            shutil.chown(home, "postgres", "postgres")
        except LookupError:
            shutil.rmtree(home)
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres here")

    def quietly(*words):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=home, **user)

    try:
        quietly(initdb, "-D", home / "data", "-A", "trust", "-U", "askwho", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c max_connections=50"
        words = ["-D", home / "data", "-w", "-l", home / "log"]
        quietly(control, *words, "-o", options, "start")
        base = f"postgresql://askwho@/{{}}?host={home}"

        def create():
            name = f"ledger_{uuid.uuid4().hex}"
            with psycopg.connect(base.format("postgres"), autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{name}"')
            return base.format(name)

        try:
            yield create
        finally:
            quietly(control, *words, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)

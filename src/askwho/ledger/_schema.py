"""The tables, and how those of an earlier version become those of today."""

from askwho.ledger._database import Database, LedgerError, UndoneError, Write

# Each entry takes the tables from the version of its index to the next, in words that both databases know, but for how
# they say `clustered`.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE askwho_ledger (version INTEGER NOT NULL)",
        "INSERT INTO askwho_ledger (version) VALUES (0)",
        """CREATE TABLE askwho_decisions (
            id TEXT PRIMARY KEY,
            at DOUBLE PRECISION NOT NULL,
            query TEXT NOT NULL,
            decision TEXT NOT NULL,
            verdict TEXT,
            probability DOUBLE PRECISION,
            paid BIGINT,
            truth TEXT
        )""",
        """CREATE TABLE askwho_calls (
            id TEXT PRIMARY KEY,
            decision TEXT NOT NULL,
            expert TEXT NOT NULL,
            idempotency TEXT NOT NULL,
            worst BIGINT NOT NULL,
            expires DOUBLE PRECISION NOT NULL,
            status TEXT NOT NULL,
            charged BIGINT NOT NULL,
            answer TEXT,
            info DOUBLE PRECISION,
            why TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            ended DOUBLE PRECISION,
            pledged TEXT NOT NULL
        ) {clustered}""",
        # What may have to be looked at again: calls in flight, which are few however long the ledger is.
        "CREATE INDEX askwho_calls_held ON askwho_calls (expires) WHERE status = 'held'",
        "CREATE INDEX askwho_calls_unknown ON askwho_calls (at) WHERE status = 'unknown'",
        "CREATE TABLE askwho_budgets (name TEXT PRIMARY KEY, cap BIGINT NOT NULL, period TEXT NOT NULL)",
        """CREATE TABLE askwho_spend (
            budget TEXT NOT NULL,
            span TEXT NOT NULL,
            spent BIGINT NOT NULL,
            held BIGINT NOT NULL,
            excess BIGINT NOT NULL,
            PRIMARY KEY (budget, span)
        ) {clustered}""",
    ),
)


def known_version() -> int:
    """Return the version that this code writes."""
    return len(MIGRATIONS)


def migrate(database: Database) -> None:
    """Make the tables, or bring those of an earlier version up to today's, in one transaction."""
    there = database.prepare()
    version = version_of(database) if there else 0
    words = {"clustered": database.clustered}
    writes: list[Write] = [(text.format(**words), [()]) for step in MIGRATIONS[version:] for text in step]
    if writes:
        writes.append(("UPDATE askwho_ledger SET version = ?", [(known_version(),)]))
    try:
        database.commit(writes)
    except UndoneError as error:
        raise LedgerError(f"The tables of the ledger must be made, got a database that says: {error}.") from None


def version_of(database: Database) -> int:
    """Return the version of the tables; raise where it is newer than this code."""
    ((version,),) = database.rows("SELECT version FROM askwho_ledger")
    check_version(version)
    return int(version)


def check_version(version: int) -> None:
    """Raise where tables are newer than this code: perhaps only since it opened them."""
    if version > known_version():
        raise LedgerError(
            f"The ledger must be of version {known_version()} at the most, got version {version}: a newer askwho wrote "
            "it. Install that one."
        )

"""Commands run as a user runs them, what a refusal looks like, and broken tables to run them on."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from askwho.cli import status_of
from tests import synthetic

FEES = ",".join(f"{name}={fee}" for name, fee in synthetic.FEES.items())
WITHOUT_FEES = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*"]
COLUMNS = [*WITHOUT_FEES, "--fees", FEES]
QUICK = ["--learner", "linear", "--cv", 2]
LONGEST_LINE = 1200


def run(*words):
    return status_of([str(word) for word in words])


def everything(folder):
    """What a folder holds, hidden files too: bytes by path, None for a folder."""
    found = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() and not p.is_symlink() else None for p in found}


def the_line(err):
    """The one clear line of a refusal; everything else on stderr is progress."""
    said = [line for line in err.splitlines() if line.startswith("askwho: ")]
    assert len(said) == 1, err
    assert err.splitlines()[-1] == said[0]
    for noise in ("Traceback", "Warning", 'File "'):
        assert noise not in err
    assert len(said[0]) <= LONGEST_LINE
    assert said[0].isprintable()
    return said[0]


def log(rows=60, seed=0):
    """A good log, its columns free to be broken; the hint is worth a base of our own."""
    table = {name: np.array(values, dtype=object) for name, values in synthetic.classification(rows, seed).items()}
    known = np.random.default_rng(seed).random(rows) < 0.8
    ids = np.array([f"query {i}" for i in range(rows)], dtype=object)
    return table | {"hint": np.where(known, table["truth"], "owl").astype(object), "id": ids}


def parquet(path, table):
    """Write a table; a column is an Arrow array, or anything Arrow makes one of."""
    columns = {name: v if isinstance(v, pa.Array | pa.ChunkedArray) else pa.array(list(v)) for name, v in table.items()}
    pa.parquet.write_table(pa.table(columns), path)
    return path


def changed(change, rows=60):
    """A maker of a log in which something was changed."""

    def make(folder):
        table = log(rows)
        change(table)
        return parquet(folder / "log.parquet", table)

    return make


def raw(content, name="log.csv"):
    """A maker of a file with this very content."""

    def make(folder):
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder / name

    return make


def csv(rows=60, *, change=None, head=None):
    """The text of a good log as CSV, its cells free to be broken: no quotes, no escapes."""
    table = log(rows)
    if change is not None:
        change(table)
    names = list(table)
    lines = [",".join("" if table[n][i] is None else str(table[n][i]) for n in names) for i in range(rows)]
    return "\n".join([head or ",".join(names), *lines]) + "\n"


def fees_file(content):
    """A maker of a file of fees."""

    def make(folder):
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        (folder / "fees.json").write_bytes(text.encode() if isinstance(text, str) else text)
        return folder / "fees.json"

    return make

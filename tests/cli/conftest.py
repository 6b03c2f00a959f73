"""A log, queries and a policy that the commands are run on, made once."""

import numpy as np
import pytest

from askwho.data import write_table
from tests import synthetic
from tests.cli.running import COLUMNS, run


def queries(rows=120, seed=1):
    """New queries with their names and the answers to them."""
    return {"id": np.array([f"q{i:03}" for i in range(rows)], dtype=object)} | synthetic.classification(rows, seed)


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_table(folder / "log.parquet", synthetic.classification(300))
    write_table(folder / "new.parquet", queries())
    words = ["fit", folder / "log.parquet", *COLUMNS, "--learner", "linear", "--base", "none", "--cv", 2]
    assert run(*words, "--out", folder / "policy") == 0
    assert run(*words, "--promise", 0.4, "--out", folder / "promising") == 0
    return folder

"""Policies that several files of this folder save and load, fitted once."""

import numpy as np
import pytest

from askwho.data import Columns, read_log
from askwho.fitting import fit
from askwho.persistence import save
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*,kind", fees=synthetic.FEES)


@pytest.fixture(scope="session")
def small():
    """A policy that is fitted in a moment; it asks in turn, too."""
    log = read_log(synthetic.classification(300), COLUMNS)
    policy = fit(log, learner="linear", base="none", committee="posterior", cv=3)
    assert policy.turns is not None
    return policy


@pytest.fixture(scope="session")
def plain():
    """A policy of a forest, whose trees are graphs, and of a committee by name."""
    log = read_log(synthetic.classification(200), COLUMNS)
    return fit(log, learner="forest", base="none", committee="majority", cv=2)


@pytest.fixture(scope="session")
def new():
    return synthetic.classification(120, seed=1)


@pytest.fixture
def artefact(plain, tmp_path):
    """A folder of one's own to be broken."""
    save(plain, tmp_path / "policy")
    return tmp_path / "policy"


def with_text(table):
    """The same log with a text of words out of very many, two of which only one truth has."""
    rng = np.random.default_rng(2)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 6)) for _ in range(1090)]
    starts = 30 * np.searchsorted(["cat", "dog", "owl"], table["truth"])[:, None]
    drawn = np.hstack([starts + rng.integers(0, 30, (len(starts), 2)), rng.integers(90, 1090, (len(starts), 10))])
    return table | {"text": np.array([" ".join(words[i] for i in row) for row in drawn], dtype=object)}

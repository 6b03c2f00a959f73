"""Without an extra everything else still works, and what needs it says how to install it."""

import subprocess
import sys
from pathlib import Path

import pytest

import askwho

ROOT = Path(__file__).parents[1]

# The paths that must work in a process where the library cannot be imported.
WITHOUT = {
    "torch": [
        "tests/aggregation",
        "tests/engine",
        "tests/learners/test_learners.py",
        "tests/learners/test_messages.py",
        "tests/persistence/test_networks.py",
        "tests/theory/test_cascades.py",
        "tests/theory/test_bayes.py",
    ],
    "pandas": ["tests/aggregation", "tests/metrics", "tests/losses/test_deferral.py"],
    "lightgbm": ["tests/structure/test_flow.py", "tests/metrics/test_frontier.py"],
    "matplotlib": ["tests/report/test_words.py", "tests/report/test_findings.py"],
    "tokenizers": [f"tests/data/test_{name}.py" for name in ("encoder", "log", "minilm", "tables")],
    "numba": [
        f"tests/{name}.py" for name in ("learners/test_tree_layout", "persistence/test_batches", "beliefs/test_pool")
    ],
    "aiohttp": ["tests/experts", "tests/live/test_breaker.py"],
    "psycopg": ["tests/ledger/test_ledger.py", "tests/ledger/test_messages.py"],
}
FIT = """import numpy as np
from askwho import Panel, fit
from askwho.learners import CompSum
from tests.logs import log_of_arrays
X, errors, panel = np.arange(40.0)[:, None], np.tile([0.0, 1.0], (40, 1)), Panel.two_stage(["a"])
log = log_of_arrays(X, panel=panel, errors=errors)"""
FRAME = """from askwho.core import Panel, select_top_k
select_top_k([[1, 2]], 1, panel=Panel.two_stage(["a"])).to_frame()"""
# The extra that brings a library, where it has another name.
EXTRAS = {"aiohttp": "live", "genai_prices": "live", "psycopg": "live"}
NETWORK = """import asyncio
from decimal import Decimal
from askwho.experts import Chat, Endpoint, Limits, OpenAI, Parse, Question, Stated
prices = Stated(Decimal(1), Decimal(1))
expert = OpenAI("a", Endpoint("a", "http://127.0.0.1:9/", Limits()), Chat("m", "x"), Parse(), prices)"""
BASICS = [f"tests/core/test_{name}.py" for name in ("panel", "answers", "costs", "selection")]


def passes_without(libraries, tests):
    """Run some tests in a process where some libraries cannot be imported."""
    # Blocked before pytest starts: it reads `conftest.py`, which imports torch where it can, before any plugin's turn.
    start = f"import sys; from tests.blocked import block; [block(each) for each in {libraries!r}]"
    command = [sys.executable, "-c", f"{start}; import pytest; sys.exit(pytest.main())"]
    command += ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=smoke", *tests]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]


@pytest.mark.parametrize("library", WITHOUT)
def test_the_rest_of_the_suite_passes_without(library):
    passes_without([library], WITHOUT[library])


def test_the_basics_need_none_of_them():
    passes_without(list(WITHOUT), BASICS)


@pytest.mark.parametrize(
    ("library", "code"),
    [
        ("psycopg", "from askwho.ledger import open_ledger; open_ledger('postgresql://host/books')"),
        ("torch", "import askwho.losses"),
        ("torch", "from askwho.engine import train"),
        ("torch", "from askwho.engine import resnet"),
        ("torch", f"{FIT}; CompSum().fit(X, errors, panel=panel)"),
        ("torch", f"{FIT}; CompSum(network=lambda *sizes: sizes).fit(X, errors, panel=panel)"),
        ("torch", f"{FIT}; fit(log, learner='top-k')"),
        ("torch", f"{FIT}; fit(log, learner='linear', cardinality='surrogate')"),
        ("pandas", FRAME),
        ("aiohttp", f"{NETWORK}; asyncio.run(expert.ask(Question('q', {{}}, 'key', 1.0)))"),
        ("genai_prices", "from askwho.experts import LookedUp; LookedUp('gpt-4o')"),
    ],
)
def test_what_needs_an_extra_says_how_to_install_it(library, code):
    blocked = f"from tests.blocked import block; block({library!r})\n{code}"
    found = subprocess.run([sys.executable, "-c", blocked], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode != 0
    last = found.stderr.strip().splitlines()[-1]
    assert last.startswith("askwho.exceptions.MissingDependencyError")
    assert f"pip install 'askwho[{EXTRAS.get(library, library)}]'" in last


def test_the_error_is_an_import_error_too():
    assert issubclass(askwho.MissingDependencyError, ImportError)

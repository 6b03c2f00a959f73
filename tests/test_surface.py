"""The public surface: what is exported, that it is documented, and that the notation table leads both ways."""

import importlib
import inspect
import pkgutil
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import askwho

ROOT = Path(__file__).parents[1]
ROOMS = [
    "aggregation",
    "beliefs",
    "cli",
    "core",
    "data",
    "engine",
    "engines",
    "estimators",
    "evaluation",
    "experts",
    "fitting",
    "learners",
    "ledger",
    "live",
    "losses",
    "metrics",
    "persistence",
    "policy",
    "replay",
    "report",
    "theory",
]
# The commands are a program: they are looked at in tests/cli.
MODULES = ["askwho", *(f"askwho.{room}" for room in ROOMS if room != "cli")]
# What is imported from its room, and from nowhere else.
RESEARCH = {"aggregation", "beliefs", "engine", "learners", "losses", "metrics", "replay", "theory"}


def public(module):
    return [(name, getattr(module, name)) for name in module.__all__]


@pytest.fixture(params=MODULES)
def module(request):
    if request.param in ("askwho.engine", "askwho.losses"):
        pytest.importorskip("torch")
    return importlib.import_module(request.param)


def test_the_root_holds_nothing_of_research():
    rooms = {getattr(askwho, name).__module__.split(".")[1] for name in askwho.__all__}
    assert rooms <= {*ROOMS, "exceptions"} - RESEARCH


def test_what_the_root_finds_later_is_what_it_promises():
    # A name that is promised and not imported would be found by nobody, and the other way round by everybody.
    assert {name for name in askwho.__all__ if name not in vars(askwho)} <= set(askwho._LATER) <= set(askwho.__all__)
    for name, room in askwho._LATER.items():
        assert name in importlib.import_module(room).__all__


def test_every_room_is_looked_at():
    # What begins with an underscore is no room: it is looked at by whom it serves.
    here = {entry.name for entry in pkgutil.iter_modules(askwho.__path__) if entry.ispkg and entry.name[0] != "_"}
    assert here == set(ROOMS)


def test_all_names_exist_are_sorted_and_complete(module):
    names = list(module.__all__)
    assert len(set(names)) == len(names)
    assert all(hasattr(module, name) for name in names)
    defined = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("askwho")
        if name not in {"missing_dependency"}
    }
    assert defined <= set(names)


def test_every_public_name_has_a_docstring_and_every_array_a_shape(module):
    for name, value in public(module):
        if not (inspect.isfunction(value) or inspect.isclass(value)):
            continue
        text = inspect.getdoc(value) or ""
        assert text, f"{name} has no docstring"
        members = (
            [value]
            if inspect.isfunction(value)
            else [
                member
                for _, member in inspect.getmembers(value, inspect.isfunction)
                if not member.__name__.startswith("_")
            ]
        )
        for member in members:
            doc = inspect.getdoc(member) or ""
            assert doc, f"{name}.{member.__name__} has no docstring"
            returned = str(inspect.signature(member).return_annotation)
            if "ndarray" in returned and "Callable" not in returned:
                assert re.search(r"shape|\(n, |\(n,\)", doc), f"{name}.{member.__name__}"


def test_the_papers_definitions_are_cited_where_they_are_implemented():
    cited = {
        "askwho.core.select_top_k": "Definition 4.1",
        "askwho.metrics.prefix_deferral_losses": "Definition 4.2",
        "askwho.losses.deferral_surrogate": "Corollary 4.4",
        "askwho.theory.bayes_ranking": "Lemma 4.5",
        "askwho.theory.chow_rule": "Corollary 4.6",
        "askwho.theory.consistency_bound": "Theorem 4.7",
        "askwho.core.cardinality_losses": "Definition 5.1",
        "askwho.losses.mao_one_stage": "Definition 3.1",
        "askwho.losses.mao_two_stage_regression": "Definition 3.2",
        "askwho.theory.cascade_scores": "Appendix A.6",
    }
    for path, place in cited.items():
        module, name = path.rsplit(".", 1)
        if module == "askwho.losses":
            pytest.importorskip("torch")
        assert place in inspect.getdoc(getattr(importlib.import_module(module), name)), path


def notation():
    text = (ROOT / "docs" / "notation.md").read_text()
    there = dict(re.findall(r"^\| (.+?) \| `([\w.]+)` \|", text, re.MULTILINE))
    back = dict(re.findall(r"^\| `([\w.]+)` \| (.+?) \|$", text, re.MULTILINE))
    return there, back


def test_the_notation_table_leads_both_ways():
    there, back = notation()
    assert len(there) > 30
    assert {name: symbol for symbol, name in there.items()} == back


def test_every_name_in_the_notation_table_exists():
    pytest.importorskip("torch")
    for room in ROOMS:
        importlib.import_module(f"askwho.{room}")
    for name in notation()[1]:
        value = askwho
        for part in name.split("."):
            value = getattr(value, part)


def test_importing_the_package_pulls_in_no_heavy_library():
    heavy = ("torch", "matplotlib", "pandas", "sklearn", "sqlite3", "psycopg", "aiohttp")
    code = f"import sys, askwho; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_version_is_in_the_changelogs_reach():
    assert re.fullmatch(r"\d+\.\d+\.\d+", askwho.__version__)
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text()


def test_a_stranger_finds_the_names_that_are_imported_late():
    code = "import askwho; print(*dir(askwho))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"fit", "load", "Columns", "__version__"} <= set(listed)
    assert set(askwho.__all__) <= set(listed)


def test_help_says_what_it_is_and_names_everything():
    page = pydoc.plain(pydoc.render_doc(askwho))
    assert askwho.__doc__.splitlines()[0] in page
    assert "policy = fit(log)" in page
    assert [name for name in askwho.__all__ if not re.search(rf"\b{name}\b", page)] == []
    for line in (r"^    fit\(log: ", r"^    load\(folder: ", r"^    class Columns\("):
        assert re.search(line, page, re.MULTILINE), line


def test_asking_without_the_network_does_not_import_it():
    code = (
        "import sys\n"
        "from tests import policies\n"
        "from askwho import Target, ask_all\n"
        "from askwho.experts import Fake\n"
        "policy, table = policies.fitted('votes'), policies.queries('votes', 2)\n"
        "row = {name: table[name][0] for name in table if name.startswith('x_')}\n"
        "done = ask_all(policy, [Fake(name, 'cat') for name in policy.panel.names], [row], Target(k=1))\n"
        "assert done[0].answer == 'cat'\n"
        "print([m for m in ('aiohttp', 'psycopg', 'genai_prices') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

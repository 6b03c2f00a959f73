"""The documentation site: it builds without a warning, its reference is complete, and its examples run."""

import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import typer

import askwho
from askwho._surrogates import SURROGATES
from askwho.aggregation import AGGREGATIONS
from askwho.cli import app, status_of
from askwho.cli._demo import run_demo
from askwho.learners import LEARNERS
from tests.examples import blocks, cells, run_notebook, run_page
from tests.launching import torchrun

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if blocks(page)]
NEED_TORCH = ("askwho.engine", "askwho.losses")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site: Sphinx in a process of its own, where warnings of its libraries are no errors of ours."""
    pytest.importorskip("sphinx")
    out = tmp_path_factory.mktemp("site")
    words = [sys.executable, str(DOCS / "build.py"), str(out)]
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    built = subprocess.run(words, capture_output=True, text=True, env=one_thread, check=False)
    said = built.stdout + built.stderr
    assert built.returncode == 0, said
    assert not said
    return out


def anchors(page):
    return set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))


def public_modules():
    """The package and every public subpackage that says what it exports."""
    found = [askwho]
    for entry in pkgutil.walk_packages(askwho.__path__, "askwho."):
        if entry.ispkg and not any(part.startswith("_") for part in entry.name.split(".")):
            if entry.name in NEED_TORCH:
                pytest.importorskip("torch")
            found.append(importlib.import_module(entry.name))
    return [module for module in found if hasattr(module, "__all__")]


def test_every_public_name_is_in_the_reference(site):
    modules = public_modules()
    assert len(modules) > 12
    for module in modules:
        there = anchors(site / "reference" / f"{module.__name__}.html")
        missing = [name for name in module.__all__ if f"{module.__name__}.{name}" not in there]
        assert not missing, f"{module.__name__}: {missing}"


def test_public_methods_are_in_the_reference_with_their_arguments(site):
    page = site / "reference" / "askwho.estimators.html"
    assert {
        f"askwho.estimators.TwoStageClassifier.{name}" for name in ("fit", "decide", "predict", "predict_proba")
    } <= anchors(page)
    text = unescape(re.sub(r"<[^>]+>", "", (site / "reference" / "askwho.policy.html").read_text(encoding="utf-8")))
    for argument in ("fee_weight", "max_error", "confidence", "available", "explore"):
        assert re.search(rf"\b{argument}\s*:", text), argument


def test_every_command_is_in_the_reference_with_every_option(site):
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    commands = dict(typer.main.get_command(app).commands)
    commands |= {f"data {name}": command for name, command in commands.pop("data").commands.items()}
    for name, command in commands.items():
        _, found, rest = page.partition(f"<h2>askwho {name}<")
        assert found, name
        section = rest.partition("<h2>")[0]
        for param in command.params:
            shown = param.opts[0] if param.opts[0].startswith("-") else param.name.upper()
            assert re.search(rf"<code\b[^>]*>(?:<[^>]+>)*{re.escape(shown)}(?:</[^>]+>)*</code>", section), (
                f"{name} {shown}"
            )


def test_pages_fetch_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//', text), page.name


def test_links_to_recorded_results_lead_to_their_copies(site):
    text = (site / "reproduction.html").read_text(encoding="utf-8")
    linked = re.findall(r'href="(results/[^"#]+)"', text)
    assert linked
    assert all((site / link).is_file() for link in linked)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What `askwho demo` leaves, as far as the pages use it: the log, new rows, and a policy."""
    out = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(out)
        for words in run_demo(Path("askwho-demo"), seed=0):
            if words[0] == "fit":
                assert status_of(words) == 0
    return out / "askwho-demo"


@pytest.fixture
def as_they_were():
    """The registries, to which pages may add: whatever is put in is taken out again."""
    before = [(registry, dict(registry)) for registry in (AGGREGATIONS, LEARNERS, SURROGATES)]
    yield
    for registry, entries in before:
        registry.clear()
        registry.update(entries)


@pytest.mark.usefixtures("as_they_were")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_example_runs(page, demo, tmp_path, monkeypatch):
    if "askwho.losses" in page.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    shutil.copytree(demo, tmp_path / "askwho-demo")
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_every_notebook_shows_what_stands_in_it(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run_notebook(notebook)
    assert sum(bool(said) for said, _ in shown) >= 3
    for said, below in shown:
        # Figures may differ in their last digits from one machine to the next.
        assert re.sub(r"[\d.]+", "#", said) == re.sub(r"[\d.]+", "#", below)


def test_notebooks_are_small_and_hold_text_alone():
    assert NOTEBOOKS
    for notebook in NOTEBOOKS:
        assert notebook.stat().st_size < 50_000
        assert cells(notebook)


def test_the_pages_that_promise_examples_have_them():
    assert {page.stem for page in PAGES} >= {page.stem for page in (DOCS / "how-to").glob("*.md")} - {"index"}


def test_the_page_on_training_together_does_so(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    ((_, title, text),) = blocks(DOCS / "how-to" / "train-together.md")
    (tmp_path / title).write_text(text, encoding="utf-8")
    torchrun(title, cwd=tmp_path)
    (tmp_path / "policy-of-two").rename(tmp_path / "of-two")
    monkeypatch.chdir(tmp_path)
    exec(compile(text, title, "exec"), {})  # noqa: S102 - our own page
    two, one = (askwho.load(tmp_path / name) for name in ("of-two", "policy-of-two"))
    queries = {"x_0": np.array([-1.0, 0.1, 1.0]), "x_1": np.array([0.0, 0.5, -0.5])}
    mine, theirs = (policy.judge.learned(policy.encoder.transform(queries)) for policy in (two, one))
    np.testing.assert_allclose(mine, theirs, rtol=1e-2, atol=1e-3)

"""`askwho reproduce` and `askwho data` without the studies, which are a package of their own."""

import pkgutil
import subprocess
import sys

import pytest

import askwho
from askwho.cli import status_of

HINT = "askwho: `askwho reproduce` needs askwho_studies: pip install . ./studies in a checkout of askwho's repository"


@pytest.fixture
def without(monkeypatch):
    """The studies as if they were not installed."""
    monkeypatch.setitem(sys.modules, "askwho_studies", None)


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("name", ["logs", "california", "magic"])
def test_without_the_studies_it_says_what_to_install(name, tmp_path, capsys):
    assert status_of(["reproduce", name, "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.splitlines() == [HINT]
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("words", [["get", "cifar10"], ["list"], ["list", "--json"]])
def test_the_commands_of_their_data_say_so_too(words, tmp_path, capsys):
    assert status_of(["data", *words, "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err.splitlines() == [HINT.replace("reproduce", "data")]
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("words", [["reproduce"], ["data", "get"]])
def test_the_help_does_without_them(words, capsys):
    assert status_of([*words, "--help"]) == 0
    assert "california" in capsys.readouterr().out


def test_no_command_but_its_own_imports_them():
    code = "import sys, askwho.cli; print([name for name in sys.modules if name.startswith('askwho_studies')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_library_holds_no_studies():
    # Not by `find_spec`: a folder that holds nothing but an old cache would pass for a package.
    assert not {"reproduce", "studies"} & {module.name for module in pkgutil.iter_modules(askwho.__path__)}

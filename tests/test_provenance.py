"""Where a result says that it comes from: changes of any code that made it are told."""

import importlib.util
import shutil
import subprocess

import pytest

from askwho import _provenance

GIT = shutil.which("git")


@pytest.fixture
def work(tmp_path):
    """A work tree with a copy of the module and a folder beside it, both committed."""
    for folder in ("library", "beside", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "code.py").write_text("")
    shutil.copy(_provenance.__file__, tmp_path / "library" / "_provenance.py")
    me = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init"], ["add", "."], [*me, "commit", "--message", "all"]):
        subprocess.run([GIT, *words], cwd=tmp_path, capture_output=True, check=True)
    return tmp_path


@pytest.mark.skipif(GIT is None, reason="there is no git here")
@pytest.mark.parametrize(
    ("changed", "alone", "together"),
    [(None, False, False), ("elsewhere", False, False), ("library", True, True), ("beside", False, True)],
)
def test_a_change_of_code_beside_the_library_is_told(work, changed, alone, together):
    spec = importlib.util.spec_from_file_location("copied_provenance", work / "library" / "_provenance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if changed:
        (work / changed / "code.py").write_text("changed")
    # What Python leaves beside a module that it ran is no change of it.
    shutil.rmtree(work / "library" / "__pycache__", ignore_errors=True)
    assert module.provenance()["commit"].endswith("+changes") == alone
    assert module.provenance(beside=work / "beside")["commit"].endswith("+changes") == together
    assert module.provenance("pytest")["versions"]["pytest"] == pytest.__version__


def test_a_copy_without_a_history_is_told_its_commit(monkeypatch):
    monkeypatch.setenv("ASKWHO_COMMIT", "abc")
    assert _provenance.provenance()["commit"] == "abc"

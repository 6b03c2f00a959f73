"""The demonstration, with the library that draws and without it."""

import pytest

from tests.cli.running import elsewhere, run

WRITTEN = {"log.parquet", "new.parquet", "policy", "routes.parquet", "decisions.parquet", "report.html"}


def test_the_demo_runs_to_the_end(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert run("demo", "--out", tmp_path / "demo") == 0
    assert {path.name for path in (tmp_path / "demo").iterdir()} == WRITTEN | {"report_figures"}
    assert "fee saved" in capsys.readouterr().out


def test_the_demo_needs_no_library_that_draws(tmp_path):
    code = f"""
import sys
from tests.blocked import block
block("matplotlib")
from askwho.cli import status_of
status = status_of(["demo", "--out", {str(tmp_path / "demo")!r}])
print("matplotlib" in sys.modules)
sys.exit(status)
"""
    found = elsewhere(code, "-W", "error")
    assert found.returncode == 0, found.stderr[-3000:]
    assert found.stdout.splitlines()[-1] == "False"
    said = " ".join(found.stdout.split())
    assert "fee saved" in said
    assert "figures: none: pip install 'askwho[plot]' draws them" in said
    assert {path.name for path in (tmp_path / "demo").iterdir()} == WRITTEN
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "report_figures" not in page

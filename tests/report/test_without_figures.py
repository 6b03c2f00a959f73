"""Without matplotlib the page says all that it says, in words and tables, and how to have figures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from askwho import save, write_report
from askwho.data import write_table
from askwho.report._page import NO_FIGURES
from tests import cases, synthetic
from tests.report.parsing import Page

ROOT = Path(__file__).parents[2]
BLOCKED = "from tests.blocked import block; block('matplotlib'); from askwho.cli import main; main()"


def tables(page):
    """What the tables hold: the figures show nothing that is not among it."""
    return [row for row in page.rows if row]


def test_the_command_writes_the_page_and_says_where_figures_come_from(tmp_path):
    save(cases.case("classes")[0], tmp_path / "policy")
    write_table(tmp_path / "new.parquet", synthetic.classification(160, 1))
    out = tmp_path / "r.html"
    words = ["report", str(tmp_path / "policy"), str(tmp_path / "new.parquet"), "--out", str(out), "--json"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCKED, *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["figures"] == "none: pip install 'askwho[plot]' draws them"
    assert said["report"] == str(out)
    page = Page(out.read_text())
    assert page.text.count(NO_FIGURES) == 1
    assert said["headline"] in page.text.replace(" ( both )", " (both)")
    assert page.bad == []
    assert "svg" not in page.tags
    assert all(link.startswith("#") for link in page.links)
    assert not (tmp_path / "r_figures").exists()


@pytest.mark.parametrize("kind", cases.SHOWN)
def test_words_and_tables_are_the_same_with_figures_and_without(written, request, tmp_path, kind):
    policy, log, report = written(kind)
    request.getfixturevalue("undrawn")
    bare = write_report(policy, log, tmp_path / "report.html", title=f"{kind}.parquet", draws=30)
    assert bare.figures == ()
    assert bare.headline == report.headline
    with_figures, without = Page(report.out.read_text()), Page(bare.out.read_text())
    assert tables(with_figures) == tables(without)
    assert with_figures.ids[0] == without.ids[0] == "headline"
    assert [tag for tag in with_figures.tags if tag in ("h1", "h2", "h3", "table", "article")] == [
        tag for tag in without.tags if tag in ("h1", "h2", "h3", "table", "article")
    ]
    assert without.text.count(NO_FIGURES) == 1
    assert NO_FIGURES not in with_figures.text


def test_figures_of_before_are_cleared(request, tmp_path):
    pytest.importorskip("matplotlib")
    policy, log = cases.case("grades")
    first = write_report(policy, log, tmp_path / "r.html", draws=5)
    assert first.figures
    assert all(path.is_file() for path in first.figures)
    request.getfixturevalue("undrawn")
    write_report(policy, log, tmp_path / "r.html", draws=5)
    assert not any(path.exists() for path in first.figures)

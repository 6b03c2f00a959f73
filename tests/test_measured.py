"""The page of what was measured: its tables are those of the files, and the files are of commits that stand here."""

import json
import re
import shutil
import subprocess

import pytest
from benchmarks import tables

NAMES = re.findall(r"<!-- (\w+) -->\n\n\|", tables.PAGE.read_text(encoding="utf-8"))


def test_every_table_is_what_its_file_tells():
    page = tables.PAGE.read_text(encoding="utf-8")
    assert set(NAMES) == set(tables.TABLES)
    assert tables.written(page) == page


def test_a_figure_that_was_changed_by_hand_is_found():
    page = tables.PAGE.read_text(encoding="utf-8")
    changed = page.replace("| fraud |", "| fraud, nearly |", 1)
    assert changed != page
    assert tables.written(changed) == page


@pytest.mark.parametrize("name", NAMES)
def test_each_file_is_of_a_clean_commit_of_this_history(name):
    commit = json.loads((tables.RESULTS / f"{name}.json").read_text(encoding="utf-8"))["provenance"]["commit"]
    git = shutil.which("git")
    if git is None or said(git, "rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("there is no whole history here")
    found = said(git, "merge-base", "--is-ancestor", commit, "HEAD")
    assert found.returncode == 0, f"{commit}: {found.stderr}"


def said(*words):
    return subprocess.run(words, cwd=tables.ROOT, capture_output=True, check=False, text=True)

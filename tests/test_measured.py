"""The pages of what was measured: their tables are those of the files, and the files of commits that stand here."""

import json
import re
import shutil
import subprocess

import pytest
from benchmarks import tables

TEXTS = {page.name: page.read_text(encoding="utf-8") for page in tables.PAGES}
NAMES = re.findall(r"<!-- (\w+(?::\w+)?) -->\n\n\|", "\n".join(TEXTS.values()))
FILES = sorted({name.partition(":")[0] for name in NAMES})


def test_every_table_is_what_its_file_tells():
    assert sorted(NAMES) == sorted(tables.TABLES)
    for name, page in TEXTS.items():
        assert tables.written(page) == page, name


def test_a_figure_that_was_changed_by_hand_is_found():
    page = TEXTS["measured.md"]
    changed = page.replace("| fraud |", "| fraud, nearly |", 1)
    assert changed != page
    assert tables.written(changed) == page


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_of_a_clean_commit_of_this_history(name):
    found = json.loads(tables.file_of(name).read_text(encoding="utf-8"))
    # Of a file that was made in parts each part tells its own.
    parts = [found] if "provenance" in found else found.values()
    git = shutil.which("git")
    if git is None or said(git, "rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("there is no whole history here")
    for commit in {part["provenance"]["commit"] for part in parts}:
        known = said(git, "merge-base", "--is-ancestor", commit, "HEAD")
        assert known.returncode == 0, f"{commit}: {known.stderr}"


def said(*words):
    return subprocess.run(words, cwd=tables.ROOT, capture_output=True, check=False, text=True)

"""The page about the data says what the code does."""

import json
import os
from pathlib import Path

import pytest

from askwho_studies.data import SETS, inventory, told
from askwho_studies.paper import NEEDS

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "get-the-data.md").read_text(encoding="utf-8")
"""As it lies in the repository."""
# Where the shared data lies; tests that need it skip without it.
DATA = os.environ.get("ASKWHO_DATA")


def row(start):
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{start}` |"))
    return line


def rows(start):
    return [line for line in PAGE.splitlines() if line.startswith(f"| `{start}` |")]


@pytest.mark.parametrize("name", SETS)
def test_each_set_is_there_with_its_page_its_licence_and_its_places(name):
    wanted = SETS[name]
    what, place = rows(name)
    assert f"({wanted.page})" in what
    assert wanted.licence.split(";")[0] in what
    for experiment in (experiment for experiment, needed in NEEDS.items() if name in needed):
        assert f"`{experiment}`" in what
    assert f"`{wanted.folder}/{wanted.files[0]}`" in place
    assert all(f"`{other}`" in place for other in wanted.others)


@pytest.mark.parametrize("archive", [a for each in SETS.values() for a in each.archives], ids=lambda a: a.name)
def test_each_sum_is_there_with_the_page_it_is_cited_from(archive):
    line = row(archive.name)
    if archive.sum is None:
        assert "| none |" in line
    else:
        assert f"{archive.sum.kind} `{archive.sum.value}`" in line
        assert f"({archive.sum.cited})" in line


def test_what_list_prints_of_an_empty_folder_is_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "\n".join(["```text", *told(inventory()), "```"]) in PAGE


@pytest.mark.skipif(DATA is None or not (Path(DATA) / "logs").is_dir(), reason="needs ASKWHO_DATA")
def test_each_recorded_log_is_there_with_its_commit_and_how_it_is_made():
    names = inventory(Path(DATA))["logs"]
    assert names
    for name in names:
        stored = json.loads((Path(DATA) / "logs" / f"{name}.json").read_text(encoding="utf-8"))
        commits = stored["commit"] if isinstance(stored["commit"], list) else [stored["commit"]]
        assert all(f"`{commit}`" in row(name) for commit in commits)
        assert any(f"`{name}`" in line for line in PAGE.splitlines() if line.startswith("- **"))

import json
from pathlib import Path

import pytest

from askwho.cli import status_of
from askwho.data import write_table
from askwho.persistence import digest, save
from tests import cases, synthetic
from tests.report.parsing import Page

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    save(cases.case("classes")[0], folder / "policy")
    write_table(folder / "new.parquet", synthetic.classification(160, 1))
    return folder


def run(*words):
    return status_of([str(word) for word in words])


def test_one_command_writes_the_page_and_says_what_it_says(place, tmp_path, capsys):
    out = tmp_path / "a report.html"
    assert run("report", place / "policy", place / "new.parquet", "--out", out, "--by", "kind", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    page = Page(out.read_text())
    assert said["headline"].startswith("Matches the best single (both)")
    assert said["headline"] in page.text.replace(" ( both )", " (both)")
    assert said["report"] == str(out)
    assert len(list(Path(said["figures"]).glob("*.png"))) == 5
    assert digest(place / "policy") in page.text
    assert "new.parquet" in page.text
    assert "By kind" in page.text
    assert any(link.startswith("a%20report_figures/") for link in page.links)


def test_without_json_it_names_the_report(place, tmp_path, capsys):
    out = tmp_path / "r.html"
    assert run("report", place / "policy", place / "new.parquet", "--out", out, "--budget", 0.3) == 0
    assert f"report: {out}" in capsys.readouterr().out.replace("\n", "")
    assert "a mean fee of at most 0.3" in out.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["POLICY", "NEW", "--out", "OUT/r.txt"], "`out` must end in .html"),
        (["POLICY", "NEW", "--out", "OUT/no/r.html"], "folder that is there"),
        (["POLICY", "NEW", "--out", "OUT/r.html", "--by", "stranger"], "`--by` must be a column of the log"),
        (["POLICY", "NEW", "--out", "OUT/r.html", "--k", "9"], "`k` must be between 1 and"),
        (["POLICY", "NEW", "--out", "OUT/r.html", "--budget", "1", "--k", "1"], "One target must be given"),
        (["POLICY", "NEW", "--out", "OUT/r.html", "--max-error", "0"], "`max_error` must be at least"),
        (["POLICY", "nowhere.parquet", "--out", "OUT/r.html"], "it is not there"),
        (["POLICY", "OTHER", "--out", "OUT/r.html"], "must"),
        (["NEW", "NEW", "--out", "OUT/r.html"], "must hold an artefact"),
        (["POLICY", "NEW"], "Missing option"),
    ],
)
def test_bad_input_ends_in_one_clear_line_and_exit_2(place, tmp_path, capsys, words, message):
    other = place / "other.parquet"
    write_table(other, synthetic.regression(30))
    names = {"POLICY": place / "policy", "NEW": place / "new.parquet", "OTHER": other}
    assert run("report", *(str(names.get(word, word)).replace("OUT", str(tmp_path)) for word in words)) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("askwho: ")]
    assert len(said) == 1
    assert message in said[0]
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told(place, tmp_path, capsys, monkeypatch):
    def refused(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refused)
    assert run("report", place / "policy", place / "new.parquet", "--out", tmp_path / "r.html") == 2
    assert "askwho: Permission denied: " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_digest_is_of_the_policy(place, tmp_path):
    save(cases.case("grades")[0], tmp_path / "other")
    save(cases.case("classes")[0], tmp_path / "same")
    assert digest(tmp_path / "same") == digest(place / "policy")
    assert digest(tmp_path / "other") != digest(place / "policy")

"""`askwho data` as it is typed, and what `askwho reproduce` says where there is no data."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studies.tests.data import made

from askwho.cli import status_of
from askwho_studies.data import SETS, command, held
from askwho_studies.paper import EXPERIMENTS, NEEDS, _image_study

# Where the shared data lies; tests that need it skip without it.
DATA = os.environ.get("ASKWHO_DATA")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder of one's own, and no data anywhere."""
    monkeypatch.delenv("ASKWHO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def printed(capsys, *words):
    assert status_of([str(word) for word in words]) == 0
    return capsys.readouterr().out.splitlines()


def test_get_brings_a_set_shows_its_licence_and_says_where_it_lies(serve, capsys):
    web = serve("cifar10")
    assert status_of(["data", "get", "cifar10", "--mirror", web.url]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == ["askwho-data/images/cifar10"]
    assert f"licence: {SETS['cifar10'].licence}" in said.err
    assert held(Path("askwho-data"), "cifar10").form == "official"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["mnist"], 2, "askwho: `name` must be one of 'california'"),
        (["cifar10n"], 2, "askwho: `unverified` must be said to fetch cifar10n"),
        (["cifar10", "--mirror", "ftp://example.org"], 2, "askwho: `mirror` must be an address of the web"),
        (["cifar10", "--mirror", "WEB"], 1, "askwho: cifar-10-binary.tar.gz must come from"),
        ([], 2, "askwho: Missing"),
    ],
)
def test_what_cannot_be_had_ends_in_one_clear_line(words, status, message, web, capsys):
    assert status_of(["data", "get", *(web.url if word == "WEB" else word for word in words)]) == status
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("askwho: ")]
    assert len(said) == 1
    assert said[0].startswith(message)


def test_a_wrong_sum_is_a_failure(serve, web, capsys):
    serve("cifar10h")
    web.files["cifar10h-probs.npy"] += b"x"
    assert status_of(["data", "get", "cifar10h", "--mirror", web.url]) == 1
    assert "must have the md5 sum" in capsys.readouterr().err
    assert not [path for path in Path("askwho-data").rglob("*") if path.is_file()]


def test_list_says_what_to_type_for_each_set_that_is_missing(capsys):
    first, *lines, logs = printed(capsys, "data", "list")
    assert first == "data in askwho-data"
    assert lines == [
        f"{name}: missing: askwho data get {name}{' --unverified' if name == 'cifar10n' else ''}" for name in SETS
    ]
    assert logs == "recorded logs: none in logs/; docs/how-to/get-the-data.md says how to make them"


def test_list_tells_forms_sums_parts_and_logs_apart(serve, web, tmp_path, capsys):
    for name in ("cifar10", "cifar10n"):
        serve(name)
    place = tmp_path / "my data"
    words = ["data", "get", "cifar10", "cifar10n", "--unverified", "--mirror", web.url, "--data", str(place)]
    assert status_of(words) == 0
    for file in (
        *SETS["svhn"].others,
        *SETS["cifar10h"].others,
        "logs/one.parquet",
        "logs/one.json",
        "logs/two.parquet",
    ):
        (place / file).parent.mkdir(exist_ok=True)
        (place / file).touch()
    (place / SETS["cifar100"].folder).mkdir()
    (place / SETS["cifar100"].folder / "train.bin").touch()
    capsys.readouterr()
    _, *lines, logs = printed(capsys, "data", "list", "--data", place)
    told = dict(line.split(": ", 1) for line in lines)
    assert told == {
        "california": f"missing: askwho data get california --data '{place}'",
        "cifar10": "official files, published sums checked",
        "cifar100": f"missing, in part (test.bin not as it should be): askwho data get cifar100 --data '{place}'",
        "svhn": "JPEG sheets",
        "cifar10n": "official files, no published sum",
        "cifar10h": "NumPy arrays",
    }
    assert logs == "recorded logs: one"
    (said,) = printed(capsys, "data", "list", "--data", place, "--json")
    found = json.loads(said)
    assert [each["form"] for each in found["sets"]] == [None, "official", None, "sheets", "official", "arrays"]
    assert found["sets"][0]["command"] == f"askwho data get california --data '{place}'"


@pytest.mark.skipif(DATA is None or not (Path(DATA) / "images").is_dir(), reason="needs ASKWHO_DATA")
def test_list_knows_the_shared_data(capsys):
    (said,) = printed(capsys, "data", "list", "--data", DATA, "--json")
    found = json.loads(said)
    assert {each["name"]: each["form"] for each in found["sets"]} == {
        name: "sheets" if name in ("cifar10", "cifar100", "svhn") else "arrays" for name in SETS
    }
    assert len(found["logs"]) == 9


@pytest.mark.parametrize("name", [*EXPERIMENTS, "all"])
def test_reproduce_without_data_prints_the_one_command_to_type(name, tmp_path, capsys):
    assert status_of(["reproduce", name, "--quick"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    needed = NEEDS[name] if name != "all" else ("california", "cifar10", "svhn", "cifar100", "cifar10n")
    unverified = " --unverified" if "cifar10n" in needed else ""
    assert said.endswith(f": type `askwho data get {' '.join(needed)}{unverified}`.")
    assert said.startswith("askwho: `data` must hold ")
    assert not list(tmp_path.iterdir())


def test_only_what_is_missing_is_to_be_fetched(serve, web, capsys, tmp_path):
    serve("cifar10")
    assert status_of(["data", "get", "cifar10", "--mirror", web.url]) == 0
    capsys.readouterr()
    assert status_of(["reproduce", "cifar10-people"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("type `askwho data get cifar10n --unverified`.")
    assert command(tmp_path / "it's", ["svhn"]).endswith("""it'"'"'s'""")


def test_fetch_then_reproduce_in_a_folder_of_ones_own(serve, web, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    rows = (480, 100)
    sides = [made.pictures(n, 10, seed) for seed, n in enumerate(rows)]
    parts = np.array_split(np.arange(rows[0]), 5)
    files = {f"data_batch_{i}.bin": made.records(*(each[part] for each in sides[0])) for i, part in enumerate(parts, 1)}
    files["test_batch.bin"] = made.records(*sides[1])
    serve("cifar10", {"cifar-10-binary.tar.gz": made.tgz((f"cifar-10-batches-bin/{n}", d) for n, d in files.items())})
    monkeypatch.setitem(SETS, "cifar10", replace(SETS["cifar10"], rows=rows))
    monkeypatch.setattr(_image_study, "QUICK_IMAGES", rows)
    assert status_of(["data", "get", "cifar10", "--mirror", web.url]) == 0
    assert status_of(["reproduce", "cifar10", "--quick", "--workers", "1"]) == 0
    stored = json.loads(Path("askwho-results/cifar10.json").read_text())
    assert stored["settings"]["images as"] == "official"
    assert stored["settings"]["images"] == list(rows)

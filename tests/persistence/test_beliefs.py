"""Beliefs and asking in turn as they are written and read: the same steps, and no torch to take them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho.data import Columns, read_log, write_table
from askwho.fitting import fit
from askwho.persistence import load, save
from askwho.policy import Target
from tests import synthetic
from tests.persistence.alike import same_state, same_verdicts

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
    """The synthetic log in other words; with a base that x_1 gives, or with an answer of its own for every query."""
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
    policy = fit(
        read_log(table_of(kind, 400), COLUMNS),
        learner="linear",
        base="auto" if kind == "a base" else "none",
        committee="posterior",
        cv=2,
        promise=0.25,
    )
    assert (policy.base is not None) == (kind == "a base")
    assert len(policy.combiner.beliefs.classes) == (0 if kind == "open" else 3)
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
    return given | {"id": np.arange(60)}


def test_a_loaded_policy_has_the_same_beliefs(pair):
    policy, loaded, _, _ = pair
    same_state(policy, loaded)


def test_a_loaded_policy_takes_the_same_steps(pair):
    policy, loaded, _, table = pair
    asked = set()
    for weight in (0.0, 0.02, 0.3, 50.0):
        for given in (partly(table), {n: v for n, v in table.items() if n.startswith("x_")} | {"id": np.arange(60)}):
            ours, theirs = (p.next(given, target=Target(fee_weight=weight)).next_columns() for p in (policy, loaded))
            assert ours == theirs
            asked |= set(ours["ask"])
    assert {None, "left"} < asked


def test_a_loaded_policy_combines_the_same(pair):
    policy, loaded, _, table = pair
    assert loaded.combiner.rule == policy.combiner.rule == "posterior"
    same_verdicts(policy, loaded, table, Target(k=3))
    same_verdicts(policy, loaded, table, Target(fee_weight=0.1))


def test_a_loaded_policy_keeps_what_turns_were_tried_on(pair):
    policy, loaded, _, table = pair
    ours, theirs = (p.turns.tried.validated(p.unit) for p in (policy, loaded))
    assert ours == theirs
    ours, theirs = (p.turns.tried.kept.validated(p.unit) for p in (policy, loaded))
    assert ours == theirs
    target = Target(budget=max(point["mean_fee"] for point in ours), confidence=0.8)
    assert policy.setting(target, in_turn=True) == loaded.setting(target, in_turn=True)
    if policy.base is not None:
        np.testing.assert_array_equal(loaded.see(table).shares, policy.see(table).shares)


@pytest.mark.parametrize("pair", ["text", "a base"], indirect=True)
def test_torch_is_not_needed_to_take_turns_or_to_combine(pair, tmp_path):
    policy, _, folder, table = pair
    given = partly(table)
    write_table(tmp_path / "queries.parquet", given)
    came = {n: v for n, v in table.items() if n.startswith(("answer", "info"))}
    write_table(tmp_path / "answers.parquet", came | {"id": np.arange(60)})
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
    assert asked == policy.next(given, target=Target(fee_weight=0.05)).next_columns()["ask"]


def test_a_policy_of_another_committee_travels_without_beliefs_and_takes_no_turns(plain, new, tmp_path):
    assert plain.combiner.beliefs is plain.turns is None
    save(plain, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert loaded.combiner.beliefs is loaded.turns is None
    assert loaded.combiner.rule == "majority"
    with pytest.raises(InvalidInputError, match="cannot ask in turn"):
        loaded.next(new, target=Target(fee_weight=0.1))
    with pytest.raises(InvalidInputError, match="cannot ask in turn"):
        loaded.setting(Target(budget=1.0), in_turn=True)
    assert loaded.setting(Target(budget=1.0)) == plain.setting(Target(budget=1.0))

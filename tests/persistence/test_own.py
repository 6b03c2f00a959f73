"""Parts of a user's own: saved by name, and read back only where the user allows it."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from askwho import InvalidInputError, TwoStageClassifier, _parts, aggregation
from askwho.data import read_log
from askwho.fitting import calibrate, fit
from askwho.persistence import load, save
from askwho.policy import Target
from tests import synthetic
from tests.persistence import own
from tests.persistence.alike import same_decisions, same_state, same_verdicts
from tests.persistence.conftest import COLUMNS, with_text

ROOT = Path(__file__).parents[2]
OWN = "tests.persistence.own"
TEXT = replace(COLUMNS, features=None, text="text")
# What is one's own: how it is fitted, and what the artefact calls it.
PARTS = {
    "a learner": ({"learner": own.Means(shrink=2.0)}, f"{OWN}:Means"),
    "a committee": ({"learner": "linear", "committee": own.careful}, f"{OWN}:careful"),
    "an encoder that is a function": ({"learner": "linear", "encoder": own.lengths}, f"{OWN}:lengths"),
    "an encoder that is an object": ({"learner": "linear", "encoder": own.Letters("aco")}, f"{OWN}:Letters"),
    "an encoder inside a class": ({"learner": "linear", "encoder": own.Outer.inside}, f"{OWN}:Outer.inside"),
}


@pytest.fixture(scope="module")
def table():
    return with_text(synthetic.classification(120))


@pytest.fixture(scope="module", params=PARTS)
def saved(request, table, tmp_path_factory):
    """A policy with a part of one's own, where it lies, and what the part is called there."""
    options, name = PARTS[request.param]
    columns = TEXT if "encoder" in options else COLUMNS
    policy = fit(read_log(table, columns), base="none", cv=2, **options)
    folder = tmp_path_factory.mktemp("own") / "policy"
    save(policy, folder)
    return policy, folder, name


def kinds(plain):
    return {plain["kind"], *(kind for part in plain["parts"].values() for kind in kinds(part))}


def test_it_is_saved_by_name(saved):
    _, folder, name = saved
    assert {kind for kind in kinds(json.loads((folder / "manifest.json").read_text())["policy"]) if ":" in kind} == {
        name
    }


@pytest.mark.parametrize("allow", [(), ["another:Part"], ["Means"]], ids=repr)
def test_it_is_refused_where_nobody_allows_it(saved, allow):
    _, folder, name = saved
    with pytest.raises(InvalidInputError) as error:
        load(folder, allow=allow)
    assert str(error.value) == (
        f"The artefact names a part of your own, {name!r}, and an artefact alone never runs code: "
        f"load it with allow=[{name!r}] if you trust it."
    )


def test_what_is_refused_is_not_imported(tmp_path, table):
    """Importing a module runs it: nothing may be imported before it is allowed."""
    policy = fit(read_log(table, COLUMNS), base="none", cv=2, learner=own.Means())
    save(policy, tmp_path / "policy")
    code = f"""
import sys
from askwho.exceptions import InvalidInputError
from askwho.persistence import load
try:
    load({str(tmp_path / "policy")!r})
except InvalidInputError:
    print({OWN!r} in sys.modules)
load({str(tmp_path / "policy")!r}, allow=[{f"{OWN}:Means"!r}])
print({OWN!r} in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.stdout.split() == ["False", "True"], found.stderr


def test_allowed_it_decides_the_same(saved, table):
    policy, folder, name = saved
    for allow in ([name], name, {name, "another:Part"}):
        loaded = load(folder, allow=allow)
        same_state(policy, loaded)
        same_decisions(policy, loaded, table)
        same_verdicts(policy, loaded, table)


def test_allowed_it_is_calibrated_and_saved_again(saved, table, tmp_path):
    policy, folder, name = saved
    done = calibrate(load(folder, allow=[name]), read_log(table, policy.columns))
    save(done, tmp_path / "again")
    with pytest.raises(InvalidInputError, match="an artefact alone never runs code"):
        load(tmp_path / "again")
    same_state(done, load(tmp_path / "again", allow=[name]))


def test_an_entry_point_is_enough(saved, table, monkeypatch):
    policy, folder, name = saved
    asked = []

    def found(*, group):
        asked.append(group)
        return [EntryPoint("mine", name, group)]

    monkeypatch.setattr(_parts, "entry_points", found)
    same_decisions(policy, load(folder), table)
    assert set(asked) == {"askwho.parts"}


def test_what_is_not_installed_any_more_is_asked_for(saved, monkeypatch):
    _, folder, name = saved
    monkeypatch.setitem(sys.modules, OWN, None)
    with pytest.raises(
        InvalidInputError, match=f"The artefact needs '{name}', which cannot be imported here: install it"
    ):
        load(folder, allow=[name])


@pytest.mark.parametrize(
    "how", ["a lambda", "inside a function", "of another name", "in the script", "a class in the script"]
)
def test_what_cannot_be_imported_again_is_refused_when_it_is_saved(how, table, tmp_path):
    def local(committee):
        return aggregation.majority(committee)

    def renamed(committee):
        return aggregation.majority(committee)

    def scripted(committee):
        return aggregation.majority(committee)

    class Scripted(own.Means):
        pass

    renamed.__module__, renamed.__qualname__ = OWN, "careful"
    scripted.__module__ = Scripted.__module__ = "__main__"
    scripted.__qualname__, Scripted.__qualname__ = "scripted", "Scripted"
    options, said = {
        "a lambda": ({"committee": lambda committee: aggregation.majority(committee, ties="rank")}, "<lambda>"),
        "inside a function": ({"committee": local}, "<locals>.local"),
        "of another name": ({"committee": renamed}, f"'careful' of '{OWN}'"),
        "in the script": ({"committee": scripted}, "'scripted' of '__main__'"),
        "a class in the script": ({"learner": Scripted()}, "'Scripted' of '__main__'"),
    }[how]
    policy = fit(read_log(table, COLUMNS), base="none", cv=2, **({"learner": "linear"} | options))
    with pytest.raises(InvalidInputError) as error:
        save(policy, tmp_path / "policy")
    name = "rule" if "committee" in options else "learner"
    assert str(error.value).startswith(f"`{name}` must be importable to be saved, got ")
    assert said in str(error.value)
    assert str(error.value).endswith(": put it into a module of its own.")
    assert not (tmp_path / "policy").exists()


def test_a_learner_without_a_state_is_refused_when_it_is_saved(table, tmp_path):
    class Bare:
        def fit(self, _X, errors):
            self.size = errors.shape[1]

        def predict(self, X):
            return np.full((len(X), self.size), 0.5)

    policy = fit(read_log(table, COLUMNS), base="none", cv=2, learner=Bare())
    with pytest.raises(InvalidInputError) as error:
        save(policy, tmp_path / "policy")
    assert str(error.value) == "`learner` must have `to_state` and `from_state` to be saved, got Bare, which has not."
    assert not (tmp_path / "policy").exists()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            {"arrays": {"names": np.array(["a"])}},
            "`arrays` of the part 'judge.learner' must hold numbers to be saved, got <U1",
        ),
        ({"plain": {"mean": np.float32(1)}}, "`plain` of the part 'judge.learner' must be JSON to be saved: "),
    ],
    ids=["texts in arrays", "numbers of NumPy in JSON"],
)
def test_a_state_that_cannot_be_written_is_refused_before_anything_is(state, message, table, tmp_path):
    policy = fit(read_log(table, COLUMNS), base="none", cv=2, learner=own.WithText(**state))
    with pytest.raises(InvalidInputError) as error:
        save(policy, tmp_path / "policy")
    assert str(error.value).startswith(message)
    assert not (tmp_path / "policy").exists()


def test_the_policy_of_an_estimator_decides_without_estimators_and_torch(tmp_path):
    table = synthetic.classification(200)
    X = np.column_stack([table[f"x_{i}"] for i in range(3)])
    answers = {name: table[f"answer_{name}"] for name in synthetic.FEES}
    model = TwoStageClassifier(fees=synthetic.FEES, learner="linear", cv=2, random_state=0)
    model.fit(X, table["truth"], answers=answers)
    save(model.policy_, tmp_path / "policy")
    decisions = model.decide(X[:20], Target(budget=0.4))
    code = f"""
import json, sys
import numpy as np
from askwho import Target, load
policy = load({str(tmp_path / "policy")!r})
decisions = policy.decide({{policy.columns.features: np.array({X[:20].tolist()!r})}}, Target(budget=0.4))
heavy = [name for name in ("askwho.estimators", "torch") if name in sys.modules]
print(json.dumps([decisions.order.tolist(), decisions.k.tolist(), heavy]))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == [decisions.order.tolist(), decisions.k.tolist(), []]

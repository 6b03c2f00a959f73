"""Networks as they are written and read: the same decisions, and no torch to make them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from askwho import Answers, InvalidInputError, Panel  # noqa: E402
from askwho.data import Columns, read_log  # noqa: E402
from askwho.fitting import SurrogateCardinality, fit  # noqa: E402
from askwho.learners import CompSum, Shares  # noqa: E402
from askwho.persistence import load, save  # noqa: E402
from askwho.policy import Target  # noqa: E402
from tests import synthetic  # noqa: E402
from tests.logs import log_of_arrays  # noqa: E402
from tests.networks import QUICK, every_kind  # noqa: E402
from tests.persistence.alike import same_decisions, same_state, same_verdicts  # noqa: E402

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
PRICES = (0.0, 0.2, 2.0)
ROOT = Path(__file__).parents[2]


SETTINGS = every_kind(fee_weight=0.3)


@pytest.fixture(scope="module")
def log():
    return read_log(synthetic.classification(260), COLUMNS)


@pytest.fixture(scope="module")
def policies(log):
    return {
        name: fit(log, learner=learner, committee="majority", base="none", cv=2) for name, learner in SETTINGS.items()
    }


@pytest.fixture(params=SETTINGS)
def policy(request, policies):
    return policies[request.param]


@pytest.fixture(scope="module")
def chooses(log):
    """A policy of both of the paper's algorithms."""
    cardinality = SurrogateCardinality(fee_weights=PRICES, hidden=(8,), training=QUICK)
    return fit(
        log, learner=SETTINGS["perceptrons"], committee="weighted-vote", cardinality=cardinality, base="none", cv=2
    )


def test_a_loaded_policy_decides_as_the_fitted_one(policy, new, tmp_path):
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert loaded.judge.name == "top-k"
    same_state(policy, loaded)
    same_decisions(
        policy,
        loaded,
        new,
        (Target(k=1), Target(k=4), Target(fee_weight=0.0), Target(fee_weight=0.2), Target(budget=0.8)),
    )
    np.testing.assert_array_equal(loaded.see(new).judged.scores, policy.see(new).judged.scores)
    np.testing.assert_array_equal(loaded.see(new).expected, policy.see(new).expected)
    # One query alone is one query of many.
    alone = {name: values[:1] for name, values in new.items()}
    np.testing.assert_array_equal(loaded.decide(alone, Target(k=2)).order[0], loaded.decide(new, Target(k=2)).order[0])


def test_a_loaded_policy_has_its_price_baked_in_too(policy, new, tmp_path):
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    for target, options in ((Target(k=2), {"fees": [0.0] * 4}), (Target(k=2, fee_weight=1.0), {})):
        with pytest.raises(InvalidInputError, match="The price is baked into the policy 'top-k'"):
            loaded.decide(new, target, **options)


def test_k_travels_with_its_prices(chooses, new, tmp_path):
    save(chooses, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    same_state(chooses, loaded)
    same_decisions(chooses, loaded, new, [Target(fee_weight=price) for price in PRICES] + [Target(budget=0.9)])
    with pytest.raises(InvalidInputError, match=r"trained at \(0, 0.2, 2\), got 0.3"):
        loaded.decide(new, Target(fee_weight=0.3))


def test_no_torch_is_needed_to_decide_or_to_combine(policies, chooses, new, tmp_path):
    everyone = policies | {"chooses": chooses}
    for name, fitted in everyone.items():
        save(fitted, tmp_path / name)
    code = f"""
import json, sys
from pathlib import Path
from tests.blocked import block
block("torch")
from askwho.persistence import load
from askwho.policy import Target
from tests import synthetic
new, found = synthetic.classification(120, seed=1), {{}}
for place in Path({str(tmp_path)!r}).iterdir():
    policy = load(place)
    decided = policy.combine(policy.decide(new, Target(fee_weight=0.2)), new, by_position=True)
    found[place.name] = [decided.order.tolist(), decided.k.tolist(), decided.outcome.values.tolist()]
found["torch"] = "torch" in sys.modules
print(json.dumps(found))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found.pop("torch") is False
    assert found.keys() == {*SETTINGS, "chooses"}
    for name, fitted in everyone.items():
        decided = fitted.combine(fitted.decide(new, Target(fee_weight=0.2)), new, by_position=True)
        assert found[name] == [decided.order.tolist(), decided.k.tolist(), decided.outcome.values.tolist()], name


# Labels and experts.


def one_stage_policy(surrogate):
    rng = np.random.default_rng(0)
    n = 200
    X = rng.uniform(-1, 1, (n, 3))
    truth = np.digitize(X[:, 0], [-0.33, 0.33])
    said = np.column_stack([np.where(X[:, 1] < 0, truth, (truth + 1) % 3), np.where(X[:, 1] < 0, 2 - truth, truth)])
    panel = Panel.one_stage([0, 1, 2], {"low": 0.05, "high": 0.05})
    log = log_of_arrays(X, panel=panel, answers=Answers.from_table(said, panel), truth=truth)
    return fit(log, learner=CompSum(surrogate=surrogate, hidden=(8,), training=QUICK), cv=2), {"X": X}


@pytest.mark.parametrize("surrogate", ["asymmetric-softmax", "one-vs-all", "top-k"])
def test_a_policy_of_labels_and_experts_travels(surrogate, tmp_path):
    policy, table = one_stage_policy(surrogate)
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert loaded.panel == policy.panel
    assert isinstance(loaded.judge.learner, Shares) == (surrogate == "asymmetric-softmax")
    same_state(policy, loaded)
    same_decisions(policy, loaded, table, (Target(k=1), Target(k=5), Target(fee_weight=0.5)))


# Routes.


@pytest.mark.parametrize("target", [Target(fee_weight=0.2), Target(k=3)], ids=str)
def test_routes_are_combined_by_the_scores_that_made_them(chooses, new, target, tmp_path):
    decided = chooses.combine(chooses.decide(new, target), new, by_position=True)
    assert decided.outcome.decided.all()
    save(chooses, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    same_verdicts(chooses, loaded, new, target)
    for policy in (chooses, loaded):
        made = policy.decide(new, target).to_columns()
        np.testing.assert_array_equal(
            made["scores"], np.take_along_axis(decided.seen.judged.scores, decided.order, axis=1)
        )
        verdicts = policy.combine(policy.read(made), new, by_position=True).outcome_columns()
        assert verdicts["prediction"] == decided.outcome.values.tolist()
        assert verdicts["fee"] == pytest.approx(decided.fee.tolist())
        assert all(0 <= probability <= 1 for probability in verdicts["probability"])


def test_scores_decide_where_a_plain_vote_would_not(chooses, new):
    """Two against one: only the weights of the scores can make the first of three win."""
    made = chooses.decide(new, Target(k=3)).to_columns()
    answered = {f"answer_{name}": np.full(120, "dog", dtype=object) for name in chooses.panel.names}
    for i, order in enumerate(made["order"]):
        answered[f"answer_{order[0]}"][i] = "cat"
    for gap, winner in ((0.0, "dog"), (5.0, "cat")):
        made["scores"] = [[0.0, *[-gap] * 3]] * 120
        decided = chooses.combine(chooses.read(made), answered, by_position=True)
        assert set(decided.outcome_columns()["prediction"]) == {winner}


def test_routes_without_scores_are_refused(chooses, new):
    made = chooses.decide(new, Target(k=2)).to_columns()
    del made["scores"]
    with pytest.raises(InvalidInputError, match=r"`routes` must be what `askwho route` wrote, missing: \['scores'\]"):
        chooses.read(made)


def test_routes_of_a_learner_of_errors_have_no_scores(small, new):
    made = small.decide(new, Target(k=2)).to_columns()
    assert "scores" not in made
    assert len(small.combine(small.read(made), new, by_position=True).outcome_columns()["prediction"]) == 120

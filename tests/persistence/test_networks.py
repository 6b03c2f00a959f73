"""Networks as they are written and read: the same decisions, and no torch to make them."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from askwho.routes import combine_routes, make_routes  # noqa: E402
from torch import nn  # noqa: E402

from askwho import Answers, InvalidInputError, Panel, routes  # noqa: E402
from askwho.data import Columns, FeatureEncoder, read_log  # noqa: E402
from askwho.engine import Training  # noqa: E402
from askwho.learners import CompSum, Shares  # noqa: E402
from askwho.persistence import load, save  # noqa: E402
from askwho.policy import Policy, fit_policy  # noqa: E402
from tests import synthetic  # noqa: E402

GAP = 2e-5
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
QUICK = Training(epochs=8, batch=64, rate=2e-2)
PRICES = (0.0, 0.2, 2.0)


def make_network(inputs, outputs, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(inputs, 12), nn.BatchNorm1d(12), nn.GELU(), nn.Linear(12, outputs))


def make_encoder(inputs=3):
    with torch.random.fork_rng():
        torch.manual_seed(9)
        return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Dropout(0.5))


SETTINGS = {
    "perceptrons": CompSum(hidden=(16,), fee_weight=0.3, training=QUICK),
    "linear": CompSum(hidden=(), fee_weight=0.3, training=QUICK),
    "a module": CompSum(network=make_network, fee_weight=0.3, training=QUICK),
    "an encoder": CompSum(encoder=make_encoder(), hidden=(16,), fee_weight=0.3, training=QUICK),
    "an encoder and a module": CompSum(encoder=make_encoder(), network=make_network, fee_weight=0.3, training=QUICK),
}


@pytest.fixture(scope="module")
def log():
    return read_log(synthetic.classification(260), COLUMNS)


@pytest.fixture(scope="module")
def new():
    return synthetic.classification(120, seed=1)


@pytest.fixture(scope="module")
def policies(log):
    return {name: fit_policy(log, learner=learner, base="none", cv=2) for name, learner in SETTINGS.items()}


@pytest.fixture(params=SETTINGS)
def policy(request, policies):
    return policies[request.param]


@pytest.fixture(scope="module")
def chooses(log):
    """A policy of both of the paper's algorithms."""
    cardinality = SurrogateCardinality(fee_weights=PRICES, hidden=(8,), training=QUICK)
    return fit_policy(
        log, learner=SETTINGS["perceptrons"], committee="weighted-vote", cardinality=cardinality, base="none", cv=2
    )


def assert_decides_alike(ours, theirs, queries, targets):
    for target in targets:
        mine, read = ours.select(queries, **target), theirs.select(queries, **target)
        np.testing.assert_allclose(read.scores, mine.scores, atol=GAP / 2)
        clear = (np.diff(np.sort(mine.scores, axis=1), axis=1) > GAP).all(axis=1)
        assert clear.mean() > 0.9
        np.testing.assert_array_equal(read.order[clear], mine.order[clear])
        assert (read.k == mine.k)[clear].mean() > 0.99


def test_a_loaded_policy_decides_as_the_fitted_one(policy, new, tmp_path):
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert loaded.router.learner_name_ == "top-k"
    targets = ({"k": 1}, {"k": 4}, {"fee_weight": 0.0}, {"fee_weight": 0.2}, {"budget": 0.8})
    assert_decides_alike(policy, loaded, new, targets)
    for ours, theirs in zip(policy.router.validated_, loaded.router.validated_, strict=True):
        assert theirs == pytest.approx(ours, rel=1e-4)
    np.testing.assert_allclose(
        loaded.router.expected_errors(loaded.features(new)),
        policy.router.expected_errors(policy.features(new)),
        atol=1e-3,
    )
    # One query alone is one query of many.
    alone = {name: values[:1] for name, values in new.items()}
    np.testing.assert_array_equal(loaded.select(alone, k=2).order[0], loaded.select(new, k=2).order[0])


def test_a_loaded_policy_has_its_price_baked_in_too(policy, new, tmp_path):
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    for target in ({"k": 2, "fees": [0.0] * 4}, {"k": 2, "fee_weight": 1.0}):
        with pytest.raises(InvalidInputError, match="The price is baked into the policy 'top-k'"):
            loaded.select(new, **target)


def test_k_travels_with_its_prices(chooses, new, tmp_path):
    save(chooses, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert_decides_alike(chooses, loaded, new, [{"fee_weight": price} for price in PRICES] + [{"budget": 0.9}])
    with pytest.raises(InvalidInputError, match=r"trained at \(0, 0.2, 2\), got 0.3"):
        loaded.select(new, fee_weight=0.3)


def test_no_torch_is_needed_to_decide_or_to_combine(policies, chooses, new, tmp_path):
    for name, fitted in (policies | {"chooses": chooses}).items():
        save(fitted, tmp_path / name)
    code = f"""
import json, sys
from pathlib import Path
import numpy as np
from tests.blocked import block
block("torch")
from askwho.persistence import load
from askwho.routes import combine_routes, make_routes
from tests import synthetic
new, found = synthetic.classification(120, seed=1), {{}}
for place in Path({str(tmp_path)!r}).iterdir():
    policy = load(place)
    made = make_routes(policy, new, fee_weight=0.2)
    routes = {{name: np.array([*values, None], dtype=object)[:-1] for name, values in made.items()}}
    said = combine_routes(policy, routes, new)["prediction"]
    found[place.name] = {{"order": policy.select(new, k=2).order[:, :2].tolist(), "k": made["k"], "said": said}}
found["torch"] = "torch" in sys.modules
print(json.dumps(found))
"""
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found.pop("torch") is False
    assert found.keys() == {*SETTINGS, "chooses"}
    for name, fitted in (policies | {"chooses": chooses}).items():
        selection = fitted.select(new, fee_weight=0.2)
        clear = (np.diff(np.sort(selection.scores, axis=1), axis=1) > GAP).all(axis=1)
        np.testing.assert_array_equal(np.array(found[name]["order"])[clear], selection.order[clear, :2])
        assert (found[name]["k"] == selection.k)[clear].mean() > 0.99
        said, _ = fitted.combine(selection, heard(fitted, new), new).at(selection.k)
        assert (found[name]["said"] == said)[clear].mean() > 0.99


def heard(policy, new):
    return Answers.from_table({n: new[f"answer_{n}"] for n in policy.panel.names}, policy.panel)


# Labels and experts.


def one_stage_policy(surrogate):
    rng = np.random.default_rng(0)
    n = 200
    X = rng.uniform(-1, 1, (n, 3))
    truth = np.digitize(X[:, 0], [-0.33, 0.33])
    said = np.column_stack([np.where(X[:, 1] < 0, truth, (truth + 1) % 3), np.where(X[:, 1] < 0, 2 - truth, truth)])
    panel = Panel.one_stage([0, 1, 2], {"low": 0.05, "high": 0.05})
    answers = Answers.from_table(said, panel)
    errors = (answers.values != truth[:, None]).astype(float)
    router = Router(learner=CompSum(surrogate=surrogate, hidden=(8,), training=QUICK), cv=2)
    router.fit(X, errors=errors, panel=panel, answers=answers, truth=truth)
    columns = Columns(truth="truth", answers="answer_*", features="x_*")
    table = {f"x_{i}": X[:, i] for i in range(3)}
    return Policy(columns, FeatureEncoder.fit(table), router, None), table


@pytest.mark.parametrize("surrogate", ["asymmetric-softmax", "one-vs-all", "top-k"])
def test_a_policy_of_labels_and_experts_travels(surrogate, tmp_path):
    policy, table = one_stage_policy(surrogate)
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert loaded.panel == policy.panel
    assert isinstance(loaded.router.scorer_, Shares) == (surrogate == "asymmetric-softmax")
    assert_decides_alike(policy, loaded, table, ({"k": 1}, {"k": 5}, {"fee_weight": 0.5}))


# Routes.


@pytest.fixture
def plain_next(monkeypatch):
    """`routes._next` says `k: int` and is given NumPy's: it works, and only the check of types would stop it."""
    monkeypatch.setattr(routes, "_next", inspect.unwrap(routes._next))


def as_table(made):
    return {name: np.array([*values, None], dtype=object)[:-1] for name, values in made.items()}


@pytest.mark.parametrize("target", [{"fee_weight": 0.2}, {"k": 3}])
@pytest.mark.usefixtures("plain_next")
def test_routes_are_combined_by_the_scores_that_made_them(chooses, new, target, tmp_path):
    selection = chooses.select(new, **target)
    said, decided = chooses.combine(selection, heard(chooses, new), new).at(selection.k)
    assert decided.all()
    save(chooses, tmp_path / "policy")
    for policy in (chooses, load(tmp_path / "policy")):
        made = make_routes(policy, new, **target)
        np.testing.assert_allclose(
            made["scores"], np.take_along_axis(selection.scores, selection.order, axis=1), atol=GAP / 2
        )
        verdicts = combine_routes(policy, as_table(made), new)
        assert verdicts["prediction"] == said.tolist()
        assert verdicts["fee"] == pytest.approx(selection.fee.tolist())
        assert all(0 <= confidence <= 1 for confidence in verdicts["confidence"])


@pytest.mark.usefixtures("plain_next")
def test_scores_decide_where_a_plain_vote_would_not(chooses, new):
    """Two against one: only the weights of the scores can make the first of three win."""
    made = as_table(make_routes(chooses, new, k=3))
    answered = {f"answer_{name}": np.full(120, "dog", dtype=object) for name in chooses.panel.names}
    for i, order in enumerate(made["order"]):
        answered[f"answer_{order[0]}"][i] = "cat"
    for gap, winner in ((0.0, "dog"), (5.0, "cat")):
        made["scores"] = np.array([[0.0, *[-gap] * 3]] * 120 + [None], dtype=object)[:-1]
        assert set(combine_routes(chooses, made, answered)["prediction"]) == {winner}


def test_routes_without_scores_are_refused(chooses, new):
    made = as_table(make_routes(chooses, new, k=2))
    del made["scores"]
    with pytest.raises(InvalidInputError, match=r"`routes` must be what `askwho route` wrote, missing: \['scores'\]"):
        combine_routes(chooses, made, new)


@pytest.mark.usefixtures("plain_next")
def test_routes_of_a_learner_of_errors_have_no_scores(log, new):
    plain = fit_policy(log, learner="linear", base="none", cv=2)
    made = make_routes(plain, new, k=2)
    assert "scores" not in made
    assert len(combine_routes(plain, as_table(made), new)["prediction"]) == 120

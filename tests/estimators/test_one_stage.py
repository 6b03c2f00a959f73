"""One model predicts and defers: labels are entities that answer for nothing, experts are asked only where chosen."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from askwho import InvalidInputError, Target, metrics
from askwho.engine import Training
from askwho.estimators import OneStageClassifier, TwoStageClassifier
from askwho.fitting import SurrogateCardinality
from askwho.learners import CompSum
from tests.estimators.live import CountingClassifier

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
QUICK = CompSum(hidden=(16,), training=Training(epochs=12, batch=32, rate=1e-2))
CHEAP = {"learner": QUICK, "cv": 2, "random_state": 0}
LEARNERS = pytest.mark.parametrize("learner", [QUICK, "forest", "linear"], ids=["quick", "forest", "linear"])
ONE_STAGE = ["top-k", "mozannar-sontag", "one-vs-all", "mao-one-stage", "asymmetric-softmax"]
CLASSES = np.array(["low", "middle", "up"])
LABELS = np.array([True, True, True, False])


@parametrize_with_checks([OneStageClassifier(**CHEAP)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def world(n, seed):
    """The height tells the class, but on the right side nothing does: there only the expert knows it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    dark = X[:, 0] > 1 / 3
    y = np.where(dark, rng.integers(0, 3, n), np.digitize(X[:, 1], [-1 / 3, 1 / 3]))
    knows = rng.random(n) < np.where(dark, 0.95, 0.1)
    return X, CLASSES[y], dark, {"expert": CLASSES[np.where(knows, y, rng.integers(0, 3, n))]}


@pytest.fixture(scope="module")
def known():
    return world(900, seed=0)


@pytest.fixture(scope="module")
def few():
    return world(240, seed=2)


@pytest.fixture(scope="module")
def fresh():
    return world(2000, seed=1)


@pytest.mark.parametrize("learner", ["top-k", QUICK, "forest"], ids=["top-k", "quick", "forest"])
def test_it_predicts_where_x_tells_and_asks_where_only_the_expert_knows(learner, known, fresh):
    X, y, _, answers = known
    model = OneStageClassifier(**{**CHEAP, "learner": learner}).fit(X, y, answers=answers)
    X, y, dark, answers = fresh
    assert model.panel_.names == ("low", "middle", "up", "expert")
    alone = np.mean(answers["expert"] == y)
    plain = RandomForestClassifier(random_state=0).fit(*known[:2]).score(X, y)
    assert alone < 0.62
    assert plain < 0.82
    for target in (Target(k=1), None):
        assert np.mean(model.predict(X, answers=answers, target=target) == y) > max(alone, plain) + 0.08
    asked = model.decide(X, Target(k=1)).members[:, 3]
    assert asked[dark].mean() > 0.9
    assert asked[~dark].mean() < 0.25


@pytest.mark.parametrize("name", ONE_STAGE)
def test_every_one_stage_surrogate_learns_by_its_name(name, known, fresh):
    X, y, _, answers = known
    model = OneStageClassifier(**{**CHEAP, "learner": name}).fit(X, y, answers=answers)
    X, y, dark, answers = fresh
    assert model.policy_.judge.name == name
    assert np.mean(model.predict(X, answers=answers, target=Target(k=1)) == y) > 0.85
    asked = model.decide(X, Target(k=1)).members[:, 3]
    assert asked[dark].mean() > asked[~dark].mean() + 0.5


def test_learners_of_expected_error_learn_what_a_label_misses(known, fresh):
    X, y, _, answers = known
    model = OneStageClassifier(**{**CHEAP, "learner": "forest"}).fit(X, y, answers=answers)
    expected = model.policy_.see({"X": fresh[0]}).expected
    # P(y ≠ j | x) adds up to the number of labels less one.
    assert np.mean(expected[:, :3].sum(axis=1)) == pytest.approx(2, abs=0.05)
    assert np.abs(expected[:, :3].sum(axis=1) - 2).max() < 0.5
    np.testing.assert_allclose(model.policy_.facts.entity_errors[:3], [np.mean(y != label) for label in CLASSES])


@LEARNERS
def test_each_live_expert_sees_only_the_rows_it_was_chosen_for(learner):
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    experts = [(rule, CountingClassifier(rule).fit(X, y)) for rule in ("right", "wrong")]
    model = OneStageClassifier(experts=experts, fees={"right": 0.2, "wrong": 0.1}, **{**CHEAP, "learner": learner})
    model.fit(X, y)
    for target in (None, Target(k=1), Target(k=2), Target(k=4), Target(fee_weight=100.0), Target(budget=0.3)):
        decisions = model.decide(X, target)
        for _, expert in experts:
            expert.seen_.clear()
        model.predict(X, target=target)
        for (_, expert), chosen in zip(experts, decisions.members[:, 2:].T, strict=True):
            np.testing.assert_array_equal(np.concatenate([[], *expert.seen_]), X[chosen, 0])
            assert len(expert.seen_) == int(chosen.any())


@LEARNERS
def test_labels_are_never_charged_nor_counted_as_asked(learner, few):
    X, y, _, answers = few
    fees = np.random.default_rng(0).uniform(0.1, 0.3, size=(len(X), 1))
    for given in ({"expert": 0.2}, fees):
        model = OneStageClassifier(**{**CHEAP, "learner": learner}).fit(X, y, answers=answers, fees=given)
        for target in (None, Target(k=1), Target(k=4)):
            decisions = model.decide(X, target)
            asked = decisions.members[:, 3]
            assert not decisions.seen.fees[:, :3].any()
            np.testing.assert_allclose(decisions.fee, np.where(asked, decisions.seen.fees[:, 3], 0.0))
            assert metrics.mean_asked(decisions.selection) == pytest.approx(asked.mean())
    assert metrics.mean_asked(model.decide(X, Target(k=4)).selection) == 1
    assert metrics.mean_k(model.decide(X, Target(k=4)).selection) == 4


@pytest.mark.parametrize("committee", ["majority", "weighted-vote"])
def test_the_first_of_two_labels_decides(committee, few):
    X, y, _, answers = few
    model = OneStageClassifier(committee=committee, **CHEAP).fit(X, y, answers=answers)
    first = model.predict(X, answers=answers, target=Target(k=1), available=LABELS)
    assert set(first) == set(CLASSES)
    np.testing.assert_array_equal(model.predict(X, answers=answers, target=Target(k=2), available=LABELS), first)
    if committee == "majority":
        # With every label at the table, the expert's word is the second vote for one of them.
        np.testing.assert_array_equal(model.predict(X, answers=answers, target=Target(k=4)), answers["expert"])


def test_where_nobody_gives_a_usable_answer_the_best_ranked_label_does(few, fresh):
    X, y, _, answers = few
    model = OneStageClassifier(**CHEAP).fit(X, y, answers=answers)
    X = fresh[0]
    decisions = model.decide(X, Target(k=1))
    best = CLASSES[decisions.seen.judged.ranking[:, :3].argmax(axis=1)]
    asked = decisions.members[:, 3]
    assert asked.any()
    for nobody in (np.full(len(X), None), np.full(len(X), "perhaps")):
        np.testing.assert_array_equal(model.predict(X, answers={"expert": nobody}, target=Target(k=1)), best)


def test_without_the_expert_the_labels_are_left(known):
    X, y, dark, answers = known
    model = OneStageClassifier(**CHEAP).fit(X, y, answers=answers)
    for target in (Target(k=1), Target(k=3), Target(fee_weight=0.0)):
        assert not model.decide(X, target, available=LABELS).members[:, 3].any()
    assert np.mean(model.predict(X, answers=answers, target=Target(k=1), available=LABELS)[~dark] == y[~dark]) > 0.9


@pytest.mark.parametrize("committee", ["weighted-vote", "log-odds-vote"])
def test_combine_hears_the_chosen_and_labels_need_no_column(committee, few):
    X, y, _, answers = few
    model = OneStageClassifier(committee=committee, **CHEAP).fit(X, y, answers=answers)
    for target in (None, Target(k=2)):
        decisions = model.decide(X, target)
        heard = {"expert": np.where(decisions.members[:, 3], answers["expert"], None)}
        expected = model.predict(X, answers=answers, target=target)
        np.testing.assert_array_equal(model.combine(decisions, heard), expected)


@pytest.mark.parametrize("learner", ["top-k", "forest"])
def test_recorded_answers_may_have_holes(learner, known, fresh):
    X, y, _, answers = known
    hole = np.random.default_rng(0).random(len(X)) < 0.5
    holey = {"expert": np.where(hole, None, answers["expert"])}
    model = OneStageClassifier(**{**CHEAP, "learner": learner}).fit(X, y, answers=holey)
    X, y, _, answers = fresh
    assert np.mean(model.predict(X, answers=answers, target=Target(k=1)) == y) > 0.85


def test_the_price_of_a_name_is_baked_in_and_an_object_is_used_as_it_is(few):
    X, y, _, answers = few
    options = {**CHEAP, "fees": {"expert": 0.3}}
    base = FrozenEstimator(LogisticRegression().fit(X, y))
    for kind, more in ((OneStageClassifier, {}), (TwoStageClassifier, {"base": base})):
        free = kind(**{**options, **more, "learner": "top-k"}).fit(X, y, answers=answers)
        dear = clone(free).set_params(fee_weight=10.0).fit(X, y, answers=answers)
        assert metrics.mean_asked(free.decide(X, Target(k=1)).selection) > 0.2
        assert metrics.mean_asked(dear.decide(X, Target(k=1)).selection) == 0
        assert dear.predict(X, answers=answers, target=Target(k=1)).shape == y.shape
        with pytest.raises(InvalidInputError, match="The price is baked into the policy 'top-k'"):
            dear.predict(X, answers=answers, target=Target(k=1, fee_weight=1.0))
        with pytest.raises(InvalidInputError, match="The price is baked into the policy 'top-k'"):
            dear.decide(X, fees=np.zeros(len(dear.panel_)))
    given = OneStageClassifier(**options, fee_weight=10.0).fit(X, y, answers=answers)
    # It ranks at its own price of 1; how many to ask is decided at 10.
    assert metrics.mean_asked(given.decide(X, Target(k=1)).selection) > 0.1
    free = given.decide(X, Target(fee_weight=0.0))
    assert metrics.mean_asked(given.decide(X).selection) <= metrics.mean_asked(free.selection)


def test_the_papers_cardinality_is_trained_at_the_estimators_price(known):
    X, y, _, answers = known
    model = OneStageClassifier(cardinality="surrogate", fees=[0.3], fee_weight=0.21, **CHEAP)
    assert model.fit(X, y, answers=answers).policy_.cardinality.networks.fee_weights.tolist() == [0.21]
    assert model.score(X, y, answers=answers) > 0.9
    settings = SurrogateCardinality(fee_weights=(0.1, 0.2), training=Training(epochs=2))
    model.set_params(cardinality=settings, fee_weight=0.2).fit(X, y, answers=answers)
    assert model.policy_.cardinality.networks.fee_weights.tolist() == [0.1, 0.2]


def test_ten_labels_and_six_experts():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    answers = np.column_stack(
        [np.where((y % 6 == j) | (rng.random(len(y)) < 0.3), y, rng.integers(0, 10, len(y))) for j in range(6)]
    )
    taught, held = slice(0, 900), slice(900, None)
    model = OneStageClassifier(**{**CHEAP, "fees": np.full(6, 0.05), "fee_weight": 1.0, "learner": "top-k"})
    model.fit(X[taught], y[taught], answers=answers[taught])
    assert len(model.panel_) == 16
    decisions = model.decide(X[held], Target(k=12))
    assert decisions.order.shape == (len(X) - 900, 12)
    for target in (Target(k=1), None):
        assert np.mean(model.predict(X[held], answers=answers[held], target=target) == y[held]) > 0.85
    with pytest.raises(InvalidInputError, match="`k` must be between 1 and 12, got 13"):
        model.decide(X[held], Target(k=13))


def test_string_labels_and_pandas(few):
    X, y, _, answers = few
    model = OneStageClassifier(**CHEAP)
    expected = clone(model).fit(X, y, answers=answers).predict(X, answers=answers)
    features, said = pd.DataFrame(X, columns=["side", "height"]), pd.DataFrame(answers)
    found = clone(model).fit(features, pd.Series(y), answers=said)
    assert list(found.feature_names_in_) == ["side", "height"]
    np.testing.assert_array_equal(found.predict(features, answers=said), expected)
    # A model fitted with names warns where it gets none, and warnings are errors here.
    live = OneStageClassifier(experts=[LogisticRegression().fit(features, y)], **CHEAP).fit(features, y)
    assert live.panel_.names == (*CLASSES, "logisticregression")
    assert set(live.predict(features)) <= set(CLASSES)


def test_labels_keep_their_type(few):
    X, y = few[0], few[1] == "up"
    for labels in (y, y.astype(int), y * 2.0, np.where(y, "up", "down"), np.where(y, "up", "down").astype(object)):
        model = OneStageClassifier(experts=[DecisionTreeClassifier(max_depth=3)], **CHEAP).fit(X, labels)
        assert model.panel_.labels == tuple(np.unique(labels).tolist())
        for target in (None, Target(k=1)):
            predicted = model.predict(X, target=target)
            assert predicted.dtype == labels.dtype
            assert np.mean(predicted == labels) > 0.75


def test_a_users_own_error_ranks_labels_too(known):
    X, y, _, answers = known

    def misses_cost_more(said, truth):
        return np.where(said == truth, 0.0, np.where(truth == "up", 1.0, 0.1))

    model = OneStageClassifier(error=misses_cost_more, **CHEAP).fit(X, y, answers=answers)
    shares = [np.mean(y == label) for label in CLASSES]
    np.testing.assert_allclose(model.policy_.facts.entity_errors[2], 0.1 * (shares[0] + shares[1]))
    predicted = model.predict(X, answers=answers, target=Target(k=1), available=LABELS)
    # Where nothing tells the class, it is safest to say "up".
    assert np.mean(predicted[known[2]] == "up") > 0.9


def test_pipelines_and_grid_search(few):
    X, y = few[:2]
    expert = DecisionTreeClassifier(max_depth=3)
    face = OneStageClassifier(experts=[("tree", expert)], **CHEAP)
    pipeline = Pipeline([("scale", StandardScaler()), ("face", face)])
    policies = [CompSum(u=u, hidden=(16,), training=QUICK.training) for u in (0.5, 1.0)]
    search = GridSearchCV(pipeline, {"face__learner": [*policies, "linear"]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["face__learner"] in [*policies, "linear"]
    assert search.score(X, y) > 0.6


@LEARNERS
def test_same_seed_same_result_and_clone_and_pickle(learner, few):
    X, y, _, answers = few
    model = OneStageClassifier(**{**CHEAP, "learner": learner})
    first, second = (clone(model).fit(X, y, answers=answers) for _ in range(2))
    np.testing.assert_array_equal(*(model.decide(X).seen.judged.ranking for model in (first, second)))
    np.testing.assert_array_equal(first.predict(X, answers=answers), second.predict(X, answers=answers))
    again = pickle.loads(pickle.dumps(first))  # noqa: S301
    np.testing.assert_array_equal(again.predict(X, answers=answers), first.predict(X, answers=answers))
    assert clone(first).get_params() == model.get_params()


SAID = np.where(np.arange(40) % 2, "yes", "no")


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"learner": "oracle"}, {}, "`learner` must be 'auto', one of 'forest'"),
        ({"learner": None}, {}, "`learner` must be 'auto', .* got None"),
        ({"learner": "post-hoc"}, {"answers": {"a": SAID}}, "`panel` must have a base in front .* 'post-hoc'"),
        ({"committee": "mean"}, {}, "`committee` must be one of 'auto', 'majority'"),
        ({"cardinality": "two"}, {}, "`cardinality` must be one of 'curve', 'surrogate'"),
        ({"fee_weight": -1}, {}, "`fee_weight` must be a finite number of at least 0, got -1"),
        ({"error": "hinge"}, {}, "`error` must be one of 'auto', 'zero-one'"),
        ({}, {"answers": {"yes": SAID}}, "must not be named like a label of `y`, got 'yes': rename it"),
        ({"experts": [("no", LogisticRegression())]}, {}, "must not be named like a label of `y`, got 'no'"),
        ({"experts": [LogisticRegression()]}, {"answers": {"a": SAID}}, "`answers` must not be given beside `experts`"),
        ({"fees": {"yes": 1.0, "a": 1.0}}, {"answers": {"a": SAID}}, "`fees` must name every expert and nobody else"),
        ({}, {"answers": {"a": np.arange(40)}}, "`answers` must be of the type of `y`"),
    ],
)
def test_messages(options, given, message):
    X = np.arange(80.0).reshape(40, 2)
    with pytest.raises(InvalidInputError, match=message):
        OneStageClassifier(**{**CHEAP, **options}).fit(X, SAID, **given)


def test_there_is_no_base():
    assert "base" not in OneStageClassifier().get_params()
    with pytest.raises(TypeError, match="base"):
        OneStageClassifier(base=None)


def test_messages_of_a_fitted_one(few):
    X, y, _, answers = few
    model = OneStageClassifier(**CHEAP).fit(X, y, answers=answers)
    with pytest.raises(InvalidInputError, match="`answers` must be given to `predict`"):
        model.predict(X)
    with pytest.raises(InvalidInputError, match="missing: 'expert'"):
        model.predict(X, answers={"other": answers["expert"]})
    with pytest.raises(InvalidInputError, match="`y` must hold at least two classes"):
        clone(model).fit(X, np.full(len(X), "low"), answers=answers)


WITHOUT_TORCH = """
import numpy as np
from askwho import MissingDependencyError, OneStageClassifier
from askwho.learners import CompSum
from tests.blocked import block
from tests.estimators.live import CountingClassifier

block("torch")
X = np.linspace(-1, 1, 40)[:, None]
y = np.where(X[:, 0] > 0, "yes", "no")
expert = CountingClassifier().fit(X, y)
for learner in ("top-k", CompSum("one-vs-all")):
    try:
        OneStageClassifier(experts=[expert], learner=learner).fit(X, y)
    except MissingDependencyError as error:
        print(error)
assert not expert.seen_
assert OneStageClassifier(experts=[expert], learner="forest", cv=2, random_state=0).fit(X, y).score(X, y) > 0.9
"""


def test_without_torch_surrogates_say_how_to_install_it_and_the_rest_works():
    found = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == [
        "The surrogate 'top-k' needs torch: pip install 'askwho[torch]'",
        "The surrogate 'one-vs-all' needs torch: pip install 'askwho[torch]'",
    ]

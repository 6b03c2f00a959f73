"""Parts as they are written and read: the same predictions, written again the same, copied and shared by threads."""

import copy
import itertools
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LinearRegression

from askwho import InvalidInputError
from askwho._parts import array_of_classes, at_work, plain_classes, read_part, state_of
from askwho.core import folds
from askwho.learners import (
    LEARNERS,
    Boosting,
    Forest,
    Linear,
    NetworkGraph,
    OwnBase,
    Perceptrons,
    Shares,
    TreeModel,
    fitted,
    graph_of_forest,
    own_base,
)
from tests.learners.own import Means

GAP = 2e-5
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (400, 4)).astype(np.float32)
NEW = rng.uniform(-1.2, 1.2, (150, 4)).astype(np.float32)
ERRORS = (rng.random((400, 3)) < np.column_stack([np.where(X[:, 0] < 0, 0.1, 0.8), np.full((400, 2), 0.4)])) * 1.0
SPARSE = np.where(rng.random(ERRORS.shape) < 0.7, ERRORS, np.nan)
TABLES = {"whole": ERRORS, "with holes": SPARSE, "of one": ERRORS[:, :1]}


def assert_same(one, other):
    """Two states, whole trees of them, bit for bit; and what is plain is JSON."""
    assert [path for path, _ in one.walk()] == [path for path, _ in other.walk()]
    for (path, ours), (_, theirs) in zip(one.walk(), other.walk(), strict=True):
        assert ours.kind == theirs.kind, path
        assert json.dumps(ours.plain) == json.dumps(theirs.plain), path
        assert ours.graphs == theirs.graphs, path
        assert ours.arrays.keys() == theirs.arrays.keys(), path
        for name, array in ours.arrays.items():
            assert array.dtype == theirs.arrays[name].dtype, (path, name)
            np.testing.assert_array_equal(array, theirs.arrays[name])


def travelled(part, allow=()):
    """The part as it is read back, once its state has been shown to come back the same."""
    state = state_of(part, "part")
    state.allow = allow
    read = read_part(state)
    again = state_of(read, "part")
    assert_same(again, state)
    again.allow = allow
    assert_same(state_of(read_part(again), "part"), state)
    return read


def copies(part):
    """What was read, and its copies: each must do what the fitted part does."""
    read = travelled(part)
    return [read, copy.deepcopy(read), pickle.loads(pickle.dumps(read))]  # noqa: S301 - our own bytes


# Learners of expected error.


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_predicts_as_before_it_was_written(name, table):
    learner = LEARNERS[name](3).fit(X, TABLES[table])
    expected = learner.predict(NEW)
    for read in copies(learner):
        # Trees were float64 and are float32 in a graph; the others are the very same arrays.
        gap = GAP / 4 if name in ("forest", "boosting") else 0.0
        np.testing.assert_allclose(read.predict(NEW), expected, atol=gap, rtol=0)
        np.testing.assert_allclose(read.predict(NEW[:1]), read.predict(NEW)[:1], atol=1e-6)


SETTINGS = {
    "forest": partial(Forest, 7, trees=5, leaf=2),
    "boosting": partial(Boosting, 7, trees=5, rate=0.2, leaves=4),
    "neighbours": partial(LEARNERS["neighbours"], 7, neighbours=9, prior=0.5),
    "linear": partial(Linear, 7, penalty=3.0),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_that_was_read_learns_again_as_it_was_set(name):
    learner = SETTINGS[name]().fit(X, ERRORS)
    read = travelled(learner)
    fresh = SETTINGS[name]().fit(X, SPARSE).predict(NEW)
    np.testing.assert_array_equal(read.fit(X, SPARSE).predict(NEW), fresh)
    assert_same(state_of(read, "learner"), state_of(SETTINGS[name]().fit(X, SPARSE), "learner"))


def test_a_learner_of_ones_own_travels_where_it_is_allowed():
    learner = fitted(lambda _: Means(2.0), X, SPARSE)
    read = travelled(learner, allow=["tests.learners.own:Means"])
    np.testing.assert_array_equal(read.predict(NEW), learner.predict(NEW))
    with pytest.raises(InvalidInputError, match=r"allow=\['tests.learners.own:Means'\]"):
        read_part(state_of(learner, "learner"))


def test_a_learner_without_a_state_is_refused():
    with pytest.raises(InvalidInputError) as error:
        state_of(LinearRegression(), "learner")
    assert str(error.value) == (
        "`learner` must have `to_state` and `from_state` to be saved, got LinearRegression, which has not."
    )


# The base of our own.

TRUTHS = {
    "words": np.where(X[:, 0] > 0.2, "b", np.where(X[:, 1] > 0, "a", "c")),
    "numbers": (X[:, 0] > 0).astype(int) + 3,
    "booleans": X[:, 0] > 0,
}
BASES = ["logistic", "forest-classifier"]


def base_of(name, truth, texts=None):
    from askwho.learners import _own, _words  # noqa: PLC0415 - the one way to a model that did not win

    if texts is None:
        return OwnBase(name, _own._fit(name, 0, X, truth), "features")
    words = _words.words_of(texts, characters=name == "words-and-characters")
    return OwnBase(name, _words.Words().fit(words, truth), _own._READS[name])


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("name", BASES)
def test_a_base_of_classes_answers_as_before_it_was_written(name, truth):
    base = base_of(name, TRUTHS[truth])
    answers, shares = base.say(NEW, None)
    sure = np.diff(np.sort(shares, axis=1)[:, -2:], axis=1)[:, 0] > GAP
    assert sure.mean() > 0.9
    for read in copies(base):
        said, thought = read.say(NEW, None)
        np.testing.assert_allclose(thought, shares, atol=1e-6)
        np.testing.assert_array_equal(said[sure], answers[sure])
        assert said.dtype == TRUTHS[truth].dtype
        np.testing.assert_array_equal(read.classes, base.classes)


@pytest.mark.parametrize("name", ["ridge", "forest-regressor"])
def test_a_base_of_numbers_answers_as_before_it_was_written(name):
    base = base_of(name, (3 * X[:, 1] + X[:, 0]).astype(np.float64))
    answers, shares = base.say(NEW, None)
    assert shares is None
    for read in copies(base):
        said, thought = read.say(NEW, None)
        np.testing.assert_allclose(said, answers, atol=GAP)
        assert thought is None
        assert read.classes is None


@pytest.mark.parametrize("name", ["words", "words-and-characters"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_base_of_texts_answers_as_before_it_was_written(classes, name):
    truth = np.array(["cat", "dog", "owl"])[rng.integers(0, classes, 120)]
    said = [f"the {word} of row {i}" if i % 5 else f"row {i}" for i, word in enumerate(truth)]
    base = base_of(name, truth, said)
    answers, shares = base.say(X[:120], said)
    assert (answers == truth).mean() > 0.9
    for read in copies(base):
        again, thought = read.say(X[:120], said)
        np.testing.assert_array_equal(again, answers)
        np.testing.assert_allclose(thought, shares, atol=1e-6)


def test_the_base_that_won_travels():
    trial = own_base(X, None, TRUTHS["words"], folds(np.arange(400), 3), task="classification")
    read = travelled(trial.base)
    assert (read.name, read.reads) == (trial.base.name, "features")
    assert (read.say(NEW, None)[0] == trial.base.say(NEW, None)[0]).mean() > 0.99


def test_a_base_of_another_model_is_refused():
    base = OwnBase("mine", LinearRegression().fit(X, ERRORS), "features")
    with pytest.raises(InvalidInputError, match="`base` must be one that `own_base` made to be saved, got a model of "):
        state_of(base, "base")


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["a", "bc"]),
        np.array([1, 2, 3]),
        np.array([False, True]),
        np.array([0.5, 1.5]),
        np.array(["2020-01-01", "2021-05-02"], dtype="datetime64[D]"),
        np.array(["2020-01-01T10:00", "2021-05-02T11:30"], dtype="datetime64[ns]"),
        np.array([1, 90], dtype="timedelta64[s]"),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_classes_are_json_and_back(classes):
    read = array_of_classes(json.loads(json.dumps(plain_classes(classes))))
    np.testing.assert_array_equal(read, classes)
    assert read.dtype == classes.dtype


# Trees.


def test_a_graph_of_trees_says_what_the_forest_says_block_by_block():
    forest = ExtraTreesRegressor(20, min_samples_leaf=3, random_state=0).fit(X, ERRORS)
    model = TreeModel(graph_of_forest(forest))
    np.testing.assert_allclose(model.predict(NEW), forest.predict(NEW), atol=GAP / 4)
    whole = model.predict(NEW)
    model.together = 7
    np.testing.assert_allclose(model.predict(NEW), whole, atol=1e-6)
    assert graph_of_forest(model) == graph_of_forest(forest)


def test_a_graph_takes_features_of_the_forests_own_number():
    narrow = TreeModel(graph_of_forest(ExtraTreesRegressor(3, random_state=0).fit(X[:, :2], ERRORS)))
    assert narrow.session.get_inputs()[0].shape[1] == 2
    boosted = travelled(Boosting(trees=3).fit(X[:, :3], ERRORS))
    assert boosted.graph_.session.get_inputs()[0].shape[1] == 3


def test_thresholds_between_two_floats_ask_the_same_question():
    # Features one float32 apart: a threshold rounded up would send both to the left.
    near = np.array([[1.0], [np.nextafter(np.float32(1.0), np.float32(2.0))]], dtype=np.float32)
    forest = ExtraTreesClassifier(30, random_state=0).fit(np.repeat(near, 5, axis=0), np.repeat([0, 1], 5))
    np.testing.assert_allclose(TreeModel(graph_of_forest(forest)).predict(near), forest.predict_proba(near), atol=1e-6)


def test_graphs_serve_many_threads_at_once():
    forest = travelled(Forest(trees=20).fit(X, SPARSE))
    network = travelled(perceptrons(inputs=4))
    expected, scores = forest.predict(NEW), network.scores(NEW)
    with ThreadPoolExecutor(8) as pool:
        for said in pool.map(lambda _: forest.predict(NEW), range(40)):
            np.testing.assert_array_equal(said, expected)
        for said in pool.map(lambda _: network.scores(NEW), range(40)):
            np.testing.assert_array_equal(said, scores)


# Networks.


def perceptrons(members=2, hidden=(6, 5), inputs=3, outputs=4, seed=0):
    draw = np.random.default_rng(seed)
    sizes = [inputs, *hidden, outputs]
    return Perceptrons(
        draw.normal(size=inputs) * 100,
        draw.uniform(0.5, 2.0, inputs),
        [draw.normal(size=(members, a, b)).astype(np.float32) for a, b in itertools.pairwise(sizes)],
        [draw.normal(size=(members, b)).astype(np.float32) for b in sizes[1:]],
        np.zeros(members),
    )


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("hidden", [(), (1,), (6, 5), (3, 9, 2)], ids=str)
@pytest.mark.parametrize(("outputs", "rows", "batch"), [(1, 1, 50), (4, 40, 7), (5, 30, 30)])
def test_perceptrons_score_as_before_they_were_written(members, hidden, outputs, rows, batch):
    networks = perceptrons(members, hidden, outputs=outputs)
    rows_ = (networks.mean + np.random.default_rng(rows).normal(size=(rows, 3))).astype(np.float32)
    for read in copies(networks):
        assert isinstance(read, NetworkGraph)
        found = read.scores(rows_, batch=batch)
        assert found.shape == (members, rows, outputs)
        np.testing.assert_allclose(found, networks.scores(rows_), atol=1e-4, rtol=1e-5)
        np.testing.assert_allclose(np.exp(found).sum(axis=2), 1.0, atol=1e-9)


def test_large_features_with_a_small_spread_keep_their_digits():
    networks = perceptrons(1)
    networks.mean[:] = 30_000.0
    networks.scale[:] = 0.05
    near = (30_000 + 0.05 * np.random.default_rng(0).normal(size=(50, 3))).astype(np.float32)
    np.testing.assert_allclose(travelled(networks).scores(near), networks.scores(near), atol=1e-4)


def test_shares_travel_with_the_network_inside_them():
    shares = Shares(perceptrons(1, inputs=4, outputs=5), 3)
    for read in copies(shares):
        assert isinstance(read, Shares)
        np.testing.assert_allclose(read.scores(NEW), shares.scores(NEW), atol=1e-4)


def test_a_policy_without_a_state_is_refused():
    class Stranger:
        def scores(self, X):
            return np.zeros((1, len(X), 2))

    with pytest.raises(InvalidInputError, match="`scorer` must have `to_state` and `from_state` to be saved, got Str"):
        Shares(Stranger(), 1).to_state()


def test_at_work_a_part_is_as_it_would_be_read():
    parts = [Forest(trees=3).fit(X, ERRORS), perceptrons(inputs=4), base_of("ridge", X[:, 0].astype(float)), Means()]
    forest, networks, base, mine = map(at_work, parts)
    assert isinstance(forest.forests_[0][1], TreeModel)
    assert isinstance(networks, NetworkGraph)
    assert type(base.model).__name__ == "LinearBase"
    assert mine is parts[3]


# Without what trained them.


@pytest.mark.parametrize("library", ["torch", "lightgbm"])
def test_what_was_written_is_read_without_what_trained_it(library, tmp_path):
    parts = {"torch": perceptrons(inputs=4), "lightgbm": Boosting(trees=5).fit(X, ERRORS)}
    state = state_of(parts[library], "part")
    ((name, graph),) = state.graphs.items()
    (tmp_path / "graph").write_bytes(graph)
    code = f"""
import json, sys
from pathlib import Path
import numpy as np
from tests.blocked import block
block({library!r})
import askwho.learners
from askwho._parts import State, read_part
graphs = {{{name!r}: Path({str(tmp_path / "graph")!r}).read_bytes()}}
read = read_part(State({state.kind!r}, json.loads({json.dumps(state.plain)!r}), graphs=graphs))
X = np.array({NEW[:5].tolist()}, dtype=np.float32)
print(json.dumps((read.scores(X) if hasattr(read, "scores") else read.predict(X)).tolist()))
"""
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert ran.returncode == 0, ran.stderr
    part = parts[library]
    expected = part.scores(NEW[:5]) if library == "torch" else part.predict(NEW[:5])
    np.testing.assert_allclose(json.loads(ran.stdout), expected, atol=1e-4)

"""Trees laid out for many rows say what they say of one row, bit for bit, and what their makers say."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from askwho import InvalidInputError
from askwho.learners import Boosting, Forest, TreeModel, graph_of_forest
from askwho.learners import _tree_graph as tree_graph
from askwho.learners import _tree_layout as tree_layout
from askwho.learners._tree_graph import graph_of_boosters
from askwho.learners._tree_layout import TreeLayout

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5)).astype(np.float32)
NEW = rng.normal(size=(257, 5)).astype(np.float32)
ERRORS = rng.random((300, 3)) + (X[:, :1] > 0)
MANY = rng.normal(size=(tree_graph._WORTH_LAYOUT, 5)).astype(np.float32)


def regressor(outputs, trees=13):
    targets = np.tile(ERRORS, (1, 12))[:, :outputs]
    return ExtraTreesRegressor(trees, min_samples_leaf=3, random_state=0).fit(
        X, targets[:, 0] if outputs == 1 else targets
    )


def boosters():
    pytest.importorskip("lightgbm")
    return Boosting(trees=4).fit(X, ERRORS)


FORESTS = {
    "one number": lambda: (regressor(1), lambda made, rows: made.predict(rows)[:, None]),
    "three numbers": lambda: (regressor(3), lambda made, rows: made.predict(rows)),
    "many numbers": lambda: (regressor(33), lambda made, rows: made.predict(rows)),
    "classes": lambda: (
        ExtraTreesClassifier(9, random_state=0).fit(X, (3 * X[:, 0]).astype(int)),
        lambda made, rows: made.predict_proba(rows),
    ),
    "a stump": lambda: (
        ExtraTreesRegressor(2, max_depth=1, random_state=0).fit(X, ERRORS),
        lambda made, rows: made.predict(rows),
    ),
    "a leaf alone": lambda: (
        ExtraTreesRegressor(2, random_state=0).fit(X, np.ones(300)),
        lambda made, rows: made.predict(rows)[:, None],
    ),
}


@pytest.mark.parametrize("kind", FORESTS)
def test_a_batch_has_the_bits_of_one_row_at_a_time(kind, monkeypatch):
    # Several blocks, the last of them short, and several steps within each.
    monkeypatch.setattr(tree_layout, "_BLOCK", 100)
    monkeypatch.setattr(tree_layout, "_CELLS", 150)
    forest, predict = FORESTS[kind]()
    model = TreeModel(graph_of_forest(forest))
    said = TreeLayout(model.model).predict(NEW)
    np.testing.assert_array_equal(said, np.concatenate([model.predict(NEW[i : i + 1]) for i in range(len(NEW))]))
    np.testing.assert_allclose(said, predict(forest, NEW), rtol=1e-5, atol=1e-6)


def test_boosted_trees_speak_of_one_entity_each():
    boosting = boosters()
    model = TreeModel(graph_of_boosters(boosting.boosters_))
    said = TreeLayout(model.model).predict(NEW)
    np.testing.assert_array_equal(said, np.concatenate([model.predict(NEW[i : i + 1]) for i in range(len(NEW))]))
    np.testing.assert_allclose(said, boosting.predict(NEW), rtol=1e-5, atol=1e-6)


def test_many_rows_are_laid_out_and_fewer_are_not(monkeypatch):
    model = TreeModel(graph_of_forest(regressor(3)))
    few = model.predict(MANY[:-1])
    assert model._layout is None
    many = model.predict(MANY)
    assert model._layout is not None
    assert model.layout is model._layout
    np.testing.assert_allclose(many[:-1], few, rtol=1e-6)
    monkeypatch.setattr(model, "session", None)
    np.testing.assert_array_equal(model.predict(MANY), many)


def test_a_model_travels_without_its_layout():
    model = TreeModel(graph_of_forest(regressor(3)))
    many = model.predict(MANY)
    read = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    assert read._layout is None
    np.testing.assert_array_equal(read.predict(MANY), many)


def test_a_forest_of_several_patterns_is_laid_out_too():
    sparse = np.where(rng.random(ERRORS.shape) < 0.7, ERRORS, np.nan)
    learner = Forest(trees=5).fit(X, sparse)
    read = Forest.from_state(learner.to_state())
    np.testing.assert_allclose(read.predict(MANY), learner.predict(MANY), rtol=1e-5, atol=1e-6)


def test_rows_in_any_order_get_the_same_bits():
    layout = TreeLayout(graph_of_forest(regressor(3)))
    order = rng.permutation(len(MANY))
    np.testing.assert_array_equal(layout.predict(MANY[order]), layout.predict(MANY)[order])


def test_trees_that_are_mixed_up_are_refused():
    from onnx import ModelProto  # noqa: PLC0415

    whole = ModelProto.FromString(graph_of_forest(regressor(3)))
    (trees,) = (each for each in whole.graph.node[0].attribute if each.name == "nodes_treeids")
    trees.ints[0], trees.ints[-1] = trees.ints[-1], trees.ints[0]
    with pytest.raises(InvalidInputError, match="one after the other"):
        TreeLayout(whole.SerializeToString())

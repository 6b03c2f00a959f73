"""Trees walked by compiled code say what they say without it, and of one row, bit for bit."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor

from askwho import InvalidInputError
from askwho.learners import TreeModel, graph_of_forest
from askwho.learners import _tree_eights as tree_eights
from askwho.learners import _tree_tiles as tree_tiles
from askwho.learners import _tree_walk as tree_walk
from askwho.learners._tree_graph import _graph, _Tree, graph_of_boosters
from askwho.learners._tree_layout import TreeLayout
from askwho.learners._tree_nodes import TreeNodes
from askwho.learners._tree_walk import TreeWalk, lay_out
from tests.learners.test_tree_layout import FORESTS, MANY, NEW, boosters, regressor

# A question and its two answers.
LEAVES = _Tree(*(np.array(each) for each in ([1, -1, -1], [2, -1, -1], [0, -1, -1], [0.0] * 3, np.eye(3))))
WAYS = {way.__name__: way for way in tree_walk._ways()}
ROOT = Path(__file__).parents[2]
EDGES = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38], dtype=np.float32)


@pytest.fixture(params=WAYS)
def walked(request):
    """Lay a graph out in one of the ways, where this processor can walk it so."""

    def laid(model):
        trees, way = TreeNodes(model), WAYS[request.param]
        if not way.fit(trees):
            pytest.skip("the processor lacks what it takes, or the trees do not fit")
        return TreeWalk(trees, way)

    return laid


def one_at_a_time(model, rows):
    return np.concatenate([model.predict(rows[i : i + 1]) for i in range(len(rows))])


@pytest.mark.parametrize("kind", FORESTS)
def test_a_batch_has_the_bits_of_one_row_and_of_the_other_layout(kind, walked):
    forest, _ = FORESTS[kind]()
    model = TreeModel(graph_of_forest(forest))
    walk = walked(model.model)
    # Several blocks, the last of them short, and none a multiple of the rows that go side by side.
    walk._block = 99
    said = walk.predict(NEW)
    np.testing.assert_array_equal(said, one_at_a_time(model, NEW))
    np.testing.assert_array_equal(said, TreeLayout(model.model).predict(NEW))


def test_boosted_trees_speak_of_one_entity_each(walked):
    model = TreeModel(graph_of_boosters(boosters().boosters_))
    walk = walked(model.model)
    assert (walk._way._columns[:, 2] == 4).all()
    np.testing.assert_array_equal(walk.predict(NEW), one_at_a_time(model, NEW))


@pytest.mark.parametrize("column", range(5))
def test_what_is_no_number_and_what_is_infinite_goes_the_same_way(column, walked):
    model = TreeModel(graph_of_forest(regressor(3)))
    rows = NEW[: len(EDGES)].copy()
    rows[:, column] = EDGES
    np.testing.assert_array_equal(walked(model.model).predict(rows), one_at_a_time(model, rows))


@st.composite
def trees(draw):
    """A tree of up to a few dozen nodes, cut where the rows of the test are, and at both zeros."""
    left, right, feature, threshold = [], [], [], []

    def grow(depth):
        place = len(left)
        for values in (left, right, feature):
            values.append(-1)
        threshold.append(0.0)
        if depth and draw(st.booleans()):
            feature[place] = draw(st.integers(0, 2))
            threshold[place] = draw(st.sampled_from([-1.0, -1e-45, -0.0, 0.0, 1e-45, 0.5, 1.0, 3e38, np.inf]))
            left[place] = grow(depth - 1)
            right[place] = grow(draw(st.integers(0, depth - 1)))
        return place

    grow(draw(st.integers(0, 5)))
    outputs = [draw(st.sampled_from([-0.0, 0.0, 0.1, -0.7, 1e8, 1e-8])) for _ in left for _ in range(2)]
    values = np.array(outputs).reshape(len(left), 2)
    return _Tree(np.array(left), np.array(right), np.array(feature), np.array(threshold), values)


@given(
    st.lists(trees(), min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from([*EDGES.tolist(), -1.0, 0.5, 1.0]), min_size=3, max_size=3), min_size=1),
)
@settings(deadline=None)
def test_any_trees_say_of_any_rows_what_they_say_one_by_one(forest, rows):
    model = TreeModel(_graph(forest, 3))
    X, nodes = np.array(rows, dtype=np.float32), TreeNodes(model.model)
    for way in WAYS.values():
        if way.fit(nodes):
            np.testing.assert_array_equal(TreeWalk(nodes, way).predict(X), one_at_a_time(model, X))


@pytest.mark.parametrize("features", [1, 16, 17, 32])
def test_features_in_one_register_and_in_two_go_the_same_way(features, walked):
    rows = np.random.default_rng(features).normal(size=(300, features)).astype(np.float32)
    # Every feature is asked for somewhere: the last of them alone decides every other tree.
    forest = ExtraTreesRegressor(20, max_features=1, random_state=0).fit(rows, rows @ np.arange(features))
    model = TreeModel(graph_of_forest(forest))
    assert set(TreeNodes(model.model).feature) == set(range(features))
    np.testing.assert_array_equal(walked(model.model).predict(rows), one_at_a_time(model, rows))


@pytest.mark.parametrize("outputs", [1, 4, 5, 8, 9, 12])
def test_leaves_that_say_few_numbers_and_many_are_added_the_same_way(outputs, walked):
    said = np.random.default_rng(outputs).normal(size=(len(NEW), outputs))
    forest = ExtraTreesRegressor(7, random_state=0).fit(NEW, said if outputs > 1 else said[:, 0])
    model = TreeModel(graph_of_forest(forest))
    np.testing.assert_array_equal(walked(model.model).predict(NEW), one_at_a_time(model, NEW))


def test_rows_that_go_together_and_rows_that_are_gathered_end_in_the_same_leaves(walked, monkeypatch):
    model = TreeModel(graph_of_forest(ExtraTreesRegressor(5, random_state=0).fit(NEW, NEW[:, 0])))
    told = one_at_a_time(model, NEW)
    for module, name in ((tree_tiles, "_THERE"), (tree_eights, "_ALL_TOGETHER")):
        for share in (0.0, 0.5, 1.0):
            monkeypatch.setattr(module, name, share)
            np.testing.assert_array_equal(walked(model.model).predict(NEW), told)


def test_many_rows_are_walked_and_a_model_travels_without_the_walk():
    model = TreeModel(graph_of_forest(regressor(3)))
    many = model.predict(MANY)
    assert isinstance(model.layout, TreeWalk)
    np.testing.assert_array_equal(many, TreeLayout(model.model).predict(MANY))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(MANY), many)  # noqa: S301 - our own bytes


def test_no_rows_are_none(walked):
    assert walked(graph_of_forest(regressor(3))).predict(NEW[:0]).shape == (0, 3)


@pytest.mark.parametrize("limit", ["_MOST_NODES", "_MOST_FEATURES"])
def test_trees_too_large_for_a_node_are_laid_out_as_before(limit, monkeypatch):
    monkeypatch.setattr(tree_eights, limit, 4)
    monkeypatch.setattr(tree_tiles, "_MOST_PLACES", 4)
    assert isinstance(lay_out(graph_of_forest(regressor(3))), TreeLayout)


def test_what_does_not_fit_tiles_goes_down_eight_at_a_time(monkeypatch):
    model = graph_of_forest(regressor(3))
    for name, value in (("_MOST_PLACES", 4), ("_NEEDED", ("+no such thing",))):
        with monkeypatch.context() as patched:
            patched.setattr(tree_tiles, name, value)
            assert type(lay_out(model)._way).__name__ == "Eights"
    rows = np.ones((40, 33), dtype=np.float32) * np.arange(40, dtype=np.float32)[:, None]
    wide = ExtraTreesRegressor(2, random_state=0).fit(rows, np.arange(40.0))
    assert type(lay_out(graph_of_forest(wide))._way).__name__ == "Eights"


def test_without_numba_trees_are_laid_out_as_before(monkeypatch):
    monkeypatch.setitem(sys.modules, "askwho.learners._tree_eights", None)
    model = TreeModel(graph_of_forest(regressor(3)))
    many = model.predict(MANY)
    assert isinstance(model.layout, TreeLayout)
    monkeypatch.undo()
    np.testing.assert_array_equal(lay_out(model.model).predict(MANY), many)


def test_nodes_that_no_root_leads_to_are_refused():
    nodes = TreeNodes(graph_of_forest(regressor(3)))
    inner = np.flatnonzero(~nodes.leaf)[0]
    nodes.true[inner] = nodes.false[inner]
    with pytest.raises(InvalidInputError, match="each node once"):
        nodes.levels()
    # As many nodes as there are, one of them twice and one never.
    twice = TreeNodes(_graph([LEAVES], 3))
    twice.true[0] = twice.false[0]
    with pytest.raises(InvalidInputError, match="each node once"):
        twice.levels()


@pytest.mark.parametrize(("name", "value"), [("featureids", 99), ("featureids", -1), ("truenodeids", 1 << 20)])
def test_features_and_children_that_are_not_there_are_refused(name, value):
    onnx = pytest.importorskip("onnx")
    whole = onnx.ModelProto.FromString(graph_of_forest(regressor(3)))
    attribute = next(each for each in whole.graph.node[0].attribute if each.name == f"nodes_{name}")
    attribute.ints[0] = value
    with pytest.raises(InvalidInputError, match="features and children exist"):
        lay_out(whole.SerializeToString())


def test_trees_that_are_cut_otherwise_are_laid_out_as_before():
    onnx = pytest.importorskip("onnx")
    whole = onnx.ModelProto.FromString(graph_of_forest(regressor(3)))
    attribute = next(each for each in whole.graph.node[0].attribute if each.name == "nodes_modes")
    attribute.strings[0] = b"BRANCH_LT"
    assert isinstance(lay_out(whole.SerializeToString()), TreeLayout)


def test_rows_of_other_features_are_refused():
    with pytest.raises(InvalidInputError, match="`X` must have shape"):
        lay_out(graph_of_forest(regressor(3))).predict(NEW[:, :2])


FEW_ROWS = """import sys
import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from askwho.learners import TreeModel, graph_of_forest
X = np.arange(40.0)[:, None]
model = TreeModel(graph_of_forest(ExtraTreesRegressor(2, random_state=0).fit(X, X[:, 0])))
model.predict(X), model.predict(X[:1])
sys.exit("numba" in sys.modules)"""


def test_few_rows_do_not_import_numba():
    found = subprocess.run([sys.executable, "-c", FEW_ROWS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_where_nothing_can_be_kept_it_is_compiled_anew(monkeypatch):
    from askwho._fast import _compiled  # noqa: PLC0415 - where numba is not installed, nothing here is run

    def njit(*, nogil, cache=False):
        if cache:
            raise RuntimeError("no locator available")
        return lambda function: (function, nogil)

    monkeypatch.setattr(_compiled, "njit", njit)
    assert _compiled.compiled(abs) == (abs, True)

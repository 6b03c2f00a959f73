"""Trees as an ONNX graph: each tree finds its leaf, a table holds what the leaves say, and the mean is taken.

The table keeps a forest of many outputs small: the usual conversion repeats a weight with three indices for every leaf
and output.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Float

from askwho.learners._graph import IR, OPSET, TREES_OPSET, Graph
from askwho.learners._tree_layout import TreeLayout
from askwho.learners._tree_walk import TreeWalk, lay_out

# What the trees say of a block of rows, a number for each row, tree and output, takes 16 MiB at the most.
_BLOCK_CELLS = 1 << 22
# From so many rows on, laying the trees out takes less than it saves; it is done once.
_WORTH_LAYOUT = 1 << 14
# Where they are laid out already, from so many on: the rest of a large table.
_WORTH_WALKING = 1 << 9
# The runtime looks all outputs up where none is named: one name saves it that at every call.
_SAID = ["Y"]
# The attributes of TreeEnsembleRegressor that have an entry for every node.
_NODE_FIELDS = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")


@dataclass(frozen=True, eq=False)
class _Tree:
    """One tree as arrays over its nodes, children by number, −1 at leaves; leaf values (nodes, outputs)."""

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    values: np.ndarray


def graph_of_forest(forest: Any) -> bytes:  # noqa: ANN401 - a fitted scikit-learn forest, or a `TreeModel`
    """Return a forest as an ONNX graph, features (n, d) in; its own where it was read from one.

    It gives a regressor's numbers, or a classifier's shares of the classes, shape (n, outputs).
    """
    return forest.model if isinstance(forest, TreeModel) else _graph(list(_forest_trees(forest)), forest.n_features_in_)


def graph_of_boosters(boosters: list[Any]) -> bytes:
    """Return LightGBM boosters as one ONNX graph: features (n, d) in, a number each out, shape (n, boosters)."""
    return _graph(list(_booster_trees(boosters)), boosters[0].num_feature())


class TreeModel(Graph):
    """A graph of trees at work: features in, the mean of the leaves out.

    Args:
        model: what `graph_of_forest` wrote.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__(model)
        self.outputs = int(self.session.get_outputs()[0].shape[1])
        trees = int(self.session.get_modelmeta().custom_metadata_map["trees"])
        self.together = max(1, _BLOCK_CELLS // (trees * self.outputs))
        self._layout: TreeLayout | TreeWalk | None = None
        self._laying_out = Lock()

    def predict(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """Return the mean of the leaves, shape (n, outputs), block by block so that memory stays bounded."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        if len(rows) >= (_WORTH_LAYOUT if self._layout is None else _WORTH_WALKING):
            return self.layout.predict(rows)
        if len(rows) <= self.together:
            return self._run(rows)
        return np.concatenate([self._run(rows[i : i + self.together]) for i in range(0, len(rows), self.together)])

    @property
    def layout(self) -> TreeLayout | TreeWalk:
        """The same trees, laid out for many rows: once, whoever asks first."""
        with self._laying_out:
            if self._layout is None:
                self._layout = lay_out(self.model)
            return self._layout

    def _run(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.session.run(_SAID, {"X": rows})[0], dtype=np.float64)


def _forest_trees(forest: Any) -> Iterator[_Tree]:  # noqa: ANN401 - a fitted scikit-learn forest
    """The trees of a scikit-learn forest, a classifier's leaves holding class shares."""
    for estimator in forest.estimators_:
        tree = estimator.tree_
        values = tree.value.reshape(tree.node_count, -1)
        if hasattr(forest, "classes_"):
            values = values / values.sum(axis=1, keepdims=True)
        yield _Tree(tree.children_left, tree.children_right, tree.feature, tree.threshold, values)


def _booster_trees(boosters: list[Any]) -> Iterator[_Tree]:
    """The trees of LightGBM boosters, one output a booster, scaled so that the mean of all trees is their sum."""
    dumped = [booster.dump_model()["tree_info"] for booster in boosters]
    total = sum(len(trees) for trees in dumped)
    for output, trees in enumerate(dumped):
        for info in trees:
            yield _lightgbm_tree(info["tree_structure"], output, len(boosters), total)


def _graph(trees: list[_Tree], n_features: int) -> bytes:
    """The ONNX graph from features (n, d) to the mean of the trees' leaf values (n, outputs)."""
    nodes: dict[str, list[Any]] = {name: [] for name in _NODE_FIELDS}
    targets: dict[str, list[Any]] = {"treeids": [], "nodeids": [], "ids": [], "weights": []}
    table: list[np.ndarray] = []
    for number, tree in enumerate(trees):
        leaf = tree.left < 0
        count = len(leaf)
        nodes["treeids"] += [number] * count
        nodes["nodeids"] += list(range(count))
        nodes["featureids"] += np.where(leaf, 0, tree.feature).tolist()
        nodes["modes"] += ["LEAF" if each else "BRANCH_LEQ" for each in leaf]
        nodes["values"] += np.where(leaf, 0.0, _floor32(tree.threshold)).tolist()
        nodes["truenodeids"] += np.where(leaf, 0, tree.left).tolist()
        nodes["falsenodeids"] += np.where(leaf, 0, tree.right).tolist()
        leaves = np.flatnonzero(leaf)
        targets["treeids"] += [number] * len(leaves)
        targets["nodeids"] += leaves.tolist()
        targets["ids"] += [number] * len(leaves)
        # A float32 holds every whole number up to 2^24, so a leaf's place within its tree is exact.
        targets["weights"] += np.arange(len(leaves), dtype=np.float32).tolist()
        table.append(tree.values[leaves])
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in table])[:-1]]).astype(np.int64)
    return _model(nodes, targets, np.concatenate(table).astype(np.float32), starts, n_features)


def _model(
    nodes: dict[str, list[Any]], targets: dict[str, list[Any]], table: np.ndarray, starts: np.ndarray, n_features: int
) -> bytes:
    # To write alone: the runtime reads without it, and it takes long to import.
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    n_trees, outputs = len(starts), table.shape[1]
    attributes: dict[str, Any] = {f"nodes_{name}": values for name, values in nodes.items()}
    attributes |= {f"target_{name}": values for name, values in targets.items()}
    steps = [
        helper.make_node(
            "TreeEnsembleRegressor",
            ["X"],
            ["leaf"],
            domain="ai.onnx.ml",
            n_targets=n_trees,
            aggregate_function="SUM",
            post_transform="NONE",
            **attributes,
        ),
        helper.make_node("Cast", ["leaf"], ["place"], to=TensorProto.INT64),
        helper.make_node("Add", ["place", "starts"], ["row"]),
        helper.make_node("Gather", ["table", "row"], ["said"], axis=0),
        helper.make_node("ReduceMean", ["said", "axis"], ["Y"], keepdims=0),
    ]
    constants = [
        numpy_helper.from_array(starts, "starts"),
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([1], dtype=np.int64), "axis"),
    ]
    whole = helper.make_graph(
        steps,
        "trees",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, n_features])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, outputs])],
        constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", TREES_OPSET)]
    model = helper.make_model(whole, opset_imports=opsets, ir_version=IR, producer_name="askwho")
    helper.set_model_props(model, {"trees": str(n_trees)})
    return model.SerializeToString()


def _floor32(threshold: np.ndarray) -> np.ndarray:
    """The largest float32 not above each threshold: x ≤ t is then the same question for every float32 x."""
    single = threshold.astype(np.float32)
    return np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)


def _lightgbm_tree(root: dict[str, Any], output: int, outputs: int, scale: int) -> _Tree:
    left, right, feature, threshold, leaf_value = [], [], [], [], []

    def visit(node: dict[str, Any]) -> int:
        place = len(left)
        for values in (left, right, feature, threshold, leaf_value):
            values.append(-1)
        if "split_feature" in node:
            feature[place], threshold[place], leaf_value[place] = node["split_feature"], node["threshold"], 0.0
            left[place], right[place] = visit(node["left_child"]), visit(node["right_child"])
        else:
            threshold[place], leaf_value[place] = 0.0, node["leaf_value"]
        return place

    visit(root)
    values = np.zeros((len(left), outputs))
    values[:, output] = np.array(leaf_value) * scale
    splits = np.array(threshold, dtype=np.float64)
    return _Tree(np.array(left), np.array(right), np.array(feature), splits, values)

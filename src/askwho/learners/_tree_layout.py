"""Trees laid out for many rows: one after the other over a block of rows, so that a tree stays in the cache.

The runtime's own way takes a row through all trees before the next: right for one row, and several times slower for
many, because no cache holds a whole forest. Here every tree is a node of its own in the graph. What the leaves say is
added in the order in which the graph of one row adds it, so that a row gets the same bits alone and in a batch.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int

from askwho._threads import on_each
from askwho.learners._graph import IR, OPSET, TREES_OPSET, Graph
from askwho.learners._tree_nodes import TreeNodes

# Rows that go through one tree together: fewer, and calling the runtime takes longer than the trees; more, and the rows
# leave the cache.
_BLOCK = 1 << 14
# What the leaves of a tree say of some rows, so many numbers (256 KiB) at a time: they stay in the cache too.
_CELLS = 1 << 16
# Features by which rows are sorted: so many halve a batch down to rows that go much the same way, and the first of them
# quarter it. Together they are the 16 bits of a number that NumPy sorts by its digits, and not by comparing.
_HALVED, _QUARTERED = 10, 6
# Numbers a row that are copied as one.
_QUICK = (1, 2, 4, 8)


class TreeLayout:
    """A graph of trees, laid out for many rows.

    Args:
        model: what `graph_of_forest` wrote.
    """

    def __init__(self, model: bytes) -> None:
        trees = TreeNodes(model)
        self.outputs = trees.table.shape[1]
        self._names = [f"leaf-{k}" for k in range(len(trees))]
        self._graph = Graph(_one_by_one(trees, self._names))
        # NumPy copies rows of 4, 8, 16 and 32 bytes three times faster than those between: zeros stand behind.
        self._width = next((width for width in _QUICK if width >= self.outputs), self.outputs)
        table = np.pad(trees.table, ((0, 0), (0, self._width - self.outputs)))
        self._said = [_spoken(table[start:end]) for start, end in trees.leaves]
        self._cuts = _cuts(trees, _HALVED)

    def predict(self, X: Float32[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """Return the mean of the leaves, shape (n, outputs): block by block, on every processor there is."""
        order = self._alike(X)
        blocks = [order[start : start + _BLOCK] for start in range(0, len(X), _BLOCK)]
        said = np.empty((len(X), self.outputs))

        def work(block: np.ndarray) -> None:
            said[block] = self._of_block(X.take(block, axis=0))

        on_each(work, blocks)
        return said

    def _alike(self, X: Float32[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
        """The rows, those that go much the same way beside each other: a processor guesses their next step right."""
        code, above = np.zeros(len(X), dtype=np.uint16), []
        for feature, (_, middle, _) in self._cuts:
            above.append(X[:, feature] > middle)
            code = code << 1 | above[-1]
        for (feature, (low, _, high)), upper in zip(self._cuts[:_QUARTERED], above, strict=False):
            code = code << 1 | (X[:, feature] > np.where(upper, high, low))
        return np.argsort(code, kind="stable")

    def _of_block(self, X: Float32[np.ndarray, "n d"]) -> Float32[np.ndarray, "n m"]:
        leaves: Any = self._graph.session.run(self._names, {"X": X})
        total = np.zeros((len(X), self._width), dtype=np.float32)
        step = max(1, _CELLS // self._width)
        for start in range(0, len(X), step):
            part = total[start : start + step]
            for leaf, (columns, said) in zip(leaves, self._said, strict=True):
                part[:, columns] += said.take(leaf[start : start + step, 0].astype(np.intp), axis=0)
        total /= np.float32(len(self._said))
        return total[:, : self.outputs]


def _cuts(trees: TreeNodes, count: int) -> list[tuple[int, Float32[np.ndarray, " 3"]]]:
    """The features that the trees ask for most, the most first, and the quartiles of where they are cut."""
    inner = ~trees.leaf
    used = np.bincount(trees.feature[inner], minlength=trees.features)
    most = [feature for feature in np.argsort(-used, kind="stable")[:count].tolist() if used[feature]]
    return [(feature, _quartiles(trees.threshold[inner & (trees.feature == feature)])) for feature in most]


def _one_by_one(trees: TreeNodes, names: list[str]) -> bytes:
    """The graph of a node for each tree: features (n, d) in, the place of the leaf among the tree's own out."""
    from onnx import TensorProto, helper  # noqa: PLC0415 - to lay out alone: it takes long to import

    whole = helper.make_graph(
        [_node(trees, name, start, end) for name, (start, end) in zip(names, trees.nodes, strict=True)],
        "trees-one-by-one",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, trees.features])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in names],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", TREES_OPSET)]
    made = helper.make_model(whole, opset_imports=opsets, ir_version=IR, producer_name="askwho")
    return made.SerializeToString()


def _node(trees: TreeNodes, name: str, start: int, end: int) -> Any:  # noqa: ANN401 - a node of ONNX
    from onnx import AttributeProto, helper  # noqa: PLC0415 - to lay out alone: it takes long to import

    leaves, count = np.flatnonzero(trees.leaf[start:end]), end - start
    # By their types: ONNX's own helper would look at every number to find out what it is.
    whole, real, text = AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS
    node = helper.make_node("TreeEnsembleRegressor", ["X"], [name], domain="ai.onnx.ml", n_targets=1)
    for attribute, values in {
        "nodes_treeids": [0] * count,
        "nodes_nodeids": range(count),
        "nodes_featureids": trees.feature[start:end].tolist(),
        "nodes_truenodeids": trees.true[start:end].tolist(),
        "nodes_falsenodeids": trees.false[start:end].tolist(),
        "target_treeids": [0] * len(leaves),
        "target_nodeids": leaves.tolist(),
        "target_ids": [0] * len(leaves),
    }.items():
        node.attribute.add(name=attribute, type=whole, ints=values)
    node.attribute.add(name="nodes_modes", type=text, strings=trees.modes[start:end])
    node.attribute.add(name="nodes_values", type=real, floats=trees.threshold[start:end].tolist())
    # A float32 holds every whole number up to 2^24, so a leaf's place within its tree is exact.
    node.attribute.add(name="target_weights", type=real, floats=range(len(leaves)))
    return node


def _quartiles(cuts: Float32[np.ndarray, " c"]) -> Float32[np.ndarray, " 3"]:
    return np.quantile(cuts, (0.25, 0.5, 0.75)).astype(np.float32)


def _spoken(table: Float32[np.ndarray, "l m"]) -> tuple[slice, Float32[np.ndarray, "l c"]]:
    """The outputs that the leaves of a tree speak of, and what they say: of one alone, where boosting made the tree."""
    spoken = np.flatnonzero(table.any(axis=0))
    columns = slice(spoken[0], spoken[0] + 1) if len(spoken) == 1 else slice(None)
    return columns, np.ascontiguousarray(table[:, columns])

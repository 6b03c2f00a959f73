"""Trees laid out for many rows: one after the other over a block of rows, so that a tree stays in the cache.

The runtime's own way takes a row through all trees before the next: right for one row, and several times slower for
many, because no cache holds a whole forest. Here every tree is a node of its own in the graph. What the leaves say is
added in the order in which the graph of one row adds it, so that a row gets the same bits alone and in a batch.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int

from askwho._threads import processors
from askwho.exceptions import InvalidInputError
from askwho.learners._graph import IR, OPSET, TREES_OPSET, Graph

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
        trees = _Trees(model)
        self.outputs = trees.table.shape[1]
        self._names = [f"leaf-{k}" for k in range(len(trees))]
        self._graph = Graph(trees.one_by_one(self._names))
        # NumPy copies rows of 4, 8, 16 and 32 bytes three times faster than those between: zeros stand behind.
        self._width = next((width for width in _QUICK if width >= self.outputs), self.outputs)
        table = np.pad(trees.table, ((0, 0), (0, self._width - self.outputs)))
        self._said = [_spoken(table[start:end]) for start, end in trees.leaves]
        self._cuts = trees.cuts(_HALVED)

    def predict(self, X: Float32[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """Return the mean of the leaves, shape (n, outputs): block by block, on every processor there is."""
        order = self._alike(X)
        blocks = [order[start : start + _BLOCK] for start in range(0, len(X), _BLOCK)]
        said = np.empty((len(X), self.outputs))

        def work(block: np.ndarray) -> None:
            said[block] = self._of_block(X.take(block, axis=0))

        with ThreadPoolExecutor(min(len(blocks), processors())) as pool:
            for _ in pool.map(work, blocks):
                pass
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


class _Trees:
    """The trees of a graph as arrays over nodes, and where each begins and ends."""

    def __init__(self, model: bytes) -> None:
        # To lay out alone: the runtime reads without it, and it takes long to import.
        from onnx import ModelProto, numpy_helper  # noqa: PLC0415

        graph = ModelProto.FromString(model).graph
        found: dict[str, Any] = {each.name: each for each in graph.node[0].attribute}
        constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self.features = int(graph.input[0].type.tensor_type.shape.dim[1].dim_value)
        self.feature, self.true, self.false, tree = (
            np.array(found[f"nodes_{name}"].ints) for name in ("featureids", "truenodeids", "falsenodeids", "treeids")
        )
        self.threshold = np.array(found["nodes_values"].floats, dtype=np.float32)
        self.modes = list(found["nodes_modes"].strings)
        self.leaf = np.array([mode == b"LEAF" for mode in self.modes])
        self.table: np.ndarray = constants["table"]
        count = int(found["n_targets"].i)
        self.nodes = _runs(tree, count)
        self.leaves = _runs(tree[self.leaf], count)
        starts = np.array([start for start, _ in self.leaves])
        if not np.array_equal(starts, constants["starts"]) or len(self.table) != self.leaves[-1][1]:
            raise InvalidInputError("`model` must hold trees one after the other, each with a row for every leaf.")

    def __len__(self) -> int:
        return len(self.nodes)

    def cuts(self, count: int) -> list[tuple[int, Float32[np.ndarray, " 3"]]]:
        """The features that the trees ask for most, the most first, and the quartiles of where they are cut."""
        inner = ~self.leaf
        used = np.bincount(self.feature[inner], minlength=self.features)
        most = [feature for feature in np.argsort(-used, kind="stable")[:count].tolist() if used[feature]]
        return [(feature, _quartiles(self.threshold[inner & (self.feature == feature)])) for feature in most]

    def one_by_one(self, names: list[str]) -> bytes:
        """The graph of a node for each tree: features (n, d) in, the place of the leaf among the tree's own out."""
        from onnx import TensorProto, helper  # noqa: PLC0415 - as above

        whole = helper.make_graph(
            [self._node(name, start, end) for name, (start, end) in zip(names, self.nodes, strict=True)],
            "trees-one-by-one",
            [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, self.features])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in names],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", TREES_OPSET)]
        made = helper.make_model(whole, opset_imports=opsets, ir_version=IR, producer_name="askwho")
        return made.SerializeToString()

    def _node(self, name: str, start: int, end: int) -> Any:  # noqa: ANN401 - a node of ONNX
        from onnx import AttributeProto, helper  # noqa: PLC0415 - as above

        leaves, count = np.flatnonzero(self.leaf[start:end]), end - start
        # By their types: ONNX's own helper would look at every number to find out what it is.
        whole, real, text = AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS
        node = helper.make_node("TreeEnsembleRegressor", ["X"], [name], domain="ai.onnx.ml", n_targets=1)
        for attribute, values in {
            "nodes_treeids": [0] * count,
            "nodes_nodeids": range(count),
            "nodes_featureids": self.feature[start:end].tolist(),
            "nodes_truenodeids": self.true[start:end].tolist(),
            "nodes_falsenodeids": self.false[start:end].tolist(),
            "target_treeids": [0] * len(leaves),
            "target_nodeids": leaves.tolist(),
            "target_ids": [0] * len(leaves),
        }.items():
            node.attribute.add(name=attribute, type=whole, ints=values)
        node.attribute.add(name="nodes_modes", type=text, strings=self.modes[start:end])
        node.attribute.add(name="nodes_values", type=real, floats=self.threshold[start:end].tolist())
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


def _runs(tree: Int[np.ndarray, " m"], count: int) -> list[tuple[int, int]]:
    """Where the entries of each tree begin and end."""
    if (np.diff(tree) < 0).any():
        raise InvalidInputError("`model` must hold trees one after the other.")
    ends = np.searchsorted(tree, np.arange(count), side="right").tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))

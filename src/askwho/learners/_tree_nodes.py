"""The trees of a graph as arrays over nodes: what every way of laying them out begins with."""

from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float32, Int, UInt16, UInt32, UInt64

from askwho.exceptions import InvalidInputError


class TreeNodes:
    """The trees of a graph as arrays over nodes, and where each begins and ends.

    Args:
        model: what `graph_of_forest` wrote.
    """

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
        # Compiled code looks nothing up twice: what lies outside of a tree or of a row would be read all the same.
        room = np.repeat([end - start for start, end in self.nodes], [end - start for start, end in self.nodes])
        inner = ~self.leaf
        ends = ((self.feature, self.features), (self.true, room), (self.false, room))
        if any(((each < 0) | (each >= end))[inner].any() for each, end in ends):
            raise InvalidInputError("`model` must hold trees whose features and children exist.")

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def tree(self) -> Int[np.ndarray, " m"]:
        """The number of each node's tree."""
        return np.repeat(np.arange(len(self)), [end - start for start, end in self.nodes])

    @cached_property
    def children(self) -> Int[np.ndarray, "m 2"]:
        """The two children of every node among all nodes, first who answers yes; of a leaf they are no nodes."""
        starts = np.array([start for start, _ in self.nodes])
        return np.column_stack([self.true, self.false]) + starts[self.tree][:, None]

    def levels(self) -> list[Int[np.ndarray, " l"]]:
        """Return the nodes of all trees from the roots down, the two children of a node side by side."""
        here, found, seen = np.array([start for start, _ in self.nodes]), [], 0
        while len(here) and seen + len(here) <= len(self.leaf):
            found.append(here)
            seen += len(here)
            here = self.children[here[~self.leaf[here]]].ravel()
        if len(here) or (np.bincount(np.concatenate(found), minlength=len(self.leaf)) != 1).any():
            raise InvalidInputError("`model` must hold trees in which a root leads to every node, and each node once.")
        return found

    def keys(self) -> UInt32[np.ndarray, " m"]:
        """Return the thresholds as whole numbers of the same order, as compiled code has features."""
        bits = (self.threshold + np.float32(0.0)).view(np.uint32)
        return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))

    def places(self) -> UInt16[np.ndarray, " m"]:
        """Return the place of every leaf among those of its tree, over nodes."""
        place = np.zeros(len(self.leaf), dtype=np.uint16)
        place[self.leaf] = np.concatenate([np.arange(end - start) for start, end in self.leaves])
        return place

    def spoken(self, width: int, four: int) -> tuple[UInt64[np.ndarray, "t 3"], Float32[np.ndarray, " c"]]:
        """Return what the leaves say as compiled code adds it up.

        Of each tree, where its table begins, its first column and how many there are, in fours; and the tables, flat.
        A tree that boosting made speaks of one output alone, so that the four columns around it do; the zeros beside
        it change no bits of a sum that began with one.

        Args:
            width: of a row of sums.
            four: how many numbers are added at a time.
        """
        table = np.pad(self.table, ((0, 0), (0, width - self.table.shape[1])))
        columns, tables, begin = [], [], 0
        for start, end in self.leaves:
            spoken = np.flatnonzero(table[start:end].any(axis=0))
            first = int(spoken[0]) // four * four if len(spoken) else 0
            wide = (int(spoken[-1]) // four + 1) * four - first if len(spoken) else four
            columns.append((begin, first, wide))
            tables.append(np.ascontiguousarray(table[start:end, first : first + wide], dtype=np.float32).ravel())
            begin += len(tables[-1])
        return np.array(columns, dtype=np.uint64).reshape(-1, 3), np.concatenate(tables)


def _runs(tree: Int[np.ndarray, " m"], count: int) -> list[tuple[int, int]]:
    """Where the entries of each tree begin and end."""
    if (np.diff(tree) < 0).any():
        raise InvalidInputError("`model` must hold trees one after the other.")
    ends = np.searchsorted(tree, np.arange(count), side="right").tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))

"""The trees of a graph as arrays over nodes: what every way of laying them out begins with."""

from typing import Any

import numpy as np
from jaxtyping import Int

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


def _runs(tree: Int[np.ndarray, " m"], count: int) -> list[tuple[int, int]]:
    """Where the entries of each tree begin and end."""
    if (np.diff(tree) < 0).any():
        raise InvalidInputError("`model` must hold trees one after the other.")
    ends = np.searchsorted(tree, np.arange(count), side="right").tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))

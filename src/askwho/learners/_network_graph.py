"""Networks as ONNX graphs: features in, log-shares of every member out."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from askwho._parts import State, part
from askwho.learners._graph import IR, OPSET, Graph
from askwho.learners._log_shares import log_shares

NETWORK = "network"
"""The kind that every network is written under, whatever trained it: a graph needs nothing else to be read."""


@part(NETWORK)
class NetworkGraph(Graph):
    """A graph of networks at work, without torch.

    Args:
        model: X (n, d) in; scores (members, n, m) or (n, m) out.
    """

    def scores(self, X: Float[np.ndarray, "n d"], *, batch: int = 8192) -> Float[np.ndarray, "members n m"]:
        """Return log-shares, shape (members, n, m), block by block so that memory stays bounded."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        return np.concatenate([self._run(rows[i : i + batch]) for i in range(0, len(rows), batch)], axis=1)

    def to_state(self) -> State:
        """Return what is written: the graph."""
        return network_state(self.model)

    @classmethod
    def from_state(cls, state: State) -> "NetworkGraph":
        """Return the networks that any of them wrote."""
        return cls(state.graphs[NETWORK])

    def _run(self, rows: np.ndarray) -> np.ndarray:
        scores = np.asarray(self.session.run(None, {"X": rows})[0])
        return log_shares(scores if scores.ndim == 3 else scores[None])


def network_state(graph: bytes) -> State:
    """Return what is written of a network: its graph, which `NetworkGraph` reads."""
    return State(graphs={NETWORK: graph})


def perceptrons_graph(
    mean: Float[np.ndarray, " d"],
    scale: Float[np.ndarray, " d"],
    weights: Sequence[Float[np.ndarray, "members _ _"]],
    biases: Sequence[Float[np.ndarray, "members _"]],
) -> bytes:
    """Return the graph of perceptrons side by side: X (n, d) in, scores (members, n, m) out.

    Args:
        mean: of the features, shape (d,).
        scale: of the features, shape (d,).
        weights: a layer each, shape (members, inputs, outputs).
        biases: a layer each, shape (members, outputs).
    """
    # To write alone: the runtime reads without it, and it takes long to import.
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    constants = [
        numpy_helper.from_array(mean.astype(np.float64), "mean"),
        numpy_helper.from_array(scale.astype(np.float64), "scale"),
    ]
    steps = [
        # In double precision, as before saving: large features with a small spread would lose their digits.
        helper.make_node("Cast", ["X"], ["exact"], to=TensorProto.DOUBLE),
        helper.make_node("Sub", ["exact", "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "scale"], ["scaled"]),
        helper.make_node("Cast", ["scaled"], ["x0"], to=TensorProto.FLOAT),
    ]
    last = len(weights) - 1
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        constants.append(numpy_helper.from_array(weight.astype(np.float32), f"w{i}"))
        constants.append(numpy_helper.from_array(bias[:, None].astype(np.float32), f"b{i}"))
        steps.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"]))
        steps.append(helper.make_node("Add", [f"p{i}", f"b{i}"], ["Y" if i == last else f"a{i}"]))
        if i < last:
            steps.append(helper.make_node("Relu", [f"a{i}"], [f"x{i + 1}"]))
    members, _, outputs = weights[-1].shape
    whole = helper.make_graph(
        steps,
        "perceptrons",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, len(mean)])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [members, None, outputs])],
        constants,
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(whole, opset_imports=opsets, ir_version=IR, producer_name="askwho").SerializeToString()

"""Networks as ONNX graphs: features in, log-shares of every member out."""

import numpy as np
import onnxruntime
from jaxtyping import Float
from onnx import TensorProto, helper, numpy_helper

from askwho.learners import Perceptrons, log_shares

_OPSET = [helper.make_opsetid("", 18)]


def perceptrons_graph(networks: Perceptrons) -> bytes:
    """Return the graph of perceptrons side by side: X (n, d) in, scores (members, n, m) out."""
    constants = [
        numpy_helper.from_array(networks.mean.astype(np.float64), "mean"),
        numpy_helper.from_array(networks.scale.astype(np.float64), "scale"),
    ]
    steps = [
        # In double precision, as before saving: large features with a small spread would lose their digits.
        helper.make_node("Cast", ["X"], ["exact"], to=TensorProto.DOUBLE),
        helper.make_node("Sub", ["exact", "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "scale"], ["scaled"]),
        helper.make_node("Cast", ["scaled"], ["x0"], to=TensorProto.FLOAT),
    ]
    last = len(networks.weights) - 1
    for i, (weight, bias) in enumerate(zip(networks.weights, networks.biases, strict=True)):
        constants.append(numpy_helper.from_array(weight.astype(np.float32), f"w{i}"))
        constants.append(numpy_helper.from_array(bias[:, None].astype(np.float32), f"b{i}"))
        steps.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"]))
        steps.append(helper.make_node("Add", [f"p{i}", f"b{i}"], ["Y" if i == last else f"a{i}"]))
        if i < last:
            steps.append(helper.make_node("Relu", [f"a{i}"], [f"x{i + 1}"]))
    members, _, outputs = networks.weights[-1].shape
    whole = helper.make_graph(
        steps,
        "perceptrons",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, len(networks.mean)])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [members, None, outputs])],
        constants,
    )
    return helper.make_model(whole, opset_imports=_OPSET, ir_version=9, producer_name="askwho").SerializeToString()


class NetworkGraph:
    """A graph of networks at work, without torch.

    Args:
        model: X (n, d) in; scores (members, n, m) or (n, m) out.
    """

    def __init__(self, model: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.model = model
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def scores(self, X: Float[np.ndarray, "n d"], *, batch: int = 8192) -> Float[np.ndarray, "members n m"]:
        """Return log-shares, shape (members, n, m), block by block so that memory stays bounded."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        return np.concatenate([self._run(rows[i : i + batch]) for i in range(0, len(rows), batch)], axis=1)

    def _run(self, rows: np.ndarray) -> np.ndarray:
        scores = np.asarray(self.session.run(None, {"X": rows})[0])
        return log_shares(scores if scores.ndim == 3 else scores[None])

"""Experts of our own that files can name."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def upper(known):
    return known["text"].upper()


def write_linear(path):
    """A model of two columns and two classes: the first where the first column is the larger."""
    weights = numpy_helper.from_array(np.array([[1.0, -1.0], [-1.0, 1.0]], dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"]), helper.make_node("Softmax", ["s"], ["p"])]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])
    made = helper.make_tensor_value_info("p", TensorProto.FLOAT, [None, 2])
    graph = helper.make_graph(nodes, "linear", [given], [made], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)

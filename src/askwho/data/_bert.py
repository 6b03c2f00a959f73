"""The ONNX graph of a BERT, from its weights: token numbers in, the last layer's rows out.

Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
NAACL 2019.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from askwho.exceptions import InvalidInputError

# The first set of operators that has Gelu, for which onnxruntime has one kernel.
_OPSET = [helper.make_opsetid("", 20)]
# What the graph is built for: a checkpoint that says otherwise computes something else from the same names.
_BUILT_FOR = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}


def bert_graph(config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> bytes:
    """Return the graph: `input_ids` and `attention_mask` (n, t) in, `last_hidden_state` (n, t, d) out.

    Args:
        config: what `config.json` says.
        weights: by the names that they have in a checkpoint.
    """
    for key, built_for in _BUILT_FOR.items():
        if config.get(key, built_for) != built_for:
            raise InvalidInputError(
                f"`encoder` must have weights whose `{key}` is {built_for!r}, got {config[key]!r}: "
                "export the model to onnx/model.onnx in its folder."
            )
    heads, epsilon = int(config["num_attention_heads"]), float(config["layer_norm_eps"])
    return _Graph(weights, heads, epsilon).model(int(config["num_hidden_layers"]))


class _Graph:
    """Operators and constants, as they are added."""

    def __init__(self, weights: Mapping[str, np.ndarray], heads: int, epsilon: float) -> None:
        self._weights, self._heads, self._epsilon = weights, heads, epsilon
        self._width = len(weights["embeddings.LayerNorm.weight"])
        self._steps: list[Any] = []
        self._constants: list[Any] = []

    def model(self, layers: int) -> bytes:
        x = self._embedded()
        hidden = self._op("Sub", self._constant(1.0), self._op("Cast", "attention_mask", to=TensorProto.FLOAT))
        hidden = self._op("Mul", hidden, self._constant(np.finfo(np.float32).min))
        hidden = self._op("Unsqueeze", hidden, self._constant([1, 2]))
        for i in range(layers):
            at = f"encoder.layer.{i}"
            attended = self._dense(self._attended(x, hidden, f"{at}.attention.self"), f"{at}.attention.output.dense")
            x = self._normalised(self._op("Add", x, attended), f"{at}.attention.output")
            wide = self._op("Gelu", self._dense(x, f"{at}.intermediate.dense"))
            x = self._normalised(self._op("Add", x, self._dense(wide, f"{at}.output.dense")), f"{at}.output")
        self._steps.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
        whole = helper.make_graph(
            self._steps,
            "bert",
            [helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "t"]) for n in ("input_ids", "attention_mask")],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", self._width])],
            self._constants,
        )
        return helper.make_model(whole, opset_imports=_OPSET, ir_version=9, producer_name="askwho").SerializeToString()

    def _embedded(self) -> str:
        held = (self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
        words, places, segments = held
        # A text is one segment, the first, wherever a token stands.
        shape = self._op("Shape", "input_ids")
        length = self._op("Slice", shape, self._constant([1]), self._constant([2]))
        place = self._op("Slice", self._constant(places + segments[0]), self._constant([0]), length)
        word = self._op("Gather", self._constant(words), "input_ids", axis=0)
        return self._normalised(self._op("Add", word, place), "embeddings")

    def _attended(self, x: str, hidden: str, at: str) -> str:
        # Query, key and value in one product; the scale of the scores goes into the query once and for all.
        size = self._width // self._heads
        scales = {"query": np.float32(size**-0.5), "key": np.float32(1), "value": np.float32(1)}
        weight = np.hstack([self._weights[f"{at}.{name}.weight"].T * scale for name, scale in scales.items()])
        bias = np.hstack([self._weights[f"{at}.{name}.bias"] * scale for name, scale in scales.items()])
        three = self._op("Add", self._op("MatMul", x, self._constant(weight)), self._constant(bias))
        three = self._op("Reshape", three, self._constant([0, 0, 3, self._heads, size]))
        three = self._op("Transpose", three, perm=[2, 0, 3, 1, 4])
        query, key, value = (self._op("Gather", three, self._constant(i), axis=0) for i in range(3))
        scores = self._op("MatMul", query, self._op("Transpose", key, perm=[0, 1, 3, 2]))
        shares = self._op("Softmax", self._op("Add", scores, hidden), axis=-1)
        heard = self._op("Transpose", self._op("MatMul", shares, value), perm=[0, 2, 1, 3])
        return self._op("Reshape", heard, self._constant([0, 0, self._width]))

    def _dense(self, x: str, name: str) -> str:
        product = self._op("MatMul", x, self._constant(self._weights[f"{name}.weight"].T))
        return self._op("Add", product, self._constant(self._weights[f"{name}.bias"]))

    def _normalised(self, x: str, name: str) -> str:
        scale, shift = (self._constant(self._weights[f"{name}.LayerNorm.{part}"]) for part in ("weight", "bias"))
        return self._op("LayerNormalization", x, scale, shift, axis=-1, epsilon=self._epsilon)

    def _op(self, kind: str, *inputs: str, **options: Any) -> str:  # noqa: ANN401 - an operator's own
        name = f"x{len(self._steps)}"
        self._steps.append(helper.make_node(kind, inputs, [name], **options))
        return name

    def _constant(self, values: Any) -> str:  # noqa: ANN401 - whatever NumPy makes an array of
        name = f"c{len(self._constants)}"
        array = np.asarray(values, order="C")
        kind = np.float32 if array.dtype.kind == "f" else np.int64
        self._constants.append(numpy_helper.from_array(array.astype(kind, copy=False), name))
        return name

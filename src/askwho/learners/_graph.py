"""An ONNX graph at work."""

import onnxruntime

OPSET, IR = 18, 9
"""What our graphs are written in: the oldest onnxruntime that we install, 1.18, reads it."""
TREES_OPSET = 3
"""Trees are of ONNX's vocabulary for classical models; the same runtime reads this version."""

# The runtime counts what is done with it, for its makers; nobody has asked our users.
onnxruntime.disable_telemetry_events()


class Graph:
    """A graph and the session that runs it, which many threads may use at once; copied and pickled as its bytes.

    Args:
        model: ONNX, features X (n, d) in.
    """

    def __init__(self, model: bytes) -> None:
        options = onnxruntime.SessionOptions()
        # Most calls are about few rows, for which a second thread costs more than it does.
        options.intra_op_num_threads = 1
        # Errors alone: what the runtime warns of, a user can do nothing about.
        options.log_severity_level = 3
        self.model = model
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def __getstate__(self) -> dict[str, bytes]:
        return {"model": self.model}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        self.__init__(state["model"])

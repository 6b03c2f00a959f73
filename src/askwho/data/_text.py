"""A text encoder that needs no download: hashed words and characters, weighed, and pressed into a few dimensions."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, UInt64

from askwho._hashing import hashed_both
from askwho._parts import State, part
from askwho.data._make_up import MADE_UP, make_up

# So many buckets that words of a log, and pairs of them, which tell "not good" from "good", seldom share one.
_WORDS = 2**14
# Three characters carry parts of words, codes and formulas.
_CHARACTERS, _PIECE = 2**13, 3
# The first few hundred characters tell the kind of text; more of them take longer to count.
_FIRST = 300
# So many texts are encoded together: their counts stay near, and memory flat.
_TEXTS_AT_ONCE = 1 << 11


@part("text-encoder")
@dataclass(frozen=True, eq=False)
class TextEncoder:
    """From texts to a dense matrix: hashing, inverse document frequency, truncated singular value decomposition.

    The hashing trick (Weinberger et al. 2009), TF-IDF (Spärck Jones 1972), and latent semantic analysis (Deerwester et
    al. 1990).

    Args:
        idf: shape (buckets,), the weight of each bucket.
        components: shape (dimensions, buckets), the directions kept.
    """

    idf: Float[np.ndarray, " b"]
    components: Float[np.ndarray, "d b"]

    @classmethod
    def fit(cls, texts: Sequence[str], *, dimensions: int = 48, random_state: int = 0) -> "TextEncoder":
        """Return the encoder of a log's texts."""
        # To learn alone: they take long to import.
        from scipy import sparse  # noqa: PLC0415
        from sklearn.decomposition import TruncatedSVD  # noqa: PLC0415

        counts = _counts(texts)
        seen = np.bincount(counts.indices, minlength=counts.shape[1])
        idf = np.log((1 + counts.shape[0]) / (1 + seen)) + 1
        # A product turns the buckets of a row around. Sums in another order would be other directions, by rounding,
        # than those of policies that are in use.
        weighed = sparse.eye_array(counts.shape[0], format="csr") @ _weigh(counts, idf)
        kept = max(1, min(dimensions, min(weighed.shape) - 1))
        # Texts that are all the same have no variance to share out; the shares are not used.
        with np.errstate(invalid="ignore", divide="ignore"):
            svd: Any = TruncatedSVD(kept, random_state=random_state).fit(weighed)
        return cls(idf.astype(np.float32), svd.components_.astype(np.float32))

    def transform(self, texts: Sequence[str]) -> Float[np.ndarray, "n e"]:
        """Return the encoded texts, shape (n, dimensions + 14): directions, then length, lines and make-up."""
        made = np.empty((len(texts), self.components.shape[0] + MADE_UP), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            some, rows = texts[start : start + _TEXTS_AT_ONCE], made[start : start + _TEXTS_AT_ONCE]
            rows[:, :-MADE_UP] = _weigh(_counts(some), self.idf) @ self._directions
            rows[:, -MADE_UP:] = make_up(some)
        return made

    @cached_property
    def _directions(self) -> Float64[np.ndarray, "b d"]:
        """The components as a product with sparse rows reads them: it would make them anew for every few texts."""
        return np.ascontiguousarray(self.components.T, dtype=np.float64)

    def to_state(self) -> State:
        """Return the weights and the directions."""
        return State(arrays={"idf": self.idf, "components": self.components})

    @classmethod
    def from_state(cls, state: State) -> "TextEncoder":
        """Return the encoder that `to_state` wrote."""
        return cls(*state.pick(idf="b", components="d b"))


def fingerprints(texts: Sequence[str]) -> UInt64[np.ndarray, " n"]:
    """Return a number for each text, shape (n,), the same in every run and every batch."""
    digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _counts(texts: Sequence[str]) -> Any:  # noqa: ANN401 - a sparse matrix
    return hashed_both(texts, _WORDS, _CHARACTERS, size=_PIECE, first=_FIRST)


def _weigh(counts: Any, idf: np.ndarray) -> Any:  # noqa: ANN401 - a sparse matrix
    """Sublinear counts times idf, rows of length one."""
    weighed = counts.copy()
    weighed.data = (1 + np.log(weighed.data)) * idf[weighed.indices]
    squares = counts.copy()
    squares.data = weighed.data**2
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    weighed.data *= np.repeat(1 / np.where(norms > 0, norms, 1), np.diff(counts.indptr))
    return weighed

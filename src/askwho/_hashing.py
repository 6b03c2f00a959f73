"""Texts as counts of hashed words or characters: the hashing trick, with the buckets of scikit-learn.

Of many texts most words are the same few: each is cut up and hashed once, however often it occurs.

References:
    Weinberger, Dasgupta, Langford, Smola, Attenberg. Feature hashing for large scale multitask learning. ICML 2009.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Int

from askwho._tokens import tokens


def hashed_words(texts: Sequence[str], buckets: int) -> Any:  # noqa: ANN401 - a sparse matrix
    """Return how often words and pairs of words are in each text, sparse, shape (n, buckets)."""
    words, codes, text = _coded(tokens(each.lower()) for each in texts)
    first = np.flatnonzero(text[:-1] == text[1:])
    pairs, which = np.unique(codes[first] * len(words) + codes[first + 1], return_inverse=True)
    joined = [f"{words[left]} {words[right]}" for left, right in zip(*_both(pairs, len(words)), strict=True)]
    hashed = np.concatenate([_hashed(words, buckets)[codes], _hashed(joined, buckets)[which.ravel()]])
    return _counts(np.concatenate([text, text[first]]), hashed, (len(texts), buckets))


def hashed_characters(texts: Sequence[str], buckets: int, *, least: int, most: int) -> Any:  # noqa: ANN401 - as above
    """Return how often so many characters in a row, spaces around each word, are in each text, shape (n, buckets)."""
    words, codes, text = _coded(each.lower().split() for each in texts)
    pieces, within, owner = _coded(_pieces(f" {word} ", least, most) for word in words)
    count = np.bincount(owner, minlength=len(words))
    start = np.cumsum(count) - count
    # Every word's pieces behind each other, text after text.
    many = count[codes]
    place = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - start[codes], many)
    return _counts(np.repeat(text, many), _hashed(pieces, buckets)[within[place]], (len(texts), buckets))


def _pieces(word: str, least: int, most: int) -> list[str]:
    """The pieces of a word that are so long; a word that is shorter is one itself."""
    found: list[str] = []
    for size in range(least, most + 1):
        if len(word) <= size:
            found.append(word)
            break
        found += [word[i : i + size] for i in range(len(word) - size + 1)]
    return found


def _coded(lists: Iterable[list[str]]) -> tuple[list[str], Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Different entries, which of them stands in every place of the lists, and the list that each place is in."""
    kept = list(lists)
    lengths = np.fromiter(map(len, kept), dtype=np.int64, count=len(kept))
    flat = list(chain.from_iterable(kept))
    different = list(dict.fromkeys(flat))
    code = dict(zip(different, range(len(different)), strict=True))
    codes = np.fromiter(map(code.__getitem__, flat), dtype=np.int64, count=len(flat))
    return different, codes, np.repeat(np.arange(len(kept)), lengths)


def _both(pairs: Int[np.ndarray, " p"], count: int) -> tuple[list[int], list[int]]:
    left, right = np.divmod(pairs, max(1, count))
    return left.tolist(), right.tolist()


def _hashed(entries: Sequence[str], buckets: int) -> Int[np.ndarray, " m"]:
    from sklearn.utils import murmurhash3_32  # noqa: PLC0415 - texts alone need it, and it takes long to import

    found = np.fromiter(map(murmurhash3_32, entries), dtype=np.int64, count=len(entries))
    return np.abs(found) % buckets


def _counts(row: Int[np.ndarray, " m"], bucket: Int[np.ndarray, " m"], shape: tuple[int, int]) -> Any:  # noqa: ANN401
    """A sparse matrix of how often each bucket of a row occurs, sorted within rows."""
    from scipy import sparse  # noqa: PLC0415 - as above

    cells = row * shape[1] + bucket
    cells.sort()
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    counts = np.diff(starts, append=len(cells)).astype(np.float64)
    rows, columns = np.divmod(cells[starts], shape[1])
    ends = np.searchsorted(rows, np.arange(shape[0] + 1))
    return sparse.csr_matrix((counts, columns.astype(np.int32), ends.astype(np.int32)), shape=shape)

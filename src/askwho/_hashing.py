"""Texts as counts of hashed words or characters: the hashing trick, with the buckets of scikit-learn.

A few texts go through scikit-learn's own counters. Of many texts most words are the same few: each is cut up and hashed
once, however often it occurs, and the counts are the same.

References:
    Weinberger, Dasgupta, Langford, Smola, Attenberg. Feature hashing for large scale multitask learning. ICML 2009.
"""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Int

from askwho._tokens import tokens

# Texts below which sharing out their words takes longer than to hash every one.
_FEW = 32
# Plain counts: whoever weighs them does so later, and a sign of their own would let two words in one bucket hide each
# other.
_COUNTS: dict[str, Any] = {"alternate_sign": False, "norm": None}
# Tokens of our own, in any script; with both, scikit-learn would warn that it needs no pattern of its own.
_TOKENS: dict[str, Any] = {"tokenizer": tokens, "token_pattern": None}


def hashed_words(texts: Sequence[str], buckets: int) -> Any:  # noqa: ANN401 - a sparse matrix
    """Return how often words and pairs of words are in each text, sparse, shape (n, buckets)."""
    if len(texts) < _FEW:
        return _words_one_by_one(buckets).transform(texts)
    words, codes, ends = _coded([tokens(each.lower()) for each in texts])
    followed = np.ones(len(codes), dtype=bool)
    followed[ends[1:][ends[1:] > ends[:-1]] - 1] = False
    first = np.flatnonzero(followed)
    pairs, which = np.unique(codes[first] * len(words) + codes[first + 1], return_inverse=True)
    left, right = np.divmod(pairs, max(1, len(words)))
    joined = [f"{words[i]} {words[j]}" for i, j in zip(left.tolist(), right.tolist(), strict=True)]
    # Behind each word the pair that it begins, where another follows.
    both = np.empty((len(codes), 2), dtype=np.int64)
    both[:, 0], both[first, 1] = codes, which.ravel() + len(words)
    kept = np.column_stack([np.ones(len(codes), dtype=bool), followed])
    ends = ends + np.concatenate([[0], np.cumsum(followed)])[ends]
    return _counts(both[kept], ends, _hashed([*words, *joined]), None, buckets)


def hashed_characters(texts: Sequence[str], buckets: int, *, least: int, most: int) -> Any:  # noqa: ANN401 - as above
    """Return how often so many characters in a row, spaces around each word, are in each text, shape (n, buckets)."""
    if len(texts) < _FEW:
        return _characters_one_by_one(buckets, least, most).transform(texts)
    words, codes, ends = _coded([each.lower().split() for each in texts])
    pieces, within, of_words = _coded([_pieces(f" {word} ", least, most) for word in words])
    return _counts(codes, ends, _hashed(pieces)[within], of_words, buckets)


@cache
def _words_one_by_one(buckets: int) -> Any:  # noqa: ANN401 - of scikit-learn
    # Texts alone need it, and it takes long to import.
    from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415

    return HashingVectorizer(n_features=buckets, ngram_range=(1, 2), **_TOKENS, **_COUNTS)


@cache
def _characters_one_by_one(buckets: int, least: int, most: int) -> Any:  # noqa: ANN401 - of scikit-learn
    from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415 - as above

    return HashingVectorizer(n_features=buckets, analyzer="char_wb", ngram_range=(least, most), **_COUNTS)


def _pieces(word: str, least: int, most: int) -> list[str]:
    """The pieces of a word that are so long; a word that is shorter is one itself."""
    found: list[str] = []
    for size in range(least, most + 1):
        if len(word) <= size:
            found.append(word)
            break
        found += [word[i : i + size] for i in range(len(word) - size + 1)]
    return found


def _coded(lists: Sequence[list[str]]) -> tuple[list[str], Int[np.ndarray, " m"], Int[np.ndarray, " e"]]:
    """Different entries, which of them stands in every place, and where each list ends and the next begins."""
    flat = list(chain.from_iterable(lists))
    different = list(dict.fromkeys(flat))
    code = dict(zip(different, range(len(different)), strict=True))
    codes = np.fromiter(map(code.__getitem__, flat), dtype=np.int64, count=len(flat))
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    return different, codes, np.concatenate([[0], np.cumsum(lengths)])


def _hashed(entries: Sequence[str]) -> Int[np.ndarray, " m"]:
    from sklearn.utils import murmurhash3_32  # noqa: PLC0415 - as above

    return np.abs(np.fromiter(map(murmurhash3_32, entries), dtype=np.int64, count=len(entries)))


def _counts(
    codes: Int[np.ndarray, " m"],
    ends: Int[np.ndarray, " e"],
    hashed: Int[np.ndarray, " h"],
    of_codes: Int[np.ndarray, " c"] | None,
    buckets: int,
) -> Any:  # noqa: ANN401 - a sparse matrix
    """How often each bucket is in each text: its codes, times the buckets that each code stands for; sorted in a row.

    Args:
        codes: of all texts, one after the other.
        ends: where the codes of a text end and the next begin.
        hashed: the hashes that codes stand for.
        of_codes: where those of a code end and the next begin; one each, where it is None.
        buckets: how many there are.
    """
    from scipy import sparse  # noqa: PLC0415 - as above

    of_codes = np.arange(len(hashed) + 1) if of_codes is None else of_codes
    shape = (len(of_codes) - 1, buckets)
    texts: Any = sparse.csr_matrix((np.ones(len(codes)), codes, ends), shape=(len(ends) - 1, shape[0]))
    found: Any = texts @ sparse.csr_matrix((np.ones(len(hashed)), hashed % buckets, of_codes), shape=shape)
    found.sort_indices()
    return found

"""Texts as counts of hashed words or characters: the hashing trick, with the buckets of scikit-learn.

A few texts go through scikit-learn's own counters. Many that are ASCII are cut up and hashed as bytes, a block of them
at a time. Of others most words are the same few: each is cut up and hashed once, however often it occurs. The counts
are the same.

References:
    Weinberger, Dasgupta, Langford, Smola, Attenberg. Feature hashing for large scale multitask learning. ICML 2009.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Int

from askwho._hashing._ascii import SHORTEST, Found, pieces, words_and_pairs
from askwho._tokens import tokens, writable

# Texts below which sharing out their words takes longer than to hash every one.
_FEW = 32
# Texts, and their characters, that are laid end to end at once: what is counted stays near, and memory flat.
_TEXTS, _LETTERS = 1 << 11, 1 << 18
# Plain counts: whoever weighs them does so later, and a sign of their own would let two words in one bucket hide each
# other.
_COUNTS: dict[str, Any] = {"alternate_sign": False, "norm": None}
# Tokens of our own, in any script; with both, scikit-learn would warn that it needs no pattern of its own.
_TOKENS: dict[str, Any] = {"tokenizer": tokens, "token_pattern": None}

Cut = tuple[Callable[[Sequence[str]], list[Found]], int]
"""How texts are cut up and hashed, and how many buckets there are, a power of two."""
Count = Callable[[Sequence[str]], Any]
"""From texts to a sparse matrix of counts."""


def hashed_words(texts: Sequence[str], buckets: int) -> Any:  # noqa: ANN401 - a sparse matrix
    """Return how often words and pairs of words are in each text, sparse, shape (n, buckets), a power of two."""
    if len(texts) < _FEW:
        return _words_one_by_one(buckets).transform(texts)
    return _by_script(
        texts, lambda some: _counted(some, [(words_and_pairs, buckets)]), partial(_words, buckets=buckets)
    )


def hashed_characters(texts: Sequence[str], buckets: int, *, least: int, most: int) -> Any:  # noqa: ANN401 - as above
    """Return how often so many characters in a row, spaces around each word, are in each text, shape (n, buckets)."""
    if len(texts) < _FEW:
        return _characters_one_by_one(buckets, least, most).transform(texts)
    otherwise = partial(_characters, buckets=buckets, least=least, most=most)
    if least < SHORTEST:
        return otherwise(texts)
    cut = partial(pieces, least=least, most=most)
    return _by_script(texts, lambda some: _counted(some, [(cut, buckets)]), otherwise)


def hashed_both(texts: Sequence[str], words: int, characters: int, *, size: int, first: int) -> Any:  # noqa: ANN401
    """Return the words of texts in so many buckets, and behind them in others the characters of their beginnings.

    Args:
        texts: n of them.
        words: how many buckets, a power of two.
        characters: likewise.
        size: how many characters in a row.
        first: so many characters of a text are its beginning.
    """

    def heads(some: Sequence[str]) -> list[str]:
        return [writable(text[:first]) for text in some]

    def cut(some: Sequence[str]) -> list[Found]:
        return pieces(heads(some), size, size)

    def otherwise(some: Sequence[str]) -> Any:  # noqa: ANN401 - as above
        from scipy import sparse  # noqa: PLC0415 - for texts alone: it takes long to import

        behind = hashed_characters(heads(some), characters, least=size, most=size)
        return sparse.hstack([hashed_words(some, words), behind], format="csr")

    if len(texts) < _FEW or size < SHORTEST:
        return otherwise(texts)
    return _by_script(texts, lambda some: _counted(some, [(words_and_pairs, words), (cut, characters)]), otherwise)


def _by_script(texts: Sequence[str], quickly: Count, otherwise: Count) -> Any:  # noqa: ANN401 - as above
    """The counts of texts, of those that are ASCII by one way and of the others by another."""
    from scipy import sparse  # noqa: PLC0415 - as above

    plain = np.fromiter(map(str.isascii, texts), dtype=bool, count=len(texts))
    if plain.all() or not plain.any():
        return (quickly if plain.any() else otherwise)(texts)
    rows, rest = np.flatnonzero(plain), np.flatnonzero(~plain)
    parts = [quickly([texts[i] for i in rows.tolist()]), otherwise([texts[i] for i in rest.tolist()])]
    whole: Any = sparse.vstack(parts, format="csr")
    return whole[np.argsort(np.concatenate([rows, rest]))]


def _counted(texts: Sequence[str], cuts: Sequence[Cut]) -> Any:  # noqa: ANN401 - as above
    """The counts of what texts of ASCII are cut into, the buckets of each cut behind those of the one before."""
    from scipy import sparse  # noqa: PLC0415 - as above

    width = sum(buckets for _, buckets in cuts)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    order = np.argsort(lengths, kind="stable")
    data, indices, sizes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    for rows in _blocks(order, lengths[order]):
        block = list(map(texts.__getitem__, rows.tolist()))
        parts: list[Found] = []
        before = 0
        for cut, buckets in cuts:
            parts += [((hashed & np.uint32(buckets - 1)) + np.uint32(before), each) for hashed, each in cut(block)]
            before += buckets
        for found, made in zip((data, indices, sizes), _runs(parts, width), strict=True):
            found.append(made)
    ends = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    counts = np.concatenate(data).astype(np.float64)
    whole: Any = sparse.csr_matrix((counts, np.concatenate(indices), ends), shape=(len(texts), width))
    # Sorted, and none there twice: nobody need look.
    whole.has_canonical_format = True
    return whole if (lengths[1:] >= lengths[:-1]).all() else whole[np.argsort(order, kind="stable")]


def _blocks(order: Int[np.ndarray, " n"], lengths: Int[np.ndarray, " n"]) -> Iterator[Int[np.ndarray, " m"]]:
    """Texts in the order of their lengths, so many together as are laid end to end at once."""
    start = 0
    while start < len(order):
        most = lengths[start : start + _TEXTS] * np.arange(1, min(_TEXTS, len(order) - start) + 1)
        end = start + max(1, int(np.searchsorted(most, _LETTERS, side="right")))
        yield order[start:end]
        start = end


def _runs(
    parts: Sequence[Found], width: int
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"], Int[np.ndarray, " n"]]:
    """How often each bucket is in each text, which buckets these are, rising, and how many each text has.

    Each text is a row of its buckets with nothing behind: rows of a few hundred are sorted without a branch, and ten
    times faster than all texts at once.
    """
    kind = np.uint16 if width < 1 << 16 else np.uint32
    nothing = kind(np.iinfo(kind).max)
    widths = [int(counts.max(initial=0)) for _, counts in parts]
    table = np.full((len(parts[0][1]), sum(widths)), nothing)
    for end, wide, (hashed, counts) in zip(np.cumsum(widths).tolist(), widths, parts, strict=True):
        table[:, end - wide : end][np.arange(wide) < counts[:, None]] = hashed
    table.sort(axis=1)
    found = table[table != nothing]
    ends = np.cumsum(np.sum([counts for _, counts in parts], axis=0))
    new = np.ones(len(found) + 1, dtype=bool)
    new[1:-1] = found[1:] != found[:-1]
    # A text begins anew, also with the bucket that the last one ended with.
    new[ends] = True
    places = np.flatnonzero(new)
    until = np.searchsorted(places, ends)
    return np.diff(places), found[places[:-1]].astype(np.int32), np.diff(until, prepend=0)


def _words(texts: Sequence[str], buckets: int) -> Any:  # noqa: ANN401 - as above
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


def _characters(texts: Sequence[str], buckets: int, least: int, most: int) -> Any:  # noqa: ANN401 - as above
    words, codes, ends = _coded([each.lower().split() for each in texts])
    cut, within, of_words = _coded([_pieces(f" {word} ", least, most) for word in words])
    return _counts(codes, ends, _hashed(cut)[within], of_words, buckets)


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

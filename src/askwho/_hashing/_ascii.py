"""Texts of ASCII, cut up and hashed as bytes: a block of them in a few dozen passes of NumPy, and no word in Python.

The texts are laid end to end. What parts words is one space after it, so that a pair of words is a stretch of bytes as
a word is, and so is every piece of a word with the spaces around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, UInt8, UInt32

from askwho._hashing._murmur import BEHIND, Stretches

SHORTEST = 3
"""The shortest pieces that are cut out here: of fewer characters some are one space, which two words share."""
# What pieces of words begin and end with.
_SPACE = ord(" ")
# What `\w` says of each byte.
_OF_WORDS = bytes(chr(code).isalnum() or chr(code) == "_" for code in range(128)) + bytes(128)
# And what `str.split` says.
_NO_SPACE = bytes(not chr(code).isspace() for code in range(128)) + bytes(128)
# A word of one letter is no token.
_FEWEST_LETTERS = 2

Found = tuple[UInt32[np.ndarray, " _"], Int[np.ndarray, " n"]]
"""Hashes of all texts, one after the other, and how many each text has."""


@dataclass(frozen=True, eq=False)
class _Words:
    """Words of several texts, one space behind each and one in front of all.

    Args:
        written: shape (b,), the bytes, with as many behind as hashing reads.
        inside: shape (b,), which of them are of a word.
        starts: shape (w,), where each word begins.
        sizes: shape (w,), how many bytes it has.
        counts: shape (n,), how many words each text has.
    """

    written: UInt8[np.ndarray, " b"]
    inside: Bool[np.ndarray, " b"]
    starts: Int[np.ndarray, " w"]
    sizes: Int[np.ndarray, " w"]
    counts: Int[np.ndarray, " n"]

    @classmethod
    def of(cls, texts: Sequence[str], letters: bytes, fewest: int) -> "_Words":
        """Return the words that some letters make, in lower case, of so many letters at least."""
        # A line break is in no word: it parts the texts.
        joined = "\n".join(("", *texts, "")).lower().encode("ascii")
        given = np.frombuffer(joined, dtype=np.uint8).copy()
        inside = np.frombuffer(joined.translate(letters), dtype=np.uint8).copy()
        edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        starts, ends = edges[::2], edges[1::2]
        long = ends - starts >= fewest
        if fewest > 1 and not long.all():
            # Single letters alone are left out.
            inside[starts[~long]] = 0
            starts, ends = starts[long], ends[long]
        bounds = np.cumsum([1, *(len(text) + 1 for text in texts)])
        counts = np.diff(np.searchsorted(starts, bounds))
        kept = inside.copy()
        given[ends], given[0] = _SPACE, _SPACE
        kept[ends], kept[0] = 1, 1
        taken = kept.view(np.bool_)
        sizes = ends - starts
        behind = np.zeros(BEHIND, dtype=np.uint8)
        return cls(
            np.concatenate([given[taken], behind]),
            np.concatenate([inside[taken], behind]).view(np.bool_),
            1 + np.cumsum(sizes + 1) - (sizes + 1),
            sizes,
            counts,
        )


def words_and_pairs(texts: Sequence[str]) -> list[Found]:
    """Return the hashes of the words of texts, of two letters at least, and of those that follow each other."""
    words = _Words.of(texts, _OF_WORDS, _FEWEST_LETTERS)
    last = np.cumsum(words.counts)[words.counts > 0] - 1
    followed = np.ones(len(words.starts), dtype=bool)
    followed[last] = False
    first = np.flatnonzero(followed)
    starts = np.concatenate([words.starts, words.starts[first]])
    sizes = np.concatenate([words.sizes, words.sizes[first] + 1 + words.sizes[first + 1]])
    found = Stretches(words.written).hashes(starts, sizes)
    many = len(words.starts)
    return [(found[:many], words.counts), (found[many:], np.maximum(words.counts - 1, 0))]


def pieces(texts: Sequence[str], least: int, most: int) -> list[Found]:
    """Return the hashes of so many characters in a row, a space around each word, by their number."""
    words = _Words.of(texts, _NO_SPACE, 1)
    stretches, places = Stretches(words.written), len(words.written) - BEHIND
    # Where the first word of each text begins, or would: its first piece does so at the space before.
    firsts = np.append(words.starts, places)[np.concatenate([[0], np.cumsum(words.counts)])] - 1
    found: list[Found] = []
    for size in range(least, most + 1):
        # A piece is of one word where no space is within it; at its ends there may be one.
        whole = words.inside[1 : max(1, places - size + 2)].copy()
        for i in range(2, size - 1):
            whole &= words.inside[i : i + len(whole)]
        starts = np.flatnonzero(whole)
        hashed = stretches.hashes(starts, np.full(len(starts), size))
        found.append((hashed, np.diff(np.searchsorted(starts, firsts))))
    return found

"""Length, lines and make-up of texts: what a text is about is for its words to say, how hard it is shows here."""

import string
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

MADE_UP = 14
"""How many numbers tell the make-up of a text."""
# The make-up of a text shows in so many characters; counting more of them takes time and tells nothing new.
_LONG = 2000
# So many are laid end to end at once: memory stays flat, and what is counted stays near.
_TEXTS_AT_ONCE = 512
_SPACE, _LINE, _ASKS, _DIGIT, _CAPITAL, _MARK, _BLANK = (1 << bit for bit in range(7))
"""The kinds of character that are counted, as bits."""
# What parts words for `str.split`; the last of them has the largest code, and nothing beyond it is of any kind.
_BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_KINDS = np.zeros(0x3002, dtype=np.uint8)
"""The kinds of each character, by its code."""
for _bit, _characters in (
    (_SPACE, " "),
    (_LINE, "\n"),
    (_ASKS, "?"),
    (_DIGIT, string.digits),
    (_CAPITAL, string.ascii_uppercase),
    (_MARK, string.punctuation),
    (_BLANK, _BLANKS),
):
    _KINDS[[ord(each) for each in _characters]] |= _bit


def make_up(texts: Sequence[str]) -> Float[np.ndarray, "n 14"]:
    """Return the make-up of each text, shape (n, 14).

    Length, spaces, lines; then of its first 2,000 characters the lines, the first line, how uneven lines are, digits
    everywhere, in the first line and behind it, capitals, marks, the mean word, different words, question marks.
    Digits, capitals and marks are those of ASCII, as shares of all characters.
    """
    blocks = [_block(texts[first : first + _TEXTS_AT_ONCE]) for first in range(0, len(texts), _TEXTS_AT_ONCE)]
    return np.concatenate([np.zeros((0, MADE_UP)), *blocks])


def _block(texts: Sequence[str]) -> Float[np.ndarray, "n 14"]:
    starts = [text[:_LONG] for text in texts]
    whole, size = _numbers(map(len, texts)), _numbers(map(len, starts))
    bounds = np.concatenate([[0], np.cumsum(size)])
    # Half a character, as a cut may leave one, is one character here as it is in Python.
    codes = np.frombuffer("".join(starts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds = _KINDS[np.minimum(codes, len(_KINDS) - 1)]
    spaces, breaks, asks, digits, capitals, marks, blanks = (
        np.flatnonzero((kinds & bit) != 0) for bit in (_SPACE, _LINE, _ASKS, _DIGIT, _CAPITAL, _MARK, _BLANK)
    )
    lines = _within(breaks, bounds) + 1
    lengths, owner = _lines(breaks, bounds, lines)
    head = lengths[np.cumsum(lines) - lines]
    mean = np.bincount(owner, lengths, len(texts)) / lines
    uneven = np.sqrt(np.bincount(owner, (lengths - mean[owner]) ** 2, len(texts)) / lines)
    here = _within(digits, bounds)
    ahead = np.searchsorted(digits, bounds[:-1] + head) - np.searchsorted(digits, bounds[:-1])
    # No library has a kernel for different words: to split a text and put the words into a set is the fastest way.
    words, different = np.array([(len(each), len(set(each))) for each in map(str.split, starts)]).T
    many = np.maximum(1, words)
    rest = {" ": _within(spaces, bounds), "\n": lines - 1}
    for row in np.flatnonzero(whole > _LONG).tolist():
        for character, count in rest.items():
            count[row] += texts[row].count(character, _LONG)
    return np.column_stack(
        [
            np.log1p(whole),
            np.log1p(rest[" "]),
            rest["\n"] / np.maximum(1, whole),
            np.log1p(lines),
            np.log1p(head),
            np.log1p(uneven),
            here / np.maximum(1, size),
            ahead / np.maximum(1, head),
            (here - ahead) / np.maximum(1, size - head),
            _within(capitals, bounds) / np.maximum(1, size),
            _within(marks, bounds) / np.maximum(1, size),
            np.log1p((size - _within(blanks, bounds)) / many),
            different / many,
            np.log1p(_within(asks, bounds)),
        ]
    )


def _lines(breaks: np.ndarray, bounds: np.ndarray, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The length of every line, and the text that it is in."""
    owner = np.repeat(np.arange(len(lines)), lines)
    last = np.cumsum(lines) - 1
    ends = np.empty(len(owner), dtype=np.int64)
    inner = np.ones(len(owner), dtype=bool)
    inner[last] = False
    ends[last], ends[inner] = bounds[1:], breaks
    begins = np.empty_like(ends)
    begins[last - lines + 1] = bounds[:-1]
    begins[np.flatnonzero(inner) + 1] = breaks + 1
    return ends - begins, owner


def _within(places: np.ndarray, bounds: np.ndarray) -> Int[np.ndarray, " n"]:
    """How many places are in each text."""
    return np.diff(np.searchsorted(places, bounds))


def _numbers(given: Iterator[int]) -> Int[np.ndarray, " n"]:
    return np.fromiter(given, dtype=np.int64)

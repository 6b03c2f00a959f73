"""WordPiece: from a text to the token numbers of an uncased BERT, the same ones as its own tokeniser's.

Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
NAACL 2019, and the code released with it.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from askwho.exceptions import InvalidInputError

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_MARKED = re.compile("(" + "|".join(re.escape(word) for word in _SPECIAL) + ")")
# Unicode's white space without the control characters, which vanish and so join what they part.
_CHUNK = re.compile("[^\t\n\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
# Invisible: controls, formats, private use. The replacement character says that something could not be read.
_INVISIBLE = ("Cc", "Cf", "Co", "Cs")
_REPLACEMENT = "\ufffd"
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_LONGEST_WORD = 100
_REMEMBERED = 2**16


class WordPiece:
    """Lower case, no accents, punctuation and ideographs apart, then the longest known piece from the left.

    Args:
        vocabulary: the pieces in the order of their numbers; `##` begins a piece that continues a word.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._number = {piece: i for i, piece in enumerate(vocabulary)}
        absent = [word for word in _SPECIAL if word not in self._number]
        if absent:
            raise InvalidInputError(f"`vocabulary` must hold the special pieces, missing: {absent}.")
        self._longest = max(map(len, self._number))
        # A language repeats its words; the few that are remembered make most of a text.
        self._seen: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, most: int) -> list[int]:
        """Return the token numbers of a text between `[CLS]` and `[SEP]`, `most` of them in all and no more."""
        numbers = [self._number["[CLS]"]]
        for pieces in self._chunks(text):
            numbers.extend(pieces)
            if len(numbers) >= most:
                break
        return [*numbers[: most - 1], self._number["[SEP]"]]

    def _chunks(self, text: str) -> Iterator[tuple[int, ...]]:
        for i, part in enumerate(_MARKED.split(text)):
            if i % 2:
                yield (self._number[part],)
                continue
            for found in _CHUNK.finditer(part):
                yield self._chunk(found.group())

    def _chunk(self, chunk: str) -> tuple[int, ...]:
        pieces = self._seen.get(chunk)
        if pieces is None:
            pieces = tuple(number for word in _words(chunk) for number in self._pieces(word))
            if len(chunk) <= _LONGEST_WORD:
                if len(self._seen) >= _REMEMBERED:
                    self._seen.clear()
                self._seen[chunk] = pieces
        return pieces

    def _pieces(self, word: str) -> list[int]:
        unknown = [self._number["[UNK]"]]
        if len(word) > _LONGEST_WORD:
            return unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for stop in range(min(len(word), start + self._longest), start, -1):
                number = self._number.get(mark + word[start:stop])
                if number is not None:
                    break
            else:
                return unknown
            pieces.append(number)
            start = stop
        return pieces


def _words(chunk: str) -> list[str]:
    shown = "".join(c for c in chunk if c != _REPLACEMENT and unicodedata.category(c) not in _INVISIBLE)
    apart = "".join(f" {c} " if _is_ideograph(c) else c for c in shown)
    bare = "".join(c for c in unicodedata.normalize("NFD", apart) if unicodedata.category(c) != "Mn")
    # Python writes a sigma that ends a word in its own way; the vocabulary was made letter by letter.
    lower = bare.replace("Σ", "σ").lower()
    return "".join(f" {c} " if _is_punctuation(c) else c for c in lower).split()


def _is_ideograph(character: str) -> bool:
    point = ord(character)
    return point >= 0x3400 and any(low <= point <= high for low, high in _IDEOGRAPHS)


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        # BERT takes every visible sign of ASCII for punctuation, such as $ and +.
        return not character.isalnum() and character.isprintable() and character != " "
    return unicodedata.category(character).startswith("P")

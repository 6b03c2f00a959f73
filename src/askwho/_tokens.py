"""Texts as tokens, in any script: words where spaces part them, characters where nothing does."""

import re
import unicodedata

# Han and its extensions, kana of either width, bopomofo: a character is about a word, and a pair of them often is one.
# Marks of repeating and of long vowels are among them, the dot between words is not.
_HAN_AND_KANA = (
    "\u3005\u3007\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U000323af"
)
# Thai and Lao: consonants, and the vowels that are written before the one they belong to, or behind it.
_THAI, _THAI_BEFORE, _THAI_BEHIND = (
    "\u0e01-\u0e2e\u0e81-\u0eae\u0edc-\u0edf",
    "\u0e40-\u0e44\u0ec0-\u0ec4",
    "\u0e2f\u0e30\u0e32\u0e33\u0e45\u0e46\u0eaf\u0eb0\u0eb2\u0eb3\u0ec6",
)
# Khmer and Myanmar: their letters, digits and independent vowels are beside the signs, which are marks.
_KHMER, _MYANMAR = (
    "\u1780-\u17b3",
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e",
)
# The signs that put the next letter below the last.
_STACKED = "\u17d2\u1039"
# Vowel signs, points and tones are part of what they stand on; for `\w` they end a word. Those that Latin letters take
# (from U+0300 on) are left as they are, and so are the selectors of emoji.
_MARKS = "".join(
    chr(code)
    for first, end in ((0x483, 0x1D00), (0x3099, 0x309B), (0xA66F, 0xABF0))
    for code in range(first, end)
    if unicodedata.category(chr(code)).startswith("M")
)
# Whatever is written without spaces; Korean has them.
_UNSPACED = _HAN_AND_KANA + _THAI + _THAI_BEFORE + _THAI_BEHIND + _KHMER + _MYANMAR
# Syllables and letters of these scripts can be words by themselves, such as "not" in Korean and in Hindi; a letter of
# the Latin, Greek or Cyrillic alphabet tells next to nothing.
_LONE = "\u0590-\u1cff\uac00-\ud7a3"
# A letter or digit where spaces part words.
_LETTER = rf"[^\W{_UNSPACED}]"
# A character without spaces around it, and the signs that no reader would take from it.
_CLUSTER = rf"[{_THAI_BEFORE}]?[{_UNSPACED}](?:[{_STACKED}][{_KHMER}{_MYANMAR}]|[{_MARKS}{_THAI_BEHIND}])*"
# What scikit-learn takes for words; it is found in half the time, and all that ASCII needs.
_WORDS = re.compile(r"\w\w+")
# A lone letter or digit beside a character without spaces is kept: five stars are told from one by it.
_ANY_SCRIPT = re.compile(
    rf"{_CLUSTER}|{_LETTER}(?:{_LETTER}|[{_MARKS}])+|(?:(?<=[{_UNSPACED}{_MARKS}])|(?=[{_LONE}])){_LETTER}"
    rf"|{_LETTER}(?=[{_UNSPACED}])"
)
# Full-width forms are letters, digits and marks of ASCII as wide as a Han character.
_WIDE = re.compile("[\uff01-\uff5e]")
# They stand as far behind ASCII.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, in order.

    Words of two letters and more, as scikit-learn has them; in scripts without spaces each character, with the signs
    that stand on it, so that a pair of tokens is a pair of characters, which finds Chinese texts about as well as their
    words do (Nie, Gao, Zhang and Zhou, "On the use of words and n-grams for Chinese information retrieval", 2000).
    """
    if text.isascii():
        return _WORDS.findall(text)
    return _ANY_SCRIPT.findall(text.translate(_NARROW) if _WIDE.search(text) else text)


def writable(text: str) -> str:
    """Return a text as UTF-8 can hold it: half a character, as a cut may leave one, becomes a question mark."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")

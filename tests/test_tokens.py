"""Tokens: words where spaces part them, characters where nothing does."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho._tokens import tokens, writable

# What scikit-learn takes for a word.
WORD = re.compile(r"(?u)\b\w\w+\b")
LATIN = st.characters(max_codepoint=0x24F) | st.characters(min_codepoint=0x1E00, max_codepoint=0x1EFF)


@given(st.text(LATIN | st.sampled_from(" \n'-_0à́ё́λ"), max_size=80))
def test_texts_in_latin_letters_have_the_words_they_had(text):
    assert tokens(text) == WORD.findall(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("酒店很好，不错。", "酒 店 很 好 不 错"),
        ("５星！１２月ＯＫ", "5 星 12 月 OK"),
        ("a房 b c", "a 房"),
        ("東京ホテルー々", "東 京 ホ テ ル ー 々"),
        ("か\u3099く", "か\u3099 く"),
        ("นี้ดีมาก เก่า ไม่", "นี้ ดี มา ก เก่า ไม่"),
        ("ໂຮງແຮມນີ້", "ໂຮ ງ ແຮ ມ ນີ້"),
        ("ល្អណាស់", "ល្អ ណា ស់"),
        ("ဟိုတယ်", "ဟို တ ယ်"),
        ("안 좋아요", "안 좋아요"),
        ("होटल अच्छा न है।", "होटल अच्छा न है"),
        ("הַמָּלוֹן טוֹב", "הַמָּלוֹן טוֹב"),
        ("le café\u3000du 𠮷", "le café du 𠮷"),
    ],
)
def test_each_script_is_cut_where_its_readers_would(text, expected):
    assert tokens(text) == expected.split(" ")


def test_characters_of_planes_beyond_are_tokens_and_half_ones_are_not():
    assert tokens("\U00020000\U00020001") == ["\U00020000", "\U00020001"]
    assert tokens("a\ud800b cd") == ["cd"]
    assert writable("a\ud800酒") == "a?酒"


@given(st.text(max_size=60))
def test_nothing_is_made_up(text):
    found = tokens(text)
    rest = text.translate({code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)})
    for each in found:
        _, there, rest = rest.partition(each)
        assert there
        assert not any(character.isspace() for character in each)


def test_spaces_between_characters_change_nothing():
    rng = np.random.default_rng(0)
    characters = [chr(code) for code in rng.integers(0x4E00, 0x9FFF, 200)]
    assert tokens("".join(characters)) == tokens(" ".join(characters)) == characters

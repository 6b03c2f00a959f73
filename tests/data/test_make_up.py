"""What is counted of texts, against the same counted text by text; and texts of any script as numbers."""

import math
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askwho.data import TextEncoder
from askwho.data._make_up import make_up


def share(text, characters):
    return sum(character in characters for character in text) / max(1, len(text))


def one(text):
    """The make-up of one text as its docstring has it, in plain Python."""
    start = text[:2000]
    lines, words = start.split("\n"), start.split()
    lengths = [len(line) for line in lines]
    mean = sum(lengths) / len(lines)
    return [
        math.log1p(len(text)),
        math.log1p(text.count(" ")),
        text.count("\n") / max(1, len(text)),
        math.log1p(len(lines)),
        math.log1p(lengths[0]),
        math.log1p(math.sqrt(sum((length - mean) ** 2 for length in lengths) / len(lines))),
        share(start, string.digits),
        share(lines[0], string.digits),
        share(start[lengths[0] :], string.digits),
        share(start, string.ascii_uppercase),
        share(start, string.punctuation),
        math.log1p(sum(map(len, words)) / max(1, len(words))),
        len(set(words)) / max(1, len(words)),
        math.log1p(start.count("?")),
    ]


def same(texts):
    expected = np.array([one(text) for text in texts])
    np.testing.assert_array_equal(make_up(texts).astype(np.float32), expected.astype(np.float32))


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8))
def test_the_make_up_is_what_plain_python_counts(texts):
    same(texts)


ALPHABETS = ["abc XYZ 09?!.\n", "中文。！？\u3000 \n5", "ไทย นี้\n", "\ud800\udfff x\n\r\x1c\x85", "😀 a\u2028b \n"]


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_texts_of_any_length_and_script_are_counted_alike_in_every_batch(alphabet):
    rng = np.random.default_rng(0)
    sizes = [*rng.integers(0, 40, 700), 1999, 2000, 2001, 2600, 9000]
    texts = ["".join(rng.choice(list(alphabet), size)) for size in sizes]
    same([*texts, "", "\n", "\n\n", " ", "?" * 3000, "\n" * 3000])
    np.testing.assert_array_equal(make_up(texts)[-3:], make_up(texts[-3:]))


def test_no_texts_have_no_make_up():
    assert make_up([]).shape == (0, 14)


ANY = st.text(st.characters(exclude_categories=()), max_size=50)


@settings(max_examples=60)
@given(st.lists(ANY, min_size=1, max_size=6))
def test_any_text_becomes_finite_numbers(texts):
    encoder = TextEncoder.fit([*texts, "酒店很好", "a word\ud800"], dimensions=3)
    rows = encoder.transform(texts)
    assert rows.shape == (len(texts), len(encoder.components) + 14)
    assert np.isfinite(rows).all()


def test_texts_without_spaces_are_near_where_they_share_characters():
    texts = [f"{'酒店很好服务热情' if i % 2 else '房间太脏隔音极差'}{chr(0x5000 + i)}" for i in range(40)]
    encoder = TextEncoder.fit(texts, dimensions=4)
    good, bad, new = encoder.transform(["酒店很好服务热情", "房间太脏隔音极差", "服务不错酒店很好"])[:, :-14]
    assert new @ good > 2 * abs(new @ bad)

"""Hashed words and characters: the counts of scikit-learn's own hashing, bit for bit, alone and in company."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils import murmurhash3_32

from askwho._hashing import _counts, hashed_both, hashed_characters, hashed_words
from askwho._hashing._murmur import BEHIND, Stretches
from askwho._tokens import tokens, writable


@pytest.fixture(autouse=True, params=["a few texts", "many texts"])
def each_way(request, monkeypatch):
    """Both ways of counting, whatever number of texts there is."""
    monkeypatch.setattr(_counts, "_FEW", {"a few texts": 1000, "many texts": 0}[request.param])


PLAIN = {"alternate_sign": False, "norm": None}
TEXTS = st.lists(st.text(max_size=60) | st.text("ab cÄß\n\t\x1c\u3000酒店 ИI", max_size=60), min_size=1, max_size=8)


def words(buckets):
    return HashingVectorizer(n_features=buckets, ngram_range=(1, 2), tokenizer=tokens, token_pattern=None, **PLAIN)


def characters(buckets, least, most):
    return HashingVectorizer(n_features=buckets, analyzer="char_wb", ngram_range=(least, most), **PLAIN)


def assert_same(ours, theirs):
    assert ours.shape == theirs.shape
    assert type(ours) is type(theirs)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        assert getattr(ours, name).dtype == getattr(theirs, name).dtype


@given(TEXTS, st.sampled_from([2, 2**14, 2**20]))
def test_words_are_counted_as_scikit_learn_counts_them(texts, buckets):
    assert_same(hashed_words(texts, buckets), words(buckets).transform(texts))


@given(TEXTS, st.sampled_from([(3, 3), (3, 5), (1, 2)]))
def test_characters_are_counted_as_scikit_learn_counts_them(texts, sizes):
    texts = list(map(writable, texts))
    ours = hashed_characters(texts, 2**13, least=sizes[0], most=sizes[1])
    assert_same(ours, characters(2**13, *sizes).transform(texts))


@pytest.mark.parametrize("texts", [[""], ["", " ", "!"], ["a"], ["a" * 5000, ""], ["ab ab ab", "ab"]])
def test_texts_of_hardly_any_words(texts):
    assert_same(hashed_words(texts, 64), words(64).transform(texts))
    assert_same(hashed_characters(texts, 64, least=3, most=5), characters(64, 3, 5).transform(texts))


@given(TEXTS)
def test_a_text_has_the_same_counts_alone_and_in_company(texts):
    together = hashed_words(texts, 2**14)
    for i, text in enumerate(texts):
        assert (together[[i]] != hashed_words([text], 2**14)).nnz == 0


@given(TEXTS | st.lists(st.text("ab c_9.\n", max_size=60), min_size=1, max_size=20))
def test_blocks_of_texts_of_any_length_are_put_together_again(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_counts, "_TEXTS", 3)
        patch.setattr(_counts, "_LETTERS", 50)
        ours = hashed_words(texts, 2**14)
    assert_same(ours, words(2**14).transform(texts))


@given(TEXTS)
def test_words_and_characters_stand_beside_each_other(texts):
    both = hashed_both(texts, 2**6, 2**5, size=3, first=20)
    heads = [writable(text[:20]) for text in texts]
    beside = [words(2**6).transform(texts), characters(2**5, 3, 3).transform(heads)]
    assert_same(both, sparse.hstack(beside, format="csr"))


def test_stretches_are_hashed_as_one_text_is():
    written = np.random.default_rng(0).integers(0, 128, 700, dtype=np.uint8)
    stretches = Stretches(np.concatenate([written, np.zeros(BEHIND, dtype=np.uint8)]))
    starts, sizes = np.arange(300), np.arange(300)
    alone = [abs(murmurhash3_32(written[s : s + n].tobytes())) for s, n in zip(starts, sizes, strict=True)]
    np.testing.assert_array_equal(stretches.hashes(starts, sizes), alone)

"""From known columns to rows of numbers: columns of vectors, encoders of one's own, and what is written of them."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import InvalidInputError
from askwho._parts import read_part, state_of
from askwho.data import FeatureEncoder, TextEncoder, TextEncoding
from tests.persistence import own

TEXTS = ["the cat", "", "a dog"]
HERE = __name__


def lengths(texts):
    """An encoder that is a function."""
    return np.array([[len(text), text.count(" ")] for text in texts])


class Letters(own.Letters):
    """An encoder that is an object, with a state of its own; it notes what it was asked."""

    def __init__(self, letters):
        super().__init__(letters)
        self.calls = []

    def transform(self, texts):
        self.calls.append(list(texts))
        return super().transform(texts)


def table(texts=TEXTS, **more):
    return {"x": np.arange(len(texts), dtype=float), "text": np.array(texts, dtype=object), **more}


def written(encoder, allow=()):
    """The encoder after its state went to JSON and back."""
    state = state_of(encoder, "encoder")
    for _, inside in state.walk():
        inside.plain = json.loads(json.dumps(inside.plain))
    state.allow = allow
    return read_part(state)


def test_an_encoder_of_ones_own_is_an_object_or_a_function():
    assert isinstance(Letters("at"), TextEncoding)
    for encoder, expected in [
        (Letters("at"), [[0, 1, 2], [1, 0, 0], [2, 1, 0]]),
        (lengths, [[0, 7, 1], [1, 0, 0], [2, 5, 1]]),
        (Letters("at").transform, [[0, 1, 2], [1, 0, 0], [2, 1, 0]]),
    ]:
        rows = FeatureEncoder.fit(table(), text="text", encoder=encoder).transform(table())
        assert rows.dtype == np.float32
        assert rows.tolist() == expected


def test_an_encoder_is_given_plain_texts_and_an_empty_cell_is_an_empty_text():
    encoder = Letters("a")
    known = {"text": np.array(["a", None, "b"], dtype=object)}
    FeatureEncoder.fit(known, text="text", encoder=encoder).transform(known)
    assert encoder.calls == [["a"], ["a", "", "b"]], "one to see how wide a row is, then all of them"


def test_every_transform_encodes_anew():
    encoder = Letters("a")
    features = FeatureEncoder.fit(table(), text="text", encoder=encoder)
    encoder.calls.clear()
    first = features.transform(table())
    first[:] = 9
    assert features.transform(table())[0].tolist() == [0, 1]
    assert encoder.calls == [TEXTS, TEXTS]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros(3), "must return numbers of shape (3, d), one row a text, got float64 of shape (3,)."),
        (np.zeros((2, 4)), "must return numbers of shape (3, d), one row a text, got float64 of shape (2, 4)."),
        (np.zeros((3, 0)), "must return numbers of shape (3, d), one row a text, got float64 of shape (3, 0)."),
        (np.full((3, 2), "a"), "must return numbers of shape (3, d), one row a text, got <U1 of shape (3, 2)."),
        (None, "must return numbers of shape (3, d), one row a text, got object of shape ()."),
        (np.array([[0.0, 1.0], [0.0, np.nan], [np.inf, 0.0]]), "must be finite, got nan in row 1 (2 such rows)"),
        (np.full((3, 2), 1e31), "must be of at most 1e+30 in size, got 1e+31: take another unit."),
        (np.zeros((3, 5)), "must have shape (3, 2), got (3, 5): as many numbers a text as in the fit."),
    ],
)
def test_what_an_encoder_returns_is_looked_at(returned, message):
    features = FeatureEncoder.fit(
        table(), text="text", encoder=lambda texts: np.zeros((1, 2)) if len(texts) == 1 else returned
    )
    with pytest.raises(InvalidInputError) as error:
        features.transform(table())
    assert message in str(error.value)
    assert str(error.value).startswith("`encoder` ")


@pytest.mark.parametrize("returned", [[[1, 2]], np.array([[1, 2]], dtype=np.float16), np.array([[True, False]])])
def test_any_numbers_become_single_precision(returned):
    known = {"text": np.array(["a"], dtype=object)}
    rows = FeatureEncoder.fit(known, text="text", encoder=lambda texts: returned).transform(known)
    assert rows.dtype == np.float32
    assert rows.tolist() == np.asarray(returned, dtype=float).tolist()


def test_an_object_of_ones_own_writes_itself_and_is_read_only_if_allowed():
    features = FeatureEncoder.fit(table(), text="text", encoder=Letters("at"))
    name = f"{HERE}:Letters"
    with pytest.raises(InvalidInputError, match=f"load it with allow=\\['{name}'\\] if you trust it"):
        written(features)
    again = written(features, allow=[name])
    assert again.text_encoder.letters == "at"
    assert again.transform(table()).tolist() == features.transform(table()).tolist()


def test_a_function_of_ones_own_is_written_by_its_name():
    features = FeatureEncoder.fit(table(), text="text", encoder=lengths)
    with pytest.raises(InvalidInputError, match="an artefact alone never runs code"):
        written(features)
    assert written(features, allow=[f"{HERE}:lengths"]).text_encoder is lengths


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (lambda texts: np.zeros((len(texts), 2)), "must be importable to be saved"),
        (Letters("a").transform, "got the method 'Letters.transform', whose object would be lost"),
    ],
)
def test_what_has_no_name_cannot_be_written(encoder, message):
    features = FeatureEncoder.fit(table(), text="text", encoder=encoder)
    with pytest.raises(InvalidInputError, match=message):
        state_of(features, "encoder")


def mixed(n=60):
    rng = np.random.default_rng(0)
    return {
        "b": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        "word": np.array([None if u < 0.1 else f"w{int(60 * u)}" for u in rng.random(n)], dtype=object),
        "a": np.array([None if u < 0.3 else int(9 * u) for u in rng.random(n)], dtype=object),
        "flag": rng.random(n) < 0.5,
        "vector": rng.normal(size=(n, 3)),
        "text": np.array([f"text {i} of {int(9 * u)}" for i, u in enumerate(rng.random(n))], dtype=object),
    }


def test_the_written_encoder_is_the_same():
    features = FeatureEncoder.fit(mixed(), text="text")
    state = state_of(features, "encoder")
    assert {path: inside.kind for path, inside in state.walk()} == {
        "": "feature-encoder",
        "text_encoder": "text-encoder",
    }
    again = written(features)
    assert again.columns == features.columns == ["b", "a", "flag", "word", "vector", "text"]
    np.testing.assert_array_equal(again.transform(mixed()), features.transform(mixed()))


@pytest.mark.parametrize("encoder", ["hashing", lengths])
def test_it_can_be_copied_and_pickled(encoder):
    features = FeatureEncoder.fit(mixed(), text="text", encoder=encoder)
    for again in (copy.deepcopy(features), pickle.loads(pickle.dumps(features))):  # noqa: S301 - our own
        np.testing.assert_array_equal(again.transform(mixed()), features.transform(mixed()))


def test_rows_hold_every_column_in_its_place():
    known = mixed()
    features = FeatureEncoder.fit(known, text="text")
    rows = features.transform(known)
    missing = np.isnan(known["b"])
    np.testing.assert_array_equal(rows[:, 0], np.where(missing, np.nanmedian(known["b"]), known["b"]).astype("f4"))
    np.testing.assert_array_equal(rows[:, 1], missing)
    empty = np.array([value is None for value in known["a"]])
    np.testing.assert_array_equal(rows[:, 3], empty)
    np.testing.assert_array_equal(rows[~empty, 2], known["a"][~empty].astype("f4"))
    np.testing.assert_array_equal(rows[:, 4], known["flag"])
    words = np.array(features.categories["word"], dtype=object)
    flags, vectors, texts = np.split(rows[:, 5:], [len(words), len(words) + 3], axis=1)
    np.testing.assert_array_equal(flags, known["word"][:, None] == words)
    np.testing.assert_array_equal(vectors, known["vector"].astype("f4"))
    np.testing.assert_array_equal(texts, features.text_encoder.transform(known["text"].tolist()))


@given(st.lists(st.integers(0, 59), min_size=1, max_size=9))
def test_a_row_is_the_same_alone_and_among_others(rows):
    known = mixed()
    del known["text"]
    features = FeatureEncoder.fit(known)
    whole = features.transform(known)
    some = features.transform({name: values[rows] for name, values in known.items()})
    np.testing.assert_array_equal(some, whole[rows])


def test_a_column_of_empty_cells_alone_is_the_median_of_the_log():
    features = FeatureEncoder.fit({"x": np.array([1.0, 2.0, 9.0]), "y": np.zeros(3)})
    assert features.transform({"x": np.array([np.nan]), "y": np.array([1.0])}).tolist() == [[2, 1]]


@pytest.mark.parametrize("kind", [float, np.float32, np.float16, int, bool])
def test_a_column_of_vectors_is_taken_as_it_is(kind):
    vectors = np.array([[0, 1, 2], [1, 0, 1]]).astype(kind)
    features = FeatureEncoder.fit({"e": vectors})
    assert features.vectors == {"e": 3}
    rows = features.transform({"e": vectors})
    assert rows.dtype == np.float32
    assert rows.tolist() == vectors.astype(float).tolist()
    assert features.transform({"e": vectors[:1, :]}).shape == (1, 3)


def test_a_matrix_of_single_precision_is_not_copied():
    vectors = np.zeros((5, 3), dtype=np.float32)
    assert FeatureEncoder.fit({"e": vectors}).transform({"e": vectors}) is vectors


def test_large_but_finite_vectors_pass():
    for kind, size in ((np.float32, 1e29), (np.float64, 1e29), (np.float16, 6e4)):
        vectors = np.full((2, 3), size, dtype=kind)
        assert (FeatureEncoder.fit({"e": vectors}).transform({"e": vectors}) > 5e4).all()


NAN_ROW = np.array([[0.0, 1.0], [np.nan, np.nan], [2.0, 3.0]])
RAGGED = np.array([[1.0], [1.0, 2.0], None], dtype=object)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (NAN_ROW, "`e` must be finite, got nan in row 1 (1 such rows): fill or drop them first."),
        (np.full((3, 2), np.inf), "`e` must be finite, got inf in row 0 (3 such rows): fill or drop them first."),
        (np.full((3, 2), 1e31), "`e` must be of at most 1e+30 in size, got 1e+31: take another unit."),
        (np.zeros((3, 0)), "`e` must hold lists of numbers of one length, got float64 of shape (3, 0)."),
        (np.zeros((3, 2, 2)), "`e` must hold lists of numbers of one length, got float64 of shape (3, 2, 2)."),
        (np.full((3, 2), "a"), "`e` must hold lists of numbers of one length, got <U1 of shape (3, 2)."),
        (RAGGED, "`e` must hold lists of numbers of one length, or single values, got list in its cells."),
    ],
)
def test_vectors_that_cannot_be_used(values, message):
    with pytest.raises(InvalidInputError) as error:
        FeatureEncoder.fit({"x": np.arange(3.0), "e": values})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((3, 5)), "`e` must have shape (3, 2), got (3, 5): lists as long as in the fit."),
        (np.zeros((2, 2)), "`e` must have shape (3, 2), got (2, 2): lists as long as in the fit."),
        (np.zeros(3), "`e` must hold lists of numbers of one length, got float64 of shape (3,)."),
        (NAN_ROW, "`e` must be finite, got nan in row 1 (1 such rows): fill or drop them first."),
    ],
)
def test_vectors_unlike_those_of_the_fit(values, message):
    features = FeatureEncoder.fit({"x": np.arange(3.0), "e": np.zeros((3, 2))})
    with pytest.raises(InvalidInputError) as error:
        features.transform({"x": np.arange(3.0), "e": values})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((3, 2)), "`x` must have shape (3,), got (3, 2): one number a query, as in the fit."),
        (np.zeros(2), "`x` must have shape (3,), got (2,): one number a query, as in the fit."),
        (np.array([0.0, np.inf, 0.0]), "`features` must be finite, got an infinite value in 'x'."),
        (np.array([0.0, 1e31, np.nan]), "`x` must be of at most 1e+30 in size, got 1e+31: take another unit."),
    ],
)
def test_numbers_unlike_those_of_the_fit(values, message):
    features = FeatureEncoder.fit({"y": np.arange(3.0), "x": np.arange(3.0)})
    with pytest.raises(InvalidInputError) as error:
        features.transform({"y": np.arange(3.0), "x": values})
    assert str(error.value) == message


def test_the_most_frequent_categories_have_a_flag_and_ties_go_by_the_alphabet():
    words = [f"w{i:02}" for i in range(60)]
    known = {"word": np.array([*words, *words[30:], "rare\0"], dtype=object)}
    features = FeatureEncoder.fit(known)
    assert features.categories["word"] == sorted([*words[30:], *["rare\0", *words[:9]]])
    assert features.transform({"word": np.array(["rare", "rare\0"], dtype=object)}).sum(axis=1).tolist() == [0, 1]


def test_hashed_texts_are_written_as_their_arrays():
    encoder = TextEncoder.fit(TEXTS)
    state = state_of(encoder, "encoder")
    assert (state.kind, sorted(state.arrays), state.plain) == ("text-encoder", ["components", "idf"], {})
    np.testing.assert_array_equal(read_part(state).transform(TEXTS), encoder.transform(TEXTS))


@pytest.mark.parametrize("number", [float, np.float64])
def test_one_query_of_plain_numbers_is_encoded_as_any(number):
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=50) * 10.0**j for j, name in enumerate(("b", "a", "c"))}
    encoder = FeatureEncoder.fit(table)
    rows = encoder.transform(table)
    for i in range(50):
        query = {name: number(table[name][i]) for name in ("a", "b", "c")}
        assert encoder.of_one(query).tobytes() == rows[i : i + 1].tobytes()


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"a": 1.0}, "a column is missing"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, "there is another"),
        ({"a": 1.0, "b": 2}, "a whole number may be too large"),
        ({"a": 1.0, "b": "2"}, "a text"),
        ({"a": 1.0, "b": None}, "an empty cell"),
        ({"a": 1.0, "b": float("nan")}, "a gap that the log had none of"),
        ({"a": 1.0, "b": 1e300}, "too large"),
    ],
)
def test_any_other_query_takes_the_long_way(query, why):
    encoder = FeatureEncoder.fit({"a": np.arange(9.0), "b": np.arange(9.0)})
    assert encoder.of_one(query) is None, why


def test_where_there_is_more_than_numbers_one_query_takes_the_long_way():
    words = np.array(["x", "y", "z"] * 3, dtype=object)
    assert FeatureEncoder.fit({"a": np.arange(9.0), "w": words}).of_one({"a": 1.0, "w": "x"}) is None
    gap = np.array([np.nan, *range(8)])
    assert FeatureEncoder.fit({"a": gap}).of_one({"a": 1.0}) is None

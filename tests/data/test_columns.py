"""Which columns a pattern means, and what each may hold."""

import re

import numpy as np
import pyarrow as pa
import pytest

from askwho import InvalidInputError
from askwho.data import Columns, named, read_log, resolve
from tests import synthetic

PRESENT = ["x[1]", "x1", "x_a", "x_b", "x_*", "y.z", "yaz", "p\nq", "a,b", "b"]


@pytest.mark.parametrize(
    ("pattern", "columns"),
    [
        ("x[1]", ["x[1]"]),
        ("x[*", ["x[1]"]),
        ("x[1]*", ["x[1]"]),
        ("x?", ["x1"]),
        ("x_*", ["x_*"]),
        ("x_?", ["x_a", "x_b", "x_*"]),
        ("y.z", ["y.z"]),
        ("y.*", ["y.z"]),
        ("p*q", ["p\nq"]),
        ("a,b", ["a,b"]),
        ("x1,b", ["x1", "b"]),
        ("x[1], x_a", ["x[1]", "x_a"]),
    ],
)
def test_only_stars_and_question_marks_are_wild_and_a_name_is_itself(pattern, columns):
    assert list(named(pattern, PRESENT, "features").values()) == columns


def test_a_name_with_a_star_in_it_names_an_entity_as_it_is():
    assert named("x_*", PRESENT, "answers") == {"x_*": "x_*"}
    assert named("x[*", PRESENT, "answers") == {"1]": "x[1]"}


def test_brackets_that_match_nothing_are_told():
    with pytest.raises(InvalidInputError, match=re.escape("`features` must match a column, got 'x[12]': the log has")):
        named("x[12]", PRESENT, "features")


def columns(**words):
    return Columns(**{"truth": "t", "answers": "a_*", "features": "x", **words})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"id": "nowhere"}, "`id` must be a column of the log, got 'nowhere': it has 't', 'a_left', 'x', 'q'"),
        ({"id": "q", "features": "x,q"}, "`features` must be known before asking, got 'q', which names the query."),
        ({"id": "q", "features": "x,?"}, "`features` must be known before asking, got 't', which is not."),
        ({"id": "q", "features": "q*"}, "`features` must be known before asking, got 'q', which names the query."),
        ({"id": "q", "text": "q"}, "`text` must be known before asking, got 'q', which names the query."),
        ({"id": "t"}, "`id` must be a column of its own, got 't', which says something else too."),
        ({"id": "a_left"}, "`id` must be a column of its own, got 'a_left', which says something else too."),
        ({"id": "fee_left", "fees": "fee_*"}, "`id` must be a column of its own, got 'fee_left'"),
        ({"id": "info_left", "info": "info_*"}, "`id` must be a column of its own, got 'info_left'"),
    ],
)
def test_what_an_id_must_be(words, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        resolve(columns(**words), ["t", "a_left", "x", "q", "fee_left", "info_left"])


def test_queries_need_no_id():
    assert resolve(columns(id="q"), ["x"], asked=False).features == ("x",)


def test_an_id_survives_json_and_may_be_the_group():
    said = columns(id="q", groups="q")
    assert Columns.from_json(said.to_json()) == said
    resolve(said, ["t", "a_left", "x", "q"])


SAID = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
VECTORS = [[float(i), 1.0] for i in range(60)]


@pytest.mark.parametrize(
    "cells",
    [VECTORS, np.array(VECTORS), pa.array(VECTORS, pa.list_(pa.float32(), 2)), [None, *VECTORS[1:]]],
    ids=["lists", "a matrix", "Arrow", "with a gap"],
)
def test_features_may_be_lists_of_numbers_of_one_length(cells):
    log = read_log(synthetic.classification(60) | {"x_0": cells}, SAID)
    assert log.known["x_0"].shape == (60, 2)
    assert log.known["x_0"].dtype.kind == "f"
    assert log.rows(np.array([3, 5])).known["x_0"].tolist() == [[3.0, 1.0], [5.0, 1.0]]


MAKE = "must hold numbers, texts or dates, got a list in a cell: make columns of what is in it."
ODD = "`x_0` must hold lists of numbers of one length, or single values, got {}."


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        ("x_0", [[1.0], [1.0, 2.0]] * 30, ODD.format("lists of 1 and of 2")),
        ("x_0", [["a"]] * 60, ODD.format("lists of something else")),
        ("x_0", [[[1.0]]] * 60, ODD.format("lists of something else")),
        ("x_0", [[]] * 60, ODD.format("empty lists")),
        ("x_0", [[1.0], 2.0] * 30, ODD.format("lists beside single values")),
        ("x_0", pa.array([["a"], None] * 30), ODD.format("lists of something else")),
        ("x_0", [b"a"] * 59 + [None], "`x_0` must hold numbers, texts or dates, got bytes: save texts as UTF-8."),
        ("x_0", pa.array([{"a": 1}] * 60), "`x_0` must hold numbers, texts or dates, got a structure in a cell"),
        ("truth", VECTORS, f"`truth` {MAKE}"),
        ("answer_left", VECTORS, f"`answer_left` {MAKE}"),
        ("g", VECTORS, f"`g` {MAKE}"),
        ("q", VECTORS, f"`q` {MAKE}"),
        ("t", VECTORS, f"`t` {MAKE}"),
        ("c_left", VECTORS, f"`c_left` {MAKE}"),
        ("fee_left", VECTORS, f"`fee_left` {MAKE}"),
    ],
    ids=str,
)
def test_other_lists_are_refused(name, cells, message):
    table = synthetic.classification(60) | {f"fee_{entity}": np.ones(60) for entity in synthetic.FEES}
    table |= {"g": np.arange(60), "q": np.arange(60), "t": ["text"] * 60, "c_left": np.ones(60)}
    said = {"groups": "g", "id": "q", "text": "t", "info": "c_*", "fees": "fee_*"}
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}"):
        read_log(table | {name: cells}, Columns(truth="truth", answers="answer_*", features="x_*", **said))

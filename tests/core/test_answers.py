"""The three things a cell can be, and answers of every type."""

import datetime as dt
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import Answers, Entity, InvalidInputError, Panel
from askwho.core import Cell

PANEL = Panel.two_stage(["a"])
ANSWERED, NOT_ASKED, NO_ANSWER = (cell.value for cell in Cell)

columns_of_answers = st.one_of(
    [
        st.lists(st.tuples(*[st.none() | cells] * 3), min_size=1, max_size=8)
        for cells in (
            st.integers(-(2**62), 2**62),
            st.integers(-3, 3),
            st.text("abcé ", max_size=3),
            st.booleans(),
            st.floats(allow_nan=False, width=32),
        )
    ]
)
meanings = st.sampled_from(["not-asked", "no-answer"])
THREE = Panel.two_stage(["a", "b"])


def answers(*rows, panel=PANEL, nulls="not-asked"):
    return Answers.from_table(list(rows), panel, nulls=nulls)


def test_cells_are_numbered_answered_not_asked_no_answer():
    assert (ANSWERED, NOT_ASKED, NO_ANSWER) == (0, 1, 2)


def test_length_counts_the_queries():
    assert len(answers([1, 2], [3, 4], [5, 6])) == 3


@pytest.mark.parametrize(
    ("row", "kind"),
    [(["x", "yy"], "U"), ([1, 2], "i"), ([1.5, 2.5], "f"), ([True, False], "b"), ([1, 2.5], "f"), ([b"x", b"y"], "S")],
)
def test_answers_have_the_type_they_came_with(row, kind):
    assert answers(row).values.dtype.kind == kind


@pytest.mark.parametrize(
    "cells", [["x", "yy"], [1, 2], [1.5, 2.5], [True, False]], ids=["text", "whole", "real", "yes-no"]
)
def test_a_null_does_not_change_the_type(cells):
    full, gapped = answers(cells), answers(cells, [cells[0], None])
    assert gapped.values.dtype == full.values.dtype


def test_large_whole_numbers_beside_a_null_stay_exact():
    assert answers([2**60 + 1, None], [2**60 + 2, 3]).values[:, 0].tolist() == [2**60 + 1, 2**60 + 2]


def test_long_texts_are_not_cut():
    assert answers(["x", "a much longer answer"], [None, "y"]).values[0, 1] == "a much longer answer"


def test_answers_of_other_objects_are_kept():
    first, second = frozenset("ab"), frozenset("c")
    assert answers([first, second]).values.tolist() == [[first, second]]


def test_dates_are_kept_and_nat_is_a_null():
    said = Answers.from_table(
        {"base": np.array(["2020-01-01", "NaT"], "M8[D]"), "a": np.array(["2020-01-01", "2020-02-01"], "M8[D]")}, PANEL
    )
    assert said.states.tolist() == [[ANSWERED, ANSWERED], [NOT_ASKED, ANSWERED]]


def test_an_array_of_objects_is_read_as_a_list_is():
    rows = [["x", None], ["y", "x"]]
    assert Answers.from_table(np.array(rows, dtype=object), PANEL).values.tolist() == answers(*rows).values.tolist()


@pytest.mark.parametrize("null", [None, math.nan, np.float64("nan"), np.datetime64("NaT")])
def test_every_null_is_an_empty_cell(null):
    assert answers(["x", null]).states.tolist() == [[ANSWERED, NOT_ASKED]]


def test_a_null_means_not_asked_unless_said():
    assert answers([1.0, math.nan]).states.tolist() == [[ANSWERED, NOT_ASKED]]


def test_a_null_means_no_answer_where_the_log_says_so():
    assert answers([None, 1], nulls="no-answer").states.tolist() == [[NO_ANSWER, ANSWERED]]


def test_nulls_have_a_meaning_by_column():
    assert answers([None, None], nulls={"a": "no-answer"}).states.tolist() == [[NOT_ASKED, NO_ANSWER]]


@pytest.mark.parametrize("cell", ["", "nan", "None", 0, False])
def test_a_false_or_null_like_answer_is_an_answer(cell):
    assert answers([cell, cell]).states.tolist() == [[ANSWERED, ANSWERED]]


def test_a_column_may_be_all_null():
    said = answers(["x", None], ["y", None])
    assert (said.values[:, 0].tolist(), said.states[:, 1].tolist()) == (["x", "y"], [NOT_ASKED, NOT_ASKED])


def test_a_log_may_be_all_null():
    assert answers([None, None], nulls="no-answer").states.tolist() == [[NO_ANSWER, NO_ANSWER]]


def test_label_entities_answer_with_their_label():
    said = answers(["dog"], [None], panel=Panel.one_stage(["cat", "dog"], ["e"]))
    assert said.values[:, :2].tolist() == [["cat", "dog"], ["cat", "dog"]]


def test_label_entities_always_answer():
    said = answers([7], [None], panel=Panel.one_stage([3, 7], ["e"]), nulls="no-answer")
    assert said.states.tolist() == [[ANSWERED, ANSWERED, ANSWERED], [ANSWERED, ANSWERED, NO_ANSWER]]


def test_an_expert_may_give_an_answer_that_is_no_label():
    assert answers(["cow"], panel=Panel.one_stage(["cat", "dog"], ["e"])).values.tolist() == [["cat", "dog", "cow"]]


def test_reject_needs_no_column_and_never_answers():
    panel = Panel((Entity("g", "base"), Entity("stop", "reject"), Entity("e")))
    assert answers([5, 6], panel=panel).states.tolist() == [[ANSWERED, NO_ANSWER, ANSWERED]]


def test_a_panel_of_labels_and_reject_takes_a_table_without_columns():
    said = Answers.from_table(np.empty((2, 0)), Panel.selective(["cat", "dog"], penalty=0.1))
    assert said.states.tolist() == [[ANSWERED, ANSWERED, NO_ANSWER]] * 2


def test_columns_follow_the_panel_where_labels_come_last():
    panel = Panel((Entity("e"), Entity("0", "label", label=0), Entity("g", "base"), Entity("1", "label", label=1)))
    assert answers([5, 6], panel=panel).values.tolist() == [[5, 0, 6, 1]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("cells", [["x", None, "yy"], [1.5, None, 2.0], [True, None, False]])
def test_a_data_frame_is_read_as_a_list_is(library, cells):
    frame = pytest.importorskip(library).DataFrame({"base": cells[::-1], "a": cells})
    said, expected = Answers.from_table(frame, PANEL), answers(*zip(cells[::-1], cells, strict=True))
    assert (said.values.tolist(), said.states.tolist()) == (expected.values.tolist(), expected.states.tolist())


@pytest.mark.parametrize("dtype", ["category", "Int64", "Float64", "object"])
def test_pandas_columns_of_other_types(dtype):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"base": [1, 2], "a": [2, None]}).astype(dtype)
    assert Answers.from_table(frame, PANEL).states.tolist() == [[ANSWERED, ANSWERED], [ANSWERED, NOT_ASKED]]


def test_a_mapping_of_columns_is_read_as_a_list_is():
    said = Answers.from_table({"base": ["x", "y"], "a": ["z", None]}, PANEL)
    assert (said.values[0].tolist(), said.states.tolist()) == (["x", "z"], [[ANSWERED] * 2, [ANSWERED, NOT_ASKED]])


def test_numbers_and_texts_beside_a_null_are_refused():
    with pytest.raises(InvalidInputError, match="numbers and text"):
        answers(["x", None], ["y", 1])


def test_encoding_is_made_once():
    said = answers([1, 2])
    assert said.encoded is said.encoded


@pytest.mark.parametrize(
    "row",
    [[3, -2], [0, 4095], [0, 4096], [-(2**62), 2**62], [True, False], ["b", "a"], [0.5, -0.5]],
    ids=["near", "widest dense", "narrowest sparse", "far", "yes-no", "text", "real"],
)
def test_codes_lead_back_to_the_answers(row):
    codes, classes = answers(row).encoded
    assert classes[codes].tolist() == [row]


def test_codes_number_dense_answers_from_the_smallest():
    codes, classes = answers([5, 7]).encoded
    assert (codes.tolist(), classes.tolist()) == ([[0, 2]], [5, 6, 7])


def test_a_cell_without_an_answer_adds_no_class():
    said = Answers(np.array([[5, 99]]), np.array([[ANSWERED, NOT_ASKED]], np.int8))
    assert said.encoded[1].tolist() == [5]


def test_nobody_answered_leaves_no_class():
    assert answers([None, None]).encoded[1].size == 0


def cells_of(rows):
    return [(i, j, cell) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell is not None]


@given(columns_of_answers)
def test_values_are_what_was_given(rows):
    said = answers(*rows, panel=THREE)
    assert all(said.values[i, j] == cell for i, j, cell in cells_of(rows))


@given(columns_of_answers, st.fixed_dictionaries(dict.fromkeys(THREE.names, meanings)))
def test_states_agree_with_a_loop(rows, nulls):
    state = {"not-asked": NOT_ASKED, "no-answer": NO_ANSWER}
    expected = [
        [state[nulls[name]] if cell is None else ANSWERED for name, cell in zip(THREE.names, row, strict=True)]
        for row in rows
    ]
    assert answers(*rows, panel=THREE, nulls=nulls).states.tolist() == expected


@given(columns_of_answers)
def test_encoding_round_trips(rows):
    codes, classes = answers(*rows, panel=THREE).encoded
    assert all(classes[codes[i, j]] == cell for i, j, cell in cells_of(rows))


@given(columns_of_answers)
def test_classes_are_sorted_and_different(rows):
    classes = answers(*rows, panel=THREE).encoded[1].tolist()
    assert all(low < high for low, high in itertools.pairwise(classes))


@given(columns_of_answers)
def test_every_code_has_a_class_where_somebody_answered(rows):
    codes, classes = answers(*rows, panel=THREE).encoded
    assert not cells_of(rows) or (codes.min() >= 0 and codes.max() < len(classes))


@given(columns_of_answers)
def test_equal_answers_and_only_they_share_a_code(rows):
    codes, _ = answers(*rows, panel=THREE).encoded
    given_cells = cells_of(rows)
    assert all((codes[i, j] == codes[p, q]) == (x == y) for i, j, x in given_cells for p, q, y in given_cells)


@given(columns_of_answers, st.permutations(range(3)))
def test_permuting_entities_permutes_columns(rows, order):
    shuffled = Panel(tuple(THREE.entities[j] for j in order))
    straight = answers(*rows, panel=THREE)
    permuted = answers(*[[row[j] for j in order] for row in rows], panel=shuffled)
    assert (permuted.values.tolist(), permuted.states.tolist()) == (
        straight.values[:, order].tolist(),
        straight.states[:, order].tolist(),
    )


@pytest.mark.parametrize("null", [math.nan, np.float64("nan"), None])
@pytest.mark.parametrize("column_type", [list, tuple])
def test_a_null_among_the_words_of_a_column_is_a_null(column_type, null):
    said = Answers.from_table({"base": column_type(["x", null]), "a": column_type(["y", "z"])}, PANEL)
    assert said.states.tolist() == [[ANSWERED, ANSWERED], [NOT_ASKED, ANSWERED]]


def test_nan_among_words_is_not_the_text_nan():
    said = Answers.from_table({"base": ["x", math.nan], "a": ["y", "z"]}, PANEL)
    assert said.encoded[1].tolist() == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("cells", "dtype", "kind"),
    [
        (["x", "y"], "string", "U"),
        (["x", "y"], "str", "U"),
        (["x", "y"], "category", "U"),
        ([True, False], "boolean", "b"),
    ],
)
def test_the_na_of_pandas_is_a_null(cells, dtype, kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"base": pandas.array([cells[0], None], dtype=dtype), "a": pandas.array(cells, dtype=dtype)}
    )
    said = Answers.from_table(frame, PANEL)
    assert said.states.tolist() == [[ANSWERED, ANSWERED], [NOT_ASKED, ANSWERED]]
    assert said.values.dtype.kind == kind


def test_the_na_of_pandas_in_a_list_is_a_null():
    pandas = pytest.importorskip("pandas")
    assert answers(["x", pandas.NA], ["y", "z"]).states.tolist() == [[ANSWERED, NOT_ASKED], [ANSWERED, ANSWERED]]


FIRST, SECOND = dt.date(2020, 1, 1), dt.date(2020, 2, 1)


def test_dates_of_python_are_kept_beside_a_null():
    said = answers([FIRST, None], [FIRST, SECOND])
    assert (said.values[1].tolist(), said.states[0].tolist()) == ([FIRST, SECOND], [ANSWERED, NOT_ASKED])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_of_a_data_frame_are_kept_beside_a_null(library):
    moments = [dt.datetime(2020, 1, 1), dt.datetime(2020, 2, 1)]  # noqa: DTZ001 - a log without time zones
    frame = pytest.importorskip(library).DataFrame({"base": [moments[0], None], "a": moments})
    said = Answers.from_table(frame, PANEL)
    assert said.values.dtype.kind == "M"
    assert said.states.tolist() == [[ANSWERED, ANSWERED], [NOT_ASKED, ANSWERED]]


LARGEST = 2**64 - 1


@pytest.mark.parametrize(
    "row", [[LARGEST, LARGEST - 1], [2**63, 2**63 + 4096], [2**63 - 1, 2**63], [0, LARGEST]], ids=repr
)
def test_codes_lead_back_to_unsigned_answers(row):
    codes, classes = Answers.from_table(np.array([row], dtype=np.uint64), PANEL).encoded
    assert classes[codes].tolist() == [row]


def test_unsigned_answers_beside_a_null_stay_exact():
    codes, classes = answers([LARGEST, None], [LARGEST - 1, LARGEST]).encoded
    assert classes[codes][1].tolist() == [LARGEST - 1, LARGEST]

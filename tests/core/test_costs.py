"""Errors from answers, grades and parts; costs from errors and fees."""

import datetime as dt
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import Answers, Entity, Panel
from askwho.core import (
    ERRORS,
    Cell,
    augmented_costs,
    error_function,
    errors_from_grades,
    multi_task_errors,
    quantile_of,
    squared,
    task_errors,
    zero_one,
)

PANEL = Panel.two_stage(["a"])
THREE = Panel.two_stage(["a", "b"])
PRICED = Panel.two_stage([Entity("a", error_weight=2.0, fee=0.5), Entity("b", fee=1.2)])
WITH_REJECT = Panel((Entity("g", "base"), Entity("stop", "reject", error_weight=0.4)))
NAN = math.nan

PLAIN = {
    "zero-one": lambda said, truth: float(said != truth),
    "absolute": lambda said, truth: abs(said - truth),
    "squared": lambda said, truth: (said - truth) ** 2,
    "smooth-l1": lambda said, truth: 0.5 * (said - truth) ** 2 if abs(said - truth) < 1 else abs(said - truth) - 0.5,
}

reals = st.floats(-50, 50)
amounts = st.floats(0, 10)
logs = st.lists(
    st.tuples(reals, *[st.one_of(reals, st.sampled_from([Cell.NOT_ASKED, Cell.NO_ANSWER]))] * 3), min_size=1, max_size=6
)
tables = st.lists(st.tuples(*[amounts | st.just(NAN)] * 3), min_size=1, max_size=5)


def answers(*rows, panel=PANEL, nulls="not-asked"):
    return Answers.from_table(list(rows), panel, nulls=nulls)


def log_of(rows):
    """The truth and the answers of rows (truth, cell, cell, cell), a cell being a number or a `Cell`."""
    cells = [row[1:] for row in rows]
    states = np.array([[c if isinstance(c, Cell) else Cell.ANSWERED for c in row] for row in cells], dtype=np.int8)
    values = np.array([[0.0 if isinstance(c, Cell) else c for c in row] for row in cells])
    return np.array([row[0] for row in rows]), Answers(values, states)


def with_reject(*said):
    return Answers.from_table([[cell] for cell in said], WITH_REJECT, nulls="no-answer")


def same(table, expected):
    np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12)


def test_zero_one_errors_of_texts():
    assert task_errors(answers(["cat", "dog"]), ["cat"], panel=PANEL).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("row", "truth"), [([3, 4], 3), ([1.5, 2.5], 1.5), ([True, False], True), ([b"x", b"y"], b"x"), ([1, 2.5], 1)]
)
def test_zero_one_errors_of_every_type(row, truth):
    assert task_errors(answers(row), [truth], panel=PANEL).tolist() == [[0.0, 1.0]]


def test_zero_one_errors_of_dates():
    dates = np.array(["2020-01-01", "2020-02-01"], "M8[D]")
    said = Answers.from_table({"base": dates[:1], "a": dates[1:]}, PANEL)
    assert task_errors(said, dates[:1], panel=PANEL).tolist() == [[0.0, 1.0]]


def test_zero_one_errors_of_labels():
    panel = Panel.one_stage(["cat", "dog"], ["e"])
    said = answers(["dog"], ["cow"], panel=panel)
    assert task_errors(said, ["dog", "cat"], panel=panel).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]


def test_truth_of_objects_is_compared_by_value():
    truth = np.array(["cat"], dtype=object)
    assert task_errors(answers(["cat", "dog"]), truth, panel=PANEL).tolist() == [[0.0, 1.0]]


def test_truth_may_be_a_pandas_column():
    truth = pytest.importorskip("pandas").Series(["cat", "dog"])
    said = answers(["cat", "dog"], ["dog", "dog"])
    assert task_errors(said, truth, panel=PANEL).tolist() == [[0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("error", "expected"),
    [("zero-one", [1.0, 1.0]), ("absolute", [0.5, 3.0]), ("squared", [0.25, 9.0]), ("smooth-l1", [0.125, 2.5])],
)
def test_each_error_by_name(error, expected):
    assert task_errors(answers([1.5, 4.0]), [1.0], panel=PANEL, error=error).tolist() == [expected]


def test_smooth_l1_meets_itself_at_1():
    assert ERRORS["smooth-l1"](np.array([1.0, np.nextafter(1.0, 0)]), np.zeros(2)) == pytest.approx([0.5, 0.5])


def test_small_unsigned_numbers_do_not_wrap_around():
    said = Answers.from_table(np.array([[1, 3]], dtype=np.uint8), PANEL)
    assert task_errors(said, np.array([2], dtype=np.uint8), panel=PANEL, error="absolute").tolist() == [[1.0, 1.0]]


def test_yes_and_no_have_a_distance():
    assert task_errors(answers([True, False]), [True], panel=PANEL, error="absolute").tolist() == [[0.0, 1.0]]


def test_error_function_finds_names():
    assert error_function("squared") is squared


def test_error_function_passes_functions_through():
    assert error_function(np.hypot) is np.hypot


def test_own_error_of_texts():
    errors = task_errors(
        answers(["cat", "horse"]),
        ["cow"],
        panel=PANEL,
        error=lambda said, truth: np.abs(np.strings.str_len(said) - np.strings.str_len(truth)),
    )
    assert errors.tolist() == [[0.0, 2.0]]


def test_own_error_may_be_yes_or_no():
    errors = task_errors(answers([1, 4]), [2], panel=PANEL, error=lambda said, truth: said > truth)
    assert errors.tolist() == [[0.0, 1.0]]


def test_own_error_sees_only_usable_answers():
    seen = []

    def record(said, truth):
        seen.append((said.tolist(), truth.tolist()))
        return np.zeros(said.shape)

    task_errors(answers([1.0, None], [None, 4.0]), [5.0, 6.0], panel=PANEL, error=record)
    assert seen == [([1.0, 4.0], [5.0, 6.0])]


def test_not_asked_has_no_error():
    same(task_errors(answers([1, None]), [2], panel=PANEL), [[1.0, NAN]])


def test_no_answer_is_an_error_in_classification():
    said = answers(["x", None], nulls="no-answer")
    assert task_errors(said, ["x"], panel=PANEL).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("error", ["absolute", "squared", "smooth-l1", lambda said, truth: 7 * np.abs(said - truth)])
def test_no_answer_is_the_worst_recorded_error_in_regression(error):
    errors = task_errors(answers([1.0, 4.0], [2.0, None], nulls="no-answer"), [1.0, 1.0], panel=PANEL, error=error)
    assert errors[1, 1] == errors[0, 1] == np.nanmax(errors)


def test_no_answer_is_the_worst_error_of_the_whole_panel():
    said = answers([9.0, 1.0], [1.0, None], nulls="no-answer")
    assert task_errors(said, [1.0, 1.0], panel=PANEL, error="absolute")[1, 1] == 8.0


def test_no_answer_at_all_costs_1():
    said = answers([None, None], nulls="no-answer")
    assert task_errors(said, [3.0], panel=PANEL, error="squared").tolist() == [[1.0, 1.0]]


def test_unusable_and_unasked_are_told_apart_by_column():
    said = answers([1, 2], [None, None], nulls={"a": "no-answer"})
    same(task_errors(said, [1, 1], panel=PANEL), [[0.0, 1.0], [NAN, 1.0]])


def test_abstaining_is_an_error_of_1():
    assert task_errors(with_reject(3.0), [3.0], panel=WITH_REJECT).tolist() == [[0.0, 1.0]]


def test_abstaining_is_an_error_of_1_in_regression():
    assert task_errors(with_reject(8.0), [3.0], panel=WITH_REJECT, error="squared").tolist() == [[25.0, 1.0]]


def test_abstaining_is_not_a_recorded_error():
    errors = task_errors(with_reject(3.5, None), [3.0, 3.0], panel=WITH_REJECT, error="absolute")
    assert errors.tolist() == [[0.5, 1.0], [0.5, 1.0]]


def test_abstaining_costs_its_error_weight():
    errors = task_errors(with_reject(3.0), [3.0], panel=WITH_REJECT)
    assert augmented_costs(errors, panel=WITH_REJECT, fee_weight=9.0).tolist() == [[0.0, 0.4]]


@pytest.mark.parametrize("error", list(PLAIN))
@given(rows=logs)
def test_task_errors_agree_with_a_loop(error, rows):
    truth, said = log_of(rows)
    recorded = [PLAIN[error](c, row[0]) for row in rows for c in row[1:] if not isinstance(c, Cell)]
    worst = 1.0 if error == "zero-one" or not recorded else max(recorded)
    unusable = {Cell.NOT_ASKED: NAN, Cell.NO_ANSWER: worst}
    expected = [[unusable[c] if isinstance(c, Cell) else PLAIN[error](c, row[0]) for c in row[1:]] for row in rows]
    same(task_errors(said, truth, panel=THREE, error=error), expected)


@pytest.mark.parametrize("error", list(PLAIN))
@given(rows=logs, order=st.permutations(range(3)))
def test_permuting_entities_permutes_errors(error, rows, order):
    truth, said = log_of(rows)
    shuffled = Panel(tuple(THREE.entities[j] for j in order))
    permuted = Answers(said.values[:, order], said.states[:, order])
    same(
        task_errors(permuted, truth, panel=shuffled, error=error),
        task_errors(said, truth, panel=THREE, error=error)[:, order],
    )


@given(logs, st.lists(reals, min_size=3, max_size=3))
def test_what_stands_in_an_empty_cell_is_ignored(rows, noise):
    truth, said = log_of(rows)
    disturbed = Answers(np.where(said.states == Cell.ANSWERED, said.values, noise), said.states)
    same(
        task_errors(disturbed, truth, panel=THREE, error="absolute"),
        task_errors(said, truth, panel=THREE, error="absolute"),
    )


def test_errors_are_1_less_the_grades():
    assert errors_from_grades([[1.0, 0.25]], panel=PANEL).tolist() == [[0.0, 0.75]]


def test_grades_may_be_right_or_wrong():
    assert errors_from_grades([[True, False]], panel=PANEL).tolist() == [[0.0, 1.0]]


def test_a_missing_grade_means_not_asked_unless_said():
    same(errors_from_grades([[1.0, NAN]], panel=PANEL), [[0.0, NAN]])


def test_a_missing_grade_is_an_error_where_the_log_says_so():
    assert errors_from_grades([[1.0, NAN]], panel=PANEL, nulls="no-answer").tolist() == [[0.0, 1.0]]


def test_missing_grades_have_a_meaning_by_column():
    same(errors_from_grades([[NAN, NAN]], panel=PANEL, nulls={"base": "no-answer"}), [[1.0, NAN]])


def test_grades_may_be_a_data_frame():
    frame = pytest.importorskip("pandas").DataFrame({"base": [1.0, 0.5], "a": [None, 0.0]})
    same(errors_from_grades(frame, panel=PANEL), [[0.0, NAN], [0.5, 1.0]])


def test_grades_are_left_as_they_were():
    grades = np.array([[0.5, NAN]])
    errors_from_grades(grades, panel=PANEL, nulls="no-answer")
    same(grades, [[0.5, NAN]])


def test_parts_are_summed_by_weight():
    total = multi_task_errors({"class": [[0.0, 1.0]], "box": [[0.5, 0.2]]}, weights={"class": 1.0, "box": 2.0})
    same(total, [[1.0, 1.4]])


def test_a_part_that_was_not_asked_leaves_no_error():
    total = multi_task_errors({"class": [[0.0, 1.0]], "box": [[NAN, 0.2]]}, weights={"class": 1.0, "box": 0.0})
    same(total, [[NAN, 1.0]])


def test_one_part_of_weight_1_is_itself():
    assert multi_task_errors({"class": [[0.0, 1.0]]}, weights={"class": 1.0}).tolist() == [[0.0, 1.0]]


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[amounts] * 3), min_size=n, max_size=n)), amounts)
def test_parts_agree_with_a_loop(table, weight):
    other = [[cell / 2 + 1 for cell in row] for row in table]
    total = multi_task_errors({"one": table, "two": other}, weights={"two": weight, "one": 3.0})
    same(
        total,
        [[3.0 * x + weight * y for x, y in zip(r, s, strict=True)] for r, s in zip(table, other, strict=True)],
    )


def test_costs_are_weighted_errors_plus_fees():
    same(augmented_costs([[1.0, 0.5, 0.0]], panel=PRICED), [[1.0, 1.5, 1.2]])


def test_costs_of_free_entities_are_errors():
    assert augmented_costs([[0.3, 0.7]], panel=PANEL).tolist() == [[0.3, 0.7]]


def test_fee_weight_is_the_exchange_rate():
    same(augmented_costs([[1.0, 0.5, 0.0]], panel=PRICED, fee_weight=10.0), [[1.0, 6.0, 12.0]])


def test_fee_weight_of_0_leaves_money_out():
    same(augmented_costs([[1.0, 0.5, 0.0]], panel=PRICED, fee_weight=0.0), [[1.0, 1.0, 0.0]])


def test_fees_given_by_entity_replace_the_panel_s():
    same(augmented_costs([[0.0, 0.0, 0.0]] * 2, panel=PRICED, fees=[1.0, 2.0, 3.0]), [[1.0, 2.0, 3.0]] * 2)


def test_fees_given_by_query_replace_the_panel_s():
    fees = [[0.0, 1.0, 2.0], [0.0, 3.0, 4.0]]
    assert augmented_costs(np.zeros((2, 3)), panel=PRICED, fees=fees).tolist() == fees


def test_a_square_of_fees_is_by_query():
    assert augmented_costs(np.zeros((2, 2)), panel=PANEL, fees=[[1.0, 2.0], [3.0, 4.0]])[1].tolist() == [3.0, 4.0]


def test_not_asked_has_no_cost():
    same(augmented_costs([[NAN, 0.0, 0.0]], panel=PRICED), [[NAN, 0.5, 1.2]])


@given(tables, amounts)
def test_costs_agree_with_a_loop(table, fee_weight):
    same(
        augmented_costs(table, panel=PRICED, fee_weight=fee_weight),
        [
            [e.error_weight * error + fee_weight * e.fee for e, error in zip(PRICED.entities, row, strict=True)]
            for row in table
        ],
    )


@given(tables, amounts, amounts, st.floats(0, 1))
def test_costs_are_affine_in_the_fee_weight(table, low, high, share):
    def costs(fee_weight):
        return augmented_costs(table, panel=PRICED, fee_weight=fee_weight)

    same(costs((1 - share) * low + share * high), (1 - share) * costs(low) + share * costs(high))


@given(tables, amounts, st.permutations(range(3)))
def test_permuting_entities_permutes_costs(table, fee_weight, order):
    shuffled = Panel(tuple(PRICED.entities[j] for j in order))
    straight = augmented_costs(table, panel=PRICED, fee_weight=fee_weight)
    permuted = augmented_costs(np.array(table)[:, order], panel=shuffled, fee_weight=fee_weight)
    assert np.array_equal(permuted, straight[:, order], equal_nan=True)


@given(tables, amounts)
def test_the_panel_s_fees_spelled_out_change_nothing(table, fee_weight):
    implicit = augmented_costs(table, panel=PRICED, fee_weight=fee_weight)
    explicit = augmented_costs(table, panel=PRICED, fee_weight=fee_weight, fees=PRICED.fees)
    assert np.array_equal(implicit, explicit, equal_nan=True)


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=5), amounts)
def test_no_cost_of_a_grade_is_above_the_panel_s_bound(grades, fee_weight):
    costs = augmented_costs(errors_from_grades(grades, panel=PRICED), panel=PRICED, fee_weight=fee_weight)
    assert (costs <= PRICED.cost_bound(fee_weight=fee_weight)).all()


@pytest.mark.parametrize(
    ("rows", "truth"),
    [
        ([["x", "y"], ["y", None]], ["x", "x"]),
        ([[1.0, 2.0], [None, 5.0]], [1.0, 4.0]),
        ([[None, None]], ["x"]),
    ],
    ids=["text", "numbers", "nobody"],
)
@pytest.mark.parametrize("nulls", ["not-asked", "no-answer"])
def test_zero_one_by_name_and_by_function_are_equal(rows, truth, nulls):
    said = answers(*rows, nulls=nulls)
    by_name = task_errors(said, truth, panel=PANEL, error="zero-one")
    same(task_errors(said, truth, panel=PANEL, error=zero_one), by_name)


@pytest.mark.parametrize("truth", [["x", "y"], [1, 2], [True, False]], ids=["text", "numbers", "yes-no"])
def test_a_log_in_which_nobody_answered_is_all_wrong(truth):
    said = answers([None, None], [None, None], nulls="no-answer")
    assert task_errors(said, truth, panel=PANEL).tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_in_which_nobody_answered_is_all_wrong(library):
    frame = pytest.importorskip(library).DataFrame({"base": [None, None], "a": [None, None]})
    said = Answers.from_table(frame, PANEL, nulls="no-answer")
    assert task_errors(said, ["x", "y"], panel=PANEL).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_nan_among_words_has_no_error():
    said = Answers.from_table({"base": ["x", math.nan], "a": ["y", "x"]}, PANEL)
    same(task_errors(said, ["x", "nan"], panel=PANEL), [[0.0, 1.0], [NAN, 1.0]])


def test_errors_of_dates_beside_a_null():
    first, second = dt.date(2020, 1, 1), dt.date(2020, 2, 1)
    same(task_errors(answers([first, None], [first, second]), [first, first], panel=PANEL), [[0.0, NAN], [0.0, 1.0]])


@pytest.mark.parametrize("nulls", ["not-asked", "no-answer"])
def test_errors_of_dates_with_their_own_null(nulls):
    dates = np.array([["2020-01-01", "NaT"], ["2020-02-01", "2020-01-01"]], "M8[D]")
    said = Answers.from_table(dates, PANEL, nulls=nulls)
    truth = np.array(["2020-01-01"] * 2, "M8[D]")
    same(task_errors(said, truth, panel=PANEL), [[0.0, NAN if nulls == "not-asked" else 1.0], [1.0, 0.0]])


def test_errors_of_the_dates_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    dates = pandas.to_datetime(["2020-01-01", "2020-02-01"])
    frame = pandas.DataFrame({"base": dates, "a": [dates[0], None]})
    same(
        task_errors(Answers.from_table(frame, PANEL), pandas.Series([dates[0]] * 2), panel=PANEL),
        [[0.0, 0.0], [1.0, NAN]],
    )


def test_errors_of_the_na_of_pandas():
    pandas = pytest.importorskip("pandas")
    column = pandas.array([True, None], dtype="boolean")
    said = Answers.from_table(pandas.DataFrame({"base": column, "a": column}), PANEL, nulls={"a": "no-answer"})
    same(task_errors(said, [True, True], panel=PANEL), [[0.0, 0.0], [NAN, 1.0]])


def test_errors_of_unsigned_numbers_above_the_signed_ones():
    said = Answers.from_table(np.array([[2**64 - 1, 2**64 - 2]], dtype=np.uint64), PANEL)
    truth = np.array([2**64 - 2], dtype=np.uint64)
    assert task_errors(said, truth, panel=PANEL).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_errors_and_fees_may_be_data_frames(library):
    frame = pytest.importorskip(library).DataFrame({"base": [0.5, 0.0], "a": [1.0, 2.0]})
    assert augmented_costs(frame, panel=PANEL, fees=frame).tolist() == [[1.0, 2.0], [0.0, 4.0]]


def test_the_fees_of_the_caller_stay_writable():
    fees = np.array([[0.0, 1.0]])
    augmented_costs([[0.0, 0.0]], panel=PANEL, fees=fees)
    assert fees.flags.writeable


def test_huge_but_finite_errors_are_errors():
    answers = Answers.from_table([[1.7e308, 1.7e308]], Panel.two_stage(["a"]))
    errors = task_errors(answers, [0.0], panel=Panel.two_stage(["a"]), error="absolute")
    assert errors.tolist() == [[1.7e308, 1.7e308]]


def test_a_quantile_charges_by_which_side_an_answer_is_on():
    pinball = error_function("pinball:0.9")
    # Two too low, two too high, and right: q a unit, 1 - q a unit, nothing.
    errors = pinball(np.array([3.0, 7.0, 5.0]), np.array([5.0, 5.0, 5.0]))
    assert errors.tolist() == pytest.approx([0.9 * 2, 0.1 * 2, 0.0])


def test_which_quantile_errs_least():
    assert quantile_of(error_function("pinball:0.9")) == 0.9
    # Absolute errors are least at the median, twice the pinball loss of one half; squared ones at no quantile.
    assert quantile_of(ERRORS["absolute"]) == 0.5
    assert quantile_of(squared) is None


@pytest.mark.parametrize("grade", [-0.01, 1.01])
def test_a_grade_just_beyond_its_range_is_refused(grade):
    with pytest.raises(ValueError, match="between 0 and 1"):
        errors_from_grades([[grade, 0.5]], panel=PANEL)


def test_parts_whose_columns_are_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    one, other = (pandas.DataFrame(0.5, index=[0], columns=list(names)) for names in ("ab", "ba"))
    with pytest.raises(ValueError, match="parts"):
        multi_task_errors({"class": one, "box": other}, weights={"class": 1.0, "box": 1.0})

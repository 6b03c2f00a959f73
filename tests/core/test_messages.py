"""Every kind of bad input ends in one error, whose message says what was expected, what came, and what to do."""

import datetime as dt

import numpy as np
import pytest

from askwho import _validation as check
from askwho import metrics, theory
from askwho.aggregation import Committee
from askwho.core import (
    Answers,
    Entity,
    Panel,
    augmented_costs,
    cardinality_losses,
    errors_from_grades,
    multi_task_errors,
    select_adaptive,
    select_top_k,
    task_errors,
)
from askwho.exceptions import AskwhoError, InvalidInputError
from tests.refusals import (
    INF,
    NAN,
    ONE_STAGE,
    PANEL,
    WITH_REJECT,
    answers,
    case,
    refuses,
    selection,
)


def test_the_error_is_a_value_error():
    assert issubclass(InvalidInputError, ValueError)


def test_the_error_is_an_askwho_error():
    assert issubclass(InvalidInputError, AskwhoError)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "NaN feature",
            lambda: check.table([[1.0, NAN]], "X"),
            "`X` must be finite, got nan at row 0, column 1 (1 such cells): fill or drop them first.",
        ),
        case(
            "infinite feature",
            lambda: check.table([[1.0, 2.0], [INF, -INF]], "X"),
            "`X` must be finite, got inf at row 1, column 0 (2 such cells): fill or drop them first.",
        ),
        case(
            "infinity where NaN may pass",
            lambda: check.table([[NAN, INF]], "X", allow_nan=True),
            "`X` must be finite, got inf at row 0, column 1 (1 such cells)",
        ),
        case(
            "empty cell of objects",
            lambda: check.table([[None, 1.0]], "X"),
            "`X` must be finite, got nan at row 0, column 0 (1 such cells): fill or drop them first.",
        ),
        case(
            "NaN score, fixed k",
            lambda: select_top_k([[NAN, 1.0]], 1, panel=PANEL),
            "`scores` must be finite, got nan at row 0, column 0 (1 such cells)",
        ),
        case(
            "infinite score, adaptive k",
            lambda: select_adaptive([[0.0, -INF]], [1], panel=PANEL),
            "`scores` must be finite, got -inf at row 0, column 1 (1 such cells)",
        ),
    ],
)
def test_features_that_are_not_finite(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("labels", "truth", "message"),
    [
        pytest.param(
            [0, 1],
            [0, 7],
            "`truth` must hold only labels of the panel ('0', '1'), got '7': "
            "a label unseen in training cannot be scored.",
            id="number",
        ),
        pytest.param(
            ["cat", "dog"],
            ["cow", "cat"],
            "`truth` must hold only labels of the panel ('cat', 'dog'), got 'cow': "
            "a label unseen in training cannot be scored.",
            id="text",
        ),
        pytest.param(list(range(9)), [10, 11], "('0', '1', '2', '3', '4', '5' and 3 more), got '10', '11'", id="many"),
    ],
)
def test_label_unseen_in_training(labels, truth, message):
    panel = Panel.one_stage(labels, ["e"])
    said = Answers.from_table([[labels[0]], [labels[1]]], panel)
    refuses(lambda: task_errors(said, truth, panel=panel), message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case("entity", lambda: Entity("a", fee=-0.1), "`fee of a` must be a finite number of at least 0, got -0.1."),
        case(
            "mapping",
            lambda: Panel.two_stage({"a": 0.5, "b": -2}),
            "`fee of b` must be a finite number of at least 0, got -2.",
        ),
        case(
            "one a query",
            lambda: augmented_costs([[0.0, 0.0]] * 2, panel=PANEL, fees=[[0.0, 1.0], [0.0, -1.0]]),
            "`fees` must not be below zero, got -1.0 at index (1, 1).",
        ),
        case(
            "one an entity",
            lambda: select_top_k([[0.0, 0.0]], 1, panel=PANEL, fees=[-3.0, 0.0]),
            "`fees` must not be below zero, got -3.0 at index (0, 0).",
        ),
        case(
            "adaptive k",
            lambda: select_adaptive([[0.0, 0.0]], [1], panel=PANEL, fees=[[0.0, -3.0]]),
            "`fees` must not be below zero, got -3.0 at index (0, 1).",
        ),
        case(
            "summed",
            lambda: cardinality_losses([[0.1]], [[-0.5]], fee_weight=1.0),
            "`fees` must not be below zero, got -0.5 at index (0, 0).",
        ),
    ],
)
def test_fee_below_zero(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        pytest.param(0, "`k` must be between 1 and 2, got 0: the panel has 2 entities.", id="zero"),
        pytest.param(-1, "`k` must be between 1 and 2, got -1: the panel has 2 entities.", id="below zero"),
        pytest.param(3, "`k` must be between 1 and 2, got 3: the panel has 2 entities.", id="too large"),
        pytest.param(1.0, "`k` must hold whole numbers, got an array of float64 with shape ().", id="float"),
        pytest.param(True, "`k` must hold whole numbers, got an array of bool with shape ().", id="bool"),
        pytest.param([1], "`k` must be one number, got [1]: `select_adaptive` takes one for each query.", id="list"),
    ],
)
def test_k_out_of_range(k, message):
    refuses(lambda: select_top_k([[0.1, 0.2]], k, panel=PANEL), message)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        pytest.param([1, 0], "`k` must be between 1 and 2, got 0: the panel has 2 entities.", id="zero"),
        pytest.param([3, 1], "`k` must be between 1 and 2, got 3: the panel has 2 entities.", id="too large"),
        pytest.param([1.0, 2.0], "`k` must hold whole numbers, got an array of float64 with shape (2,).", id="float"),
        pytest.param(
            [1, 2, 1], "`k` must have shape (2,), got (3,): one number for all queries, or one for each.", id="rows"
        ),
    ],
)
def test_k_of_a_row_out_of_range(k, message):
    refuses(lambda: select_adaptive([[0.1, 0.2]] * 2, k, panel=PANEL), message)


WRONG_COLUMNS = [
    pytest.param(["base"], "`answers` must have a column for every entity, missing: 'a'.", id="missing"),
    pytest.param(
        ["base", "a", "z"], "`answers` must have one column an entity, got also: 'z'. Select columns first.", id="extra"
    ),
    pytest.param(
        ["a", "base"],
        "`answers` must have its columns in the panel's order ('base', 'a'), got 'a', 'base'. Reorder them first.",
        id="another order",
    ),
]


@pytest.mark.parametrize(("columns", "message"), WRONG_COLUMNS)
def test_columns_of_a_mapping(columns, message):
    refuses(lambda: Answers.from_table({name: [1, 2] for name in columns}, PANEL), message)


@pytest.mark.parametrize(("columns", "message"), WRONG_COLUMNS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_data_frame(library, columns, message):
    frame = pytest.importorskip(library).DataFrame({name: [1, 2] for name in columns})
    refuses(lambda: Answers.from_table(frame, PANEL), message)


@pytest.mark.parametrize("given", [np.empty((0, 2)), {"base": [], "a": []}], ids=["array", "mapping"])
def test_empty_log_of_answers(given):
    refuses(lambda: Answers.from_table(given, PANEL), "`answers` must not be empty: there is no query in it.")


def test_empty_log_of_answers_in_a_data_frame():
    frame = pytest.importorskip("pandas").DataFrame({"base": [], "a": []})
    refuses(lambda: Answers.from_table(frame, PANEL), "`answers` must not be empty: there is no query in it.")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "features",
            lambda: check.table(np.empty((0, 3)), "X"),
            "`X` must not be empty, got shape (0, 3): it has no row or no column.",
        ),
        case(
            "scores",
            lambda: select_top_k(np.empty((0, 2)), 1, panel=PANEL),
            "`scores` must not be empty, got shape (0, 2)",
        ),
        case(
            "grades",
            lambda: errors_from_grades(np.empty((0, 2)), panel=PANEL),
            "`grades` must not be empty, got shape (0, 2)",
        ),
        case(
            "errors",
            lambda: augmented_costs(np.empty((0, 2)), panel=PANEL),
            "`errors` must not be empty, got shape (0, 2)",
        ),
    ],
)
def test_empty_log(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "one label",
            lambda: Panel.one_stage(["cat"], ["e"]),
            "`labels` must hold at least two classes, got ['cat']: there is nothing to decide.",
        ),
        case(
            "no label",
            lambda: Panel.one_stage([], ["e"]),
            "`labels` must hold at least two classes, got []: there is nothing to decide.",
        ),
        case(
            "one label to abstain from",
            lambda: Panel.selective([3], penalty=0.1),
            "`labels` must hold at least two classes, got [3]: there is nothing to decide.",
        ),
    ],
)
def test_log_of_one_class(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "text",
            lambda: check.table([["a", "b"]], "X"),
            "`X` must hold numbers in rows of one length, got an array of <U1 with shape (1, 2): "
            "encode text, dates and categories first.",
        ),
        case(
            "complex",
            lambda: check.table([[1j]], "X"),
            "`X` must hold numbers in rows of one length, got an array of complex128 with shape (1, 1)",
        ),
        case(
            "dates",
            lambda: check.table(np.array([["2020-01-01"]], "M8[D]"), "X"),
            "`X` must hold numbers in rows of one length, got an array of datetime64[D] with shape (1, 1): "
            "encode text, dates and categories first.",
        ),
        case(
            "spans of time",
            lambda: check.table(np.array([[1]], "m8[D]"), "X"),
            "`X` must hold numbers in rows of one length, got an array of timedelta64[D] with shape (1, 1)",
        ),
        case(
            "dates of objects",
            lambda: check.table([[dt.date(2020, 1, 1)]], "X"),
            "`X` must hold numbers in rows of one length, got an array of object with shape (1, 1)",
        ),
        case(
            "rows of two lengths",
            lambda: check.table([[1.0, 2.0], [1.0]], "X"),
            "`X` must hold numbers in rows of one length, got rows of different lengths",
        ),
        case(
            "one axis",
            lambda: check.table([1.0, 2.0], "X"),
            "`X` must have two axes (queries, columns), got shape (2,).",
        ),
        case(
            "not a number",
            lambda: check.finite_number("many", "fee_weight"),
            "`fee_weight` must be a number, got 'many'.",
        ),
        case("NaN", lambda: check.finite_number(NAN, "shift"), "`shift` must be a finite number, got nan."),
        case(
            "word", lambda: check.one_of(3, "ties", ("rank", "index")), "`ties` must be one of 'rank', 'index', got 3."
        ),
    ],
)
def test_validation(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case("empty name", lambda: Entity(""), "Entities must be named by non-empty strings, got ''."),
        case("number for a name", lambda: Entity(7), "Entities must be named by non-empty strings, got 7."),
        case(
            "kind",
            lambda: Entity("a", "oracle"),
            "`kind` must be one of 'label', 'base', 'expert', 'reject', got 'oracle'.",
        ),
        case(
            "error weight below zero",
            lambda: Entity("a", error_weight=-1),
            "`error_weight of a` must be a finite number of at least 0, got -1.",
        ),
        case("fee of NaN", lambda: Entity("a", fee=NAN), "`fee of a` must be a finite number of at least 0, got nan."),
        case("fee in words", lambda: Entity("a", fee="free"), "`fee of a` must be a number, got 'free'."),
        case(
            "fee of reject",
            lambda: Entity("stop", "reject", fee=0.5),
            "`fee` of stop must be 0, got 0.5: abstaining costs error, not money; set `error_weight`.",
        ),
        case(
            "label without a class",
            lambda: Entity("cat", "label"),
            "`label` of cat must be given for a label entity and for no other, got None.",
        ),
        case(
            "expert with a class",
            lambda: Entity("gpt", label="cat"),
            "`label` of gpt must be given for a label entity and for no other, got 'cat'.",
        ),
        case("nobody", lambda: Panel(()), "`entities` must not be empty: a panel needs somebody to ask."),
        case(
            "same name twice",
            lambda: Panel.two_stage(["a", "b", "a"]),
            "Entities of a panel must have different names, got 'a' more than once.",
        ),
        case(
            "expert named like a label",
            lambda: Panel.one_stage(["cat", "dog"], ["dog"]),
            "Entities of a panel must have different names, got 'dog' more than once.",
        ),
        case(
            "base of another kind",
            lambda: Panel.two_stage(["a"], base=Entity("b")),
            "`base` must be an entity of kind 'base', got 'expert'.",
        ),
        case(
            "experts as one text",
            lambda: Panel.two_stage("gpt"),
            "`experts` must be a list or a mapping of names, got 'gpt'.",
        ),
        case(
            "experts as a number", lambda: Panel.two_stage(3), "`experts` must be a list or a mapping of names, got 3."
        ),
        case(
            "number among the experts",
            lambda: Panel.two_stage(["a", 3]),
            "Entities must be named by non-empty strings, got 3.",
        ),
        case(
            "two bases",
            lambda: Panel((Entity("g", "base"), Entity("h", "base"))),
            "`entities` must hold one base at the most, got ['g', 'h'].",
        ),
        case(
            "kind in the plural",
            lambda: PANEL.is_kind("experts"),
            "`kind` must be one of 'label', 'base', 'expert', 'reject', got 'experts'.",
        ),
        case(
            "free abstaining",
            lambda: Panel.selective([0, 1], penalty=0),
            "`penalty` must be above 0, got 0: abstaining for nothing is always best.",
        ),
        case(
            "penalty below zero",
            lambda: Panel.selective([0, 1], penalty=-1),
            "`penalty` must be a finite number of at least 0, got -1.",
        ),
        case("unknown name", lambda: PANEL.index("z"), "`name` must be one of ['base', 'a'], got 'z'."),
        case(
            "infinite error bound",
            lambda: PANEL.cost_bound(error_bound=INF),
            "`error_bound` must be a finite number of at least 0, got inf.",
        ),
        case(
            "rate below zero",
            lambda: PANEL.cost_bound(fee_weight=-1),
            "`fee_weight` must be a finite number of at least 0, got -1.",
        ),
    ],
)
def test_panel(call, message):
    refuses(call, message)


@pytest.mark.parametrize("entity", ["a", 1, None, ("a", "expert")], ids=repr)
def test_panel_of_something_else(entity):
    refuses(lambda: Panel((entity,)), f"`entities` must hold `Entity` objects, got {entity!r}.")


@pytest.mark.parametrize("expert", [Entity("z", "base"), Entity("z", "reject"), Entity("z", "label", label=7)])
@pytest.mark.parametrize(
    "build", [Panel.two_stage, lambda experts: Panel.one_stage([0, 1], experts)], ids=["two-stage", "one-stage"]
)
def test_expert_of_another_kind(build, expert):
    refuses(lambda: build([expert]), f"`experts` must be of kind 'expert', got 'z' of kind '{expert.kind}'.")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        pytest.param([1, 1], "`labels` must be different from each other, got [1, 1].", id="same number"),
        pytest.param(["x", "x"], "`labels` must be different from each other, got ['x', 'x'].", id="same text"),
        pytest.param([1, 1.0], "`labels` must be different from each other, got [1, 1.0].", id="equal numbers"),
        pytest.param([1, True], "`labels` must be different from each other, got [1, True].", id="equal to yes"),
        pytest.param([0, NAN], "`labels` must be text or numbers, got nan.", id="NaN"),
        pytest.param([0, None], "`labels` must be text or numbers, got None.", id="null"),
        pytest.param([0, (1, 2)], "`labels` must be text or numbers, got (1, 2).", id="tuple"),
        pytest.param([[0], [1]], "`labels` must be text or numbers, got [0].", id="list"),
    ],
)
@pytest.mark.parametrize(
    "build",
    [lambda labels: Panel.one_stage(labels, ["e"]), lambda labels: Panel.selective(labels, penalty=0.1)],
    ids=["one-stage", "selective"],
)
def test_labels_that_cannot_be_told_apart(build, labels, message):
    refuses(lambda: build(labels), message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "one axis",
            lambda: Answers.from_table([1, 2], PANEL),
            "`answers` must have two axes (queries, entities), got shape (2,).",
        ),
        case(
            "rows of two lengths",
            lambda: Answers.from_table([[1, 2], [1]], PANEL),
            "`answers` must have two axes (queries, entities), got shape (2,).",
        ),
        case(
            "too many columns",
            lambda: Answers.from_table([[1, 2, 3]], PANEL),
            "`answers` must have shape (1, 2), got (1, 3): one column for each of ['base', 'a'].",
        ),
        case(
            "columns of two lengths",
            lambda: Answers.from_table({"base": [1, 2], "a": [1]}, PANEL),
            "`answers` must have columns of one length, got [2, 1].",
        ),
        case(
            "text and numbers",
            lambda: answers(["1", 1]),
            "`answers` must be of one type, got numbers and text: 1 and '1' would never agree. Convert them first.",
        ),
        case(
            "labels of another type",
            lambda: answers(["1"], panel=ONE_STAGE),
            "`answers` must be of one type, got numbers and text",
        ),
        case(
            "one number for a column",
            lambda: Answers.from_table({"base": [1], "a": 2}, PANEL),
            "`answers of a` must be a column of single values, got shape ().",
        ),
        case(
            "one text for a column",
            lambda: Answers.from_table({"base": "xy", "a": ["x", "y"]}, PANEL),
            "`answers of base` must be a column of single values, got shape ().",
        ),
        case(
            "column of rows",
            lambda: Answers.from_table({"base": [[1, 2]], "a": [1]}, PANEL),
            "`answers of base` must be a column of single values, got shape (1, 2).",
        ),
        case(
            "column of two axes",
            lambda: Answers.from_table({"base": np.ones((2, 1)), "a": np.ones(2)}, PANEL),
            "`answers of base` must be a column of single values, got shape (2, 1).",
        ),
        case(
            "rows of three axes",
            lambda: Answers.from_table([[[1], [2]]], PANEL),
            "`answers` must have two axes (queries, entities), got shape (1, 2, 1).",
        ),
        case(
            "one number for all",
            lambda: Answers.from_table(3, PANEL),
            "`answers` must have two axes (queries, entities), got shape ().",
        ),
        case(
            "one empty column",
            lambda: Answers.from_table({"base": [], "a": [1]}, PANEL),
            "`answers` must have columns of one length, got [0, 1].",
        ),
        case(
            "nulls of nobody",
            lambda: answers([1, None], nulls={"z": "no-answer"}),
            "`nulls` must name entities of the panel (['base', 'a']), got ['z'].",
        ),
        case(
            "nulls of a label",
            lambda: answers([1], panel=ONE_STAGE, nulls={"0": "no-answer"}),
            "`nulls` must name entities of the panel (['e']), got ['0'].",
        ),
        case(
            "meaning of nulls",
            lambda: answers([1, None], nulls="ignored"),
            "`nulls` must be one of 'not-asked', 'no-answer', got 'ignored'.",
        ),
        case(
            "meaning of nulls by name",
            lambda: answers([1, None], nulls={"a": "ignored"}),
            "`nulls` must be one of 'not-asked', 'no-answer', got 'ignored'.",
        ),
        case(
            "shape of states",
            lambda: Answers(np.zeros((1, 2)), np.zeros((1, 3), np.int8)),
            "`states` must have shape (1, 2), got (1, 3): one state for each answer.",
        ),
        case(
            "unknown state",
            lambda: Answers(np.zeros((1, 2)), np.array([[0, 3]], np.int8)),
            "`states` must hold 0, 1 or 2 (see `Cell`), got [0 3].",
        ),
    ],
)
def test_answers(call, message):
    refuses(call, message)


MIXED = [
    pytest.param(["x", 1], id="whole"),
    pytest.param(["x", 1.5], id="real"),
    pytest.param(["x", True], id="yes-no"),
    pytest.param(["x", 1, None], id="beside a null"),
    pytest.param(["x", 1, NAN], id="beside NaN"),
]


@pytest.mark.parametrize("mixed", MIXED)
@pytest.mark.parametrize(
    "given",
    [
        lambda column: {"base": column, "a": ["y"] * len(column)},
        lambda column: [[cell, "y"] for cell in column],
        lambda column: np.array([[cell, "y"] for cell in column], dtype=object),
    ],
    ids=["mapping", "rows", "array of objects"],
)
def test_text_and_numbers_in_one_column(given, mixed):
    message = "`answers` must be of one type, got numbers and text"
    refuses(lambda: Answers.from_table(given(mixed), PANEL), message)


@pytest.mark.parametrize("mixed", MIXED)
def test_text_and_numbers_in_one_column_of_a_data_frame(mixed):
    frame = pytest.importorskip("pandas").DataFrame({"base": mixed, "a": ["y"] * len(mixed)})
    refuses(lambda: Answers.from_table(frame, PANEL), "`answers` must be of one type, got numbers and text")


def test_text_and_numbers_in_the_truth():
    message = "`truth` must be of the answers' type, got numbers and text for answers that are text"
    refuses(lambda: task_errors(answers(["x", "y"], ["x", "y"]), ["x", 1], panel=PANEL), message)


@pytest.mark.parametrize("given", [[], [[]], [[], []], {"base": [], "a": []}], ids=repr)
def test_empty_lists_of_answers(given):
    refuses(lambda: Answers.from_table(given, PANEL), "`answers` must not be empty: there is no query in it.")


@pytest.mark.parametrize("rows", [[[1, 2], [1]], [[1, 2], [1, 2, 3]], [[1], []]], ids=repr)
def test_ragged_rows_of_answers(rows):
    refuses(lambda: Answers.from_table(rows, PANEL), "`answers` must have two axes (queries, entities), got shape (2,")


TABLES = {
    "grades": lambda table: errors_from_grades(table, panel=PANEL),
    "scores": lambda table: select_top_k(table, 1, panel=PANEL),
    "errors": lambda table: augmented_costs(table, panel=PANEL),
    "fees": lambda table: select_top_k([[0.1, 0.2]], 1, panel=PANEL, fees=table),
    "confidences": lambda table: theory.Cascade.fixed(PANEL, [0, 1], 1).cardinality(table),
    "expected_errors": lambda table: Committee.of(selection(), answers([1, 2]), expected_errors=table),
    "costs": lambda table: metrics.deferral_loss(selection(), table),
}


MORE_CALLS = {
    "scores, adaptive k": ("scores", lambda table: select_adaptive(table, [1], panel=PANEL)),
    "fees, adaptive k": ("fees", lambda table: select_adaptive([[0.1, 0.2]], [1], panel=PANEL, fees=table)),
    "fees in costs": ("fees", lambda table: augmented_costs([[0.1, 0.2]], panel=PANEL, fees=table)),
    "confidences, select": ("confidences", lambda table: theory.Cascade.fixed(PANEL, [0, 1], 1).select(table)),
    "expected errors of a metric": (
        "expected_errors",
        lambda table: metrics.committee_error(
            selection(), answers([1, 2]), [1], combine="log-odds-vote", expected_errors=table
        ),
    ),
}


TABLE_CALLS = [pytest.param(name, call, id=name) for name, call in TABLES.items()] + [
    pytest.param(name, call, id=label) for label, (name, call) in MORE_CALLS.items()
]


@pytest.mark.parametrize(("name", "call"), TABLE_CALLS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frame_in_another_order(library, name, call):
    frame = pytest.importorskip(library).DataFrame({"a": [0.1], "base": [0.2]})
    message = f"`{name}` must have its columns in the panel's order ('base', 'a'), got 'a', 'base'. Reorder them first."
    refuses(lambda: call(frame), message)


@pytest.mark.parametrize(("name", "call"), TABLE_CALLS)
def test_data_frame_with_a_column_twice(name, call):
    frame = pytest.importorskip("pandas").DataFrame([[0.0, 0.1, 0.2]], columns=["base", "a", "a"])
    refuses(lambda: call(frame), f"Columns of `{name}` must have different names, got 'a' more than once.")


@pytest.mark.parametrize("columns", [["base", "a", "a"], ["a", "a"]], ids=repr)
def test_answers_in_a_data_frame_with_a_column_twice(columns):
    frame = pytest.importorskip("pandas").DataFrame([range(len(columns))], columns=columns)
    message = "Columns of `answers` must have different names, got 'a' more than once."
    refuses(lambda: Answers.from_table(frame, PANEL), message)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "fees"])
def test_ragged_rows(name):
    message = f"`{name}` must hold numbers in rows of one length, got rows of different lengths"
    refuses(lambda: TABLES[name]([[0.1, 0.2], [0.1]]), message)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "fees"])
@pytest.mark.parametrize(("given", "shape"), [([], "(0,)"), ([[]], "(1, 0)")], ids=repr)
def test_empty_lists(name, given, shape):
    refuses(lambda: TABLES[name](given), f"`{name}` must not be empty, got shape {shape}")


def test_empty_list_of_fees():
    refuses(lambda: TABLES["fees"]([]), "`fees` must not be empty")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "name of the error",
            lambda: task_errors(answers([1, 2]), [1], panel=PANEL, error="mae"),
            "`error` must be one of 'zero-one', 'absolute', 'squared', 'smooth-l1', 'pinball:0.9', got 'mae'.",
        ),
        case(
            "answers of another panel",
            lambda: task_errors(answers([1, 2]), [1], panel=Panel.two_stage(["a", "b"])),
            "`answers` must have shape (1, 3), got (1, 2): one column for each entity of the panel.",
        ),
        case(
            "length of the truth",
            lambda: task_errors(answers([1, 2]), [1, 2], panel=PANEL),
            "`truth` must have shape (1,), got (2,): one truth for each row of answers.",
        ),
        case(
            "null truth",
            lambda: task_errors(answers([1, 2]), [None], panel=PANEL),
            "`truth` must hold no nulls and be finite, got None in 1 rows, the first 0: drop those rows first.",
        ),
        case(
            "NaN truth",
            lambda: task_errors(answers([1.0, 2.0]), [NAN], panel=PANEL),
            "`truth` must hold no nulls and be finite, got nan in 1 rows, the first 0: drop those rows first.",
        ),
        case(
            "NaN among words of the truth",
            lambda: task_errors(answers(["x", "y"], ["x", "y"]), ["x", NAN], panel=PANEL),
            "`truth` must hold no nulls and be finite, got nan in 1 rows, the first 1: drop those rows first.",
        ),
        case(
            "date missing from the truth",
            lambda: task_errors(
                Answers.from_table(np.array([["2020-01-01"] * 2], "M8[D]"), PANEL),
                np.array(["NaT"], "M8[D]"),
                panel=PANEL,
            ),
            "`truth` must hold no nulls and be finite, got NaT in 1 rows, the first 0: drop those rows first.",
        ),
        case(
            "one number for the truth",
            lambda: task_errors(answers([1, 2]), 1, panel=PANEL),
            "`truth` must be a column of single values, got shape ().",
        ),
        case(
            "one text for the truth",
            lambda: task_errors(answers(["x", "y"]), "x", panel=PANEL),
            "`truth` must be a column of single values, got shape ().",
        ),
        case(
            "truth of two axes",
            lambda: task_errors(answers([1, 2]), [[1]], panel=PANEL),
            "`truth` must be a column of single values, got shape (1, 1).",
        ),
        case(
            "empty truth",
            lambda: task_errors(answers([1, 2]), [], panel=PANEL),
            "`truth` must have shape (1,), got (0,): one truth for each row of answers.",
        ),
        case(
            "infinite truth",
            lambda: task_errors(answers([1.0, 2.0]), [INF], panel=PANEL, error="squared"),
            "`truth` must hold no nulls and be finite, got inf in 1 rows, the first 0: drop those rows first.",
        ),
        case(
            "type of the truth",
            lambda: task_errors(answers([1, 2]), ["1"], panel=PANEL),
            "`truth` must be of the answers' type, got text for answers that are numbers: 1 and '1' would never agree. "
            "Convert one of them first.",
        ),
        case(
            "distance of texts",
            lambda: task_errors(answers(["x", "y"]), ["x"], panel=PANEL, error="absolute"),
            "`answers` must hold numbers in rows of one length, got an array of <U1",
        ),
        case(
            "infinite answer",
            lambda: task_errors(answers([1.0, INF]), [1.0], panel=PANEL, error="squared"),
            "`error` must give finite numbers, got inf for the answer np.float64(inf) to np.float64(1.0): "
            "drop or mend such answers first.",
        ),
        case(
            "error function below zero",
            lambda: task_errors(answers([1, 4]), [2], panel=PANEL, error=lambda said, truth: said - truth),
            "`error` must not be below zero, got -1.0 at index (0",
        ),
        case(
            "error function that reduces",
            lambda: task_errors(answers([1, 4]), [2], panel=PANEL, error=lambda said, _: said.mean()),
            "got (): the error function must work elementwise.",
        ),
        case(
            "error function of texts",
            lambda: task_errors(answers([1, 4]), [2], panel=PANEL, error=lambda said, _: said.astype(str) + "x"),
            "`error` must hold numbers in rows of one length, got an array of",
        ),
    ],
)
def test_task_errors(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("cells", "dtype"), [(["x", None], "string"), (["x", None], "str"), ([True, None], "boolean"), ([1, None], "Int64")]
)
def test_null_truth_of_pandas(cells, dtype):
    truth = pytest.importorskip("pandas").array(cells, dtype=dtype)
    said = answers([cells[0]] * 2, [cells[0]] * 2)
    refuses(lambda: task_errors(said, truth, panel=PANEL), "`truth` must hold no nulls and be finite, got")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "grade above 1",
            lambda: errors_from_grades([[0.5, 1.0], [0.5, 3.0]], panel=PANEL),
            "`grades` must be between 0 and 1, got 3.0 at row 1, column 1.",
        ),
        case(
            "grade below 0",
            lambda: errors_from_grades([[-0.5, NAN]], panel=PANEL),
            "`grades` must be between 0 and 1, got -0.5 at row 0, column 0.",
        ),
        case(
            "columns of grades",
            lambda: errors_from_grades([[0.5]], panel=PANEL),
            "`grades` must have shape (1, 2), got (1, 1): one column for each entity of the panel.",
        ),
        case(
            "nulls of grades",
            lambda: errors_from_grades([[0.5, NAN]], panel=PANEL, nulls="zero"),
            "`nulls` must be one of 'not-asked', 'no-answer', got 'zero'.",
        ),
        case(
            "nulls of a grade of nobody",
            lambda: errors_from_grades([[0.5, NAN]], panel=PANEL, nulls={"z": "no-answer"}),
            "`nulls` must name entities of the panel (['base', 'a']), got ['z'].",
        ),
        case(
            "part below zero",
            lambda: multi_task_errors({"box": [[0.0, -1.0]]}, weights={"box": 1.0}),
            "`box` must not be below zero, got -1.0 at index (0, 1).",
        ),
        case(
            "part below zero that weighs nothing",
            lambda: multi_task_errors({"class": [[0.0]], "box": [[-1.0]]}, weights={"class": 1.0, "box": 0.0}),
            "`box` must not be below zero, got -1.0 at index (0, 0).",
        ),
        case(
            "no parts",
            lambda: multi_task_errors({}, weights={}),
            "`weights` must name the same parts as `parts`, at least one: got [] for [].",
        ),
        case(
            "names of parts",
            lambda: multi_task_errors({"box": [[0.0]]}, weights={"class": 1.0}),
            "`weights` must name the same parts as `parts`, at least one: got ['class'] for ['box'].",
        ),
        case(
            "shapes of parts",
            lambda: multi_task_errors({"class": [[0.0, 1.0]], "box": [[0.0]]}, weights={"class": 1.0, "box": 1.0}),
            "`box` must have shape (1, 2), got (1, 1): all parts are of the same queries and entities.",
        ),
        case(
            "weight of a part",
            lambda: multi_task_errors({"box": [[0.0]]}, weights={"box": -1.0}),
            "`weight of box` must be a finite number of at least 0, got -1.0.",
        ),
        case(
            "error below zero",
            lambda: augmented_costs([[0.0, -1.0]], panel=PANEL),
            "`errors` must not be below zero, got -1.0 at index (0, 1).",
        ),
        case(
            "columns of errors",
            lambda: augmented_costs([[0.0]], panel=PANEL),
            "`errors` must have shape (1, 2), got (1, 1): one column for each entity of the panel.",
        ),
        case(
            "rate below zero",
            lambda: augmented_costs([[0.0, 0.0]], panel=PANEL, fee_weight=-1.0),
            "`fee_weight` must be a finite number of at least 0, got -1.0.",
        ),
    ],
)
def test_costs(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "dates as scores",
            lambda: select_top_k(np.array([["2020-01-01", "2020-01-02"]], "M8[D]"), 1, panel=PANEL),
            "`scores` must hold numbers in rows of one length, got an array of datetime64[D] with shape (1, 2): "
            "encode text, dates and categories first.",
        ),
        case(
            "columns of scores",
            lambda: select_top_k([[0.1]], 1, panel=PANEL),
            "`scores` must have shape (1, 2), got (1, 1): one column for each entity of the panel.",
        ),
        case(
            "number of fees",
            lambda: select_top_k([[0.1, 0.2]], 1, panel=PANEL, fees=[0.0]),
            "`fees` must have shape (1, 2), got (1, 1): one column for each entity of the panel.",
        ),
        case(
            "rows of fees",
            lambda: select_top_k([[0.1, 0.2]], 1, panel=PANEL, fees=[[0.0, 0.0]] * 3),
            "`fees` must have shape (1, 2), got (3, 2): one row for each query.",
        ),
        case(
            "fee of NaN",
            lambda: select_top_k([[0.1, 0.2]], 1, panel=PANEL, fees=[0.0, NAN]),
            "`fees` must be finite, got nan at row 0, column 1 (1 such cells): fill or drop them first.",
        ),
        case(
            "fee of reject",
            lambda: select_top_k([[0.1, 0.2]], 1, panel=WITH_REJECT, fees=[0.0, 1.0]),
            "`fees` must be 0 for a reject entity, got 1: abstaining costs error, not money.",
        ),
        case("query to name", lambda: selection(2).names(2), "`i` must be a query between 0 and 1, got 2."),
    ],
)
def test_selection(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "shape of fees",
            lambda: cardinality_losses([[0.1, 0.2]], [[0.1]], fee_weight=1.0),
            "`fees` must have shape (1, 2), got (1, 1): one sum of fees for each committee error.",
        ),
        case(
            "rate below zero",
            lambda: cardinality_losses([[0.1]], [[0.1]], fee_weight=-1.0),
            "`fee_weight` must be a finite number of at least 0, got -1.0.",
        ),
        case(
            "decreasing transform",
            lambda: cardinality_losses([[0.2, 0.1]], [[0.1, 0.3]], fee_weight=1.0, fee_transform=np.negative),
            "`fee_transform` must not decrease, got -0.2 from a fee of 0.1 to one of 0.3: "
            "asking more can never be cheaper.",
        ),
        case(
            "decreasing transform from row to row",
            lambda: cardinality_losses([[0.2], [0.1]], [[0.3], [0.1]], fee_weight=1.0, fee_transform=np.negative),
            "`fee_transform` must not decrease, got -0.2 from a fee of 0.1 to one of 0.3: "
            "asking more can never be cheaper.",
        ),
        case(
            "transform that reduces",
            lambda: cardinality_losses(
                [[0.2, 0.1]], [[0.1, 0.3]], fee_weight=1.0, fee_transform=lambda sums: sums[:, :1]
            ),
            "`fee_transform` must have shape (1, 2), got (1, 1): it must work elementwise.",
        ),
        case(
            "infinite transform",
            lambda: cardinality_losses(
                [[0.2, 0.1]], [[0.1, 0.3]], fee_weight=1.0, fee_transform=lambda sums: sums + INF
            ),
            "`fee_transform` must be finite, got inf at row 0, column 0 (2 such cells)",
        ),
    ],
)
def test_cardinality(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "ragged fees", lambda: select_top_k([[1.0, 2.0]], 1, panel=PANEL, fees=[[1, 2], [1]]), "different lengths"
        ),
        case("ragged k", lambda: select_adaptive([[1.0, 2.0]] * 2, [[1], [1, 2]], panel=PANEL), "different lengths"),
        case(
            "date among scores", lambda: select_top_k([[np.datetime64("2020-01-01"), 1.0]], 1, panel=PANEL), "numbers"
        ),
        case("nulls of None", lambda: Answers.from_table([[1, 2]], PANEL, nulls=None), "`nulls` must be one of"),
        case(
            "truth of two types",
            lambda: task_errors(answers([1, 2], [1, 2]), ["x", 1], panel=PANEL),
            "numbers and text",
        ),
        case("label of a tuple", lambda: Entity("x", "label", label=(1, 2)), "must be text or a number, got (1, 2)"),
        case(
            "equal labels",
            lambda: Panel((Entity("x", "label", label=1), Entity("y", "label", label=1))),
            "different from each other, got [1, 1]",
        ),
        case("numbers past 64 bits", lambda: answers([2**64 - 1, 1]), "must fit into 64 bits"),
    ],
)
def test_found_by_a_stranger(call, message):
    refuses(call, message)


def test_fees_of_a_series_go_by_name():
    pd = pytest.importorskip("pandas")
    refuses(
        lambda: select_top_k([[1.0, 2.0]], 1, panel=PANEL, fees=pd.Series({"a": 1.0, "base": 0.0})),
        "must have its columns in the panel's order",
    )

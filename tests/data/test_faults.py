"""Faults that no single column shows, each planted alone: one line, with the remedy; none of a clean log."""

import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho.data import Columns, _tables, describe, read_log, write_table
from askwho.data._numerals import folded
from askwho.data._problem import listed
from askwho.data._sample import Sample
from tests import synthetic
from tests.clean_logs import SHAPES, clean

CLASSES = Columns(truth="truth", answers="answer_*", features="x_*", task="classification")
NUMBERS = Columns(truth="truth", answers="answer_*", features="x_*", task="regression")
FEES = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*")
LABELS = ["cat", "dog", "owl"]


def texts(n=600, seed=0):
    return synthetic.classification(n, seed)


def numbers(n=600, seed=0):
    table = synthetic.classification(n, seed)
    answers = [name for name in table if name == "truth" or name.startswith("answer_")]
    return table | {name: np.array([LABELS.index(label) for label in table[name]]) for name in answers}


def estimates(n=600, seed=0):
    return synthetic.regression(n, seed)


EVERY = {"texts": (texts, CLASSES), "numbers": (numbers, CLASSES), "estimates": (estimates, NUMBERS)}


def only(table, columns):
    """The one problem of a log."""
    (problem,) = describe(table, columns).problems
    return problem


def holed(table, where, name="answer_left"):
    """The same table, whose entity was not asked in some rows."""
    said = table[name].astype(object)
    said[where] = None
    return table | {name: said}


def charged(table, **fees):
    """The same table with fees by query, drawn whatever was answered, or as given."""
    rng = np.random.default_rng(1)
    return table | {f"fee_{name}": fees.get(name, rng.lognormal(size=len(table["truth"]))) for name in synthetic.FEES}


# The truth among the answers.


@pytest.mark.parametrize(("role", "column"), [("truth", "answer_truth"), ("groups", "answer_group")])
def test_what_is_no_entity_is_refused_where_the_pattern_of_answers_matches_it(role, column):
    table = texts(90)
    table |= {"answer_truth": table["truth"], "answer_group": np.arange(90) // 3}
    table.pop("answer_group" if role == "truth" else "answer_truth")
    columns = Columns(**{"truth": "truth", role: column}, answers="answer_*", features="x_*")
    message = (
        f"`answers` must match entities alone, got {column!r}, which is the {role}: name the others, 'answer_left', "
    )
    with pytest.raises(InvalidInputError, match=message.replace("*", r"\*")):
        read_log(table, columns)
    problem = only(table, columns)
    assert (problem.severity, message in problem.message) == ("error", True)


def test_nobody_is_left_where_the_truth_is_all_that_answers():
    columns = Columns(truth="truth", answers="truth", features="x_*")
    assert only(texts(90), columns).message.endswith("got 'truth', which is the truth: name other columns.")


# Labels that say the same.


@pytest.mark.parametrize(
    ("write", "how"),
    [
        (str.upper, "case"),
        (lambda label: f" {label}", "space"),
        (lambda label: f"{label}\t", "space"),
        (lambda label: f"{label[0]} {label[1:]}", "space"),
        (lambda label: f"{label.upper()} ", "case and space"),
    ],
)
def test_labels_that_differ_by_case_or_space(write, how):
    table = texts()
    assert table["answer_left"][2] == table["truth"][2]
    table["answer_left"] = np.array([write(label) for label in table["answer_left"]], dtype=object)
    right = sum(said == write(truth) for said, truth in zip(table["answer_left"], table["truth"], strict=True))
    problem = only(table, CLASSES)
    assert (problem.severity, problem.column) == ("warning", "answer_left")
    assert problem.message.startswith(f"answers equal to the truth but for {how} count as wrong: left ({right} rows), ")
    same = all(folded(write(label)) == folded(label) for label in ("cat", "dog"))
    remedy = ", or take them as the same with --same casefold" if same else ""
    assert problem.message.endswith(f"Write labels in one way{remedy}")
    assert not same or not describe(table, replace(CLASSES, same="casefold")).problems
    pairs = [f"such as {write(label)!r} for {label!r}" for label in LABELS]
    assert any(pair in problem.message for pair in pairs)
    assert len(problem.rows) == 5
    assert all(table["answer_left"][row] == write(table["truth"][row]) for row in problem.rows)


def test_labels_that_differ_by_how_a_number_is_written():
    table = numbers()
    for name in ("truth", *(f"answer_{name}" for name in synthetic.FEES)):
        table[name] = np.array([f"{value}.0" if name == "answer_both" else str(value) for value in table[name]])
    problem = only(table, CLASSES)
    assert problem.column == "answer_both"
    assert "but for how a number is written" in problem.message


def test_a_truth_that_is_written_in_two_ways():
    table = texts()
    table["truth"] = np.where(np.arange(600) % 5 == 0, np.char.add(table["truth"], " "), table["truth"])
    problem = only(table, CLASSES)
    assert problem.column == "truth"
    assert " and 1 more, such as " in problem.message


def test_a_label_of_a_million_zeros_is_no_number():
    table = texts(90)
    table["answer_left"][0] = "0" * 10**6 + "x"
    assert not describe(table, CLASSES).problems


def test_labels_that_the_log_tells_apart_are_two():
    table = texts()
    for name in ("truth", *(f"answer_{name}" for name in synthetic.FEES)):
        table[name] = np.array([{"cat": "a", "dog": "A", "owl": "b"}[label] for label in table[name]], dtype=object)
    assert not describe(table, CLASSES).problems


def test_answers_of_another_type_are_named():
    table = numbers(90)
    table["answer_left"] = table["answer_left"].astype(str)
    problem = only(table, CLASSES)
    assert problem.severity == "error"
    assert problem.message.startswith("the truth is numbers, and left answered with text: ")
    assert problem.message.endswith("never agree, so make them one type")
    whole = numbers(600)
    whole["answer_left"] = whole["answer_left"].astype(float)
    assert not describe(whole, CLASSES).problems


# Entities that are the truth.


@pytest.mark.parametrize("kind", EVERY)
def test_an_entity_that_is_never_wrong_is_the_truth_under_another_name(kind):
    make, columns = EVERY[kind]
    table = make()
    problem = only(table | {"answer_label": table["truth"]}, columns)
    assert (problem.severity, problem.column) == ("warning", "answer_label")
    assert problem.message.startswith("label was never wrong, and the others were: ")
    assert problem.message.endswith("If so, leave it out")


def test_somebody_who_was_right_a_few_times_or_like_everybody_is_no_copy():
    table = texts(120)
    assert not describe(table | {"answer_label": table["truth"]}, CLASSES).problems
    table = texts()
    everybody = {f"answer_{name}": table["truth"] for name in synthetic.FEES}
    assert not describe(table | everybody, CLASSES).problems


# Features that are the truth.


def codes(table):
    return np.unique(table["truth"], return_inverse=True)[1]


def slips(values, share=0.003):
    """The same values, wrong in a few rows."""
    rng = np.random.default_rng(3)
    return np.where(rng.random(len(values)) < share, rng.permutation(values), values)


LEAKS = {
    "texts": {
        "a copy": lambda t: t["truth"],
        "nearly a copy": lambda t: slips(t["truth"]),
        "in capitals": lambda t: np.char.upper(t["truth"]),
        "with spaces": lambda t: np.char.add(t["truth"], "  "),
        "codes": lambda t: codes(t) * 7 - 3,
        "words for it": lambda t: np.array(["u", "v", "w"])[codes(t)],
        "codes and noise": lambda t: codes(t) + np.random.default_rng(0).uniform(-0.3, 0.3, len(t["truth"])),
        "thresholds, with gaps": lambda t: np.where(codes(t) == 1, np.nan, codes(t)),
    },
    "numbers": {
        "a copy": lambda t: t["truth"],
        "nearly a copy": lambda t: slips(t["truth"]),
        "as text": lambda t: t["truth"].astype(str),
        "as text with a point": lambda t: np.char.add(t["truth"].astype(str), ".0"),
        "another order": lambda t: np.array([4, 9, 1])[t["truth"]],
    },
    "estimates": {
        "a copy": lambda t: t["truth"],
        "nearly a copy": lambda t: slips(t["truth"]),
        "another unit": lambda t: 32 - 1.8 * t["truth"],
        "another scale": lambda t: np.exp(t["truth"]),
        "a little noise": lambda t: t["truth"] + np.random.default_rng(0).normal(0, 0.05, len(t["truth"])),
    },
}


@pytest.mark.parametrize(("kind", "leak"), [(kind, leak) for kind, leaks in LEAKS.items() for leak in leaks])
def test_a_feature_that_tells_the_truth(kind, leak):
    make, columns = EVERY[kind]
    table = make()
    problem = only(table | {"x_leak": LEAKS[kind][leak](table)}, columns)
    assert (problem.severity, problem.column) == ("warning", "x_leak")
    assert problem.message.endswith(": is it known before asking? If not, leave it out")


@pytest.mark.parametrize(
    ("leak", "words"),
    [
        ("a copy", "the same as the truth in every row: "),
        ("nearly a copy", "the same as the truth but for case, space or type in 99."),
        ("in capitals", "the same as the truth but for case, space or type in every row: "),
        ("words for it", "enough by itself to tell the truth in every row: "),
    ],
)
def test_what_is_said_of_a_leak(leak, words):
    table = texts()
    assert only(table | {"x_leak": LEAKS["texts"][leak](table)}, CLASSES).message.startswith(words)


def test_free_answers_leak_by_being_the_same():
    table = synthetic.free()
    rare, problem = describe(table | {"x_leak": np.char.add(table["truth"], " ")}, synthetic.FREE).problems
    assert rare.message == "500 classes with fewer than five rows"
    assert problem.message.startswith("the same as the truth but for case, space or type in every row")


def test_good_features_and_names_of_rows_are_no_leaks():
    rng = np.random.default_rng(0)
    table = texts(2000)
    good = {
        "x_good": slips(table["truth"], share=0.06),
        "x_number": codes(table) + rng.normal(0, 0.2, 2000),
        "x_name": np.array([f"row {i}" for i in range(2000)]),
        "x_row": rng.permutation(2000),
        "x_one": np.where(table["truth"] == "cat", "yes", "no"),
    }
    assert not describe(table | good, CLASSES).problems
    numbers_ = estimates(2000)
    good = {"x_good": numbers_["truth"] + rng.normal(0, 0.3, 2000), "x_row": rng.permutation(2000)}
    # One value far out makes a straight line of anything.
    good["x_far"] = np.where(np.arange(2000) == 5, 1e9, rng.normal(size=2000))
    numbers_["truth"][5] = numbers_["answer_both"][5] = 1e9
    assert not describe(numbers_ | good, NUMBERS).problems


def test_a_feature_that_does_not_move_is_no_leak_of_a_rare_class():
    table = texts(3000)
    rare = np.where(np.arange(3000) % 50 == 0, "dog", "cat")
    flags = np.where(np.random.default_rng(0).random(3000) < 0.001, "dog", "cat")
    answers = {f"answer_{name}": rare[np.random.default_rng(7).permutation(3000)] for name in synthetic.FEES}
    assert not describe(table | answers | {"truth": rare, "x_flag": flags}, CLASSES).problems


def test_names_of_groups_tell_the_truth_of_other_groups_nothing():
    table = texts(1200)
    group = np.arange(1200) // 20
    table["truth"] = np.array(LABELS)[np.random.default_rng(0).integers(0, 3, 60)][group]
    table |= {"x_name": np.array([f"image {g}" for g in group]), "g": group}
    columns = Columns(truth="truth", answers="answer_*", features="x_*", groups="g")
    assert not describe(table, columns).problems


# Fees that tell the answer.


@pytest.mark.parametrize("kind", EVERY)
def test_fees_that_grow_where_the_answer_is_wrong(kind):
    table = EVERY[kind][0](900)
    rng = np.random.default_rng(5)
    off = (
        np.abs(table["answer_noise"] - table["truth"])
        if kind == "estimates"
        else table["answer_noise"] != table["truth"]
    )
    problem = only(charged(table, noise=rng.lognormal(0, 0.5, 900) * (1 + 2 * off)), FEES)
    assert (problem.severity, problem.column) == ("warning", "fee_noise")
    why = "how wrong the answer is" if kind == "estimates" else "whether the answer is right"
    assert problem.message.startswith(f"fees of noise differ by {why} (")
    assert "a fee must be known before asking. Give each entity its usual fee" in problem.message


@pytest.mark.parametrize("kind", EVERY)
def test_fees_that_differ_by_the_answer(kind):
    table = EVERY[kind][0](900)
    said = table["answer_noise"]
    size = said - said.min() if kind == "estimates" else np.unique(said, return_inverse=True)[1]
    noise = np.random.default_rng(5).lognormal(0, 0.2, 900)
    problem = only(charged(table, noise=noise * (1.0 + size)), FEES)
    assert problem.message.startswith("fees of noise differ by the answer (")


@pytest.mark.parametrize("nulls", ["not-asked", "no-answer"])
def test_fees_that_are_nothing_where_there_is_no_answer(nulls):
    rng = np.random.default_rng(5)
    empty = rng.random(900) < 0.3
    table = charged(holed(texts(900), empty), left=np.where(empty, 0.0, rng.lognormal(size=900)))
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*", nulls=nulls)
    assert only(table, columns).message.startswith("fees of left differ by whether there is an answer (")
    table["fee_left"] = np.where(empty, np.nan, table["fee_left"])
    assert not describe(table, columns).problems


def test_fees_that_differ_by_the_grade():
    table = synthetic.grades(900)
    columns = Columns(grades="grade_*", features="x_*", fees="fee_*")
    fees = {f"fee_{name}": np.random.default_rng(2).lognormal(size=900) for name in ("cheap", "dear")}
    assert not describe(table | fees, columns).problems
    fees["fee_cheap"] = fees["fee_cheap"] * (4 - 3 * table["grade_cheap"])
    assert only(table | fees, columns).message.startswith("fees of cheap differ by the grade (")


def test_fees_that_are_hardly_ever_known_tell_nothing():
    fees = np.full(900, np.nan)
    fees[:3] = 1.0, 2.0, 4.0
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*", groups="g")
    # One row of each group is compared, which may leave none with a fee.
    assert not describe(charged(texts(900), left=fees) | {"g": np.arange(900) // 9}, columns).problems


def test_fees_that_the_query_sets_are_fine():
    assert not describe(synthetic.charged(2000), synthetic.CHARGED).problems


# Holes that depend on the query.


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("feature", ["number", "category", "day", "gap"])
def test_holes_that_depend_on_a_feature(kind, feature):
    make, columns = EVERY[kind]
    rng = np.random.default_rng(4)
    side = rng.random(900) < 0.5
    values = {
        "number": np.where(side, 1, -1) * rng.random(900),
        "category": np.where(side, "a", "b"),
        "day": np.datetime64("2024-01-01") + np.where(side, 40, 0) + rng.integers(0, 30, 900),
        "gap": np.where(side, np.nan, rng.random(900)),
    }
    table = make(900) | {"x_by": values[feature]}
    problem = only(holed(table, rng.random(900) < np.where(side, 0.7, 0.2)), columns)
    assert (problem.severity, problem.column) == ("warning", "answer_left")
    assert problem.message.startswith("whether left was asked depends on the query, most by 'x_by' (left in ")
    assert problem.message.endswith("Ask some at random (`explore`)")


@pytest.mark.parametrize("kind", EVERY)
def test_a_kind_of_query_that_somebody_was_never_asked_about(kind):
    make, columns = EVERY[kind]
    table = make(900) | {"x_kind": np.resize(["a", "b", "c"], 900)}
    problem = only(holed(table, table["x_kind"] == "b"), columns)
    assert problem.column == "answer_left"
    words = (
        "left was hardly ever asked about queries of some kind, such as left where 'x_kind' is 'b' (0% of them, 100%"
    )
    assert problem.message.startswith(words)
    assert problem.message.endswith("Ask it about some")


def test_parts_of_a_number_that_are_never_asked_about_are_one_kind():
    table = texts(1000)
    table["x_0"] = np.random.default_rng(0).permutation(1000) / 10
    words = "left where 'x_0' is from 30 to 79.9 (0% of them, 100% elsewhere)"
    assert words in only(holed(table, (table["x_0"] >= 30) & (table["x_0"] < 80)), CLASSES).message
    table["x_0"][table["x_0"] < 20] = np.nan
    problem = only(holed(table, np.isnan(table["x_0"])), CLASSES)
    assert "left where 'x_0' is empty (0% of them, 100% elsewhere)" in problem.message


def test_an_empty_answer_is_no_hole():
    table = texts(900) | {"x_kind": np.resize(["a", "b", "c"], 900)}
    columns = Columns(truth="truth", answers="answer_*", features="x_*", nulls="no-answer")
    assert not describe(holed(table, table["x_kind"] == "b"), columns).problems


def test_holes_of_whole_groups_are_random_where_groups_are():
    rng = np.random.default_rng(11)
    for _ in range(5):
        group = np.repeat(np.arange(60), 20)
        table = texts(1200) | {"g": group, "x_0": rng.random(60)[group], "x_1": rng.random(60)[group]}
        table = holed(table, (rng.random(60) < 0.4)[group])
        columns = Columns(truth="truth", answers="answer_*", features="x_*", groups="g")
        assert not describe(table, columns).problems


# Entities that were never asked together.


def test_pairs_that_were_never_asked_together():
    side = np.random.default_rng(9).permutation(900) < 450
    table = holed(holed(texts(900), side), ~side, "answer_right")
    problem = only(table, CLASSES)
    assert problem.message == (
        "1 pair was never asked together, such as left and right: no committee of both can be scored. Ask two or more "
        "about some queries"
    )


def test_rows_with_one_answer_each():
    who = np.random.default_rng(0).integers(0, 4, 1500)
    table = texts(1500)
    for place, name in enumerate(synthetic.FEES):
        table = holed(table, who != place, f"answer_{name}")
    problems = [p.message for p in describe(table, CLASSES).problems if "is empty in" not in p.message]
    assert problems == [
        "no row has two answers: no committee can be learned or scored. Ask two or more about some queries"
    ]


# Groups.


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (np.arange(600), "every row is a group of one: it keeps nothing together. Leave it out, or name another"),
        ([f"g{max(2, i)}" for i in range(600)], "99.5% of rows are a group of one: it keeps nothing together. "),
        (np.where(np.arange(600) < 20, np.arange(600), -1), "-1 holds 97% of rows: no split by it is even. "),
        (np.resize(["a", "b"], 600), "'a' and 'b' hold 100% of rows: no split by it is even. Name finer groups"),
    ],
)
@pytest.mark.parametrize("batch", [50, 1000])
def test_groups_that_hold_nothing_or_everything(groups, words, batch, tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "BATCH", batch)
    columns = Columns(truth="truth", answers="answer_*", features="x_*", groups="g", task="classification")
    write_table(tmp_path / "log.parquet", texts() | {"g": groups})
    problem = only(tmp_path / "log.parquet", columns)
    assert (problem.severity, problem.column) == ("warning", "g")
    assert problem.message.startswith(words)


# Truths that somebody looked up.


def looked_up(table, chance, seed=0):
    look = np.random.default_rng(seed).random(len(table["truth"])) < chance
    return table | {
        "truth": np.where(look, table["truth"].astype(object), None),
        "chance": np.where(look, chance, None),
    }


def apart(table):
    return table["answer_left"] != table["answer_right"]


def of_audits(table, columns):
    return [p for p in describe(table, columns).problems if "differ" in p.message]


def test_truths_that_were_looked_up_where_two_differ():
    table = texts()
    (found,) = of_audits(looked_up(table, np.where(apart(table), 0.9, 0.2)), CLASSES)
    assert re.fullmatch(
        r"known of (8|9)\d% of rows where left and right differ, and of (1|2)\d% where they agree: those rows are "
        r"weighed by what the log shows of it\. Look some of the others up, too, .* \(`propensity`\)",
        found.message,
    )
    assert found.severity == "warning"
    assert found.column == "truth"
    told = replace(CLASSES, propensity="chance")
    assert not of_audits(looked_up(table, np.where(apart(table), 0.9, 0.2)), told)


@pytest.mark.parametrize("columns", [CLASSES, replace(CLASSES, propensity="chance")])
def test_truths_of_rows_on_which_two_agree_that_nobody_looked_up(columns):
    table = texts()
    (found,) = of_audits(looked_up(table, np.where(apart(table), 1.0, 0.0)), columns)
    assert "100% of rows where left and right differ, and of 0% where they agree: no figure is told" in found.message


@pytest.mark.parametrize("how", ["by chance", "by a feature", "all", "of groups"])
def test_truths_that_were_looked_up_otherwise(how):
    table, columns = texts(), CLASSES
    chance = {"by a feature": np.where(table["x_0"] > 0, 0.9, 0.1), "all": np.ones(600)}.get(how, np.full(600, 0.5))
    if how == "of groups":
        table["group"] = np.arange(600) // 3
        columns = replace(CLASSES, groups="group")
    assert not of_audits(looked_up(table, chance), columns)


# Clean logs, batches, and samples.


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [10, 200, 1500])
def test_a_clean_log_has_no_fault(shape, n):
    # These are told of any log that is small, or has many classes.
    fine = ("classes with fewer than five rows", "is empty in", "the same value in every row")
    for seed in range(3):
        table, columns = clean(seed, shape, n)
        problems = [p for p in describe(table, columns).problems if not any(word in p.message for word in fine)]
        assert not problems, (seed, problems)


def test_faults_do_not_depend_on_the_batches(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = charged(texts(900))
    table |= {"x_leak": np.char.upper(table["truth"]), "answer_label": table["truth"], "fee_label": rng.random(900)}
    table["answer_noise"] = np.char.upper(table["answer_noise"].astype(str))
    table = holed(table, rng.random(900) < np.where(table["x_0"] > 0, 0.9, 0.2))
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*", task="classification")
    write_table(tmp_path / "log.parquet", table)
    whole = describe(tmp_path / "log.parquet", columns).problems
    monkeypatch.setattr(_tables, "BATCH", 70)
    assert describe(tmp_path / "log.parquet", columns).problems == whole
    assert len([problem for problem in whole if "is empty in" not in problem.message]) == 4


def test_a_sample_is_bounded_uniform_and_the_same_of_any_batches():
    columns = {"row": np.arange(5000), "list": np.zeros((5000, 2))}
    found = []
    for size in (5000, 700, 33):
        sample = Sample(columns, most=400)
        for start in range(0, 5000, size):
            sample.add({name: values[start : start + size] for name, values in columns.items()}, start)
            assert len(sample.keys) <= 800 + size
        found.append(sample.table())
    assert [list(table) for table in found] == [["row"]] * 3
    assert all(np.array_equal(table["row"], found[0]["row"]) for table in found)
    rows = found[0]["row"]
    assert len(rows) == len(set(rows.tolist())) == 400
    assert np.array_equal(rows, np.sort(rows))
    # Uniform: no tenth of the log is far from its tenth of the sample.
    assert np.histogram(rows, bins=10, range=(0, 5000))[0].min() > 20


def test_types_that_change_between_batches_stay_what_they_are():
    sample = Sample(["x"])
    sample.add({"x": np.array([1, 2])}, 0)
    sample.add({"x": np.array([3, None], dtype=object)}, 2)
    assert sample.table()["x"].tolist() == [1, 2, 3, None]


@pytest.mark.parametrize(
    ("words", "phrase"),
    [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c"), ("abcde", "a, b, c and 2 more")],
)
def test_a_message_lists_a_few(words, phrase):
    assert listed(words) == phrase


def test_features_of_bytes_that_are_no_text_are_described():
    table = {"truth": [1, 2], "answer_a": [1, 2], "answer_b": [1, 1], "x_0": [b"\x80", b"\x80"], "x_1": [0.5, 0.2]}
    found = describe(table, Columns(truth="truth", answers="answer_*", features="x_*"))
    assert any(each.column == "x_0" and "the same value" in each.message for each in found.problems)


@pytest.mark.parametrize("signal", ["NaN", "sNaN"])
@pytest.mark.parametrize("column", ["x_0", "truth", "answer_left"])
def test_a_decimal_number_that_is_none_is_missing(signal, column):
    values = [Decimal(i % 2) for i in range(40)]
    table = {"x_0": values, "truth": values, "answer_left": values}
    table = {name: np.array(each, dtype=object) for name, each in table.items()}
    table[column][3] = Decimal(signal)
    found = describe(table, Columns(truth="truth", answers="answer_*", features="x_*", nulls="not-asked"))
    assert found.rows == 40

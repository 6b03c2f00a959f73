"""`askwho assign`: limits from a file, routes that can be combined, a table of what each limit is worth."""

import json

import numpy as np
import pytest

from askwho.data import table_of, write_table
from tests.cli.conftest import queries
from tests.cli.running import printed, refused, run

LIMITS = {"left": {"day": 12, "night": 9}, "right": 30, "both": {"at_most": 10, "at_least": 4}}
ROWS = "entity,group,at_most,at_least\nleft,day,12,\nleft,night,9,\nright,,30,\nboth,,10,4\n"


@pytest.fixture
def batch(tmp_path):
    """Queries of two shifts, and limits in both forms."""
    table = queries()
    table["shift"] = np.resize(np.array(["day", "night"], dtype=object), len(table["id"]))
    write_table(tmp_path / "queries.csv", {name: values for name, values in table.items() if name != "truth"})
    (tmp_path / "hours.json").write_text(json.dumps(LIMITS))
    (tmp_path / "hours.csv").write_text(ROWS)
    return tmp_path


def words(place, batch, *more, capacity="hours.json", out="routes.parquet"):
    given = ["--capacity", batch / capacity] if capacity else []
    return ["assign", place / "policy", batch / "queries.csv", *given, *more, "--out", batch / out]


def test_a_batch_is_given_out_and_combined(place, batch, capsys):
    said = printed(capsys, *words(place, batch, "--by", "shift", "--fee-weight", 0.05))
    assert said["queries"] == 120
    assert said["gap"] <= 0.01
    assert said["mean_expected_cost"] > 0
    held = {(each["name"], each["group"]): each for each in said["limits"]}
    assert set(held) == {("left", "day"), ("left", "night"), ("right", None), ("both", None)}
    asked = [set(row) for row in table_of(batch / "routes.parquet", "routes")["ask"].tolist()]
    shifts = np.resize(["day", "night"], 120)
    for (name, group), each in held.items():
        count = sum(name in row for row, shift in zip(asked, shifts, strict=True) if group in (None, shift))
        assert each["at_least"] <= count == each["given"] <= each["at_most"]
    assert max(each["worth_of_one_more"] for each in said["limits"]) > 0
    done = ["combine", place / "policy", batch / "routes.parquet", batch / "queries.csv", "--out", batch / "done.csv"]
    assert printed(capsys, *done)["decided"] == 120


def test_limits_are_the_same_in_json_and_in_csv(place, batch, capsys):
    both = [
        printed(capsys, *words(place, batch, "--by", "shift", "--fee-weight", 0.05, capacity=name))["limits"]
        for name in ("hours.json", "hours.csv")
    ]
    assert both[0] == both[1]


def test_what_limits_are_worth_is_printed(place, batch, capsys):
    assert run(*words(place, batch, "--by", "shift", "--fee-weight", 0.05)) == 0
    said = capsys.readouterr().out
    assert "worth of one more" in said
    assert "left, night" in said
    assert "above the least cost" in said


def test_a_total_sizes_and_a_budget_are_kept(place, batch, capsys):
    said = printed(capsys, *words(place, batch, "--total", 9, "--sizes", "2=5,3=0,4=0", capacity=None))
    sizes = [len(row) for row in table_of(batch / "routes.parquet", "routes")["ask"].tolist()]
    assert said["mean_expected_fee"] * 120 <= 9 + 1e-9
    assert (sizes.count(2) <= 5, max(sizes)) == (True, 2)
    assert printed(capsys, *words(place, batch, "--budget", 0.05, capacity=None))["mean_expected_fee"] <= 0.05


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "`capacity` must be a JSON file from name to number, got "),
        ("a.json", "[1]", "`capacity` must be a JSON object from name to number, got "),
        ("a.json", '{"left": 1, "left": 2}', "`capacity` must name each once, got 'left' more than once."),
        ("a.json", '{"ann": 1}', "`capacity` must name entities of ['left', 'right', 'both', 'noise'], got 'ann'."),
        ("a.json", '{"left": "x"}', "`capacity['left']` must be a whole number of at least 0, got 'x'."),
        ("a.csv", "entity,most\nleft,3\n", "`capacity` must have the columns entity and at_most, and may have group"),
        ("a.csv", "entity,at_most\nleft,3\nleft,4\n", "`capacity` must say once how many 'left' can be given"),
        ("a.txt", "left 3", "`capacity` must end in .parquet, .csv"),
        ("a.json", '{"left": 2, "right": 2, "both": 2, "noise": 2}', "`capacity` must leave a way to give out all 120"),
    ],
)
def test_a_file_that_holds_no_limits(place, batch, capsys, name, text, message):
    (batch / name).write_text(text)
    assert message in refused(capsys, *words(place, batch, "--fee-weight", 0.05, capacity=name))
    assert not (batch / "routes.parquet").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "One target must be given"),
        (["--k", 1, "--by", "day"], "`by` must be a column of the queries, got 'day'"),
        (["--k", 1, "--sizes", "2"], "`sizes` must be name=value,..., got '2'."),
        (["--k", 1, "--sizes", "2=x"], "`sizes[2]` must be a whole number of at least 0, got 'x'."),
    ],
)
def test_what_else_is_refused(place, batch, capsys, more, message):
    assert message in refused(capsys, *words(place, batch, *more, capacity=None))

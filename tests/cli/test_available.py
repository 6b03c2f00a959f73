"""Who is there, as a user types it: for every command the same, by name or by columns of the queries."""

import json

import numpy as np
import pytest

from askwho.data import lists, table_of, write_table
from tests.cli.conftest import queries
from tests.cli.running import printed, refused

NAMES = ["left", "right", "both", "noise"]
PRICE = ["--fee-weight", 0.05]


@pytest.fixture(scope="module")
def rota(tmp_path_factory):
    """Queries beside which stands who is there: `left` by day, `right` by night, `noise` always, `both` never."""
    folder = tmp_path_factory.mktemp("rota")
    table = queries()
    day = np.resize(np.array([True, False]), len(table["id"]))
    there = {"there_left": day, "there_right": ~day, "there_noise": np.ones(len(day), dtype=bool)}
    write_table(folder / "new.parquet", table | there)
    write_table(folder / "new.csv", table | {name: mask.astype(int) for name, mask in there.items()})
    holes = there["there_left"].astype(object)
    holes[7] = None
    write_table(folder / "holes.parquet", table | there | {"there_left": holes})
    write_table(folder / "words.parquet", table | {"there_left": np.where(day, "yes", "no").astype(object)})
    nobody = {f"there_{name}": day for name in NAMES}
    write_table(folder / "nobody.parquet", table | nobody)
    unanswered = {name: values for name, values in table.items() if not name.startswith(("answer_", "truth"))}
    write_table(folder / "unanswered.parquet", unanswered | nobody)
    write_table(folder / "unknown.parquet", table | {"there_ann": day})
    return folder


def asked_of(path):
    table = table_of(path, "routes", texts=("id",))
    cells = table["ask"]
    return [set(row) for row in lists(cells, "ask")]


def allowed(i):
    return {"left" if i % 2 == 0 else "right", "noise"}


@pytest.mark.parametrize("command", ["route", "assign"])
@pytest.mark.parametrize("form", ["new.parquet", "new.csv"])
def test_columns_say_who_is_there_for_each_query(place, rota, tmp_path, capsys, command, form):
    words = [command, place / "policy", rota / form, *PRICE, "--available", "there_*", "--out", tmp_path / "r.parquet"]
    printed(capsys, *words)
    asked = asked_of(tmp_path / "r.parquet")
    assert all(row <= allowed(i) for i, row in enumerate(asked))
    assert {"left", "right"} <= set().union(*asked)


@pytest.mark.parametrize("command", ["route", "assign"])
@pytest.mark.parametrize("given", ["left, noise", "!right,!both"])
def test_names_say_who_is_there_for_all(place, rota, tmp_path, capsys, command, given):
    words = [command, place / "policy", rota / "new.parquet", *PRICE, "--available", given]
    printed(capsys, *words, "--out", tmp_path / "r.parquet")
    asked = asked_of(tmp_path / "r.parquet")
    assert set().union(*asked) == {"left", "noise"}


def test_nobody_who_is_away_is_named_in_the_place_of_those_who_do_not_answer(place, rota, tmp_path, capsys):
    words = ["route", place / "policy", rota / "new.parquet", "--k", 1, "--available", "there_*"]
    printed(capsys, *words, "--out", tmp_path / "r.parquet")
    table = table_of(rota / "new.parquet")
    none = {"id": table["id"], **{f"answer_{name}": np.full(len(table["id"]), None) for name in NAMES}}
    none["answer_both"] = table["answer_both"]
    write_table(tmp_path / "none.parquet", none)
    done = ["combine", place / "policy", tmp_path / "r.parquet", tmp_path / "none.parquet", "--out", tmp_path / "d.csv"]
    printed(capsys, *done)
    decided = table_of(tmp_path / "d.csv")
    follow = [set(json.loads(row)) for row in decided["ask_next"]]
    assert all(len(row) == 1 and row <= allowed(i) for i, row in enumerate(follow))


def test_parts_are_those_of_one_file(place, rota, tmp_path, capsys):
    words = ["route", place / "policy", rota / "new.parquet", *PRICE, "--available", "there_*"]
    printed(capsys, *words, "--out", tmp_path / "one.parquet")
    printed(capsys, *words, "--shard-rows", 50, "--out", tmp_path / "parts")
    whole, parts = (table_of(path) for path in (tmp_path / "one.parquet", tmp_path / "parts"))
    assert [list(row) for row in whole["ask"]] == [list(row) for row in parts["ask"]]
    assert whole["there"].tolist() == parts["there"].tolist() == [2] * 120
    other = ["route", place / "policy", rota / "new.parquet", *PRICE, "--available", "!left", "--shard-rows", 50]
    assert "available" in refused(capsys, *other, "--out", tmp_path / "parts")


def test_in_turn_whoever_is_away_is_not_next_and_nobody_left_decides_by_what_came(place, rota, tmp_path, capsys):
    words = ["route", place / "policy", "--mode", "sequential", *PRICE, "--available", "there_*"]
    words[2:2] = [rota / "unanswered.parquet"]
    printed(capsys, *words, "--out", tmp_path / "s.parquet")
    following = table_of(tmp_path / "s.parquet")["ask"].tolist()
    assert [name is not None for name in following] == [True, False] * 60


def test_who_is_explained_is_who_is_there(place, rota, capsys):
    for row in (0, 1):
        words = ["explain", place / "policy", rota / "new.parquet", "--k", 2, "--row", row, "--available", "there_*"]
        told = printed(capsys, *words)
        assert {each["name"] for each in told["reasons"] if each["asked"]} == allowed(row)
    told = printed(
        capsys, "explain", place / "policy", rota / "new.parquet", "--k", 1, "--available", "!left,!right,!both"
    )
    assert [each["name"] for each in told["reasons"] if each["asked"]] == ["noise"]


@pytest.mark.parametrize("command", ["route", "assign", "explain"])
@pytest.mark.parametrize(
    ("table", "given", "message"),
    [
        ("new", "ann,left", "`available` must name entities of ['left', 'right', 'both', 'noise'], got ['ann']."),
        ("new", "!ann", "`available` must name entities of ['left', 'right', 'both', 'noise'], got ['ann']."),
        ("new", "left,!right", "`available` must be who is there, such as 'left', or who is away, such as '!left', or"),
        ("new", ",", "`available` must be who is there, such as 'left', or who is away, such as '!left', or"),
        ("new", "here_*", "`available` must match columns of the queries, got 'here_*': they have id, "),
        ("new", "!left,!right,!both,!noise", "`available` must leave somebody to ask, got '!left,!right,!both,!noise'"),
        ("unknown", "there_*", "`available` must name entities of ['left', 'right', 'both', 'noise'], got ['ann']."),
        ("words", "there_*", "`available` must be true or false for each query, got something else in 'there_left'."),
    ],
)
def test_what_does_not_say_who_is_there(place, rota, tmp_path, capsys, command, table, given, message):
    words = [command, place / "policy", rota / f"{table}.parquet", *PRICE, "--available", given]
    out = [] if command == "explain" else ["--out", tmp_path / "r.parquet"]
    assert message in refused(capsys, *words, *out)
    assert not (tmp_path / "r.parquet").exists()


@pytest.mark.parametrize("command", ["route", "assign"])
def test_a_hole_and_a_query_without_anybody_are_refused_by_name(place, rota, tmp_path, capsys, command):
    def said(table):
        words = [command, place / "policy", rota / f"{table}.parquet", *PRICE, "--available", "there_*"]
        return refused(capsys, *words, "--out", tmp_path / "r.parquet")

    assert "got an empty cell in 'there_left': write false where somebody is away." in said("holes")
    assert "got 'there_*': nobody is there for the query 'q001'." in said("nobody")


def test_a_budget_that_was_validated_with_everybody_is_not_taken_for_some(place, rota, tmp_path, capsys):
    words = [place / "policy", rota / "new.parquet", "--budget", 0.05, "--available", "!left"]
    out = ["--out", tmp_path / "r.parquet"]
    assert "or `assign` a whole batch, which keeps a budget with them." in refused(capsys, "route", *words, *out)
    assert printed(capsys, "assign", *words, *out)["mean_expected_fee"] <= 0.05

"""Costs of mistakes from end to end, as a user types them."""

import json

import numpy as np
import pytest

from askwho.data import read_costs, write_table
from askwho.persistence import load
from tests import costly
from tests.cli.running import printed, refused, run

FEES = ",".join(f"{name}={fee}" for name, fee in costly.FEES.items())
COLUMNS = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--fees", FEES]
QUICK = ["--learner", "linear", "--base", "none", "--cv", "2", "--committee", "majority"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two logs, and what mistakes cost in two forms."""
    place = tmp_path_factory.mktemp("costs")
    write_table(place / "log.parquet", costly.desk(120))
    write_table(place / "new.parquet", costly.desk(200, seed=1))
    (place / "costs.json").write_text(json.dumps(costly.COSTS))
    table = {"truth": ["fraud", "fine"], "answer": ["fine", "fraud"], "cost": [20, 1]}
    write_table(place / "costs.csv", {name: np.array(column) for name, column in table.items()})
    return place


def test_costs_are_read_from_json_and_from_tables(place):
    assert read_costs(place / "costs.json") == read_costs(place / "costs.csv")
    assert read_costs(place / "costs.csv") == {"fine": {"fraud": 1.0}, "fraud": {"fine": 20.0}}


def test_every_later_command_knows_what_fit_was_told(place, capsys):
    given = ["--error-costs", place / "costs.csv"]
    assert run("check", place / "log.parquet", *COLUMNS, *given) == 0
    assert "cost" in capsys.readouterr().out
    assert run("fit", place / "log.parquet", *COLUMNS, *QUICK, *given, "--out", place / "policy") == 0
    assert " cost  mean fee" in capsys.readouterr().out
    assert load(place / "policy").columns.error["fraud"] == {"fine": 20.0}
    found = printed(capsys, "evaluate", place / "policy", place / "new.parquet")
    assert found["unit"] == {"name": "cost", "root": False, "share": False, "most": 20.0}
    truth = costly.desk(200, seed=1)
    rules = next(each for each in found["entities"] if each["name"] == "rules")
    assert rules["error"] == pytest.approx(costly.cost(truth["answer_rules"], truth["truth"]))
    assert run("evaluate", place / "policy", place / "new.parquet") == 0
    said = capsys.readouterr().out
    assert "best single cost:" in said
    assert "error" not in said
    out = place / "report.html"
    assert run("report", place / "policy", place / "new.parquet", "--out", out) == 0
    page = out.read_text(encoding="utf-8")
    assert "the policy gets cost " in page
    assert "Cost at the best single" in page
    assert "off by" not in page
    assert "expected error" not in page


def test_what_is_expected_is_called_a_cost_by_every_command(place, capsys):
    given = [*COLUMNS, *QUICK, "--error-costs", place / "costs.csv"]
    assert run("fit", place / "log.parquet", *given, "--out", place / "told") == 0
    one = costly.desk(30, seed=2)
    few = {name: one[name] for name in ("x_0", "x_1", "truth")} | {"answer_novice": one["answer_rules"]}
    write_table(place / "novice.parquet", few)
    policy, new = place / "told", place / "new.parquet"
    capsys.readouterr()
    for words in (
        ["route", policy, new, "--k", 1, "--out", place / "routes.csv"],
        ["assign", policy, new, "--fee-weight", 1, "--out", place / "routes.csv"],
        ["explain", policy, new, "--k", 1],
        ["add-expert", policy, place / "novice.parquet", "--name", "novice", "--fee", 0, "--out", place / "grown"],
    ):
        assert run(*words) == 0
        said = capsys.readouterr().out
        assert "expected cost" in said, words[0]
        assert "error" not in said, words[0]


def test_one_score_at_a_time(place, capsys):
    given = ["--error-costs", place / "costs.csv"]
    says = refused(capsys, "check", place / "log.parquet", *COLUMNS, *given, "--error", "absolute")
    assert "`--error` must be 'auto' with `--error-costs`, got 'absolute'" in says
    says = refused(capsys, "check", place / "log.parquet", *COLUMNS, *given, "--same", "casefold")
    assert "`error` must be 'zero-one' with `same`" in says


def test_what_is_wrong_with_a_file_of_costs_is_said(place, capsys):
    def said(name, text):
        (place / name).write_text(text)
        return refused(capsys, "check", place / "log.parquet", *COLUMNS, "--error-costs", place / name)

    assert "`error costs` must be a JSON file from truth to answer to cost" in said("broken.json", "{")
    assert "`error costs` must name each once, got 'fraud' more than once" in said(
        "twice.json", '{"fraud": {"fine": 2}, "fraud": {"fine": 3}}'
    )
    assert "`error costs` must be numbers, got 'x'" in said("text.json", '{"fraud": {"fine": "x"}}')
    assert "`error costs` must have the columns ['truth', 'answer', 'cost']" in said("short.csv", "truth,cost\na,1\n")
    assert "`error costs` must name each once, got 'b' more than once" in said(
        "again.csv", "truth,answer,cost\na,b,1\na,b,2\n"
    )

"""`--same`: answers in many spellings from the first command to the last, and what `exact` makes of them."""

import json

import numpy as np
import pytest

from askwho.data import keys_of, read_table, write_table
from tests import messy
from tests.cli.running import printed, refused, run

FEES = ",".join(f"{name}={fee}" for name, fee in messy.FEES.items())
COLUMNS = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--id", "id", "--fees", FEES]
QUICK = ["--learner", "linear", "--base", "none", "--cv", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A log, new queries, and a policy of each rule."""
    made = tmp_path_factory.mktemp("same")
    write_table(made / "log.parquet", messy.table(300, 0))
    write_table(made / "new.parquet", messy.table(120, 1))
    for same in ("exact", "numeric"):
        assert run("fit", made / "log.parquet", *COLUMNS, *QUICK, "--same", same, "--out", made / same) == 0
    return made


def test_exact_is_much_worse(folder, capsys):
    error = {
        same: printed(capsys, "evaluate", folder / same, folder / "new.parquet")["baselines"]["best_single"]["error"]
        for same in ("exact", "numeric")
    }
    assert error["numeric"] < 0.1
    assert error["exact"] > 0.7


def test_what_is_routed_is_combined_in_somebodys_spelling(folder, capsys, tmp_path):
    routes, decisions = tmp_path / "routes.csv", tmp_path / "decisions.csv"
    printed(capsys, "route", folder / "numeric", folder / "new.parquet", "--fee-weight", "0.2", "--out", routes)
    said = printed(capsys, "combine", folder / "numeric", routes, folder / "new.parquet", "--out", decisions)
    assert said["decided"] == 120
    new = read_table(folder / "new.parquet")
    made = read_table(decisions, texts=["prediction"])["prediction"]
    assert (np.stack([new[f"answer_{name}"] for name in messy.FEES]) == made).any(axis=0).all()
    assert (keys_of(made, "numeric") == keys_of(new["truth"], "numeric")).mean() > 0.9


def test_steps_reasons_and_the_report(folder, capsys, tmp_path):
    steps = tmp_path / "steps.jsonl"
    aim = ["--fee-weight", "0.2"]
    words = ["route", folder / "numeric", folder / "new.parquet", "--mode", "sequential", *aim, "--out", steps]
    assert printed(capsys, *words)["to_ask"] == 0
    lines = [json.loads(line) for line in steps.read_text().splitlines()]
    made = np.array([line["prediction"] for line in lines])
    truth = read_table(folder / "new.parquet")["truth"]
    assert (keys_of(made, "numeric") == keys_of(truth, "numeric")).mean() > 0.9
    why = printed(capsys, "explain", folder / "numeric", folder / "new.parquet", *aim)
    assert {reason["name"] for reason in why["reasons"]} == set(messy.FEES)
    report = tmp_path / "report.html"
    assert printed(capsys, "report", folder / "numeric", folder / "new.parquet", "--out", report)["headline"]
    assert report.stat().st_size > 10_000


def test_check_compares_by_the_rule(folder, capsys):
    errors = {
        same: {
            each["name"]: each["error"]
            for each in printed(capsys, "check", folder / "log.parquet", *COLUMNS, "--same", same)["entities"]
        }
        for same in ("exact", "numeric")
    }
    assert errors["numeric"]["both"] < 0.1
    assert errors["exact"]["both"] > 0.7


def test_a_rule_nobody_knows(folder, capsys):
    said = refused(capsys, "fit", folder / "log.parquet", *COLUMNS, "--same", "fuzzy", "--out", folder / "no")
    assert said.startswith(
        "askwho: `same` must be exact, casefold, numeric or your own module:function, from an answer"
    )

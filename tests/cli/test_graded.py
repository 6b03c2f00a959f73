"""Grades asked for in turn, and kept, as commands."""

import numpy as np
import pytest

from askwho.data import read_table, write_table
from tests import graded
from tests.cli.running import printed, refused, run

FEES = ",".join(f"{name}={fee}" for name, fee in graded.FEES.items())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A policy of grades that something comes back with, and new queries."""
    place = tmp_path_factory.mktemp("graded")
    write_table(place / "log.parquet", graded.table(300))
    words = ["fit", place / "log.parquet", "--grades", "grade_*", "--features", "x_*", "--info", "info_*"]
    assert run(*words, "--fees", FEES, "--learner", "linear", "--cv", 3, "--out", place / "policy") == 0
    return place


def named(table):
    return {"id": np.array([f"q{i}" for i in range(len(table["x_0"]))]), **table}


def test_steps_say_who_is_next_and_in_the_end_whose_answer_is_kept(folder, tmp_path, capsys):
    new = graded.table(60, seed=1)
    heard = np.zeros((60, 3), dtype=bool)
    words = ["route", folder / "policy", tmp_path / "new.parquet", "--mode", "sequential", "--fee-weight", 0.3]
    for turn in range(4):
        write_table(tmp_path / "new.parquet", named(graded.told(new, heard)))
        said = printed(capsys, *words, "--out", tmp_path / "steps.parquet")
        steps = read_table(tmp_path / "steps.parquet")
        ask = np.array([name is not None for name in steps["ask"]])
        assert said["to_ask"] == ask.sum()
        assert [name is None for name in steps["prediction"]] == (~heard.any(axis=1)).tolist()
        if not ask.any():
            break
        assert turn < 3
        heard[np.flatnonzero(ask), [list(graded.FEES).index(name) for name in steps["ask"][ask]]] = True
    assert set(steps["prediction"]) <= set(graded.FEES)
    assert 1.0 < heard.sum(axis=1).mean() < 3.0
    grades = np.array([new[f"grade_{name}"][i] for i, name in enumerate(steps["prediction"])])
    assert grades.mean() == pytest.approx(steps["probability"].mean(), abs=0.15)


def test_combining_says_whose_answer_came(folder, tmp_path, capsys):
    table = named(graded.table(40, seed=2))
    known = {name: values for name, values in table.items() if not name.startswith(("info_", "grade_"))}
    write_table(tmp_path / "new.parquet", known)
    words = ["route", folder / "policy", tmp_path / "new.parquet", "--fee-weight", 0.3, "--out", tmp_path / "r.csv"]
    assert run(*words) == 0
    write_table(tmp_path / "came.parquet", {name: values for name, values in table.items() if "grade" not in name})
    words = ["combine", folder / "policy", tmp_path / "r.csv", tmp_path / "came.parquet", "--out", tmp_path / "d.csv"]
    assert printed(capsys, *words)["decided"] == 40
    assert set(read_table(tmp_path / "d.csv")["prediction"]) <= set(graded.FEES)
    write_table(tmp_path / "came.parquet", {"id": table["id"], "other": np.zeros(40)})
    assert "`answers` must have columns of what came back, 'info_*'" in refused(capsys, *words)

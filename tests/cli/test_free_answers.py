"""Free answers: more texts than anybody could call classes, from the first command to the last, and not a warning."""

import json

import numpy as np
import pytest

from askwho.data import read_table, write_table
from tests.cli.running import elsewhere

COLUMNS = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--text", "question", "--fees", "FEES"]
FEES = "left=0.1,right=0.1,both=1"
PLACES = [f"{street} {number}" for street in ("Elm", "Oak", "Ash", "Fir") for number in range(60)]


def asked(n, seed, *, own):
    """A log of addresses: each query's own, or out of 240; everybody else says another where it is wrong."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    truth = np.array([f"Elm {seed}-{i}" for i in range(n)] if own else rng.choice(PLACES, n), dtype=object)
    right = {
        "left": np.where(x[:, 0] < 0, 0.95, 0.4),
        "right": np.where(x[:, 0] < 0, 0.4, 0.95),
        "both": np.full(n, 0.97),
    }
    table = {f"x_{i}": x[:, i] for i in range(3)} | {"truth": truth, "id": np.arange(n)}
    for name, chance in right.items():
        table[f"answer_{name}"] = np.where(rng.random(n) < chance, truth, rng.choice(PLACES, n)).astype(object)
    return table | {"question": np.array([f"where is number {i}?" for i in range(n)], dtype=object)}


@pytest.fixture(scope="module", params=[False, True], ids=["240 different ones", "each query its own"])
def ran(request, tmp_path_factory):
    """Every command in a process in which a warning is an error; what they printed, and the folder of their files."""
    folder = tmp_path_factory.mktemp("free")
    write_table(folder / "log.parquet", asked(300, 0, own=request.param))
    write_table(folder / "new.parquet", asked(120, 1, own=request.param))
    columns = [FEES if word == "FEES" else word for word in COLUMNS]
    commands = {
        "check": ["check", "log.parquet", *columns, "--json"],
        "fit": ["fit", "log.parquet", *columns, "--cv", "2", "--out", "policy", "--json"],
        "evaluate": ["evaluate", "policy", "new.parquet", "--json"],
        "route": ["route", "policy", "new.parquet", "--fee-weight", "0.2", "--out", "routes.csv", "--json"],
        "combine": ["combine", "policy", "routes.csv", "new.parquet", "--out", "decisions.csv", "--json"],
        "steps": [
            "route",
            "policy",
            "new.parquet",
            "--mode",
            "sequential",
            "--budget",
            "2",
            "--out",
            "steps.jsonl",
            "--json",
        ],
        "report": ["report", "policy", "new.parquet", "--out", "report.html", "--json"],
        "explain": ["explain", "policy", "new.parquet", "--fee-weight", "0.2", "--json"],
    }
    code = f"""
import sys
from askwho.cli import status_of
for name, words in {commands!r}.items():
    print(name, flush=True)
    status = status_of(words)
    if status:
        sys.exit(status)
"""
    found = elsewhere(code, "-W", "error", cwd=folder)
    assert found.returncode == 0, found.stderr[-3000:]
    assert "Warning" not in found.stderr
    lines = found.stdout.splitlines()
    return folder, {name: json.loads(said) for name, said in zip(lines[::2], lines[1::2], strict=True)}


def test_the_log_is_one_of_classes_that_nobody_can_list(ran):
    _, said = ran
    assert said["check"]["usable"]
    assert said["check"]["summary"]["task"] == "classification"
    assert (said["fit"]["task"], said["fit"]["base"]) == ("classification", None)


def test_committees_match_the_best_single_for_less(ran):
    _, said = ran
    best = said["evaluate"]["baselines"]["best_single"]
    assert best["mean_fee"] == 1.0
    assert any(p["error"] <= best["error"] + 0.02 and p["mean_fee"] < 0.8 for p in said["evaluate"]["adaptive"])
    assert said["report"]["headline"]


def test_what_is_decided_is_what_somebody_said_and_mostly_right(ran):
    folder, said = ran
    new, made = read_table(folder / "new.parquet"), read_table(folder / "decisions.csv")
    assert said["combine"]["decided"] == 120
    assert made["id"].tolist() == new["id"].tolist()
    given = np.stack([new[f"answer_{name}"] for name in ("left", "right", "both")])
    assert (given == made["prediction"]).any(axis=0).all()
    assert (made["prediction"] == new["truth"]).mean() > 0.85
    assert ((made["probability"] > 0) & (made["probability"] <= 1)).all()


def test_everybody_has_answered_and_nobody_is_asked(ran):
    folder, said = ran
    steps = read_table(folder / "steps.jsonl")
    assert said["steps"]["to_ask"] == 0
    assert set(steps["ask"].tolist()) == {None}
    assert (steps["prediction"] == read_table(folder / "new.parquet")["truth"]).mean() > 0.9


def test_the_reasons_name_everybody(ran):
    _, said = ran
    assert {reason["name"] for reason in said["explain"]["reasons"]} == {"left", "right", "both"}

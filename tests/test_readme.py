import json
from pathlib import Path

import pytest

from tests.examples import blocks, run_page

README = Path(__file__).parents[1] / "README.md"
MEASURED = README.parent / "docs" / "measured.md"


def test_every_python_example_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert blocks(README)
    run_page(README)
    assert capsys.readouterr().out.startswith("query 0: ask ")


def test_the_counts_and_cells_of_the_study_are_those_of_its_file():
    study = json.loads((README.parent / "benchmarks/results/logs/logs.json").read_text())
    text, short = (" ".join(page.read_text().split()) for page in (MEASURED, README))
    rows = [
        row
        for log in study["logs"].values()
        for rival, row in log["against"]["askwho"].items()
        if "askwho" not in rival
    ]
    keys = ("wins", "ties", "losses")
    blind, seen = ([sum(row[key] for row in some) for key in keys] for some in ([r["blind"] for r in rows], rows))
    for page in (text, short):
        assert "{} wins, {} ties, {} losses".format(*blind) in page
        assert f"{sum(row['not_reached'] for row in rows)} times a rival cannot be had" in page
    assert "{}, {} and {}. ".format(*seen) in text
    for name, log in study["logs"].items():
        # The first of the page's tables is the study's.
        line = next(line for line in MEASURED.read_text().splitlines() if line.startswith(f"| {name} |"))
        single, ours = (cell.strip() for cell in line.split("|")[2:4])
        assert float(single) == pytest.approx(log["best_single"]["error"], abs=6e-4)
        told = [float(word) for word in ours.replace(";", "").replace(" at ", " ").split()]
        method = log["methods"]["askwho"]
        for figure, key in zip(told, ("fee_to_match", "error_at_best_single_fee", "best_error"), strict=False):
            assert figure == pytest.approx(method[key], abs=6e-3 if key == "fee_to_match" else 6e-4)

import json
from pathlib import Path

from askwho_studies.logs._verdicts import verdicts
from tests.examples import blocks, run_page

README = Path(__file__).parents[1] / "README.md"
MEASURED = README.parent / "docs" / "measured.md"
KEYS = ("wins", "ties", "losses")


def test_every_python_example_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert blocks(README)
    run_page(README)
    assert capsys.readouterr().out.startswith("query 0: ask ")


def test_the_counts_of_the_study_are_those_of_its_file():
    study = json.loads((README.parent / "benchmarks/results/logs/logs.json").read_text())
    text, short = (" ".join(page.read_text().split()) for page in (MEASURED, README))
    told = verdicts(study["logs"])
    counts = [sum(row["verdict"] == each for row in told) for each in ("win", "tie", "loss")]
    rows = [
        row
        for log in study["logs"].values()
        for rival, row in log["against"]["askwho"].items()
        if "askwho" not in rival
    ]
    blind, seen = ([sum(row[key] for row in some) for key in KEYS] for some in ([r["blind"] for r in rows], rows))
    for page in (text, short):
        assert "{} wins, {} ties, {} losses".format(*counts) in page
        assert f"beside {len({row['rival'] for row in told})} rivals" in page
    assert "by budget, {}, {} and {} blind, {}, {} and {} seen".format(*blind, *seen) in text
    assert "are lost {2} times (won {0}, tied {1})".format(*blind) in short
    assert f"{sum(row['not_reached'] for row in rows)} times a rival cannot be had" in text


def test_the_words_on_single_logs_are_those_of_its_file():
    study = json.loads((README.parent / "benchmarks/results/logs/logs.json").read_text())
    text = " ".join(MEASURED.read_text().split())
    mmlu, math = (study["logs"][name]["methods"] for name in ("mmlu_pro_llms", "math_l5_llms"))
    ours, cascade = mmlu["askwho"], mmlu["agreement cascade"]
    assert (
        f"mmlu_pro matches the best single for {ours['fee_to_match']:.2f} of its fee (the agreement cascade "
        f"{cascade['fee_to_match']:.2f}), errs {ours['error_at_best_single_fee']:.3f} at its fee and "
        f"{ours['best_error']:.3f} at best"
    ) in text
    ours, cascade = math["askwho"], math["agreement cascade"]
    assert (
        f"math_l5_llms matches the best single for {ours['fee_to_match']:.3f} of its fee, the agreement cascade needs "
        f"{cascade['fee_to_match']:.3f}"
    ) in text


def test_every_final_run_is_of_a_commit_and_seeds_that_the_protocol_names():
    lines = (README.parent / "benchmarks/results/logs/final.jsonl").read_text().splitlines()
    assert lines
    for line in lines:
        run = json.loads(line)
        assert run["seeds"] == list(range(100, 110))
        for machine in (run["provenance"], *run["provenance"]["measured_on"]):
            assert "+" not in machine["commit"]

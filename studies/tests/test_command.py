"""What `askwho reproduce` hands to the studies, and what they refuse."""

import json

import pytest

from askwho.cli import status_of
from askwho.exceptions import InvalidInputError
from askwho_studies import _command, run
from askwho_studies.paper import EXPERIMENTS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["magic", "--data", "OUT"], "`name` must be one of 'logs', 'california'"),
        (["logs"], "`data` must hold a folder of logs, got 'askwho-data': set ASKWHO_DATA or --data"),
        (["logs", "--data", "OUT"], "`data` must hold a folder of logs"),
    ],
)
def test_bad_arguments_end_in_one_clear_line_and_exit_2(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ASKWHO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", *(word.replace("OUT", str(tmp_path)) for word in arguments), "--out", str(tmp_path / "out")]
    assert status_of(words) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert message in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "seeds", "rows"),
    [([], range(3), None), (["--seeds", "5"], range(5), None), (["--quick"], range(1), _command.QUICK_ROWS)],
)
def test_the_commands_options_reach_the_study_of_logs(options, seeds, rows, tmp_path, monkeypatch, capsys):
    given = {}
    monkeypatch.setattr(_command, "run_logs", lambda data, **others: given.update(others, data=data))
    (tmp_path / "logs").mkdir()
    out = tmp_path / "new" / "out"
    keep = tmp_path / "kept"
    words = ["reproduce", "logs", "--data", str(tmp_path), "--out", str(out), "--only", "a,b", "--workers", "4"]
    assert status_of([*words, "--keep", str(keep), *options]) == 0
    del given["progress"]
    assert given == {
        "data": tmp_path,
        "names": ["a", "b"],
        "seeds": seeds,
        "rows": rows,
        "out": out,
        "workers": 4,
        "keep": keep,
    }
    assert out.is_dir()
    assert "logs.json, logs.md and logs.png in" in capsys.readouterr().err.replace("\n", " ")


def test_a_final_run_takes_seeds_of_its_own_and_is_added_to_those_before(tmp_path, monkeypatch, capsys):
    area = {"difference": -0.01, "error": 0.002, "p": 1e-6, "budgets": 10}
    near = {"difference": 0.001, "error": 0.002, "p": 0.6, "budgets": 9}
    against = {"askwho": {"vote": {"area": area}, "random": {"area": near}, "askwho (no base)": {"area": near}}}
    seen = []

    def study(data, seeds, **_):
        seen.append((data, list(seeds)))
        return {"seeds": list(seeds), "provenance": {"commit": "abc"}, "logs": {"one": {"against": against}}}

    monkeypatch.setattr(_command, "run_logs", study)
    (tmp_path / "logs").mkdir()
    words = ["reproduce", "logs", "--final", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert [status_of(words), status_of(words)] == [0, 0]
    assert seen == [(tmp_path, list(range(100, 110)))] * 2
    first, second = (json.loads(line) for line in (tmp_path / "out" / "final.jsonl").read_text().splitlines())
    assert first == second
    assert [(row["rival"], row["verdict"], row["corrected"]) for row in first["verdicts"]] == [
        ("vote", "win", pytest.approx(2e-6)),
        ("random", "tie", 0.6),
    ]
    assert status_of([*words, "--quick"]) == 2
    assert "`final` must be a whole run" in capsys.readouterr().err


def test_all_runs_every_experiment_of_the_paper(tmp_path, monkeypatch):
    ran = []
    needed = []
    monkeypatch.setattr(_command, "require", lambda data, names: needed.extend(names))
    for name in EXPERIMENTS:
        monkeypatch.setitem(EXPERIMENTS, name, lambda data, name=name, **options: ran.append((name, options["seeds"])))
    run("all", data=tmp_path, out=tmp_path, seeds=2, progress=print)
    assert ran == [(name, 2) for name in EXPERIMENTS]
    assert needed == ["california", "cifar10", "svhn", "cifar100", "cifar10n"]


def test_a_name_is_checked_before_the_data(tmp_path):
    with pytest.raises(InvalidInputError, match="`name` must be one of"):
        run("magic", data=None, out=tmp_path, progress=print)

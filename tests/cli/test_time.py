"""A column of time from end to end, as a user types it."""

import numpy as np
import pytest

from askwho.data import write_table
from tests.cli.running import printed, refused, run
from tests.drifting import FEES, drifting, rows

COLUMNS = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--time", "when"]
COLUMNS += ["--fees", ",".join(f"{name}={fee}" for name, fee in FEES.items())]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log of two months, what came in the third, and a policy of the log."""
    place = tmp_path_factory.mktemp("time")
    table = drifting(120, later=120)
    days = np.datetime64("2026-01-01") + np.arange(240) // 4
    table["when"] = np.array([f"{day}T{6 * (i % 4):02d}:00" for i, day in enumerate(days)], dtype=object)
    write_table(place / "log.csv", rows(table, slice(120)))
    write_table(place / "all.csv", table)
    cheap = ["--learner", "linear", "--base", "none", "--cv", "2", "--committee", "majority"]
    assert run("fit", place / "log.csv", *COLUMNS, *cheap, "--out", place / "policy") == 0
    return place


def test_check_says_what_moves(place, capsys):
    found = printed(capsys, "check", place / "all.csv", *COLUMNS)
    assert found["usable"]
    assert [("move" in each["message"], each["severity"]) for each in found["problems"]] == [(True, "warning")] * 2


def test_evaluate_leaves_out_what_is_not_later_and_says_so(place, capsys):
    found = printed(capsys, "evaluate", place / "policy", place / "all.csv")
    assert (found["n"], found["left_out"]) == (120, 120)
    assert run("evaluate", place / "policy", place / "all.csv") == 0
    said = capsys.readouterr().out
    assert "120 rows left out: not after 2026-01-30T18:00:00, the last moment that the policy comes from" in said
    assert "`log` must hold rows after 2026-01-30T18:00:00" in refused(
        capsys, "evaluate", place / "policy", place / "log.csv"
    )


def test_calibrate_and_report_do_likewise(place, capsys):
    done = printed(capsys, "calibrate", place / "policy", place / "all.csv", "--out", place / "calibrated")
    assert (done["rows"], done["left_out"]) == (120, 120)
    assert run("calibrate", place / "policy", place / "all.csv", "--out", place / "calibrated") == 0
    assert "120 rows left out" in capsys.readouterr().out
    out = place / "report.html"
    assert run("report", place / "policy", place / "all.csv", "--out", out, "--by", "truth") == 0
    assert "Over time" in out.read_text(encoding="utf-8")
    # All of it is behind what it was calibrated by.
    assert "rows after 2026-03-01T18:00:00" in refused(
        capsys, "report", place / "calibrated", place / "all.csv", "--out", out
    )


def test_queries_need_not_say_when_they_are(place):
    queries = {name: values for name, values in drifting(20).items() if name.startswith("x_")}
    write_table(place / "new.csv", queries)
    assert run("route", place / "policy", place / "new.csv", "--fee-weight", "0.1", "--out", place / "routes.csv") == 0

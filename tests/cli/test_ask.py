"""`askwho ask`: from queries to decisions in one command, through real experts."""

import numpy as np
import pytest

from askwho.data import read_table, table_of, write_table
from tests.cli.conftest import queries
from tests.cli.running import printed, refused, run
from tests.synthetic import FEES


@pytest.fixture
def town(tmp_path):
    """Recorded experts, and queries without answers."""
    table = queries(30)
    write_table(tmp_path / "recorded.parquet", table)
    known = {name: values for name, values in table.items() if name.startswith("x_") or name == "id"}
    write_table(tmp_path / "queries.csv", known)
    text = "".join(
        f'[experts.{name}]\nkind = "recorded"\ntable = "recorded.parquet"\nfee = {fee}\n' for name, fee in FEES.items()
    )
    (tmp_path / "experts.toml").write_text(text)
    return tmp_path


def words(place, town, *more, out="d.parquet"):
    given = ["ask", place / "policy", town / "queries.csv", "--experts", town / "experts.toml"]
    return [*given, "--deadline", 20, *more, "--out", town / out]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_decisions_are_those_of_route_and_combine(place, town, capsys, ending):
    said = printed(capsys, *words(place, town, "--budget", 0.3, out=f"d.{ending}"))
    assert said["queries"] == said["decided"] == 30
    assert said["fallbacks"] == said["late"] == 0
    assert run("route", place / "policy", town / "queries.csv", "--budget", 0.3, "--out", town / "r.parquet") == 0
    answers = town / "recorded.parquet"
    other = printed(capsys, "combine", place / "policy", town / "r.parquet", answers, "--out", town / "c.parquet")
    asked, combined = table_of(town / f"d.{ending}"), table_of(town / "c.parquet")
    assert other["mean_fee"] == pytest.approx(said["mean_fee"])
    for name in ("id", "prediction"):
        assert asked[name].tolist() == combined[name].tolist()
    for name in ("fee", "probability", "propensity"):
        assert asked[name].tolist() == pytest.approx(combined[name].tolist(), abs=1e-6)


def test_in_turn_and_with_a_ledger_a_log_comes_out(place, town, capsys):
    ledger = town / "books.sqlite"
    said = printed(capsys, *words(place, town, "--fee-weight", 0.05, "--mode", "sequential", "--ledger", ledger))
    assert said["decided"] == 30
    told = printed(capsys, "log", "--ledger", ledger, "--no-propensity", "--out", town / "log.parquet")
    assert told["rows"] == 30
    log = read_table(town / "log.parquet")
    fees = sum(float(np.nansum(log[name])) for name in log if name.startswith("fee_"))
    assert fees == pytest.approx(said["paid"])


def test_a_run_never_spends_more_than_it_may(place, town, capsys):
    ledger = town / "books.sqlite"
    for _ in range(2):
        # What an earlier run spent is not this one's, even in one ledger.
        said = printed(capsys, *words(place, town, "--k", 2, "--spend", 1.5))
        assert 0 < said["paid"] <= 1.5
        assert said["decided"] < 30
    said = printed(capsys, *words(place, town, "--k", 1, "--spend", 0.5, "--ledger", ledger))
    assert 0 < said["paid"] <= 0.5


def test_a_budget_of_the_ledger_is_kept(place, town, capsys):
    ledger = town / "books.sqlite"
    assert run("budget", "--ledger", ledger, "today=0.7/day") == 0
    said = printed(capsys, *words(place, town, "--k", 2, "--ledger", ledger, "--budgets", "today"))
    assert 0 < said["paid"] <= 0.7
    assert printed(capsys, "budget", "--ledger", ledger, "today")["today"]["spent"] == pytest.approx(said["paid"])


def test_bad_input_is_one_clear_line(place, town, capsys):
    assert "One target must be given" in refused(capsys, *words(place, town))
    assert "`--budgets` must come with `--ledger`" in refused(capsys, *words(place, town, "--k", 1, "--budgets", "a"))
    (town / "experts.toml").write_text('[experts.left]\nkind = "smoke"\n')
    assert "experts.toml, line 2" in refused(capsys, *words(place, town, "--k", 1))
    (town / "experts.toml").write_text('[experts.left]\nkind = "recorded"\ntable = "recorded.parquet"\n')
    assert "missing: ['right', 'both', 'noise']" in refused(capsys, *words(place, town, "--k", 1))

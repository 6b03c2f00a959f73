"""`askwho ask`: from queries to decisions in one command, through real experts."""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

from askwho.cli._kept import Kept
from askwho.data import read_table, table_of, write_table
from askwho.ledger import open_ledger
from tests.cli.conftest import queries
from tests.cli.running import ROOT, printed, refused, run
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


def test_what_was_explored_in_turn_can_be_fitted_and_judged(place, town, capsys):
    table = queries(150)
    write_table(town / "recorded.parquet", table)
    known = {name: values for name, values in table.items() if name.startswith("x_") or name == "id"}
    write_table(town / "queries.csv", known)
    ledger = town / "books.sqlite"
    more = ["--fee-weight", 0.05, "--mode", "sequential", "--explore", 0.3, "--ledger", ledger]
    assert printed(capsys, *words(place, town, *more))["decided"] == 150
    # The chance of the whole way is told; that of the set is not known, and so in the ledger's log there is none.
    assert 0 < read_table(town / "d.parquet")["propensity"].min() < 1

    async def tell():
        async with open_ledger(ledger) as books:
            for i, id_ in enumerate(table["id"]):
                await books.outcome(id_, str(table["truth"][i]))

    asyncio.run(tell())
    assert "`propensity` must be known of some decisions" in refused(
        capsys, "log", "--ledger", ledger, "--out", town / "log.parquet"
    )
    told = printed(capsys, "log", "--ledger", ledger, "--no-propensity", "--out", town / "log.parquet")
    assert told["rows"] == told["truths"] == 150
    shape = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--fees", "fee_*", "--id", "id"]
    fitted = ["--learner", "linear", "--base", "none", "--cv", 2, "--out", town / "policy"]
    assert run("fit", town / "log.parquet", *shape, *fitted) == 0
    assert run("evaluate", town / "policy", town / "log.parquet") == 0


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


SLOW = """
import time

def left(known):
    with open({books!r}, "a") as books:
        books.write(known["id"] + "\\n")
    time.sleep(0.02)
    return "cat"
"""


def slow_town(town):
    """One of the experts is slow, and keeps books of whom he was asked about."""
    books = town / "books"
    (town / "slow_expert.py").write_text(SLOW.format(books=str(books)))
    text = (town / "experts.toml").read_text()
    recorded = 'kind = "recorded"\ntable = "recorded.parquet"'
    for name in FEES:
        slow = 'kind = "python"\nfunction = "slow_expert:left"\nconcurrency = 2'
        text = text.replace(f"[experts.{name}]\n{recorded}", f"[experts.{name}]\n{slow}")
    (town / "experts.toml").write_text(text)
    return books


def test_killed_it_goes_on_where_it_stopped(place, town, capsys, monkeypatch):
    books = slow_town(town)
    monkeypatch.syspath_prepend(town)
    more = ["--k", 1, "--at-a-time", 4, "--spend", 100, "--ledger", town / "l.sqlite"]
    command = [str(word) for word in words(place, town, *more)]
    code = f"import sys; sys.path.insert(0, {str(town)!r})\nfrom askwho.cli import status_of\nstatus_of({command!r})"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    while not books.exists() or len(books.read_text().split()) < 12:
        time.sleep(0.005)
        assert process.poll() is None
    process.kill()
    process.wait()
    assert not (town / "d.parquet").exists()
    asked = Counter(books.read_text().split())
    said = printed(capsys, *words(place, town, *more))
    assert said["queries"] == said["decided"] == said["calls"] == 30
    found = read_table(town / "d.parquet")
    assert found["id"].tolist() == read_table(town / "queries.csv")["id"].tolist()
    assert set(found["prediction"]) == {"cat"}
    again = Counter(books.read_text().split()) - asked
    # Asked twice are at most those who were under way, four at a time; and of the rest none is missing.
    assert sum(asked.values()) + sum(again.values()) <= 30 + 4
    assert asked.keys() | again.keys() == set(found["id"])
    assert not list(town.glob(".*.journal"))


def test_a_run_of_something_else_is_refused(place, town, capsys):
    journal = town / ".d.parquet.journal"
    run(*words(place, town, "--k", 1))
    head = {"policy": "another", "spent": 0}
    journal.write_text(json.dumps(head) + "\n")
    assert "must be of the same policy, experts and options" in refused(capsys, *words(place, town, "--k", 1))
    journal.unlink()


def test_another_query_in_the_place_of_one_that_is_done_is_refused(place, town, capsys):
    given = words(place, town, "--k", 1)
    with pytest.raises(StoppedError):
        stopped(given)
    journal = town / ".d.parquet.journal"
    assert len(journal.read_text().splitlines()) == 6
    table = read_table(town / "queries.csv")
    write_table(town / "queries.csv", {name: values[::-1] for name, values in table.items()})
    assert "got another in row" in refused(capsys, *given)
    write_table(town / "queries.csv", table)
    # A last line that was cut off counts as not written.
    journal.write_text(journal.read_text()[:-9])
    assert printed(capsys, *given)["decided"] == 30


class StoppedError(Exception):
    """Somebody pulled the plug."""


def stopped(given):
    """Run a command that is stopped after five queries."""
    with pytest.MonkeyPatch.context() as patch:
        add, done = Kept.add, []

        def five(self, *told):
            if len(done) == 5:
                raise StoppedError
            done.append(told)
            add(self, *told)

        patch.setattr(Kept, "add", five)
        run(*given)

"""An exported ledger is a log: it is read, fitted on, and tells its probabilities where they are known."""

import asyncio
import json

import numpy as np
import pytest

from askwho import Columns, Target, evaluate, fit, read_log
from askwho._money import nanos
from askwho.cli import status_of
from askwho.data import read_table
from askwho.exceptions import InvalidInputError
from askwho.ledger import Call, open_ledger, read_ledger
from tests import synthetic
from tests.ledger.books import START, Clock, call, run

LIVE = Columns(
    truth="truth",
    answers="answer_*",
    features="x_*",
    fees="fee_*",
    info="info_*",
    id="id",
    time="time",
    propensity="propensity",
)


async def lived(ledger, policy, table, n, *, failing=0.1):
    """Decide, ask and settle as a live process does; now and then somebody fails, and another answers instead."""
    rng = np.random.default_rng(0)
    queries = {name: values[:n] for name, values in table.items() if name.startswith("x_")}
    decisions = policy.decide(queries, Target(k=1), explore=0.5, random_state=0)
    for i, made in enumerate(decisions):
        query = {name: values[i] for name, values in queries.items()}
        told = {"ask": list(made.ask), "propensity": made.propensity, "target": {"k": 1}}
        telling = ledger.decided(made.id, query=query, decision=told, at=START + i)
        asked = [*made.ask, *(name for name in policy.panel.names if name not in made.ask)]
        for place, name in enumerate(asked):
            worst = nanos(2 * synthetic.FEES[name])
            assert await ledger.hold([Call(f"{made.id}-{place}", made.id, name, "k", worst, START + 60)]) == [True]
            if rng.random() < failing:
                await ledger.unknown(f"{made.id}-{place}", "reset in mid-body")
                continue
            said, fee = table[f"answer_{name}"][i], nanos(synthetic.FEES[name])
            await ledger.settle(f"{made.id}-{place}", charged=fee, answer=said, info=0.5)
            break
        await telling
        await ledger.outcome(made.id, table["truth"][i])
    return decisions


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory, policy):
    """A ledger in a file after 400 queries, and what was decided."""
    url = str(tmp_path_factory.mktemp("lived") / "ledger.sqlite")
    table = synthetic.classification(400, seed=5)
    return url, run(url, lambda ledger: lived(ledger, policy, table, 400)), table


def test_a_policy_is_fitted_on_an_exported_ledger(lived_in):
    url, decisions, table = lived_in
    columns = read_ledger(url)
    log = read_log(columns, LIVE)
    assert len(log) == 400
    assert log.ids.tolist() == decisions.ids.tolist()
    assert log.sampling.time.tolist() == [START + i for i in range(400)]
    # Where somebody failed the probability is not known, and nothing is learned; nine in ten were as decided.
    known = ~np.isnan(log.sampling.propensity)
    assert 0.8 < known.mean() < 0.97
    assert (log.audited == known).all()
    assert log.sampling.propensity[known].tolist() == decisions.propensity[known].tolist()
    asked = np.array([row[0] for row in decisions.selection.order])
    for j, name in enumerate(log.panel.names):
        mine = known & (asked == decisions.panel.index(name))
        assert (log.asked[:, j] == mine).all()
        assert (log.fees[mine, j] == synthetic.FEES[name]).all()
        assert log.answers.values[mine, j].tolist() == table[f"answer_{name}"][mine].tolist()
    fitted = fit(log.rows(np.arange(300)), learner="linear", base="none", cv=2)
    assert set(fitted.panel.names) == set(synthetic.FEES)
    assert evaluate(fitted, log.rows(np.arange(300, 400)), draws=5)["n"] == 100


def test_without_probabilities_all_truths_are_told(lived_in):
    url, _, table = lived_in
    columns = read_ledger(url, propensity=False)
    assert "propensity" not in columns
    assert columns["truth"] == table["truth"].tolist()
    log = read_log(columns, Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*", id="id"))
    assert log.audited.all()
    # Those who failed were paid at the worst case, as far as anybody knows; that is told, though they said nothing.
    paid = np.array([[np.nan if fee is None else fee for fee in columns[f"fee_{n}"]] for n in synthetic.FEES]).T
    said = np.array([[cell is not None for cell in columns[f"answer_{name}"]] for name in synthetic.FEES]).T
    assert (~np.isnan(paid[said])).all()
    failed = ~np.isnan(paid) & ~said
    assert failed.any()
    twice = np.broadcast_to(2 * np.array(list(synthetic.FEES.values())), paid.shape)
    assert paid[failed] == pytest.approx(twice[failed])


def test_the_command_writes_the_same_log(lived_in, tmp_path, capsys):
    url, _, _ = lived_in
    assert status_of(["log", "--ledger", url, "--out", str(tmp_path / "log.parquet"), "--json"]) == 0
    told, columns = json.loads(capsys.readouterr().out), read_ledger(url)
    assert told["rows"] == 400
    assert told["truths"] == told["propensities"] == sum(each is not None for each in columns["propensity"])
    assert told["experts"] == sorted(synthetic.FEES)
    table = read_table(tmp_path / "log.parquet")
    assert list(table) == list(columns)
    assert table["answer_left"].tolist() == columns["answer_left"]
    words = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--fees", "fee_*", "--id", "id"]
    words += ["--time", "time", "--propensity", "propensity", "--learner", "linear", "--base", "none", "--cv", "2"]
    assert status_of(["fit", str(tmp_path / "log.parquet"), *words, "--out", str(tmp_path / "policy")]) == 0
    assert status_of(["log", "--ledger", url, "--no-propensity", "--out", str(tmp_path / "all.csv")]) == 0
    assert "propensity" not in read_table(tmp_path / "all.csv")


def test_the_command_creates_no_ledger(tmp_path, capsys):
    assert status_of(["log", "--ledger", str(tmp_path / "none.sqlite"), "--out", str(tmp_path / "log.csv")]) == 2
    assert "must be a ledger that is there" in capsys.readouterr().err
    asyncio.run(open_ledger(tmp_path / "empty.sqlite").close())
    assert status_of(["log", "--ledger", str(tmp_path / "empty.sqlite"), "--out", str(tmp_path / "log.csv")]) == 2
    assert "must hold decisions, got none" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"empty.sqlite"}


def test_budgets_are_set_shown_and_removed_by_a_command(url, capsys):
    def told(*words):
        assert status_of(["budget", "--ledger", url, *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert told("day=0.5/day", "key=2") == {
        "day": {"limit": 0.5, "spent": 0.0, "held": 0.0, "left": 0.5},
        "key": {"limit": 2.0, "spent": 0.0, "held": 0.0, "left": 2.0},
    }

    async def story(ledger):
        await ledger.hold([call("a", nanos("0.25"), until=2e10)], budgets=["day", "key"])
        await ledger.settle("a", charged=nanos("0.125"))
        await ledger.hold([call("b", nanos("0.1"), until=2e10)], budgets=["key"])

    run(url, story, clock=Clock())
    assert told("key=1") == {"key": {"limit": 1.0, "spent": 0.125, "held": 0.1, "left": 0.775}}
    assert status_of(["budget", "--ledger", url, "key"]) == 0
    assert capsys.readouterr().out.split()[5:] == ["key", "1", "0.125", "0.1", "0.775"]
    assert told("key=none", "day=none") == {}
    for words, said in [
        (["key"], "must be set before"),
        (["key=1/week"], "`period` must be one of"),
        (["key=much"], "must be a number, got 'much'"),
        (["key=-1"], "at least 0"),
        (["key=1", "key=2"], "more than once"),
    ]:
        assert status_of(["budget", "--ledger", url, *words]) == 2
        assert said in capsys.readouterr().err


def test_what_a_query_calls_like_ours_is_kept_under_another_name(url):
    async def story(ledger):
        for i in range(2):
            query = {"id": f"d{i}", "time": "noon", "truth": 1, "answer_old": "x", "note": i}
            await ledger.decided(f"d{i}", query=query if i else {"id": "d0"}, decision={"ask": [], "propensity": 1.0})
        await ledger.decided("d2", query={"id": "d2"}, decision={}, at=START + 1)
        return ledger.export()

    assert run(url, story) == {
        "id": ["d0", "d1", "d2"],
        "time": [START, START, START + 1],
        "query_time": [None, "noon", None],
        "query_truth": [None, 1, None],
        "query_answer_old": [None, "x", None],
        "note": [None, 1, None],
        "propensity": [1.0, 1.0, None],
        "truth": [None, None, None],
    }


def test_attempts_at_one_expert_are_one_answer_and_one_fee(url):
    async def story(ledger):
        await ledger.decided("d", query={"x": 1}, decision={"ask": ["a"], "propensity": 1.0})
        await ledger.hold([call("1"), call("2"), call("3"), call("4", expert="b")])
        await ledger.settle("1", charged=30, why="truncated JSON")
        await ledger.free("2", "429")
        await ledger.settle("3", charged=50, answer="yes")
        await ledger.settle("4", charged=70, why="empty choices")
        return ledger.export()

    found = run(url, story)
    assert found["answer_a"] == ["yes"]
    assert found["fee_a"] == [8e-8]
    # Who never gave an answer has no columns: nothing could be learned of it.
    assert "answer_b" not in found
    assert found["propensity"] == [1.0]


def test_a_ledger_that_tells_no_probability_says_so(url):
    async def story(ledger):
        await ledger.decided("d", query={"x": 1}, decision={"ask": ["a"], "propensity": None})
        with pytest.raises(InvalidInputError, match="`propensity` must be known of some decisions, got none"):
            ledger.export()
        return ledger.export(propensity=False)["id"]

    assert run(url, story) == ["d"]

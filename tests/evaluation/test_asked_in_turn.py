"""Logs whose later questions went by earlier answers, and logs that show part of the queries: what is told is so."""

from functools import cache

import numpy as np
import pytest

from askwho import Columns, Target, calibrate, evaluate, fit, read_log

FEES = {"甲": 0.3, "乙": 0.3, "丙": 1.0}
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES, task="classification")
N = 800
SEEDS = range(4)


def world(n, seed):
    """Two cheap ones, each good at one side, and a dear one; some queries are hard, which no column tells."""
    rng = np.random.default_rng(seed)
    x, truth, hard = rng.uniform(-1, 1, (n, 2)), rng.integers(0, 3, n), rng.random(n) < 0.3
    table = {f"x_{i}": x[:, i] for i in range(2)} | {"truth": truth.astype(float)}
    side = x[:, 0] > 0
    good = (np.where(side, 0.9, 0.6), np.where(side, 0.55, 0.9), np.full(n, 0.95))
    for name, chance in zip(FEES, good, strict=True):
        right = rng.random(n) < chance - 0.25 * hard
        table[f"answer_{name}"] = np.where(right, truth, (truth + rng.integers(1, 3, n)) % 3).astype(float)
    return table


@cache
def policy(seed):
    return fit(read_log(world(400, 5_000 + seed), COLUMNS), learner="linear", base="none", cv=3)


@cache
def large():
    return world(6_000, 90_000)


def asked_in_turn(judge, table, budget):
    """What is left of a table whose questions a policy asks one after another."""
    log = {name: np.full(len(column), np.nan) if "answer" in name else column for name, column in table.items()}
    for _ in FEES:
        step = judge.next(log, target=Target(budget=budget))
        for j, name in enumerate(FEES):
            heard = (step.k > 0) & (step.order[:, 0] == j)
            log[f"answer_{name}"] = np.where(heard, table[f"answer_{name}"], log[f"answer_{name}"])
    return log


def paid(log):
    return sum(fee * (~np.isnan(log[f"answer_{name}"])).mean() for name, fee in FEES.items())


@pytest.fixture(scope="module")
def judged():
    """What is told of asking in turn by another policy than the log's, and what is so, by seed."""
    found = []
    for seed in SEEDS:
        log = asked_in_turn(policy(seed), world(N, 20_000 + seed), 0.8)
        told, true = (evaluate(policy(seed + 50), read_log(each, COLUMNS), draws=50) for each in (log, large()))
        found.append(list(zip(told["sequential"], true["sequential"], strict=True)))
    return found


def test_fees_in_turn_of_a_log_that_was_asked_in_turn_are_those_that_would_be_paid(judged):
    rows = [pair for each in judged for pair in each]
    off = np.array([told["mean_fee"] / true["mean_fee"] - 1 for told, true in rows])
    assert np.abs(off).max() < 0.15
    assert abs(off.mean()) < 0.02
    held = [
        told["mean_fee_interval"][0] - 1e-9 <= true["mean_fee"] <= told["mean_fee_interval"][1] + 1e-9
        for told, true in rows
    ]
    assert np.mean(held) > 0.8
    sizes = [told["mean_k"] / true["mean_k"] - 1 for told, true in rows]
    assert np.abs(sizes).max() < 0.15


def test_errors_that_such_a_log_cannot_show_are_not_told(judged):
    told = [(one, true) for each in judged for one, true in each if one["error"] is not None]
    held = [one["error_interval"][0] <= true["error"] <= one["error_interval"][1] for one, true in told]
    assert np.mean(held) > 0.9
    # At the lowest price everybody is asked who may help: the log's own policies stopped before.
    assert any(each[0][0]["error"] is None for each in judged)


@pytest.mark.parametrize("in_turn", [True, False], ids=["in turn", "explored at once"])
def test_a_policy_that_is_calibrated_on_what_another_asked_keeps_a_budget_in_turn(in_turn):
    ratios = []
    for seed in SEEDS:
        ours, rows = policy(seed), world(N, 20_000 + seed)
        if in_turn:
            log = asked_in_turn(ours, rows, 0.8)
        else:
            # The column of probabilities is not named.
            made = ours.decide(rows, Target(budget=0.8), explore=0.1, random_state=seed)
            asked = dict(zip(FEES, made.members.T, strict=True))
            log = rows | {f"answer_{name}": np.where(asked[name], rows[f"answer_{name}"], np.nan) for name in FEES}
        fresh = calibrate(ours, read_log(log, COLUMNS))
        ratios.append([paid(asked_in_turn(fresh, large(), budget)) / budget for budget in (0.5, 0.8, 1.1)])
    error = np.std(ratios, axis=0, ddof=1) / np.sqrt(len(ratios))
    assert (np.mean(ratios, axis=0) <= 1.02 + 2 * error).all()
    assert np.max(ratios) < 1.06


def test_what_a_log_never_shows_of_part_of_the_queries_is_not_told():
    rows = world(N, 7)
    side = rows["x_0"] > 0
    # The dear one is asked about one side alone.
    log = rows | {"answer_丙": np.where(side, rows["answer_丙"], np.nan)}
    told = {each["name"]: each for each in evaluate(policy(0), read_log(log, COLUMNS), draws=20)["entities"]}
    assert told["丙"]["error"] is None
    assert told["丙"]["effective_rows"] == 0
    assert told["甲"]["error"] is not None


def looked_at(rows, often, seed):
    """The same with the truth of those alone that somebody looked at: by whether the cheap ones differ."""
    differ = rows["answer_甲"] != rows["answer_乙"]
    look = np.random.default_rng(seed).random(N) < np.where(differ, *often)
    return rows | {"truth": np.where(look, rows["truth"], np.nan)}


def test_truths_that_were_looked_up_where_answers_differ_are_weighed_by_that():
    true = evaluate(policy(0), read_log(large(), COLUMNS), draws=2)
    off = []
    for seed in SEEDS:
        log = read_log(looked_at(world(N, 20_000 + seed), (0.9, 0.2), seed), COLUMNS)
        told = evaluate(policy(0), log, draws=50)
        for one, real in zip(told["adaptive"][::6], true["adaptive"][::6], strict=True):
            low, high = one["error_interval"]
            assert low - 0.01 <= real["error"] <= high + 0.01
        off.append([one["error"] - real["error"] for one, real in zip(told["entities"], true["entities"], strict=True)])
    np.testing.assert_allclose(np.mean(off, axis=0), 0.0, atol=0.04)


def test_of_rows_that_nobody_looked_at_since_answers_agree_nothing_is_told():
    log = read_log(looked_at(world(N, 20_000), (1.0, 0.0), 0), COLUMNS)
    found = evaluate(policy(0), log, draws=20)
    assert all(each["error"] is None for each in (*found["entities"], *found["adaptive"], *found["sequential"]))
    assert found["headline"]["best_single_error"] is None
    # Whom one asks, and what he charges, needs no truth.
    assert found["adaptive"][0]["mean_fee"] is not None

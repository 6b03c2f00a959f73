"""Logs whose truth is known of some rows alone: figures are those of all rows, budgets are kept on all of them."""

import dataclasses

import numpy as np
import pytest

from askwho import Columns, InvalidInputError, Target, calibrate, evaluate, fit, read_log
from askwho.data import describe, read_logs, write_table
from askwho.policy import GivenChances, LearnedChances
from askwho.replay import Replay

FEES = {"甲": 1.0, "乙": 1.0, "丙": 2.0}
LABELS = np.array(["猫", "狗", "鸟"])
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)
TOLD = dataclasses.replace(COLUMNS, propensity="chance")
QUICK = {"learner": "linear", "base": "none", "cv": 3}
AT_ONCE = QUICK | {"committee": "majority"}


def world(n, seed):
    """Queries that are hard or not, which their features tell in part; and what they cost goes by that, too."""
    rng = np.random.default_rng(seed)
    x, truth = rng.uniform(-1, 1, (n, 3)), rng.integers(0, 3, n)
    hard = rng.random(n) < np.where(x[:, 0] > 0, 0.7, 0.3)
    table = {f"x_{i}": x[:, i] for i in range(3)} | {"truth": LABELS[truth]}
    for j, name in enumerate(FEES):
        right = rng.random(n) < np.where(hard, 0.5, 0.95) - 0.1 * x[:, j]
        table[f"answer_{name}"] = LABELS[np.where(right, truth, (truth + rng.integers(1, 3, n)) % 3)]
    return table, hard


def looked_at(table, chance, seed):
    """The same with the truth of those that chance looked at, and with what probability it did."""
    look = np.random.default_rng(seed).random(len(chance)) < chance
    truth = np.where(look, table["truth"].astype(object), None)
    return table | {"truth": truth, "chance": np.where(look, chance, np.nan)}


def by_hardness(n, seed):
    table, hard = world(n, seed)
    return looked_at(table, np.where(hard, 0.8, 0.1), seed)


@pytest.fixture(scope="module")
def policy():
    return fit(read_log(by_hardness(900, 0), TOLD), **QUICK)


@pytest.fixture(scope="module")
def complete():
    return read_log(world(1200, 1)[0], COLUMNS)


def test_figures_are_those_of_the_complete_log(policy, complete):
    whole = evaluate(policy, complete, draws=100)
    told = evaluate(policy, read_log(by_hardness(1200, 1), TOLD), draws=100)
    plain = evaluate(policy, read_log(by_hardness(1200, 1), COLUMNS), draws=100)
    assert told["n"] == 1200
    for kind in ("adaptive", "sequential", "fixed_k"):
        for row, true in zip(told[kind], whole[kind], strict=True):
            low, high = row["error_interval"]
            assert low - 0.01 <= true["error"] <= high + 0.01
            assert row["mean_fee"] == pytest.approx(true["mean_fee"], rel=1e-9)
    for name in ("best_single", "majority_all", "weighted_all"):
        row, true = told["baselines"][name], whole["baselines"][name]
        assert row["error"] == pytest.approx(true["error"], abs=0.05)
        assert row["mean_fee"] == pytest.approx(true["mean_fee"])
        # Nothing else tells how hard a query was, but for answers that differ, which tell a part of it.
        assert plain["baselines"][name]["error"] > true["error"] + 0.03
    assert told["baselines"]["oracle"][0]["needs_truth_error"] == pytest.approx(
        whole["baselines"]["oracle"][0]["needs_truth_error"], abs=0.02
    )


def test_a_budget_is_met_on_complete_rows_and_expectations_hold(complete):
    paid, off, entities = [], [], []
    # What is learned goes by the third of the rows that was looked at, some for ten others: one log's fees scatter by
    # .15 and its expected errors by .04, their means do not.
    for seed in range(6):
        policy = fit(read_log(by_hardness(900, seed), TOLD), **AT_ONCE)
        seen = Replay.of(policy, complete).seen
        decided = [policy.decide(seen, Target(budget=budget)) for budget in (1.2, 2.0)]
        paid.append([each.fee.mean() for each in decided])
        came = [np.mean(policy.combine(each, complete.answers).outcome.values != complete.truth) for each in decided]
        off.append([each.expected_error.mean() - real for each, real in zip(decided, came, strict=True)])
        entities.append(policy.facts.entity_errors)
    assert (np.mean(paid, axis=0) <= np.array([1.2, 2.0]) + 2 * np.std(paid, axis=0, ddof=1) / np.sqrt(len(paid))).all()
    np.testing.assert_allclose(np.mean(off, axis=0), 0.0, atol=0.04)
    np.testing.assert_allclose(np.mean(entities, axis=0), complete.errors.mean(axis=0), atol=0.04)


def test_rows_without_a_truth_are_met_too_and_promise_nothing(policy):
    assert policy.tried.fees.shape[1] == policy.turns.tried.fees.shape[1] == 900
    assert np.isfinite(policy.tried.errors).all()
    assert policy.tried.estimated == ("errors",)
    assert policy.turns.tried.estimated == ("errors", "fees")
    fresh = calibrate(policy, read_log(by_hardness(500, 3), TOLD))
    assert fresh.tried.fees.shape[1] == 500
    assert fresh.setting(Target(budget=2.0, confidence=0.9)) is not None
    with pytest.raises(
        InvalidInputError,
        match="not everybody was asked, or not every truth is known",
    ):
        fresh.setting(Target(max_error=0.5, confidence=0.9))
    # In turn what is paid goes by answers, which are there though nothing tells whether they are right.
    whole = calibrate(policy, read_log(world(500, 3)[0], COLUMNS))
    np.testing.assert_allclose(fresh.turns.tried.fees, whole.turns.tried.fees)
    np.testing.assert_allclose(fresh.turns.tried.errors.mean(axis=1), whole.turns.tried.errors.mean(axis=1), atol=0.06)


def test_a_feature_that_says_what_is_looked_at_is_learned():
    """Hard queries are looked at, as their feature tells: the share of errors among them is not that of all."""
    table, _ = world(1200, 4)
    log = read_log(looked_at(table, np.where(table["x_0"] > 0, 0.7, 0.15), 4), COLUMNS)
    found = evaluate(fit(log, **AT_ONCE), log, draws=20)
    true = read_log(table, COLUMNS).errors.mean(axis=0)
    for one, error, seen in zip(found["entities"], true, np.nanmean(log.errors, axis=0), strict=True):
        assert one["error"] == pytest.approx(error, abs=0.035)
        assert seen > error + 0.03


def test_holes_and_missing_truths_go_together():
    table, hard = world(1000, 5)
    rng = np.random.default_rng(5)
    log = looked_at(table, np.where(table["x_0"] > 0, 0.8, 0.3), 5)
    for name in FEES:
        log[f"answer_{name}"] = np.where(rng.random(1000) < 0.6, log[f"answer_{name}"].astype(object), None)
    read = read_log(log, COLUMNS)
    policy = fit(read, **AT_ONCE)
    chances = Replay.of(policy, read).chances
    assert isinstance(chances, LearnedChances)
    pair = np.zeros(read.errors.shape, dtype=bool)
    pair[:, :2] = True
    weights = chances.weights(pair)
    assert ((weights > 0) == (read.audited & read.asked[:, :2].all(axis=1))).all()
    assert weights.mean() == pytest.approx(1.0, abs=0.12)
    assert np.average(table["x_0"], weights=weights) == pytest.approx(0.0, abs=0.08)
    assert np.average(hard, weights=weights) == pytest.approx(hard.mean(), abs=0.08)


def test_a_base_of_our_own_learns_from_what_is_known_and_speaks_of_all():
    table, hard = world(500, 6)
    table["x_1"] = np.searchsorted(np.sort(LABELS), table["truth"]) + np.random.default_rng(6).normal(0, 0.4, 500)
    log = read_log(looked_at(table, np.where(hard, 0.7, 0.3), 6), TOLD)
    policy = fit(log, learner="linear", cv=2)
    assert policy.base is not None
    held = Replay.of(policy, log)
    assert isinstance(held.chances, GivenChances)
    assert held.log.errors.shape == (500, 4)
    np.testing.assert_array_equal(np.isnan(held.log.errors).all(axis=1), ~log.audited)
    alone = np.tile([0], (500, 1))
    np.testing.assert_array_equal(np.isnan(held.errors(alone)[:, 0]), ~log.audited)
    found = evaluate(policy, log, draws=20)
    said = policy.see(log.known).said
    assert found["entities"][0]["error"] == pytest.approx(np.mean(said != table["truth"]), abs=0.06)


def test_a_look_says_how_many_and_scores_the_others():
    log = by_hardness(600, 7)
    found = describe(log, TOLD)
    (problem,) = found.problems
    missing = int(sum(value is None for value in log["truth"]))
    assert found.usable
    assert (problem.severity, problem.column) == ("warning", "truth")
    assert problem.message.startswith(f"{missing} of 600 rows without a truth ({missing / 600:.0%})")
    assert [entity["asked"] for entity in found.entities] == [1.0] * 3


def test_rows_that_were_left_out_are_asked_for():
    log = by_hardness(300, 7)
    kept = np.array([value is not None for value in log["truth"]])
    found = describe({name: values[kept] for name, values in log.items()}, TOLD)
    (problem,) = found.problems
    assert (problem.severity, problem.column) == ("warning", "chance")
    assert "rows that were not looked at must be in the log, too" in problem.message
    assert not describe(world(300, 7)[0] | {"chance": np.ones(300)}, TOLD).problems


@pytest.mark.parametrize("columns", [COLUMNS, TOLD], ids=["learned", "told"])
def test_a_batch_that_nobody_looked_at_is_read_and_judged(policy, columns, tmp_path):
    log = by_hardness(200, 11)
    log["truth"][50:100] = None
    log["truth"][101:150] = None
    log["chance"][np.equal(log["truth"], None)] = np.nan
    write_table(tmp_path / "log.parquet", log)
    words = {"usual": FEES, "rows": 50}
    batches = list(read_logs(tmp_path / "log.parquet", dataclasses.replace(columns, task="classification"), **words))
    assert [int(batch.audited.sum()) for batch in batches[1:3]] == [0, int(log["truth"][100] is not None)]
    found = evaluate(policy, batches, draws=10)
    assert found["n"] == 200
    assert np.isfinite(found["adaptive"][0]["mean_fee"])


def test_numbers_too():
    rng = np.random.default_rng(8)
    x, hard = rng.uniform(-1, 1, (700, 2)), rng.random(700) < 0.5
    truth = 10 + 3 * rng.normal(size=700)
    table = {f"x_{i}": x[:, i] for i in range(2)} | {"truth": truth}
    for name in FEES:
        table[f"answer_{name}"] = truth + np.where(hard, 2.0, 0.5) * rng.normal(size=700)
    chance = np.where(hard, 0.8, 0.2)
    look = rng.random(700) < chance
    log = read_log(table | {"truth": np.where(look, truth, np.nan), "chance": np.where(look, chance, np.nan)}, TOLD)
    policy = fit(log, **QUICK)
    assert policy.task == "regression"
    found = evaluate(policy, log, draws=20)["entities"]
    rmse = np.sqrt(read_log(table, COLUMNS).errors.mean(axis=0))
    np.testing.assert_allclose([one["error"] for one in found], rmse, rtol=0.12)
    assert (np.sqrt(np.nanmean(log.errors, axis=0)) > 1.1 * rmse).all()


def test_too_few_truths_are_refused():
    table, _ = world(40, 9)
    truth = table["truth"].astype(object)
    truth[7:] = None
    with pytest.raises(InvalidInputError, match="`truth` must have at least 8 rows, got n_samples=7"):
        fit(read_log(table | {"truth": truth}, COLUMNS), **QUICK)
    with pytest.raises(InvalidInputError, match="`truth` must be known of some rows, got none"):
        read_log(table | {"truth": [None] * 40}, COLUMNS)
    truth = table["truth"].astype(object)
    truth[10:] = None
    for extra in ({}, {"chance": np.where(np.arange(40) < 10, 0.25, np.nan)}):
        few = read_log(table | {"truth": truth} | extra, TOLD if extra else COLUMNS)
        policy = fit(few, **AT_ONCE)
        assert policy.decide(table, Target(budget=1.0)).fee.mean() <= 1.0
        assert evaluate(policy, few, draws=10)["n"] == 40


def test_rows_kept_for_promises_may_lack_their_truth():
    policy = fit(read_log(by_hardness(400, 10), TOLD), **AT_ONCE, promise=0.4)
    assert policy.tried.kept.estimated == ("errors",)
    assert policy.setting(Target(budget=2.0, confidence=0.8)) is not None


def test_what_truths_tell_that_were_looked_up_where_two_differ(complete):
    off, expected = [], []
    for seed in range(4):
        table, _ = world(900, 40 + seed)
        differ = table["answer_甲"] != table["answer_乙"]
        log = looked_at(table, np.where(differ, 0.9, 0.2), seed)
        policy = fit(read_log(log, COLUMNS), **AT_ONCE)
        off.append(policy.facts.entity_errors - complete.errors.mean(axis=0))
        seen = Replay.of(policy, complete).seen
        decided = policy.decide(seen, Target(budget=2.0))
        assert decided.fee.mean() <= 2.0 * 1.05
        came = np.mean(policy.combine(decided, complete.answers).outcome.values != complete.truth)
        expected.append(decided.expected_error.mean() - came)
    # As if nothing went by what differs, each is told .11 to .14 too high.
    np.testing.assert_allclose(np.mean(off, axis=0), 0.0, atol=0.03)
    assert np.mean(expected) == pytest.approx(0.0, abs=0.03)

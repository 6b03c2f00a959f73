"""Logs that tell with what probability those were asked who were: from the policy's own routes, or by somebody."""

import dataclasses

import numpy as np
import pytest

from askwho import Columns, InvalidInputError, Target, calibrate, evaluate, fit, read_log
from askwho.evaluation import Resamples, single_point
from askwho.policy import GivenChances, LearnedChances
from askwho.replay import Replay

NAMES = ("甲", "乙", "丙")
LABELS = np.array(["猫", "狗", "鸟"])
FEES = dict.fromkeys(NAMES, 1.0)
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)
TOLD = dataclasses.replace(COLUMNS, propensity="chance")


def world(n, seed):
    """Three of whom each errs more on queries that are hard, which no column tells."""
    rng = np.random.default_rng(seed)
    x, truth, hard = rng.uniform(-1, 1, (n, 2)), rng.integers(0, 3, n), rng.random(n) < 0.5
    table = {f"x_{i}": x[:, i] for i in range(2)} | {"truth": LABELS[truth]}
    for j, name in enumerate(NAMES):
        right = rng.random(n) < np.where(hard, 0.45, 0.95) - 0.05 * j
        table[f"answer_{name}"] = LABELS[np.where(right, truth, (truth + 1) % 3)]
    return table, hard


def thinned(table, hard, seed):
    """One whom chance says; of hard queries mostly the first, who errs there, of the others mostly another."""
    rng = np.random.default_rng(seed)
    chance = np.where(hard[:, None], (0.7, 0.15, 0.15), (0.1, 0.45, 0.45))
    who = (rng.random((len(hard), 1)) > chance.cumsum(axis=1)).sum(axis=1)
    found = dict(table)
    for j, name in enumerate(NAMES):
        found[f"answer_{name}"] = np.where(who == j, table[f"answer_{name}"].astype(object), None)
    return found | {"chance": chance[np.arange(len(who)), who]}


@pytest.fixture(scope="module")
def policy():
    return fit(read_log(world(300, 0)[0], COLUMNS), learner="linear", base="none", committee="majority", cv=3)


def test_reasons_that_no_column_tells_mislead_unless_the_log_tells_their_probability(policy):
    def off(columns, draws):
        found = []
        for seed in range(draws):
            table, hard = world(1200, 100 + seed)
            log = read_log(thinned(table, hard, seed), columns)
            held = Replay.of(policy, log)
            tallies = Resamples.of(log.groups, log.unit, draws=0).tally([single_point(held, j) for j in range(3)])
            found.append([tally.loss[0] for tally in tallies] - read_log(table, COLUMNS).errors.mean(axis=0))
        return np.mean(found, axis=0)

    learned, told = off(COLUMNS, 3), off(TOLD, 20)
    assert learned[0] > 0.1
    assert (learned[1:] < -0.05).all()
    np.testing.assert_allclose(told, 0.0, atol=0.02)


def test_an_interval_covers_what_the_complete_log_says(policy):
    table, hard = world(1500, 5)
    whole = evaluate(policy, read_log(table, COLUMNS), draws=100)
    told = evaluate(policy, read_log(thinned(table, hard, 5), TOLD), draws=100)
    assert told["fixed_k"][0]["effective_rows"] > 100
    for row, true in zip(told["fixed_k"][:1], whole["fixed_k"][:1], strict=True):
        low, high = row["error_interval"]
        assert low <= true["error"] <= high
        assert row["mean_fee"] == pytest.approx(true["mean_fee"])


def test_what_is_thought_of_everybody_goes_by_the_probabilities():
    table, hard = world(1500, 1)
    log = read_log(thinned(table, hard, 1), TOLD)
    learned = fit(log, learner="linear", base="none", committee="majority", cv=3)
    true = read_log(table, COLUMNS).errors.mean(axis=0)
    np.testing.assert_allclose(learned.facts.entity_errors, true, atol=0.08)
    assert np.nanmean(log.errors[:, 0]) > true[0] + 0.1
    assert learned.tried.estimated == ("errors",)
    fresh = calibrate(learned, read_log(thinned(*world(600, 2), 2), TOLD))
    with pytest.raises(InvalidInputError, match="`max_error` cannot be promised on these rows: not everybody was"):
        fresh.setting(Target(max_error=0.9, confidence=0.9))


def test_what_is_certain_and_complete_is_as_if_nothing_was_told(policy):
    table, _ = world(300, 0)
    log = read_log(table | {"chance": np.ones(300)}, TOLD)
    again = fit(log, learner="linear", base="none", committee="majority", cv=3)
    np.testing.assert_array_equal(again.tried.errors, policy.tried.errors)
    assert again.tried.estimated == ()
    assert Replay.of(policy, log).chances is None


def test_a_later_log_need_not_tell(policy):
    table = thinned(*world(600, 3), 3)
    assert isinstance(Replay.of(policy, read_log(table, TOLD)).chances, GivenChances)
    untold = {name: values for name, values in table.items() if name != "chance"}
    with pytest.raises(InvalidInputError, match="`propensity` must be a column of the log, got 'chance': it has"):
        read_log(untold, TOLD)
    later = read_log(untold, TOLD, optional=["propensity"])
    assert later.sampling.propensity is None
    assert isinstance(Replay.of(policy, later).chances, LearnedChances)


def test_a_row_that_tells_something_tells_with_what_probability():
    table = thinned(*world(40, 3), 3)
    table["chance"][[4, 9]] = np.nan
    with pytest.raises(
        InvalidInputError,
        match="`propensity` must be told wherever somebody was asked, got 2 empty cells in 'chance', the first in row "
        "4: where a set was certain it is 1",
    ):
        read_log(table, TOLD)
    for name in NAMES:
        table[f"answer_{name}"][[4, 9]] = None
    assert np.isnan(read_log(table, TOLD).sampling.propensity[4])


def test_what_a_policy_explored_teaches_it_again(policy):
    """The column is the one that decisions are written with, ten rows or many."""
    for n in (10, 400):
        table, _ = world(n, 6)
        decided = policy.decide(table, Target(k=2), explore=0.3, random_state=0)
        columns = decided.to_columns()
        for j, name in enumerate(NAMES):
            table[f"answer_{name}"] = np.where(decided.members[:, j], table[f"answer_{name}"].astype(object), None)
        told = dataclasses.replace(COLUMNS, propensity="propensity")
        log = read_log(table | {"propensity": columns["propensity"]}, told)
        again = fit(log, learner="linear", base="none", committee="majority", cv=2)
        assert again.decide(table, Target(budget=1.0)).fee.mean() <= 1.1
        found = evaluate(again, log, draws=20)
        assert found["n"] == n

import itertools

import numpy as np
import pytest
from askwho.router import Rows, Setting
from askwho.router._promises import Promises
from askwho.router._rows import coins

from askwho import Answers, load, save
from askwho.core import Cell
from askwho.data import Columns, read_log
from askwho.evaluation import evaluate
from askwho.policy import fit_policy
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)


def fitted(table, columns=COLUMNS, **given):
    return fit_policy(read_log(table, columns), learner="linear", cv=3, **{"base": "none", **given})


@pytest.fixture(scope="module")
def policy():
    return fitted(synthetic.classification(700))


@pytest.fixture(scope="module")
def new():
    return synthetic.classification(200, seed=1)


def answers_of(policy, table, heard):
    """The answers of those heard, shape (n, |A|); everybody else was not asked."""
    said = Answers.from_table({name: table[f"answer_{name}"] for name in policy.panel.names}, policy.panel)
    states = np.where(heard, said.states, np.int8(Cell.NOT_ASKED)).astype(np.int8)
    return Answers(said.values, states)


def some(rng, n, size=4):
    return rng.random((n, size)) < rng.random((n, 1))


def taking_turns(policy, table, **target):
    """Ask, hear, and ask again, as a user would; who was asked in the end, and how often it was asked for."""
    X = policy.features(table)
    heard = np.zeros((len(X), len(policy.panel)), dtype=bool)
    for rounds in range(len(policy.panel) + 1):
        step = policy.router.next_step(X, answers_of(policy, table, heard), **target)
        open_ = np.flatnonzero(step.entity >= 0)
        if not open_.size:
            return heard, rounds
        assert not heard[open_, step.entity[open_]].any()
        heard[open_, step.entity[open_]] = True
    pytest.fail("it never stops")


@pytest.mark.parametrize("fee_weight", [0.0, 0.03, 0.3])
def test_the_same_answers_give_the_same_step_alone_in_company_and_in_any_order(policy, new, fee_weight):
    rng = np.random.default_rng(0)
    X, heard = policy.features(new), some(rng, 200)
    said = answers_of(policy, new, heard)
    step = policy.router.next_step(X, said, fee_weight=fee_weight)
    order = rng.permutation(200)
    mixed = policy.router.next_step(X[order], Answers(said.values[order], said.states[order]), fee_weight=fee_weight)
    np.testing.assert_array_equal(mixed.entity, step.entity[order])
    np.testing.assert_allclose(mixed.expected_error, step.expected_error[order], atol=1e-5)
    for i in range(0, 200, 13):
        row = slice(i, i + 1)
        alone = policy.router.next_step(X[row], Answers(said.values[row], said.states[row]), fee_weight=fee_weight)
        assert alone.entity[0] == step.entity[i]
        assert alone.expected_error[0] == pytest.approx(step.expected_error[i], abs=1e-5)


def test_strange_answers_to_other_queries_change_no_step(policy, new):
    X, heard = policy.features(new), np.tile([True, False, False, True], (200, 1))
    said = answers_of(policy, new, heard)
    values = said.values.astype("U9")
    values[1:, 0] = [f"strange{i}" for i in range(199)]
    step = policy.router.next_step(X, Answers(values, said.states), fee_weight=0.05)
    for i in range(0, 200, 20):
        row = slice(i, i + 1)
        alone = policy.router.next_step(X[row], Answers(values[row], said.states[row]), fee_weight=0.05)
        assert alone.entity[0] == step.entity[i]
        assert alone.expected_error[0] == pytest.approx(step.expected_error[i], abs=1e-5)


def test_what_was_not_asked_for_is_not_read(policy, new):
    X, heard = policy.features(new), some(np.random.default_rng(1), 200)
    said = answers_of(policy, new, heard)
    other = Answers(np.where(heard, said.values, "owl"), said.states)
    one, two = (policy.router.next_step(X, given, fee_weight=0.05) for given in (said, other))
    np.testing.assert_array_equal(one.entity, two.entity)


def test_a_step_names_its_entity_and_its_fee(policy, new):
    X, heard = policy.features(new), some(np.random.default_rng(2), 200)
    step = policy.router.next_step(X, answers_of(policy, new, heard), fee_weight=0.05)
    for name, entity, fee in zip(step.names, step.entity, step.fee, strict=True):
        assert name == (None if entity < 0 else policy.panel.names[entity])
        assert fee == (0.0 if entity < 0 else synthetic.FEES[name])
    assert {type(name) for name in step.names} == {str, type(None)}


def test_asking_step_by_step_is_what_the_evaluation_did(policy, new):
    log = read_log(new, COLUMNS)
    prices = policy.router.turns_.prices
    found = evaluate(policy, log, draws=2)["sequential"]
    for p in (0, 6, 12):
        heard, _ = taking_turns(policy, new, fee_weight=float(prices[p]))
        assert (heard @ policy.router.fees_).mean() == pytest.approx(found[p]["mean_fee"])
        assert heard.sum(axis=1).mean() == pytest.approx(found[p]["mean_asked"])


def test_of_a_large_panel_the_verdicts_of_turns_are_those_of_the_evaluation_and_of_what_is_saved(tmp_path):
    fees = synthetic.FEES | {f"weak{i}": 0.02 for i in range(5)}
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=fees)

    def large(n, seed):
        rng, table = np.random.default_rng(seed), synthetic.classification(n, seed=seed)
        for i in range(5):
            table[f"answer_weak{i}"] = np.where(
                rng.random(n) < 0.4, table["truth"], rng.choice(["cat", "dog", "owl"], n)
            )
        return table

    policy, table = fitted(large(500, 0), columns), large(150, 1)
    asking, truth = policy.router.asking_, table["truth"]
    assert 0 < len(asking.entities) < len(policy.panel)
    assert not np.allclose(asking.pool.sources, policy.router.beliefs_.pool.sources)
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    found = evaluate(policy, read_log(table, columns), draws=2)["sequential"]
    for p in (0, 8, 16):
        heard, _ = taking_turns(policy, table, fee_weight=float(policy.router.turns_.prices[p]))
        answers, X = answers_of(policy, table, heard), policy.features(table)
        decided, sure = policy.router.believe(X, answers)
        assert (decided != truth).mean() == pytest.approx(found[p]["error"])
        step = policy.router.next_step(X, answers, fee_weight=float(policy.router.turns_.prices[p]))
        np.testing.assert_allclose(step.expected_error, 1 - sure, atol=1e-6)
        np.testing.assert_allclose(again.router.believe(X, answers)[1], sure, atol=1e-6)


def test_the_evaluation_says_what_asking_in_turn_gets(policy, new):
    found = evaluate(policy, read_log(new, COLUMNS), draws=5)["sequential"]
    assert len(found) == len(policy.router.turns_.prices)
    for row in found:
        assert {"fee_weight", "error", "mean_fee", "mean_k", "mean_asked"} <= set(row)
        assert 0 <= row["error"] <= 1
        assert row["mean_k"] == row["mean_asked"] >= 1
    fees = [row["mean_fee"] for row in found]
    assert all(b <= a + 0.05 for a, b in itertools.pairwise(fees))
    assert fees[0] > 3 * fees[-1]
    assert found[0]["error"] < found[-1]["error"] - 0.2


def test_where_money_alone_decides_it_asks_the_cheapest_and_stops(policy, new):
    heard, rounds = taking_turns(policy, new, fee_weight=1000.0)
    assert rounds == 1
    assert (heard == (np.array(policy.panel.names) == "noise")).all()


def test_who_is_away_is_never_asked(policy, new):
    there = np.array([name != "both" for name in policy.panel.names])
    away, _ = taking_turns(policy, new, fee_weight=0.0, available=there)
    assert not away[:, ~there].any()
    assert away.sum(axis=1).min() >= 1
    everybody, _ = taking_turns(policy, new, fee_weight=0.0)
    assert everybody[:, ~there].mean() > 0.9
    nobody, rounds = taking_turns(policy, new, fee_weight=0.0, available=np.zeros(4, dtype=bool))
    assert rounds == 0
    assert not nobody.any()


def test_fees_of_today_matter(policy, new):
    dear = [5.0 if name == "both" else synthetic.FEES[name] for name in policy.panel.names]
    both = policy.panel.index("both")
    now, then = (taking_turns(policy, new, fee_weight=0.05, **given)[0][:, both] for given in ({}, {"fees": dear}))
    assert then.mean() < now.mean() - 0.2
    free = taking_turns(policy, new, fee_weight=1.0, fees=[5.0, 5.0, 0.0, 5.0] if both == 2 else None)[0]
    assert free[:, both].mean() > 0.95


@pytest.mark.parametrize("fee_weight", [0.0, 0.05])
def test_who_gave_no_answer_is_not_asked_again(policy, new, fee_weight):
    X = policy.features(new)
    said = answers_of(policy, new, np.zeros((200, 4), dtype=bool))
    states = said.states.copy()
    for _ in range(5):
        step = policy.router.next_step(X, Answers(said.values, states), fee_weight=fee_weight)
        open_ = np.flatnonzero(step.entity >= 0)
        assert (states[open_, step.entity[open_]] == Cell.NOT_ASKED).all()
        states[open_, step.entity[open_]] = Cell.NO_ANSWER
    assert (states == Cell.NO_ANSWER).sum(axis=1).mean() > 1.5
    assert (step.entity < 0).all()


def test_a_budget_of_turns_is_met_on_held_out_rows(policy, new):
    found = policy.router.setting_for(budget=0.3, mode="sequential")
    assert synthetic.tried(policy.router.turns_, found)[0] <= 0.3
    X, nothing = policy.features(new), answers_of(policy, new, np.zeros((200, 4), dtype=bool))
    by_budget, here, there = (
        policy.router.next_step(X, nothing, **target).entity
        for target in ({"budget": 0.3}, {"fee_weight": found.fee_weight}, {"fee_weight": found.other})
    )
    np.testing.assert_array_equal(by_budget, np.where(coins(X) < found.share, there, here))
    heard, _ = taking_turns(policy, new, budget=0.3)
    assert (heard @ policy.router.fees_).mean() <= 0.4


def test_turns_can_be_promised(policy):
    found = policy.router.setting_for(budget=0.4, confidence=0.9, mode="sequential")
    assert isinstance(found, Setting)
    assert {found.fee_weight, found.other} <= set(policy.router.turns_.prices.tolist())
    fees = dict(zip(policy.router.turns_.prices, policy.router.turns_.fees.mean(axis=1), strict=True))
    assert (1 - found.share) * fees[found.fee_weight] + found.share * fees[found.other] <= 0.4
    strict = policy.router.setting_for(accuracy=0.2, confidence=0.9, mode="sequential")
    assert policy.router.setting_for(accuracy=0.2, mode="sequential").fee_weight >= strict.fee_weight


@pytest.fixture(scope="module")
def twins():
    return [fitted(synthetic.classification(250), random_state=4) for _ in range(2)]


def test_a_promise_is_asked_in_turn_at_the_price_that_each_querys_coin_says(policy, new):
    found = policy.router.setting_for(budget=0.4, confidence=0.9, mode="sequential")
    X, heard = policy.features(new), some(np.random.default_rng(4), 200)
    said = answers_of(policy, new, heard)
    step = policy.router.next_step(X, said, budget=0.4, confidence=0.9)
    here, there = (policy.router.next_step(X, said, fee_weight=rate) for rate in (found.fee_weight, found.other))
    aside = coins(X) < found.share
    assert 0 < aside.sum() < 200
    np.testing.assert_array_equal(step.entity, np.where(aside, there.entity, here.entity))
    np.testing.assert_array_equal(step.fee, np.where(aside, there.fee, here.fee))
    asked, _ = taking_turns(policy, new, budget=0.4, confidence=0.9)
    assert 0.2 < (asked * policy.panel.fees).sum(axis=1).mean() <= 0.44


def test_the_same_seed_takes_the_same_turns(twins, new):
    heard = np.tile([True, False, False, False], (200, 1))
    once, twice = (
        policy.router.next_step(policy.features(new), answers_of(policy, new, heard), fee_weight=0.05)
        for policy in twins
    )
    np.testing.assert_array_equal(once.entity, twice.entity)
    np.testing.assert_array_equal(once.expected_error, twice.expected_error)


def test_fresh_rows_calibrate_turns_too(twins):
    fresh, policy = synthetic.classification(300, seed=5), twins[1]
    before = policy.router.turns_
    policy.calibrate(read_log(fresh, COLUMNS))
    after = policy.router.turns_
    assert after.errors.shape == (len(before.prices), 300)
    heard, _ = taking_turns(policy, fresh, fee_weight=float(before.prices[5]))
    np.testing.assert_allclose(after.fees[5], heard @ policy.router.fees_)
    np.testing.assert_array_equal(after.sizes[5], heard.sum(axis=1))


def test_fees_that_nobody_can_know_are_left_out_of_a_promise():
    errors, fees = np.zeros((1, 60)), np.full((1, 60), 0.5)
    errors[0, :20] = fees[0, :20] = np.nan
    rows = Rows(np.zeros(1), errors, fees, np.ones((1, 60), dtype=np.intp))
    most = Promises(rows, most_fee=1.0, squared=False).choose(budget=0.7, accuracy=None, confidence=0.9)
    assert most == Setting(0.0, 0.0, 0.0)

"""Asking in turn: the same answers give the same step, nobody is asked twice, and targets are met."""

import itertools

import numpy as np
import pytest

from askwho import Answers, InvalidInputError, Target, load, save
from askwho.core import Cell
from askwho.data import Columns, read_log
from askwho.evaluation import evaluate
from askwho.fitting import fit
from askwho.policy import Setting
from tests import policies, synthetic
from tests.policies import said, taking_turns


@pytest.fixture(scope="module")
def new():
    return synthetic.classification(200, seed=1)


@pytest.fixture(scope="module")
def seen(policy, new):
    return policy.see(new)


NOBODY = np.zeros((200, 4), dtype=bool)


def entity(step):
    """Whom each query asks next; −1 where it is time to decide."""
    return np.where(step.k > 0, step.order[:, 0], -1)


def some(rng, n, size=4):
    return rng.random((n, size)) < rng.random((n, 1))


def few(answers, rows):
    return Answers(answers.values[rows], answers.states[rows])


@pytest.mark.parametrize("fee_weight", [0.0, 0.03, 0.3])
def test_the_same_answers_give_the_same_step_alone_in_company_and_in_any_order(policy, new, fee_weight):
    rng, target = np.random.default_rng(0), Target(fee_weight=fee_weight)
    answers = said(policy, new, some(rng, 200))
    step = policy.next(new, answers, target)
    order = rng.permutation(200)
    mixed = policy.next({name: values[order] for name, values in new.items()}, few(answers, order), target)
    np.testing.assert_array_equal(entity(mixed), entity(step)[order])
    np.testing.assert_allclose(mixed.expected_error, step.expected_error[order], atol=1e-5)
    for i in range(0, 200, 13):
        alone = policy.next(policies.row(new, i), few(answers, slice(i, i + 1)), target)
        assert entity(alone)[0] == entity(step)[i]
        assert alone.expected_error[0] == pytest.approx(step.expected_error[i], abs=1e-5)


def test_strange_answers_to_other_queries_change_no_step(policy, new, seen):
    answers = said(policy, new, np.tile([True, False, False, True], (200, 1)))
    values = answers.values.astype("U9")
    values[1:, 0] = [f"strange{i}" for i in range(199)]
    strange, target = Answers(values, answers.states), Target(fee_weight=0.05)
    step = policy.next(seen, strange, target)
    for i in range(0, 200, 20):
        alone = policy.next(policies.row(new, i), few(strange, slice(i, i + 1)), target)
        assert entity(alone)[0] == entity(step)[i]
        assert alone.expected_error[0] == pytest.approx(step.expected_error[i], abs=1e-5)


def test_what_was_not_asked_for_is_not_read(policy, new, seen):
    heard = some(np.random.default_rng(1), 200)
    answers = said(policy, new, heard)
    other = Answers(np.where(heard, answers.values, "owl"), answers.states)
    one, two = (policy.next(seen, given, Target(fee_weight=0.05)) for given in (answers, other))
    np.testing.assert_array_equal(entity(one), entity(two))


def test_a_step_names_its_entity_and_its_fee(policy, new, seen):
    step = policy.next(seen, said(policy, new, some(np.random.default_rng(2), 200)), Target(fee_weight=0.05))
    columns = step.next_columns()
    for i, (name, fee) in enumerate(zip(columns["ask"], columns["fee"], strict=True)):
        assert step.ask(i) == (() if name is None else (name,))
        assert name == (policy.panel.names[step.order[i, 0]] if step.k[i] else None)
        assert fee == (synthetic.FEES[name] if name else 0.0)
    assert {type(name) for name in columns["ask"]} == {str, type(None)}


def test_what_is_believed_so_far_comes_with_a_step(policy, new, seen):
    heard = some(np.random.default_rng(3), 200)
    step = policy.next(seen, said(policy, new, heard), Target(fee_weight=0.05))
    np.testing.assert_array_equal(step.outcome.heard, heard)
    np.testing.assert_allclose(step.outcome.paid, heard @ policy.panel.fees)
    np.testing.assert_allclose(step.expected_error, 1 - step.outcome.probability, atol=1e-6)
    assert step.outcome.decided.all()
    assert set(step.outcome.values) <= {"cat", "dog", "owl"}
    # More was heard of some than of others, and they are right more often.
    right = step.outcome.values == new["truth"]
    assert right[heard.sum(axis=1) >= 3].mean() > right[heard.sum(axis=1) == 0].mean() + 0.3


def test_answers_so_far_may_be_in_the_queries_own_table_or_in_another(policy, new):
    heard, target = some(np.random.default_rng(5), 200), Target(fee_weight=0.05)
    step = policy.next(new, said(policy, new, heard), target)
    told = {
        f"answer_{name}": np.where(heard[:, j], new[f"answer_{name}"], None)
        for j, name in enumerate(policy.panel.names)
    }
    queries = {name: new[name] for name in ("x_0", "x_1", "x_2")}
    by_name = {name.removeprefix("answer_"): values for name, values in told.items()}
    for given in ((queries | told,), (queries, told), (queries, by_name), (policy.see(queries), told)):
        np.testing.assert_array_equal(entity(policy.next(*given, target=target)), entity(step))
    nothing = policy.next(new, said(policy, new, NOBODY), target)
    for given in ((queries,), (policy.see(queries),)):
        np.testing.assert_array_equal(entity(policy.next(*given, target=target)), entity(nothing))
    with pytest.raises(InvalidInputError, match="`answers` must have a row for each of the 200 queries, got 7"):
        policy.next(queries, {name: values[:7] for name, values in told.items()}, target)


def test_asking_step_by_step_is_what_the_evaluation_did(policy, new):
    prices = policy.turns.tried.prices
    found = evaluate(policy, read_log(new, synthetic.COLUMNS), draws=2)["sequential"]
    for p in (0, 6, 12):
        heard, _ = taking_turns(policy, new, Target(fee_weight=float(prices[p])))
        assert (heard @ policy.panel.fees).mean() == pytest.approx(found[p]["mean_fee"])
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

    policy, table = fit(read_log(large(500, 0), columns), learner="linear", base="none", cv=3), large(150, 1)
    asking, prices = policy.turns.asking, policy.turns.tried.prices
    assert 0 < len(asking.entities) < len(policy.panel)
    assert not np.allclose(asking.pool.sources, policy.combiner.beliefs.pool.sources)
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    found = evaluate(policy, read_log(table, columns), draws=2)["sequential"]
    for p in (0, 8, 16):
        target = Target(fee_weight=float(prices[p]))
        heard, _ = taking_turns(policy, table, target)
        step, read = (each.next(table, said(policy, table, heard), target) for each in (policy, again))
        assert (step.k == 0).all()
        assert (step.outcome.values != table["truth"]).mean() == pytest.approx(found[p]["error"])
        np.testing.assert_allclose(step.expected_error, 1 - step.outcome.probability, atol=1e-6)
        np.testing.assert_allclose(read.outcome.probability, step.outcome.probability, atol=1e-6)


def test_the_evaluation_says_what_asking_in_turn_gets(policy, new):
    found = evaluate(policy, read_log(new, synthetic.COLUMNS), draws=5)["sequential"]
    assert len(found) == len(policy.turns.tried.prices)
    for row in found:
        assert {"fee_weight", "error", "mean_fee", "mean_k", "mean_asked"} <= set(row)
        assert 0 <= row["error"] <= 1
        assert row["mean_k"] == row["mean_asked"] >= 1
    fees = [row["mean_fee"] for row in found]
    assert all(b <= a + 0.05 for a, b in itertools.pairwise(fees))
    assert fees[0] > 3 * fees[-1]
    assert found[0]["error"] < found[-1]["error"] - 0.2


def test_where_money_alone_decides_it_asks_the_cheapest_and_stops(policy, new):
    heard, rounds = taking_turns(policy, new, Target(fee_weight=1000.0))
    assert rounds == 1
    assert (heard == (np.array(policy.panel.names) == "noise")).all()


def test_who_is_away_is_never_asked(new):
    policy = policies.fitted("classes")
    there, target = np.array([name != "both" for name in policy.panel.names]), Target(fee_weight=0.0)
    away, _ = taking_turns(policy, new, target, available=there)
    assert not away[:, ~there].any()
    assert away.sum(axis=1).min() >= 1
    named, _ = taking_turns(policy, new, target, available=["left", "right", "noise"])
    np.testing.assert_array_equal(named, away)
    everybody, _ = taking_turns(policy, new, target)
    assert everybody[:, ~there].mean() > 0.9
    nobody, rounds = taking_turns(policy, new, target, available=np.zeros(4, dtype=bool))
    assert rounds == 0
    assert not nobody.any()
    by_query, _ = taking_turns(policy, new, target, available=np.arange(200)[:, None] % 2 == np.zeros(4))
    assert not by_query[1::2].any()
    np.testing.assert_array_equal(by_query[::2], everybody[::2])


def test_fees_of_today_matter(policy, new):
    both, target = policy.panel.index("both"), Target(fee_weight=0.05)
    dear = [5.0 if name == "both" else synthetic.FEES[name] for name in policy.panel.names]
    now, then = (taking_turns(policy, new, target, **given)[0][:, both] for given in ({}, {"fees": dear}))
    assert then.mean() < now.mean() - 0.2
    free = [0.0 if name == "both" else 5.0 for name in policy.panel.names]
    assert taking_turns(policy, new, Target(fee_weight=1.0), fees=free)[0][:, both].mean() > 0.95


@pytest.mark.parametrize("fee_weight", [0.0, 0.05])
def test_who_gave_no_answer_is_not_asked_again(policy, new, seen, fee_weight):
    answers = said(policy, new, NOBODY)
    states = answers.states.copy()
    for _ in range(5):
        step = policy.next(seen, Answers(answers.values, states.copy()), Target(fee_weight=fee_weight))
        rows = np.flatnonzero(step.k)
        assert (states[rows, step.order[rows, 0]] == Cell.NOT_ASKED).all()
        states[rows, step.order[rows, 0]] = Cell.NO_ANSWER
    assert (states == Cell.NO_ANSWER).sum(axis=1).mean() > 1.5
    assert (step.k == 0).all()


def test_a_budget_of_turns_is_met_on_held_out_rows(policy, new, seen):
    target = Target(budget=0.3)
    found = policy.setting(target, in_turn=True)
    assert synthetic.tried(policy.turns.tried, found)[0] <= 0.3
    nothing = said(policy, new, NOBODY)
    by_budget, here, there = (
        entity(policy.next(seen, nothing, aim))
        for aim in (target, Target(fee_weight=found.fee_weight), Target(fee_weight=found.other))
    )
    np.testing.assert_array_equal(by_budget, np.where(seen.coins < found.share, there, here))
    heard, _ = taking_turns(policy, new, target)
    assert (heard @ policy.panel.fees).mean() <= 0.4


def test_turns_can_be_promised(promising):
    policy = promising
    found = policy.setting(Target(budget=0.4, confidence=0.9), in_turn=True)
    assert isinstance(found, Setting)
    tried = policy.turns.tried.kept
    assert {found.fee_weight, found.other} <= set(tried.prices.tolist())
    fees = dict(zip(tried.prices, tried.fees.mean(axis=1), strict=True))
    assert (1 - found.share) * fees[found.fee_weight] + found.share * fees[found.other] <= 0.4
    strict = policy.setting(Target(max_error=0.2, confidence=0.9), in_turn=True)
    assert policy.setting(Target(max_error=0.2), in_turn=True).fee_weight >= strict.fee_weight


def test_a_promise_is_asked_in_turn_at_the_price_that_each_querys_coin_says(promising, new):
    policy, target = promising, Target(budget=0.4, confidence=0.9)
    seen = policy.see(new)
    found = policy.setting(target, in_turn=True)
    answers = said(policy, new, some(np.random.default_rng(4), 200))
    step = policy.next(seen, answers, target)
    here, there = (policy.next(seen, answers, Target(fee_weight=rate)) for rate in (found.fee_weight, found.other))
    aside = seen.coins < found.share
    assert 0 < aside.sum() < 200
    np.testing.assert_array_equal(entity(step), np.where(aside, entity(there), entity(here)))
    np.testing.assert_array_equal(step.fee, np.where(aside, there.fee, here.fee))
    asked, _ = taking_turns(policy, new, target)
    assert 0.2 < (asked * policy.panel.fees).sum(axis=1).mean() <= 0.44


def test_the_same_seed_takes_the_same_turns(new):
    log = read_log(synthetic.classification(250), synthetic.COLUMNS)
    twins = [fit(log, learner="linear", base="none", cv=3, random_state=4) for _ in range(2)]
    heard = np.tile([True, False, False, False], (200, 1))
    once, twice = (each.next(new, said(each, new, heard), Target(fee_weight=0.05)) for each in twins)
    np.testing.assert_array_equal(entity(once), entity(twice))
    np.testing.assert_array_equal(once.expected_error, twice.expected_error)


# What cannot be asked in turn.

NO_TURNS = (
    "This policy cannot ask in turn: it was fitted without answers that are classes or numbers, on fewer than 200 "
    "rows, or with another committee than 'posterior' or 'spread'."
)
OTHER_FEES = (
    "`budget` and `max_error` were validated at the fitted fees with everybody there: "
    "pass `fee_weight` with other fees or fewer entities, or `assign` a whole batch, which keeps a budget with them."
)


@pytest.mark.parametrize(
    ("target", "given", "message"),
    [
        (Target(k=1), {}, "`target` must be a price, a budget or an error to ask in turn, got `k`."),
        (
            Target(fee_weight=1.0),
            {"available": np.array([True])},
            "`available` must have shape (4,), got (1,): one for each entity of the panel.",
        ),
        (Target(budget=1.0), {"available": np.ones(4, dtype=bool)}, OTHER_FEES),
        (Target(max_error=0.5), {"fees": [0.0, 0.0, 0.0, 0.0]}, OTHER_FEES),
    ],
    ids=["k", "available", "budget", "max_error"],
)
def test_steps_that_cannot_be_taken(policy, seen, target, given, message):
    with pytest.raises(InvalidInputError) as error:
        policy.next(seen, None, target, **given)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((200, 3), "`answers` must have shape (200, 4), got (200, 3): one row for each query."),
        ((7, 4), "`answers` must have shape (200, 4), got (7, 4): one row for each query."),
    ],
)
def test_steps_of_other_answers(policy, seen, shape, message):
    other = Answers(np.full(shape, "cat"), np.zeros(shape, dtype=np.int8))
    with pytest.raises(InvalidInputError) as error:
        policy.next(seen, other, Target(fee_weight=1.0))
    assert str(error.value) == message


def test_targets_in_turn(policy):
    with pytest.raises(InvalidInputError, match=r"^`max_error` must be at least 0\.\d+, got 1e-06\.$"):
        policy.setting(Target(max_error=1e-6), in_turn=True)


@pytest.mark.parametrize("kind", ["votes", "few rows"])
def test_policies_without_turns(log, kind):
    policy = (
        fit(log.rows(np.arange(60)), learner="linear", base="none", cv=3)
        if kind == "few rows"
        else policies.fitted(kind)
    )
    assert policy.turns is None
    table = policies.queries("classes" if kind == "few rows" else kind)
    for ask in (
        lambda: policy.next(table, None, Target(fee_weight=1.0)),
        lambda: policy.setting(Target(budget=1.0), in_turn=True),
        lambda: policy.setting(Target(budget=1.0, confidence=0.9), in_turn=True),
    ):
        with pytest.raises(InvalidInputError) as error:
            ask()
        assert str(error.value) == NO_TURNS

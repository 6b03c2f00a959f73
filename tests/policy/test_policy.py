"""What a fitted policy decides: at a price, within a budget or an error, with fewer entities or at other fees."""

import itertools

import numpy as np
import pytest

from askwho import Answers, InvalidInputError, Target
from askwho.core import Cell
from askwho.data import Columns, read_log
from askwho.fitting import fit
from tests import policies, synthetic


def first(policy, queries, target, **given):
    """Whom each query goes to first, by name."""
    return np.array(policy.panel.names)[policy.decide(queries, target, **given).order[:, 0]]


def test_at_a_price_it_asks_the_cheap_expert_of_each_region(policy, new):
    asked = first(policy, new, Target(fee_weight=0.3, k=1))
    assert (asked == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.85


def test_for_nothing_it_asks_whoever_is_best(policy, new):
    assert (first(policy, new, Target(fee_weight=0.0, k=1)) == "both").mean() > 0.5


def test_dearer_money_spends_less(policy, new):
    fees = [policy.decide(new, Target(fee_weight=weight)).fee.mean() for weight in (0.0, 0.1, 1.0, 10.0)]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(fees))
    assert fees[0] > fees[-1]


def test_a_budget_is_met_on_held_out_rows_and_about_met_on_new_ones(policy, new):
    target = Target(budget=0.3)
    paid, _ = synthetic.tried(policy.tried, policy.setting(target))
    assert paid <= 0.3
    assert policy.decide(new, target).fee.mean() <= 1.3 * 0.3


def test_a_budget_between_two_prices_is_spent(policy):
    budget = 0.1
    alone = min(p["error"] for p in policy.tried.validated(policy.unit) if p["mean_fee"] <= budget)
    paid, erred = synthetic.tried(policy.tried, policy.setting(Target(budget=budget)))
    assert 0.95 * budget < paid <= budget
    assert erred < 0.8 * alone


@pytest.mark.parametrize("given", [{}, {"confidence": 0.95}, {"max_error": 0.5}])
def test_a_budget_of_nothing_asks_nobody_who_charges(given):
    policy, new, target = policies.fitted("own base"), policies.queries("own base"), Target(budget=0.0, **given)
    # Nothing like these was ever tried: there no price that held before needs to hold.
    strange = {name: values * 50 if name.startswith("x_") else values for name, values in new.items()}
    for queries in (new, strange, policies.row(strange, 0)):
        decisions = policy.decide(queries, target)
        np.testing.assert_array_equal(decisions.members, np.tile(policy.panel.own, (len(decisions), 1)))
        # Whoever pays nothing still hears what comes free.
        assert policy.combine(decisions).outcome.decided.all()
    assert policy.decide(strange, target, explore=0.5, random_state=0).fee.max() == 0
    asked, rounds = policies.taking_turns(policy, strange, target)
    assert (asked.any(), rounds) == (False, 0)


def test_who_charges_some_queries_alone_is_not_free():
    table = synthetic.charged(700)
    table |= {"fee_noise": np.zeros(700), "fee_both": np.where(table["x_1"] > 0, 26.0, 0.0)}
    policy = fit(read_log(table, synthetic.CHARGED), learner="linear", base="none", cv=3)
    assert policy.judge.fees.free.tolist() == [name == "noise" for name in policy.panel.names]
    new = synthetic.charged(100, seed=1)
    decisions = policy.decide(new, Target(budget=0.0))
    assert set(np.array(policy.panel.names)[decisions.order[:, 0]]) == {"noise"}
    # Nor is anybody who charges named in the place of who gave no answer.
    nothing = Answers(np.zeros((100, 4)), np.full((100, 4), Cell.NO_ANSWER, dtype=np.int8))
    assert {one.ask_next for one in policy.combine(decisions, nothing)} == {()}


def test_an_error_is_bought_at_the_least_fee(policy):
    paid, erred = synthetic.tried(policy.tried, policy.setting(Target(max_error=0.15)))
    assert erred <= 0.15
    assert paid <= min(p["mean_fee"] for p in policy.tried.validated(policy.unit) if p["error"] <= 0.15)


@pytest.mark.parametrize(
    ("target", "given", "message"),
    [
        ({"k": 5}, {}, "`k` must be between 1 and 4"),
        ({"budget": 1e-9}, {}, "`budget` must be at least"),
        ({"budget": 0.0}, {}, "`budget` must be at least"),
        ({"max_error": 0.0}, {}, "`max_error` must be at least"),
        ({"budget": 1.0}, {"fees": [0.0, 0.0, 0.0, 0.0]}, "pass `fee_weight`"),
        ({"budget": 1.0}, {"available": ["left"]}, "pass `fee_weight`"),
        ({"k": 1}, {"available": np.zeros(4, dtype=bool)}, "there is nobody to ask"),
    ],
)
def test_targets_that_cannot_be_met_are_refused(policy, new, target, given, message):
    with pytest.raises(InvalidInputError) as error:
        policy.decide(new, Target(**target), **given)
    assert message in str(error.value)


def test_who_is_away_is_not_asked(policy, new):
    available = np.array([name != "both" for name in policy.panel.names])
    decisions = policy.decide(new, Target(fee_weight=0.0), available=available)
    assert not decisions.members[:, policy.panel.index("both")].any()
    assert (decisions.k <= 3).all()
    with pytest.raises(InvalidInputError, match="between 1 and 3"):
        policy.decide(new, Target(k=4), available=available)


def test_who_is_there_is_said_by_names_by_a_mask_or_query_by_query(policy, new):
    target, names = Target(fee_weight=0.05), ["left", "noise"]
    mask = np.array([name in names for name in policy.panel.names])
    by_name = policy.decide(new, target, available=names)
    by_mask = {"left": np.ones(400, dtype=bool), "noise": True, "both": False}
    for given in (tuple(names), mask, mask.tolist(), np.tile(mask, (400, 1)), by_mask):
        other = policy.decide(new, target, available=given)
        np.testing.assert_array_equal(other.members, by_name.members)
    only = policy.decide(new, target, available="left")
    np.testing.assert_array_equal(only.members, policy.decide(new, target, available=["left"]).members)
    assert (only.members == (np.array(policy.panel.names) == "left")).all()
    some = policy.decide(new, target, available={"left": np.arange(400) < 9, "noise": np.arange(400) >= 5})
    assert some.members[5:9, 0].any()
    assert not some.members[9:, 0].any()
    assert not some.members[:5, 1:].any()
    # Query by query: to everyone of them its own.
    each = np.random.default_rng(0).random((400, 4)) < 0.5
    each[:, 3] |= ~each.any(axis=1)
    some = policy.decide(new, target, available=each)
    assert not (some.members & ~each).any()
    for i in range(0, 400, 57):
        alone = policy.decide(policies.row(new, i), target, available=each[i])
        assert (alone.k[0], alone.ask(0)) == (some.k[i], some.ask(i))


@pytest.mark.parametrize(
    ("available", "message"),
    [
        (["left", "write"], "`available` must name entities of ['left', 'right', 'both', 'noise'], got ['write']."),
        ([True], "`available` must have shape (4,), got (1,): one for each entity of the panel."),
        (
            np.ones((3, 4), dtype=bool),
            "`available` must have shape (400, 4), got (3, 4): one for each query and entity.",
        ),
        ([], "`available` must be true for somebody: there is nobody to ask."),
        ({"write": True}, "`available` must name entities of ['left', 'right', 'both', 'noise'], got ['write']."),
        (
            {"left": [True, False]},
            "`available['left']` must be true or false, for all queries or for each of 400, got bool of shape (2,).",
        ),
        (
            {"left": 0.3},
            "`available['left']` must be true or false, for all queries or for each of 400, got float64 of shape ().",
        ),
    ],
    ids=["unknown", "short", "rows", "nobody", "unknown by name", "short by name", "a fee"],
)
def test_who_is_there_must_be_said_of_this_panel(policy, new, available, message):
    with pytest.raises(InvalidInputError) as error:
        policy.decide(new, Target(k=1), available=available)
    assert str(error.value) == message


def test_a_base_of_our_own_is_always_there():
    policy = policies.fitted("own base")
    assert policy.panel.own.tolist() == [True, False, False, False, False]
    decisions = policy.decide(policies.queries("own base"), Target(fee_weight=0.01), available=["noise"])
    assert not decisions.members[:, 1:4].any()
    assert decisions.members[:, 0].any()
    assert {name for i in range(len(decisions)) for name in decisions.ask(i)} <= {"noise"}


def test_new_fees_change_the_choice_without_a_refit(policy, new):
    free = [0.0 if name == "both" else 5.0 for name in policy.panel.names]
    assert (first(policy, new, Target(k=1, fee_weight=1.0), fees=free) == "both").all()
    by_query = np.where(np.arange(400)[:, None] % 2 == 0, free, np.array(free)[::-1])
    asked = first(policy, new, Target(k=1, fee_weight=1.0), fees=by_query)
    assert (asked == "both").sum() == 200
    assert policy.decide(new, Target(k=1), fees=by_query).fee.tolist() == pytest.approx(
        np.take_along_axis(by_query, policy.decide(new, Target(k=1)).order[:, :1], axis=1)[:, 0].tolist()
    )


def test_committees_hear_only_whom_they_asked(policy, new):
    answers = policies.said(policy, new)
    decisions = policy.decide(new, Target(k=1, fee_weight=0.3))
    outcome = policy.combine(decisions, answers).outcome
    assert outcome.decided.all()
    assert (outcome.values == answers.values[np.arange(400), decisions.order[:, 0]]).all()
    assert (outcome.heard.sum(axis=1) == 1).all()


@pytest.mark.parametrize("fees", [None, [0.3, 0.0, 1.0, 0.2]])
@pytest.mark.parametrize("fee_weight", [0.0, 0.05, 0.4, 10.0])
def test_one_query_is_decided_as_among_many(policy, new, fee_weight, fees):
    target = Target(fee_weight=fee_weight)
    many = policy.decide(new, target, fees=fees)
    for i in range(0, 400, 7):
        one = policy.decide(policies.row(new, i), target, fees=fees)
        assert one.order[0].tolist() == many.order[i].tolist()
        assert one.k[0] == many.k[i]
        assert one.fee[0] == many.fee[i]
        # Trees are averaged in single precision.
        assert one.expected_error[0] == pytest.approx(many.expected_error[i], abs=1e-6)


@pytest.mark.parametrize("kind", policies.ANSWERED)
def test_a_query_of_any_kind_is_decided_alone_as_in_company(kind):
    policy, table = policies.fitted(kind), policies.queries(kind, 40)
    budget = float(np.median([p["mean_fee"] for p in policy.tried.validated(policy.unit)]))
    for target in (Target(fee_weight=0.2), Target(k=2), Target(budget=budget)):
        many = policy.combine(policy.decide(table, target), policies.said(policy, table))
        for i in range(0, 40, 3):
            alone = policies.row(table, i)
            one = policy.combine(policy.decide(alone, target), policies.said(policy, alone))
            assert (one.k[0], one.order[0].tolist()) == (many.k[i], many.order[i].tolist())
            assert one[0].verdict == (
                pytest.approx(many[i].verdict) if policy.task == "regression" else many[i].verdict
            )
            assert one[0].paid == pytest.approx(many[i].paid)


def test_a_committee_decides_a_query_alone_as_in_company():
    rng = np.random.default_rng(0)
    n, classes = 500, 5
    X, truth = rng.normal(size=(n, 3)), rng.integers(0, classes, n)
    said = {f"answer_{j}": np.where(rng.random(n) < 0.45, truth, rng.integers(0, classes, n)) for j in range(5)}
    table = {f"x_{i}": X[:, i] for i in range(3)} | said | {"truth": truth}
    log = read_log(table, Columns(truth="truth", answers="answer_*", features="x_*"))
    policy = fit(log, learner="linear", committee="log-odds-vote", base="none", cv=3)
    together = policy.combine(policy.decide(log.known, Target(k=5)), log.answers).outcome
    for i in range(0, n, 25):
        answers = Answers(log.answers.values[i : i + 1], log.answers.states[i : i + 1])
        one = policy.combine(policy.decide(policies.row(log.known, i), Target(k=5)), answers)
        assert one.outcome.values[0] == together.values[i]


def test_what_is_seen_can_be_decided_upon_again_and_again(policy, new):
    seen = policy.see(new)
    assert policy.see(seen) is seen
    X = policy.encoder.transform(new)
    for given in (seen, policy.see_encoded(X)):
        again = policy.decide(given, Target(fee_weight=0.1))
        once = policy.decide(new, Target(fee_weight=0.1))
        np.testing.assert_array_equal(again.order, once.order)
        np.testing.assert_array_equal(again.k, once.k)
    np.testing.assert_array_equal(seen.fees, np.tile(policy.panel.fees, (400, 1)))
    assert ((seen.expected >= 0) & (seen.expected <= 1)).all()

"""A batch given out under limits: none is ever breached, the cost is the least, and what cannot be kept is named."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askwho import InvalidInputError, Target, assign
from askwho.policy import Given
from askwho.policy._assign import _assign
from askwho.policy._assign._assign import committees_of
from askwho.policy._assign._limits import limits_of
from tests import policies

NAMES = ["left", "right", "both", "noise"]
DAYS = np.resize(np.array(["monday", "tuesday", "friday"], dtype=object), 24)
COST = Target(fee_weight=0.05)


@pytest.fixture(scope="module")
def based():
    return policies.fitted("own base")


@pytest.fixture(scope="module")
def plain():
    return policies.fitted("classes")


def counts(done, name, rows=None):
    mine = done.decisions.members[:, done.decisions.panel.index(name)]
    return int(mine.sum() if rows is None else mine[rows].sum())


def least_by_hand(policy, seen, fee_weight, limits):
    """The least cost of all ways to give out queries, by dynamic programming over what is left of the limits."""
    committees = committees_of(policy, seen, None, Target(fee_weight=fee_weight))
    every = committees.everything(committees.most)
    places = [policy.panel.index(name) for name in limits]
    best = {tuple(limits.values()): 0.0}
    for i in range(len(seen)):
        mine = every.rows(np.flatnonzero(every.query == i))
        cost, uses = mine.error + fee_weight * mine.fee, mine.members[:, places].astype(int)
        after = {}
        for left, so_far in best.items():
            for use, more in zip(uses, cost, strict=True):
                rest = tuple(a - b for a, b in zip(left, use.tolist(), strict=True))
                if min(rest) >= 0:
                    after[rest] = min(after.get(rest, math.inf), so_far + more)
        best = after
    return min(best.values()) / len(seen)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kind", ["own base", "classes"])
def test_the_cost_is_the_least_that_any_way_of_giving_out_has(kind, seed):
    policy = policies.fitted(kind)
    seen = policy.see(policies.queries(kind, 14, seed=seed))
    limits = {"left": 3, "both": 2, "right": 4}
    for fee_weight in (0.0, 0.05):
        done = assign(policy, seen, Target(fee_weight=fee_weight), capacity=limits)
        assert done.everything
        assert done.gap <= 1e-4
        assert done.cost == pytest.approx(least_by_hand(policy, seen, fee_weight, limits), rel=1e-4)


@pytest.mark.parametrize("seed", [1, 2])
def test_committees_that_are_proposed_come_near_the_least_cost_of_all(plain, seed, monkeypatch):
    queries = policies.queries("classes", 60, seed=seed)
    limits = {"left": 15, "right": 12, "both": 9}
    whole = assign(plain, queries, COST, capacity=limits)
    monkeypatch.setattr(_assign, "_EVERYTHING", 0)
    some = assign(plain, queries, COST, capacity=limits)
    assert (whole.everything, some.everything) == (True, False)
    assert whole.cost - 1e-9 <= some.cost <= 1.01 * whole.cost


def test_without_limits_it_costs_no_more_than_what_is_decided_query_by_query(plain):
    queries = policies.queries("classes", 80)
    seen, decided = plain.see(queries), plain.decide(queries, COST)
    committees = committees_of(plain, seen, None, COST)
    same = committees.proposals(np.arange(80), decided.members)
    done = assign(plain, seen, COST)
    assert done.cost <= (same.error + 0.05 * same.fee).mean() + 1e-9
    # A committee of the k best is expected to err as there; alone, others err more by what they are judged to.
    np.testing.assert_allclose(same.error, decided.expected_error, atol=1e-6)
    alone = committees.proposals(np.arange(80), np.tile(np.arange(4) == 3, (80, 1))).error
    first = committees.proposals(np.arange(80), np.arange(4) == decided.order[:, :1]).error
    apart = seen.expected[:, 3] - seen.expected[np.arange(80), decided.order[:, 0]]
    np.testing.assert_allclose(alone - first, apart, atol=1e-6)


def test_one_for_each_is_a_transportation_problem_and_prices_are_what_one_more_saves(plain, monkeypatch):
    # Nothing is searched for in whole numbers: the vertices have them.
    monkeypatch.setattr("askwho.policy._assign._master._searched", None)
    monkeypatch.setattr(_assign, "_EVERYTHING", 0)
    seen, target = plain.see(policies.queries("classes", 200)), Target(k=1, fee_weight=0.02)
    limits = {"left": 50, "right": 40, "both": 30}

    def cost(**changed):
        return 200 * assign(plain, seen, target, capacity=limits | changed).cost

    done = assign(plain, seen, target, capacity=limits)
    assert done.gap == pytest.approx(0.0, abs=1e-9)
    assert done.everything
    for each in done.given:
        name, most = each.limit.name, int(each.limit.at_most)
        assert each.worth > 0
        fewer, more = cost(**{name: most - 1}), cost(**{name: most + 1})
        assert cost() - more - 1e-7 <= each.worth <= fewer - cost() + 1e-7


def test_a_large_batch_starts_from_the_prices_of_some(plain, monkeypatch):
    seen = plain.see(policies.queries("classes", 400))
    limits = {"left": 90, "right": 80, "both": 40}
    exact = assign(plain, seen, COST, capacity=limits)
    monkeypatch.setattr(_assign, "_EVERYTHING", 0)
    monkeypatch.setattr(_assign, "_SAMPLE", 60)
    monkeypatch.setattr("askwho.policy._assign._master._SEARCHED", 0)
    done = assign(plain, seen, COST, capacity=limits)
    assert done.cost <= 1.01 * exact.cost
    assert done.gap < 0.01
    assert [counts(done, name) <= most for name, most in limits.items()] == [True] * 3


@given(
    most=st.fixed_dictionaries({}, optional={name: st.integers(0, 12) for name in NAMES}),
    daily=st.fixed_dictionaries({}, optional={name: st.tuples(*[st.integers(0, 5)] * 3) for name in NAMES}),
    sizes=st.dictionaries(st.integers(1, 4), st.integers(0, 8)),
    total=st.none() | st.floats(0.0, 6.0),
    fee_weight=st.sampled_from([0.0, 0.05, 1.0]),
)
@settings(max_examples=25, deadline=None)
def test_no_limit_is_ever_breached(most, daily, sizes, total, fee_weight):
    policy = policies.fitted("own base")
    seen = policy.see(policies.queries("own base", 24))
    names = ["monday", "tuesday", "friday"]
    capacity = {name: {"at_most": n} for name, n in most.items()}
    for name, hours in daily.items():
        capacity[name] = capacity.get(name, {}) | dict(zip(names, hours, strict=True))
    done = assign(policy, seen, Target(fee_weight=fee_weight), capacity=capacity, by=DAYS, sizes=sizes, total=total)
    for name, n in most.items():
        assert counts(done, name) <= n
    for name, hours in daily.items():
        for day, n in zip(names, hours, strict=True):
            assert counts(done, name, day == DAYS) <= n
    asked = np.array([len(each.ask) for each in done.decisions])
    for size, n in sizes.items():
        assert (asked == size).sum() <= n
    if total is not None:
        assert done.decisions.fee.sum() <= total + 1e-9
    assert done.gap >= 0


@given(
    hours=st.fixed_dictionaries(
        {}, optional={name: st.tuples(st.integers(0, 8), st.integers(0, 5)) for name in NAMES[:3]}
    ),
    k=st.none() | st.integers(1, 2),
)
@settings(max_examples=20, deadline=None)
def test_at_least_is_kept_too(hours, k):
    policy = policies.fitted("classes")
    seen = policy.see(policies.queries("classes", 24))
    capacity = {
        name: {"monday": {"at_least": min(low, 2), "at_most": 2 + more}, "at_least": low}
        | {day: {"at_most": 8} for day in ("tuesday", "friday")}
        for name, (low, more) in hours.items()
    }
    target = Target(fee_weight=0.5) if k is None else Target(k=k, fee_weight=0.5)
    done = assign(policy, seen, target, capacity=capacity, by=DAYS)
    for name, (low, more) in hours.items():
        assert counts(done, name) >= low
        assert min(low, 2) <= counts(done, name, DAYS == "monday") <= 2 + more
    if k is not None:
        assert (done.decisions.k == k).all()


def test_a_budget_buys_the_least_error(plain):
    queries = policies.queries("classes", 60)
    loose, tight = (assign(plain, queries, Target(budget=each)) for each in (0.5, 0.1))
    assert tight.decisions.fee.mean() <= 0.1 < loose.decisions.fee.mean() <= 0.5
    assert tight.cost > loose.cost
    same = assign(plain, queries, Target(fee_weight=0.0), total=0.1 * 60)
    assert same.cost == pytest.approx(tight.cost, rel=1e-4)
    assert [each.limit.kind for each in tight.given] == ["budget"]
    assert tight.given[0].worth > 0


def test_decisions_are_combined_like_any_other_and_name_nobody_who_may_have_no_hours_left(plain):
    queries = policies.queries("classes", 40)
    done = assign(plain, queries, COST, capacity={"left": 5, "right": 5})
    read = plain.read(done.decisions.to_columns())
    np.testing.assert_array_equal(read.members, done.decisions.members)
    heard = np.zeros((40, 4), dtype=bool)
    assert {each.ask_next for each in plain.combine(read, policies.said(plain, queries, heard))} == {()}
    answered = plain.combine(read, policies.said(plain, queries))
    assert (answered.outcome.values == queries["truth"]).mean() > 0.7


def test_who_is_away_is_given_nothing(plain):
    queries = policies.queries("classes", 30)
    there = np.arange(30) % 2 == 0
    available = {"left": there, "right": True, "noise": ~there}
    done = assign(plain, queries, Target(budget=0.2), capacity={"right": 8}, available=available)
    members = done.decisions.members
    assert not members[:, 2].any()
    assert not members[~there, 0].any()
    assert not members[there, 3].any()
    assert members[there, 0].any()
    with pytest.raises(InvalidInputError, match="at most 8, which is 22 too little"):
        assign(plain, queries, COST, capacity={"right": 8}, available={"right": True})


def test_other_fees_and_ids_are_taken(plain):
    queries = policies.queries("classes", 20)
    dear = assign(plain, queries, COST, fees=[0.1, 0.1, 900.0, 0.01], ids=[f"q{i}" for i in range(20)])
    assert counts(dear, "both") == 0
    assert dear.decisions[3].id == "q3"


def test_numbers_are_shown_as_roots():
    policy = policies.fitted("numbers")
    seen = policy.see(policies.queries("numbers", 20))
    done = assign(policy, seen, Target(k=1), capacity={"both": 12})
    decided = policy.decide(seen, Target(k=1))
    same = (done.decisions.members == decided.members).all(axis=1)
    assert same.sum() >= 5
    np.testing.assert_allclose(done.decisions.expected_error[same], decided.expected_error[same], rtol=1e-5)
    assert done.cost == pytest.approx(np.square(done.decisions.expected_error).mean(), rel=0.05)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"capacity": {"ann": 3}}, "`capacity` must name entities of ['left', 'right', 'both', 'noise'], got 'ann'."),
        ({"capacity": {"left": -1}}, "`capacity['left']` must be a whole number of at least 0, got -1."),
        ({"capacity": {"left": 2.5}}, "`capacity['left']` must be a whole number of at least 0, got 2.5."),
        (
            {"capacity": {"left": {"at_least": 5, "at_most": 3}}},
            "`capacity['left']` must have 'at_least' up to 'at_most', got 5 above 3.",
        ),
        (
            {"capacity": {"left": {"monday": 3}}},
            "got 'monday': if that is a group, say by `by` which column tells the groups.",
        ),
        (
            {"capacity": {"left": {"monday": {"most": 3}}}, "by": ["monday"] * 24},
            "`capacity['left']['monday']` must be a number, or hold 'at_most' and 'at_least', got 'most'.",
        ),
        (
            {"capacity": {"left": {"monday": 3}}, "by": DAYS},
            "or have an 'at_most' of its own, missing 'friday': nothing says how many can be given there.",
        ),
        ({"sizes": {7: 3}}, "`sizes` must be of committees between 0 and 4, got 7."),
        ({"sizes": {2: "x"}}, "`sizes[2]` must be a whole number of at least 0, got 'x'."),
        ({"total": -1.0}, "`total` must be a finite number of at least 0, got -1.0."),
        ({"by": "day"}, "`by` must be a column of the queries, got 'day': they have "),
        ({"by": ["a"]}, "`by` must have shape (24,), got (1,): one group for each query."),
        (
            {"capacity": dict.fromkeys(NAMES, 5)},
            "`capacity` must leave a way to give out all 24 queries, got ",
        ),
        (
            {"capacity": {"left": {"at_least": 30}}},
            "`capacity` must leave a way to give out all 24 queries, got 'left' at least 30, which is 6 too much.",
        ),
        (
            {"capacity": {"both": {"at_least": 10}}, "total": 9.5},
            "`capacity` must leave a way to give out all 24 queries, got ",
        ),
        (
            {"capacity": {"left": {"friday": {"at_least": 12}, "at_most": 20}}, "by": DAYS},
            "got 'left' in 'friday' at least 12, which is 4 too much.",
        ),
        ({"sizes": {1: 0, 2: 0, 3: 0, 4: 9}}, "got 'asking 4' at most 9, which is 15 too little."),
    ],
)
def test_what_cannot_be_kept_is_named(plain, given_, message):
    with pytest.raises(InvalidInputError) as error:
        assign(plain, policies.queries("classes", 24), COST, **given_)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Target(max_error=0.1), "`target` must be a price, `k` or a budget under limits, got max_error=0.1."),
        (Target(k=5), "`k` must be between 1 and 4, got 5: no more can be asked."),
    ],
)
def test_what_no_batch_can_aim_at(plain, target, message):
    with pytest.raises(InvalidInputError) as error:
        assign(plain, policies.queries("classes", 24), target)
    assert str(error.value) == message


def test_limits_are_a_mapping(plain):
    with pytest.raises(InvalidInputError, match=r"`capacity` must map names to numbers, such as \{'ann': 15\}, got 7."):
        limits_of(plain.panel, 7, None, None, None)


def test_a_limit_says_what_it_is(plain):
    done = assign(plain, policies.queries("classes", 24), COST, capacity={"left": {"at_most": 9, "at_least": 2}})
    (each,) = done.given
    assert isinstance(each, Given)
    assert str(each.limit) == "'left' at least 2 and at most 9"
    assert 2 <= each.count <= 9


def test_a_tighter_limit_never_costs_less(plain):
    seen = plain.see(policies.queries("classes", 60))
    costs = [assign(plain, seen, COST, capacity={"both": n, "left": 2 * n}).cost for n in (0, 3, 9, 30)]
    assert all(a >= b - 1e-5 for a, b in itertools.pairwise(costs))
    assert costs[0] > costs[-1]


def test_where_few_can_be_asked_about_each_query_every_committee_of_theirs_is_looked_at(plain, monkeypatch):
    seen = plain.see(policies.queries("classes", 12, seed=4))
    # One, two or three of four can be asked: with everybody there would be more committees than are looked at.
    there = np.arange(4)[None] <= np.arange(12)[:, None] % 3
    committees = committees_of(plain, seen, there, COST)
    found = committees.everything(committees.most)
    wanted = {
        (i, members)
        for i in range(12)
        for k in range(1, min(committees.most, 1 + i % 3) + 1)
        for members in itertools.combinations(range(1 + i % 3), k)
    }
    assert {
        (int(q), tuple(np.flatnonzero(m).tolist())) for q, m in zip(found.query, found.members, strict=True)
    } == wanted
    monkeypatch.setattr(_assign, "_EVERYTHING", len(wanted))
    done = assign(plain, seen, COST, capacity={"left": 6}, available=there)
    assert done.everything
    assert not assign(plain, seen, COST, capacity={"left": 6}).everything


@pytest.mark.parametrize("others", [{}, {"left": 3}, {"left": 0}])
def test_what_one_more_is_worth_where_nothing_is_allowed(plain, others):
    queries = policies.queries("classes", 24, seed=5)
    limits = {"both": 0} | others
    none = assign(plain, queries, COST, capacity=limits)
    worth = {given.limit.name: given.worth for given in none.given}
    for name, most in limits.items():
        if most == 0:
            more = assign(plain, queries, COST, capacity=limits | {name: 1})
            # Half of one more of each at once is what is priced: where both are short the one is worth a little less.
            alone = sum(each == 0 for each in limits.values()) == 1
            assert worth[name] == pytest.approx((none.cost - more.cost) * 24, rel=0.05 if alone else 0.3, abs=1e-6)
    assert max(worth.values()) > 0


def test_a_day_off_and_a_size_that_is_not_allowed_have_a_price_within_what_errors_cost(plain):
    queries = policies.queries("classes", 24, seed=5) | {"day": DAYS}
    days = {"both": {"monday": 0, "tuesday": 9, "friday": 9}}
    for limits in ({"capacity": days, "by": "day"}, {"sizes": {2: 0, 3: 0}}):
        done = assign(plain, queries, COST, **limits)
        assert all(0.0 <= given.worth < 1.0 for given in done.given)

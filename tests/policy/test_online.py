"""A day's limits, kept one query at a time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askwho import InvalidInputError, Online, Target, assign
from tests import policies

NAMES = ["left", "right", "both", "noise"]


def one_by_one(desk, seen, groups=None):
    """Who was asked about each query, shape (n, |A|), the fees, and the mean expected error."""
    steps = [desk.next(seen.rows(np.array([i])), group=None if groups is None else groups[i]) for i in range(len(seen))]
    errors = [float(step.expected_error[0]) for step in steps]
    return np.concatenate([step.members for step in steps]), np.array([step.fee[0] for step in steps]), np.mean(errors)


# Prices of doubts are too rough from 150 past queries: those of the log, 700, teach them.
@pytest.mark.parametrize(("learned", "doubts"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("target", [Target(fee_weight=0.05), Target(budget=0.15)])
def test_it_costs_little_more_than_the_whole_batch_at_once(target, learned, doubts):
    policy = policies.fitted("own base")
    if not doubts:
        policy = replace(policy, cardinality=replace(policy.cardinality, rationing=None))
    seen, past = (policy.see(policies.queries("own base", 150, seed=seed)) for seed in (1, 2))
    limits = {"left": 20, "right": 25, "both": 15}
    offline = assign(policy, seen, target, capacity=limits)
    desk = Online(policy, target, horizon=150, capacity=limits, past=past if learned else None)
    members, fees, error = one_by_one(desk, seen)
    cost = error + (target.fee_weight or 0.0) * fees.mean()
    # It is chance how many of 150 queries are hard. By doubts the batch costs half as much, and the same chance is more
    # beside it: 2 to 9 in a hundred on six draws. Recorded desks, of 400 and more queries, are in benchmarks/hours.py.
    assert cost <= (1.12 if doubts else 1.05) * offline.cost
    assert [members[:, policy.panel.index(name)].sum() <= most for name, most in limits.items()] == [True] * 3
    assert [each.count for each in desk.given[:3]] == [members[:, policy.panel.index(name)].sum() for name in limits]
    if target.budget is not None:
        assert fees.sum() <= 150 * target.budget + 1e-9


def test_prices_save_hours_for_those_who_need_them(monkeypatch):
    policy = policies.fitted("own base")
    seen, target = policy.see(policies.queries("own base", 120)), Target(fee_weight=0.01)
    limits = {"both": 12, "left": 15, "right": 15}
    _, fees, error = one_by_one(Online(policy, target, horizon=120, capacity=limits), seen)
    # Without prices everybody is asked as they come, until there are no hours left.
    monkeypatch.setattr(Online, "_learn", lambda *given: None)
    monkeypatch.setattr(Online, "_move", lambda *given: None)
    members, dearer, more = one_by_one(Online(policy, target, horizon=120, capacity=limits), seen)
    assert members[:60, policy.panel.index("both")].sum() == 12
    assert error + 0.01 * fees.mean() < 0.95 * (more + 0.01 * dearer.mean())


@given(
    most=st.fixed_dictionaries({}, optional={name: st.integers(0, 12) for name in NAMES}),
    daily=st.fixed_dictionaries({}, optional={name: st.tuples(st.integers(0, 5), st.integers(0, 5)) for name in NAMES}),
    sizes=st.dictionaries(st.integers(1, 4), st.integers(0, 8)),
    total=st.none() | st.floats(0.0, 6.0),
)
@settings(max_examples=10)
def test_no_limit_is_ever_breached(most, daily, sizes, total):
    policy = policies.fitted("own base")
    seen = policy.see(policies.queries("own base", 20))
    days = np.resize(np.array(["a", "b"]), 20)
    capacity = {name: {"at_most": n} for name, n in most.items()}
    for name, hours in daily.items():
        capacity[name] = capacity.get(name, {}) | dict(zip("ab", hours, strict=True))
    desk = Online(
        policy,
        Target(fee_weight=0.01),
        horizon={"a": 10, "b": 10},
        capacity=capacity,
        sizes=sizes,
        total=total,
        past=seen,
    )
    members, fees, _ = one_by_one(desk, seen, days)
    for name, n in most.items():
        assert members[:, policy.panel.index(name)].sum() <= n
    for name, hours in daily.items():
        for day, n in zip("ab", hours, strict=True):
            assert members[days == day, policy.panel.index(name)].sum() <= n
    for size, n in sizes.items():
        assert (members[:, 1:].sum(axis=1) == size).sum() <= n
    if total is not None:
        assert fees.sum() <= total + 1e-9


@given(
    low=st.tuples(*[st.integers(0, 3)] * 4),
    more=st.tuples(*[st.integers(0, 3)] * 4),
    daily=st.integers(0, 2),
    k=st.sampled_from([None, 2]),
)
@settings(max_examples=10)
def test_at_least_is_kept_and_there_is_somebody_to_the_end(low, more, daily, k):
    # No base of our own, and hours that are just enough: whoever is given out too early is missed in the end.
    policy = policies.fitted("classes")
    seen = policy.see(policies.queries("classes", 12))
    days = np.resize(np.array(["a", "b"]), 12)
    capacity = {
        name: {"at_least": n, "at_most": n + extra + 6} for name, n, extra in zip(NAMES, low, more, strict=True)
    }
    capacity["left"] |= {"a": {"at_least": daily, "at_most": 6}}
    target = Target(fee_weight=0.3) if k is None else Target(k=k, fee_weight=0.3)
    desk = Online(policy, target, horizon={"a": 6, "b": 6}, capacity=capacity, past=seen)
    members, _, _ = one_by_one(desk, seen, days)
    for j, name in enumerate(NAMES):
        assert low[j] <= members[:, j].sum() <= capacity[name]["at_most"]
    assert daily <= members[days == "a", 0].sum() <= 6


def test_hours_that_are_just_enough_last_to_the_end():
    policy = policies.fitted("classes")
    seen = policy.see(policies.queries("classes", 20))
    desk = Online(policy, Target(fee_weight=0.0), horizon=20, capacity=dict.fromkeys(NAMES, 5))
    members, _, _ = one_by_one(desk, seen)
    assert members.sum(axis=0).tolist() == [5, 5, 5, 5]
    with pytest.raises(InvalidInputError, match="while there is somebody left to ask"):
        desk.next(seen.rows(np.array([0])))


def test_who_is_away_is_not_asked_and_ids_and_fees_are_taken():
    policy = policies.fitted("classes")
    query = policies.row(policies.queries("classes"), 0)
    desk = Online(policy, Target(fee_weight=0.05), horizon=10)
    step = desk.next(query, available={"noise": True}, ids=["q7"], fees=[1.0, 1.0, 1.0, 3.0])
    assert (step[0].id, step[0].ask, step[0].fee) == ("q7", ("noise",), 3.0)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"horizon": 0}, "`horizon` must be a whole number of at least 1, got 0."),
        (
            {"horizon": 30, "capacity": dict.fromkeys(NAMES, 5)},
            "`capacity` must leave a way to give out 30 queries, each asked of 1, got 'left' at most 5, ",
        ),
        ({"horizon": 5, "capacity": {"left": {"at_least": 6}}}, "`capacity` must leave a way to give out 5 queries"),
        ({"horizon": 5, "total": 0.01}, "`capacity` must leave a way to give out 5 queries"),
        ({"horizon": 5, "sizes": {2: {"at_least": 1}}}, "`sizes` must be of the form 'at_most', and not beside `k`"),
    ],
)
def test_what_no_day_can_keep(given_, message):
    with pytest.raises(InvalidInputError) as error:
        Online(policies.fitted("classes"), Target(fee_weight=0.1), **given_)
    assert message in str(error.value)


def test_a_query_is_one_and_of_a_group_that_was_told():
    policy = policies.fitted("classes")
    queries = policies.queries("classes", 3)
    desk = Online(policy, Target(fee_weight=0.1), horizon={"day": 5, "night": 5})
    with pytest.raises(InvalidInputError, match="must be one query, got 3: `assign` takes a batch"):
        desk.next(queries, group="day")
    for group, got in (("noon", "'noon'"), (None, "none")):
        with pytest.raises(InvalidInputError, match=rf"must be one of \['day', 'night'\], got {got}"):
            desk.next(policies.row(queries, 0), group=group)

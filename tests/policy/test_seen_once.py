"""A query is encoded, judged and answered by the base once, whatever is decided about it; and never to combine."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from askwho import Target
from tests import policies

try:
    import torch  # noqa: F401
except ImportError:
    KINDS = ["classes", "own base", "numbers, own base", "fees by query", "free answers"]
else:
    KINDS = ["classes", "own base", "numbers, own base", "fees by query", "free answers", policies.PRICED]


def counting(part, counts, **methods):
    """The same part, of a class of its own that counts the calls of some methods, each under a name."""
    kind = type(part)
    counted = type(kind.__name__, (kind,), {})

    def count(method, name):
        def call(self, *args, **given):
            counts[name] += 1
            return getattr(kind, method)(self, *args, **given)

        return call

    for method, name in methods.items():
        setattr(counted, method, count(method, name))
    copy = object.__new__(counted)
    copy.__dict__.update(part.__dict__)
    return copy


def counted(policy):
    """The same policy, and how often its parts were called so far."""
    counts = Counter()
    learner = {"scores" if policy.judge.priced else "predict": "learner"}
    judge = replace(
        policy.judge,
        learner=counting(policy.judge.learner, counts, **learner),
        fees=counting(policy.judge.fees, counts, of="fees"),
    )
    curve = counting(policy.cardinality.curve, counts, predict="curve", of_one="curve")
    rationing = policy.cardinality.rationing
    if rationing is not None:
        rationing = counting(rationing, counts, predict="of others")
    watched = replace(
        policy,
        encoder=counting(policy.encoder, counts, transform="encoder"),
        judge=judge,
        cardinality=replace(policy.cardinality, curve=curve, rationing=rationing),
        base=None if policy.base is None else counting(policy.base, counts, say="base"),
    )
    return watched, counts


def targets(kind):
    """Every kind of target, of which one budget mixes two prices."""
    policy = policies.fitted(kind)
    fees = np.sort(policy.tried.fees.mean(axis=1))
    budgets = [Target(budget=float(b)) for b in np.linspace(fees[0], fees[-1], 23)[1:-1]]
    mixed = next(target for target in budgets if 0.2 < policy.setting(target).share < 0.8)
    errors = [point["error"] for point in policy.tried.validated(policy.unit)]
    error = float(np.quantile(errors, 0.5))
    largest = float(np.sqrt(policies.promising(kind).tried.errors.max())) if policy.task == "regression" else None
    return {
        "k": Target(k=2),
        "fee_weight": Target(fee_weight=0.1),
        "mixed budget": mixed,
        "max_error": Target(max_error=error),
        "promise": Target(max_error=1.3 * max(errors), confidence=0.8, max_loss=largest),
    }


AIMS = ["k", "fee_weight", "mixed budget", "max_error", "promise"]


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 60])
def test_a_batch_is_seen_once(kind, aim, n):
    policy, counts = counted(policies.promising(kind) if aim == "promise" else policies.fitted(kind))
    table, target = policies.queries(kind, n), targets(kind)[aim]
    decisions = policy.decide(table, target)
    expected = {"encoder": 1, "learner": 1, "curve": 1, "fees": 1}
    assert counts == expected | ({} if policy.base is None else {"base": 1})
    if aim == "mixed budget" and n > 1:
        found = policy.setting(target)
        aside = decisions.seen.coins < found.share
        assert 0 < aside.sum() < n
    # What was seen is passed on: not even the base is asked again.
    before = dict(counts)
    policy.combine(decisions, policies.said(policy, table))
    policy.combine(policy.read(json.loads(decisions.to_json())), policies.said(policy, table))
    decisions.to_columns()
    assert counts == before


@pytest.mark.parametrize("kind", ["classes", "own base", "fees by query", "free answers"])
@pytest.mark.parametrize("n", [1, 60])
def test_a_step_sees_once(kind, n):
    policy, counts = counted(policies.fitted(kind))
    table = policies.queries(kind, n)
    for target in (Target(fee_weight=0.1), Target(budget=float(policy.turns.tried.fees.mean()))):
        counts.clear()
        policy.next(table, policies.said(policy, table), target)
        assert counts == {"encoder": 1, "learner": 1, "fees": 1} | ({} if policy.base is None else {"base": 1})


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_seen_is_not_seen_again(kind):
    policy, counts = counted(policies.fitted(kind))
    table = policies.queries(kind, 60)
    seen = policy.see(table)
    once = {"encoder": 1, "learner": 1, "fees": 1} | ({} if policy.base is None else {"base": 1})
    assert counts == once
    for number in (1, 2, 3):
        policy.decide(seen, Target(k=number))
        assert counts == once | {"curve": number}
    if policy.turns is not None:
        policy.next(seen, None, Target(fee_weight=0.1))
        assert counts == once | {"curve": 3}


def test_whom_chance_draws_is_the_one_thing_that_is_looked_at_again(policy, new):
    watched, counts = counted(policy)
    watched.decide(new, Target(k=2), explore=0.3, random_state=0)
    assert counts == {"encoder": 1, "learner": 1, "fees": 1, "curve": 1, "of others": 1}


def test_what_was_counted_is_what_is_decided(new):
    for aim, target in targets("classes").items():
        policy = policies.promising("classes") if aim == "promise" else policies.fitted("classes")
        watched, counts = counted(policy)
        one, other = watched.decide(new, target), policy.decide(new, target)
        np.testing.assert_array_equal(one.order, other.order)
        np.testing.assert_array_equal(one.k, other.k)
        assert counts["learner"] == 1

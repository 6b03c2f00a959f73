"""A policy is frozen: nothing changes it, and its copies decide the same."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from askwho import Target, load, save
from tests import policies

try:
    import torch  # noqa: F401
except ImportError:
    EVERY = list(policies.KINDS)
else:
    EVERY = [*policies.KINDS, policies.PRICED]
COPIES = {
    "pickle": lambda policy: pickle.loads(pickle.dumps(policy)),  # noqa: S301 - our own
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "replace": dataclasses.replace,
}


@pytest.fixture(scope="module", params=EVERY)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def loaded(kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy") / "policy"
    save(policies.fitted(kind), folder)
    return load(folder)


def test_nothing_of_a_policy_can_be_set(kind, loaded):
    for policy in (policies.fitted(kind), loaded):
        for field in dataclasses.fields(policy):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(policy, field.name, None)
        with pytest.raises(dataclasses.FrozenInstanceError):
            policy.anything = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            del policy.panel
        for part in (policy.judge, policy.judge.calibration, policy.judge.fees, policy.cardinality, policy.combiner):
            with pytest.raises(dataclasses.FrozenInstanceError):
                part.anything = 1
        for part in (policy.tried, policy.past, policy.facts):
            with pytest.raises(dataclasses.FrozenInstanceError):
                part.errors = None


def decided(policy, kind):
    """Decisions of every sort, as plain columns."""
    table = policies.queries(kind, 40)
    ids = np.arange(40)
    fees = np.sort(policy.tried.fees.mean(axis=1))
    found = []
    for target in (Target(k=1), Target(fee_weight=0.1), Target(budget=float(fees[len(fees) // 2]))):
        decisions = policy.decide(table, target, ids=ids)
        if policy.columns.answers is not None:
            decisions = policy.combine(decisions, policies.said(policy, table))
        found.append(decisions.to_columns())
        # One at a time takes another way.
        found.append(policy.decide(policies.row(table, 3), target, ids=[3]).to_columns())
    if policy.turns is not None:
        found.append(policy.next(table, policies.said(policy, table), Target(fee_weight=0.1), ids=ids).next_columns())
    return found


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_decides_the_same(kind, loaded, way):
    for policy in (policies.fitted(kind), loaded):
        assert decided(COPIES[way](policy), kind) == decided(policy, kind)


def test_what_was_loaded_decides_the_same(kind, loaded):
    one, other = decided(policies.fitted(kind), kind), decided(loaded, kind)
    for mine, theirs in zip(one, other, strict=True):
        assert mine.keys() == theirs.keys()
        for name in mine:
            if name in ("id", "ask", "k", "order", "heard", "ask_next", "propensity", "propensities"):
                assert mine[name] == theirs[name]


def test_deciding_changes_nothing(kind, tmp_path):
    policy = policies.fitted(kind)
    before = pickle.dumps(dataclasses.replace(policy, tried=dataclasses.replace(policy.tried)))
    first = decided(policy, kind)
    save(policy, tmp_path / "policy")
    assert decided(policy, kind) == first
    after = pickle.loads(before)  # noqa: S301 - our own
    assert decided(after, kind) == first

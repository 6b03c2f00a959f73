"""What it means that two policies are the same: to the last bit of what is written, and in what they decide."""

import json

import numpy as np

from askwho._parts import state_of
from askwho.policy import Target

TARGETS = (
    Target(fee_weight=0.0),
    Target(fee_weight=0.3),
    Target(k=1),
    Target(k=1, fee_weight=0.1),
    Target(budget=0.5),
)


def same_state(ours, theirs):
    """The same parts of the same kinds, with the same JSON, arrays and graphs."""
    mine, other = (dict(state_of(policy, "policy").walk()) for policy in (ours, theirs))
    assert mine.keys() == other.keys()
    for path, state in mine.items():
        assert state.kind == other[path].kind, path
        assert json.loads(json.dumps(state.plain)) == json.loads(json.dumps(other[path].plain)), path
        assert state.graphs == other[path].graphs, path
        assert state.arrays.keys() == other[path].arrays.keys(), path
        for name, array in state.arrays.items():
            assert array.dtype == other[path].arrays[name].dtype, (path, name)
            np.testing.assert_array_equal(array, other[path].arrays[name], err_msg=f"{path}/{name}")


def same_decisions(ours, theirs, queries, targets=TARGETS):
    """The same people are asked about every query, at the same fees, with the same error expected."""
    for target in targets:
        mine, other = ours.decide(queries, target), theirs.decide(queries, target)
        np.testing.assert_array_equal(mine.order, other.order)
        np.testing.assert_array_equal(mine.k, other.k)
        np.testing.assert_array_equal(mine.fee, other.fee)
        np.testing.assert_array_equal(mine.expected_error, other.expected_error)


def same_verdicts(ours, theirs, queries, target=TARGETS[0]):
    """The same is decided of the same answers, as surely."""
    mine, other = (
        policy.combine(policy.decide(queries, target), queries, by_position=True) for policy in (ours, theirs)
    )
    assert mine.outcome.decided.any()
    for name in ("values", "decided", "probability", "paid", "heard"):
        np.testing.assert_array_equal(getattr(mine.outcome, name), getattr(other.outcome, name), err_msg=name)

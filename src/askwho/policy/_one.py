"""One decision about one query, in plain numbers: for so few of them NumPy's calls would take longest."""

from typing import TYPE_CHECKING

import numpy as np

from askwho.policy._aims import exactly, rates_of
from askwho.policy._decision import Decisions, certain
from askwho.policy._outcomes import Setting
from askwho.policy._seen import Seen
from askwho.policy._target import Target

if TYPE_CHECKING:
    from askwho.policy._policy import Policy


def decide_one(policy: "Policy", seen: Seen, target: Target, found: Setting | None, ids: np.ndarray) -> Decisions:
    """Return what `Policy.decide` would, of one query, where expected errors, fees and the curve alone decide.

    Args:
        policy: the policy.
        seen: the query.
        target: what is asked for.
        found: the setting that meets it, where one was looked for.
        ids: what the query is called.
    """
    rate = target.fee_weight
    if rate is None:
        rate = 0.0 if found is None else float(rates_of(seen, target, found)[0])
    expected, price = seen.judged.expected[0].tolist(), seen.fees[0].tolist()
    weights = policy.judge.error_weights.tolist()
    costs = [weight * error + rate * fee for weight, error, fee in zip(weights, expected, price, strict=True)]
    order = sorted(range(len(costs)), key=costs.__getitem__)[: policy.cardinality.width]
    curve = policy.cardinality.curve.of_one(seen.X[0], expected, order)
    paid, best, k = 0.0, np.inf, 1
    for size, j in enumerate(order[: len(curve)], start=1):
        paid += price[j]
        cost = curve[size - 1] + rate * paid
        if cost < best:
            best, k = cost, size
    if target.k is not None:
        k = exactly(policy, target.k, policy.cardinality.width)
    asked, chance, chances = certain(k, len(order))
    error = np.array([policy.unit.shown(curve[min(k, len(curve)) - 1])])
    return Decisions(policy.panel, ids, policy.unit, seen, np.array([order]), asked, error, chance, chances)

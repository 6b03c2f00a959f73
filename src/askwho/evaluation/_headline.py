"""What a policy saves against one entity, by the settings that it would take: none is chosen on the rows that judge."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho.evaluation._points import Tally, error_interval, interval, ratio
from askwho.metrics import Frontier
from askwho.policy import Outcomes, Policy

# What rounding leaves of a share or a fee that is nothing, and parts two ways of adding up the same.
ROUNDING = 1e-14
# Half the width of an interval of 95% in standard deviations, twice.
_ACROSS = 2 * 1.96
# What hangs on the settings up to the one that matches the best single.
_MATCH = ("fee_to_match_best_single", "fee_saved")
# What hangs on those beside its fee.
_AT_FEE = ("error_at_best_single_fee", "error_saved")
# What hangs on the dearest.
_BEST = ("best_error", "best_error_fee")
# What is told beside the best single's error, where anything is.
_FIGURES = ("best_single_fee", *_MATCH, *_AT_FEE, *_BEST)
# A tail of an interval: so many resamples may be silent.
_FEW = 0.025


def headline(policy: Policy, found: Mapping[str, Sequence[Tally]], single: Tally) -> dict[str, Any]:
    """Return what a policy saves against one entity, each figure with its interval.

    The settings are those on the frontier of what the policy did on held-out rows of its own log: the way that a budget
    goes as it grows. Of many settings judged on the same rows the best is partly the luckiest, the more so the fewer
    rows stand behind each. A figure that hangs on a setting whose own error stands on too few rows is not told: what
    others get would be another figure. `untold` names those.

    Args:
        policy: whose settings they are.
        found: what they got and paid, at each of its prices: `adaptive`, and `sequential` where it asks in turn.
        single: the one entity.
    """
    way = _Way.of(policy, found)
    if way is None or not single.told:
        return _untold({}, ("best_single_error", *_FIGURES))
    loss, fee, shown = _spread(single), single.fee, single.shown
    match, at_fee = way.fee_for(loss), way.loss_at(fee)
    # Ends are those of settings judged alone, which hold where errors are rare and where rows weigh unequally.
    ends = [shown(way.between(fee[:1], bound))[0] for bound in way.ends.T]
    last = shown(way.ends[-1])
    untold = () if way.tells_match(float(loss[0])) else _MATCH
    # The single's fee lies between others in some resamples, where it differs by query.
    untold += () if way.tells_at(float(fee[0])) and np.isnan(at_fee).mean() <= _FEW else _AT_FEE
    untold += () if way.told[-1] else _BEST
    told = {
        "best_single_error": float(shown(loss)[0]),
        "best_single_error_interval": plain(error_interval(single)),
        **both("best_single_fee", fee),
        **both("fee_to_match_best_single", match),
        **both("fee_saved", 1 - ratio(match, fee)),
        "error_at_best_single_fee": float(shown(at_fee)[0]),
        "error_at_best_single_fee_interval": plain([float(end) for end in ends]),
        **both("error_saved", 1 - ratio(shown(at_fee), shown(loss))),
        "best_error": float(shown(way.losses[0, -1:])[0]),
        "best_error_interval": plain([float(end) for end in last]),
        **both("best_error_fee", way.fees[:, -1]),
    }
    return _untold(told, untold)


def _untold(told: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The figures without some, which are named."""
    nothing = {key: value for name in names for key, value in ((name, None), (f"{name}_interval", [None, None]))}
    return {**told, **nothing, "untold": list(names)}


def frontier_of(tried: Sequence[Outcomes]) -> Int[np.ndarray, " h"]:
    """Return the settings on the frontier of what was done on held-out rows, by rising fee.

    Args:
        tried: what was done at the prices of one kind of settings after another.
    """
    fees, losses = (np.concatenate(each) for each in zip(*(each.trade() for each in tried), strict=True))
    known = np.flatnonzero(np.isfinite(fees + losses))
    return known[Frontier.of(fees[known], losses[known]).settings] if len(known) else known


class _Way:
    """Settings by rising fee, as judged: in the sample, and in each resample.

    Args:
        told: shape (h,), of which settings enough is known.
        fees: shape (draws + 1, h), rising in each row; of one whose fee is not known, that of the one before.
        losses: shape (draws + 1, h); NaN where too little is known.
        ends: shape (h, 2), the interval of each mean loss; NaN likewise.
    """

    def __init__(self, tallies: Sequence[Tally]) -> None:
        self.told = np.array([tally.told and not np.isnan(tally.loss).any() for tally in tallies], dtype=bool)
        fees = np.column_stack([t.fee if t.paid else np.zeros(len(t.fee)) for t in tallies])
        self.fees: Float[np.ndarray, "b h"] = np.maximum.accumulate(fees, axis=1)
        losses, ends = np.full(self.fees.shape, np.nan), np.full((len(tallies), 2), np.nan)
        for i in np.flatnonzero(self.told).tolist():
            losses[:, i] = _spread(tallies[i])
            ends[i] = tallies[i].unit.losses(np.array(error_interval(tallies[i])))
        self.losses: Float[np.ndarray, "b h"] = losses
        self.ends: Float[np.ndarray, "h 2"] = ends

    @classmethod
    def of(cls, policy: Policy, found: Mapping[str, Sequence[Tally]]) -> "_Way | None":
        """Return the settings that the policy would take; None where nothing is told of any of them."""
        kinds = [(policy.tried, found["adaptive"])]
        if policy.turns is not None and found["sequential"]:
            kinds.append((policy.turns.tried, found["sequential"]))
        tallies = [tally for _, judged in kinds for tally in judged]
        taken = frontier_of([tried for tried, _ in kinds])
        way = cls([tallies[i] for i in taken]) if len(taken) else None
        return way if way is not None and way.told.any() else None

    def tells_at(self, budget: float) -> bool:
        """Whether enough is known of both settings that a mean fee lies between."""
        after = min(int(self.fees[0].searchsorted(budget)), len(self.told) - 1)
        before = max(after - 1, 0) if self.fees[0, after] > budget else after
        return bool(self.told[[before, after]].all())

    def tells_match(self, loss: float) -> bool:
        """Whether enough is known of all settings up to the one that comes down to a mean loss, or of all."""
        reached = np.flatnonzero(self.told & (self.losses[0] <= loss * (1 + ROUNDING)))
        return bool(self.told[: int(reached[0]) + 1 if len(reached) else None].all())

    def loss_at(self, budgets: Float[np.ndarray, " b"]) -> Float[np.ndarray, " b"]:
        """Return the mean loss of the mixture that a mean fee buys; of the cheapest setting, where that is dearer."""
        return np.array([np.interp(*each) for each in zip(budgets, self.fees, self.losses, strict=True)])

    def between(self, budget: Float[np.ndarray, " 1"], values: Float[np.ndarray, " h"]) -> Float[np.ndarray, " 1"]:
        """Return what lies between the values of two settings where the sample's fee is the budget."""
        return np.interp(budget, self.fees[0], values)

    def fee_for(self, losses: Float[np.ndarray, " b"]) -> Float[np.ndarray, " b"]:
        """Return the fee at which the way first comes down to a mean loss; infinite where it never does."""
        return np.array([_first(*each) for each in zip(losses, self.fees, self.losses, strict=True)])


def _first(level: float, fees: np.ndarray, losses: np.ndarray) -> float:
    reached = np.flatnonzero(losses <= level * (1 + ROUNDING))
    if not len(reached):
        return np.inf
    i = int(reached[0])
    if not i:
        return float(fees[0])
    left = (losses[i - 1] - level) / (losses[i - 1] - losses[i])
    return float(fees[i - 1] + (fees[i] - fees[i - 1]) * min(left, 1.0))


def _spread(tally: Tally) -> Float[np.ndarray, " b"]:
    """Mean losses, those of resamples as far from the sample's as the interval says that the truth may be.

    Resamples do not know what was imagined, nor what rows that could not be scored may hold.
    """
    loss = tally.loss
    low, high = tally.unit.losses(np.array(error_interval(tally)))
    deviation = float(np.nanstd(loss[1:])) if len(loss) > 1 else 0.0
    if not deviation > 0:
        return loss
    return np.maximum(loss[0] + (loss - loss[0]) * max(1.0, (high - low) / (_ACROSS * deviation)), 0.0)


def both(name: str, values: np.ndarray) -> dict[str, Any]:
    """Return the sample's figure, and the interval of the resamples; None for what is not, or is without an end."""
    # What is left of a difference of equals is nothing, and no interval ends beside its figure by rounding.
    values = np.where(np.abs(values) < ROUNDING, 0.0, values)
    figure, (low, high) = float(values[0]), interval(values[1:])
    if np.isclose([low, high], figure, rtol=100 * ROUNDING, atol=0.0).any():
        low, high = min(low, figure), max(high, figure)
    return {name: figure if np.isfinite(figure) else None, f"{name}_interval": plain([low, high])}


def plain(bounds: Sequence[float]) -> list[float | None]:
    """Return an interval's ends; None for one that is not known, or beyond every number."""
    return [bound if np.isfinite(bound) else None for bound in bounds]

"""One query at a time under the limits of a day, by prices that adapt."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from askwho import _validation as check
from askwho.exceptions import InvalidInputError
from askwho.policy._assign._assign import Given, checked_aim, committees_of, decisions_of, worth_to
from askwho.policy._assign._limits import limits_of
from askwho.policy._assign._master import Rows
from askwho.policy._assign._rest import Rest
from askwho.policy._decision import Decisions
from askwho.policy._ids import checked_ids, made_up_ids
from askwho.policy._policy import Policy, Queries
from askwho.policy._seen import Charges, Seen
from askwho.policy._target import Target

# So many committees of one query are all looked at; of larger panels those that the ranking and the prices propose.
_LOOKED_AT = 128
# Of the best so many, those that differ by one member are looked at too.
_FIRST = 3
# Past queries that first prices are learned from: with a third of them prices were too noisy to keep near the batch.
_PAST = 1_500
# A step of the prices, in parts of the spread of expected errors over the root of the number of queries: Balseiro, Lu
# and Mirrokni (2023) leave the factor open.
_STEP = 0.25


class Online:
    """A day's limits, kept one query at a time.

    Each query goes to the committee that is best at the prices of the moment. Then prices move: up where more was used
    than an even share of what is left, down where less was; dual mirror descent (Balseiro, Lu and Mirrokni 2023,
    Section 3), with the share of what is left in the place of that of the whole. No bound of the form "at most" is ever
    breached. "At least" is kept too, if as many queries come as were told and whoever it is about can be asked.

    Args:
        policy: whose expected errors count.
        target: as in `assign`; a budget is the mean fee of the day.
        horizon: how many queries will come, or how many of each group.
        capacity: as in `assign`.
        sizes: as in `assign`, without "at_least".
        total: as in `assign`.
        past: queries such as will come, from which to learn the first prices; some of the policy's own log, unless
            given.
    """

    def __init__(
        self,
        policy: Policy,
        target: Target,
        *,
        horizon: int | Mapping[str, int],
        capacity: Mapping[str, Any] | None = None,
        sizes: Mapping[Any, Any] | None = None,
        total: float | None = None,
        past: Queries | None = None,
    ) -> None:
        self.policy = policy
        self._aim = checked_aim(policy, target)
        whole = horizon if isinstance(horizon, Mapping) else {"": horizon}
        coming = {str(name): check.whole_number(n, "horizon", minimum=1) for name, n in whole.items()}
        n = sum(coming.values())
        money = [each for each in (total, None if target.budget is None else target.budget * n) if each is not None]
        grouped = sorted(coming) if isinstance(horizon, Mapping) else None
        self._limits = limits_of(policy.panel, capacity, sizes, min(money) if money else None, grouped)
        self._rest = Rest(policy.panel.own, policy.judge.fees.usual, self._limits, coming, self._aim.k or 1)
        self._rest.check()
        self._used = np.zeros(len(self._limits))
        # What one more of each "at most" costs, and what one of each "at least" is worth.
        self._above, self._below = np.zeros(len(self._limits)), np.zeros(len(self._limits))
        self._spread, self._came, self._expected = 0.0, 0, n
        if self._limits:
            self._learn(_own_past(policy) if past is None else policy.see(past), coming)

    @property
    def given(self) -> tuple[Given, ...]:
        """What came of each limit so far, and what one more is worth at the prices of the moment."""
        prices = (self._above - self._below).tolist()
        return tuple(Given(*each) for each in zip(self._limits, self._used.tolist(), prices, strict=True))

    def next(
        self,
        query: Queries,
        *,
        group: str | None = None,
        available: Any = None,  # noqa: ANN401 - as in `Policy.decide`
        fees: Charges | None = None,
        ids: Any = None,  # noqa: ANN401 - any column
    ) -> Decisions:
        """Return whom to ask about the next query.

        Args:
            query: one, as in `Policy.decide`.
            group: which group it is of, where the horizon names groups.
            available: as in `Policy.decide`.
            fees: as in `Policy.decide`.
            ids: what it is called.
        """
        seen = self.policy.see(query)
        if len(seen) != 1:
            raise InvalidInputError(f"`query` must be one query, got {len(seen)}: `assign` takes a batch.")
        if fees is not None:
            seen = seen.at_fees(self.policy.panel, fees)
        name = self._group(group)
        committees = committees_of(self.policy, seen, available, self._aim)
        rows = Rows(self._limits, self.policy.panel.own, np.array([name], dtype=object), 1, self._aim.fee_weight or 0.0)
        worth = self._above - self._below
        looked_at = committees.best(*rows.prices(worth), singles=len(self.policy.panel))
        size = committees.largest(_LOOKED_AT)
        if size:
            looked_at = looked_at.with_more(committees.everything(size))
        if size < committees.most:
            reduced = rows.costs(looked_at) + rows.counts(looked_at) @ worth
            looked_at = looked_at.with_more(committees.near(looked_at.rows(reduced.argsort()[:_FIRST])))
        counts = rows.counts(looked_at)
        kept = (self._used + counts <= rows.upper + 1e-9 * np.maximum(1.0, rows.upper)).all(axis=1)
        costs = np.where(kept, rows.costs(looked_at) + counts @ worth, np.inf)
        cheapest = np.argsort(costs, kind="stable")[: int(kept.sum())]
        if not cheapest.size:
            raise InvalidInputError(
                "`query` must come while there is somebody left to ask: no committee of whoever is there keeps "
                f"{', '.join(map(str, self._limits))}."
            )
        left = self._rest.without(name)
        # Whoever is needed later is not used up now, as long as that can be helped.
        chosen = next((c for c in cheapest.tolist() if left.enough(self._used + counts[c])), int(cheapest[0]))
        self._move(counts[chosen], name, float(np.ptp(committees.singles)))
        self._used, self._rest = self._used + counts[chosen], left
        picked = looked_at.rows(np.array([chosen]))
        return decisions_of(committees, picked, made_up_ids(1) if ids is None else checked_ids(ids, 1))

    def _group(self, group: str | None) -> str:
        known = list(self._rest.coming)
        name = "" if group is None else str(group)
        if name not in known:
            got = "none" if group is None else repr(group)
            raise InvalidInputError(f"`group` must be one of {known}, got {got}: the horizon names them.")
        return name

    def _move(self, counts: Float[np.ndarray, " r"], group: str, spread: float) -> None:
        """Prices after a query that used so much of each limit."""
        self._came += 1
        self._spread += (spread - self._spread) / self._came
        step = _STEP * self._spread / math.sqrt(self._expected)
        for r, limit in enumerate(self._limits):
            if limit.group not in (None, group):
                continue
            remaining = max(self._rest.count(limit.group), 1)
            unit = max(limit.at_most / self._expected, 1e-12) if limit.kind == "budget" else 1.0
            if limit.at_most < math.inf:
                share = (limit.at_most - self._used[r]) / remaining
                self._above[r] = max(0.0, self._above[r] + step * (counts[r] - share) / unit**2)
            if limit.at_least > 0:
                share = max(0.0, limit.at_least - self._used[r]) / remaining
                self._below[r] = max(0.0, self._below[r] + step * (share - counts[r])) if share else 0.0

    def _learn(self, seen: Seen, coming: Mapping[str, int]) -> None:
        """The first prices: what the limits are worth to past queries, with as large a part of every limit."""
        # Past queries stand for those of every group, in parts as large as will come of it.
        parts = [max(1, round(_PAST * n / self._expected)) for n in coming.values()]
        some = np.concatenate([np.linspace(0, len(seen) - 1, part).astype(np.intp) for part in parts])
        groups = np.repeat(np.array(list(coming), dtype=object), parts)
        committees = committees_of(self.policy, seen.rows(some), None, self._aim)
        rows = Rows(self._limits, self.policy.panel.own, groups, len(some), self._aim.fee_weight or 0.0)
        worth = worth_to(committees, rows, len(some) / self._expected)
        self._above, self._below = np.maximum(worth, 0.0), np.maximum(-worth, 0.0)


def _own_past(policy: Policy) -> Seen:
    """Some queries of the log that the policy was learned from."""
    past = policy.past
    some = np.linspace(0, len(past.features) - 1, min(_PAST, len(past.features))).astype(np.intp)
    X = (past.features[some] * past.scale + past.centre).astype(np.float32)
    seen, rationing = Seen(X, policy.judge.judge(X), policy.judge.fees.of(X)), policy.cardinality.by_doubts
    # The base has learned from these very queries: its doubts of today would be too few.
    return seen if rationing is None else rationing.believed_past(seen, some)

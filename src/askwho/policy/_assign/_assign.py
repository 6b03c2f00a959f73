"""A batch of queries, given out under limits at the least expected cost."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from askwho import _validation as check
from askwho.data import table_of
from askwho.exceptions import InvalidInputError
from askwho.policy._assign._committees import Committees, Proposals
from askwho.policy._assign._limits import Limit, limits_of
from askwho.policy._assign._master import Rows, Solution, solve, whole
from askwho.policy._available import who_is_there
from askwho.policy._decision import Decisions
from askwho.policy._ids import checked_ids, made_up_ids
from askwho.policy._policy import Policy, Queries
from askwho.policy._seen import Charges, Seen
from askwho.policy._target import Target, checked_target

# Up to so many committees in all, every one is looked at: then the least cost is the least there is.
_EVERYTHING = 40_000
# Where each round looks at no more than so many, it also looks at those that differ by one member from the best so far.
_NEIGHBOURS = 40_000
# Prices of more queries than this are first found for so many of them, and are nearly right for all.
_SAMPLE = 1_500
# Rounds of proposing committees at new prices: the gap is told, whether or not they suffice.
_ROUNDS = 40
# A large batch is done where its bound is as near as this, in parts of its cost.
_CLOSE = 1e-4
# Single entities of each query that are looked at from the beginning, and committees that a round adds at the most.
_SINGLES = 4
# A cost is lower by more than rounding.
_LOWER = 1e-9


@dataclass(frozen=True)
class Given:
    """What came of one limit.

    Args:
        limit: what is counted, and its bounds.
        count: what was given.
        worth: by how much one more would lower the expected cost of the batch; below 0 where one more must be given.
    """

    limit: Limit
    count: float
    worth: float


@dataclass(frozen=True, eq=False)
class Assigned:
    """A batch that was given out.

    Args:
        decisions: whom to ask about each query.
        given: what came of each limit, and what one more of it is worth.
        cost: the expected cost of a query in the mean: its error, squared where answers are numbers, and λ times its
            fee.
        bound: what no way of giving out the committees that were looked at costs less than.
        everything: whether those were all that there are.
    """

    decisions: Decisions
    given: tuple[Given, ...]
    cost: float
    bound: float
    everything: bool

    @property
    def gap(self) -> float:
        """How far the cost is above its bound at the most, in parts of the cost."""
        return max(0.0, self.cost - self.bound) / max(abs(self.cost), _LOWER)


def assign(
    policy: Policy,
    queries: Queries,
    target: Target,
    *,
    capacity: Mapping[str, Any] | None = None,
    sizes: Mapping[Any, Any] | None = None,
    by: Any = None,  # noqa: ANN401 - a name or a column
    total: float | None = None,
    available: Any = None,  # noqa: ANN401 - as in `Policy.decide`
    fees: Charges | None = None,
    ids: Any = None,  # noqa: ANN401 - any column
    seconds: float = 60.0,
) -> Assigned:
    """Return whom to ask about each query of a batch, all limits kept, at the least expected cost.

    The cost is the expected error of the committee and λ times its fee; with a budget, the error alone. A generalised
    assignment over committees, solved by column generation (Dantzig and Wolfe 1960): committees are proposed by the
    policy's own ranking, with what the limits are worth as fees beside the fees.

    Args:
        policy: whose expected errors count.
        queries: as in `Policy.decide`.
        target: `fee_weight`, `k`, or `budget`, which is kept in this batch: the mean fee of its queries.
        capacity: how many queries each can be given: a number, `{"at_most": 20, "at_least": 5}`, or one of these for
            each group, such as `{"monday": 15, "tuesday": 10}`; who is not named has no limit.
        sizes: how many queries may ask so many, in the same words: `{3: 100}`.
        by: the column that tells the groups, or the groups themselves, shape (n,).
        total: what the whole batch may charge.
        available: as in `Policy.decide`; also a mapping from a name to a mask of shape (n,).
        fees: as in `Policy.decide`.
        ids: as in `Policy.decide`.
        seconds: how long to search for whole numbers where a batch comes out in parts.
    """
    aim = checked_aim(policy, target)
    table = None if isinstance(queries, Seen) else table_of(queries, "queries", texts=policy.texts)
    seen = policy.see(queries if table is None else table)
    if fees is not None:
        seen = seen.at_fees(policy.panel, fees)
    names = table.get(policy.id_column) if table is not None and ids is None else ids
    called = made_up_ids(len(seen)) if names is None else checked_ids(names, len(seen))
    groups = _groups(by, table, len(seen))
    rows = Rows(
        limits_of(
            policy.panel,
            capacity,
            sizes,
            _least(None if aim.budget is None else aim.budget * len(seen), total),
            None if groups is None else sorted(set(groups.tolist())),
        ),
        policy.panel.own,
        groups,
        len(seen),
        aim.fee_weight or 0.0,
    )
    committees = committees_of(policy, seen, available, aim)
    given, found, everything, bound = _generated(committees, rows)
    _check_kept(rows, committees, given, found)
    chosen, least = whole(rows, given, found, seconds=seconds)
    if chosen is None:
        raise InvalidInputError(
            f"`capacity` cannot be kept in whole numbers, as far as {seconds:g} seconds tell: "
            f"{', '.join(map(str, rows.limits))}."
        )
    picked = given.rows(chosen)
    cost = float(rows.costs(picked).mean())
    counts = rows.counts(picked).sum(axis=0)
    came = zip(rows.limits, counts.tolist(), _worth(committees, rows, given, found).tolist(), strict=True)
    return Assigned(
        decisions_of(committees, picked, called),
        tuple(Given(limit, count, worth + 0.0) for limit, count, worth in came),
        cost,
        min(max(bound, least if everything else bound) / len(seen), cost),
        everything,
    )


def checked_aim(policy: Policy, target: Target) -> Target:
    """Return the target, or say why limits cannot be kept with it or with this policy."""
    aim = checked_target(target)
    if aim.max_error is not None or aim.confidence is not None:
        raise InvalidInputError(f"`target` must be a price, `k` or a budget under limits, got {aim}.")
    if policy.judge.priced:
        raise InvalidInputError(
            f"The price is baked into the policy {policy.judge.name!r}: to give out a batch takes expected errors, fit "
            "another learner."
        )
    return aim


def committees_of(policy: Policy, seen: Seen, available: object, aim: Target) -> Committees:
    """Return what committees of whoever is there are expected to cost."""
    n, size = len(seen), len(policy.panel)
    there = np.ones((n, size), dtype=bool) if available is None else who_is_there(policy.panel, available, n)
    most = min(policy.cardinality.width, size)
    if aim.k is not None and aim.k > min(most, int(there.sum(axis=1).min())):
        raise InvalidInputError(
            f"`k` must be between 1 and {min(most, int(there.sum(axis=1).min()))}, got {aim.k}: no more can be asked."
        )
    return Committees(policy, seen, there, aim.fee_weight or 0.0, aim.k, most)


def decisions_of(committees: Committees, picked: Proposals, ids: Shaped[np.ndarray, " n"]) -> Decisions:
    """Return the decisions that ask some committees, one for each query in turn."""
    policy, n = committees.policy, len(picked)
    order, k = committees.order(picked.query, picked.members), picked.members.sum(axis=1)
    within = np.arange(order.shape[1]) < k[:, None]
    error = np.array([policy.unit.shown(max(each, 0.0)) for each in picked.error.tolist()])
    # Whoever comes next in the order may have no room left: nobody is named in the place of those who do not answer.
    return Decisions(
        policy.panel, ids, policy.unit, committees.seen, order, k, error, np.ones(n), within.astype(np.float64), there=k
    )


def _generated(committees: Committees, rows: Rows) -> tuple[Proposals, Solution, bool, float]:
    """Committees among which the best are, their shares, whether they are all there are, and the bound of the cost."""
    n = len(committees)
    size = committees.largest(_EVERYTHING)
    if size == committees.most:
        given = committees.everything(size)
        found = solve(rows, given)
        return given, found, True, found.cost
    worth = np.zeros(len(rows.limits))
    if n > 2 * _SAMPLE and rows.limits:
        worth = _sampled(committees, rows)
    given = committees.best(*rows.prices(worth), singles=_SINGLES)
    if worth.any():
        given = given.with_more(committees.best(*rows.prices(np.zeros(len(worth))), singles=1))
    pool = committees.everything(size) if size > 1 else committees.nothing()
    return _improved(committees, rows, given, pool, _CLOSE if n > _SAMPLE else 0.0)


def _improved(
    committees: Committees, rows: Rows, given: Proposals, pool: Proposals, close: float
) -> tuple[Proposals, Solution, bool, float]:
    """Committees are added as long as one is worth more at the prices of the others."""
    found, bound = solve(rows, given), -math.inf
    for _ in range(_ROUNDS):
        more = committees.best(*rows.prices(found.worth)).with_more(pool)
        if len(committees) * len(rows.own) <= _NEIGHBOURS:
            more = more.with_more(committees.near(given.rows(np.flatnonzero(found.shares > _LOWER))))
        reduced = rows.costs(more) + rows.counts(more) @ found.worth - found.queries[more.query]
        least = np.zeros(len(committees))
        np.minimum.at(least, more.query, reduced)
        if not found.breach.any():
            bound = max(bound, found.cost + float(least.sum()))
        better = more.rows(_first(more.query, reduced, np.flatnonzero(reduced < -_LOWER)))
        if not len(better) or found.cost - bound <= close * abs(found.cost):
            break
        before = len(given)
        given = given.with_more(better)
        if len(given) == before:
            break
        found = solve(rows, given)
    return given, found, 1 in (committees.most, committees.k), bound


def _worth(committees: Committees, rows: Rows, given: Proposals, found: Solution) -> Float[np.ndarray, " r"]:
    """What one more of each limit is worth, shape (r,).

    Where nothing is allowed at all any price keeps it so, and no committee stands that would tell which is the least:
    there it is what half of one more is worth.
    """
    none = np.array([limit.at_most == 0 for limit in rows.limits], dtype=bool)
    if not none.any():
        return found.worth
    fees = given.fee[given.fee > 0]
    a_little = {"budget": 0.5 * float(fees.min()) if len(fees) else 1.0}
    limits = tuple(
        replace(limit, at_most=a_little.get(limit.kind, 0.5)) if limit.at_most == 0 else limit for limit in rows.limits
    )
    freed = rows.prices(np.where(none, 0.0, found.worth))
    start = given.with_more(committees.best(*freed, singles=_SINGLES))
    relaxed = _improved(committees, replace(rows, limits=limits), start, committees.nothing(), _CLOSE)[1].worth
    return np.where(none, relaxed, found.worth)


def _sampled(committees: Committees, rows: Rows) -> Float[np.ndarray, " r"]:
    """What the limits are worth to some of the queries, with as large a part of every limit."""
    some = np.linspace(0, len(committees) - 1, _SAMPLE).astype(np.intp)
    fewer = replace(committees, seen=committees.seen.rows(some), there=committees.there[some])
    groups = None if rows.groups is None else rows.groups[some]
    return worth_to(fewer, replace(rows, groups=groups, n=len(some)), len(some) / len(committees))


def worth_to(committees: Committees, rows: Rows, part: float) -> Float[np.ndarray, " r"]:
    """Return what one more of each limit is worth, shape (r,), where queries are a part of those it is about.

    Args:
        committees: of the queries.
        rows: the limits of all.
        part: how many of all they are, in parts.
    """
    limits = tuple(
        replace(limit, at_least=limit.at_least * part, at_most=limit.at_most * part) for limit in rows.limits
    )
    small = replace(rows, limits=limits)
    start = committees.best(*small.prices(np.zeros(len(limits))), singles=_SINGLES)
    worth = _improved(committees, small, start, committees.nothing(), _CLOSE)[1].worth
    # A limit that a part of the queries cannot keep would be worth any price: nobody is worth more than all errors.
    most = float(np.ptp(committees.singles))
    return np.where([limit.kind == "budget" for limit in limits], worth, np.clip(worth, -most, most))


def _first(query: np.ndarray, costs: np.ndarray, some: np.ndarray) -> np.ndarray:
    """The few of some committees that cost each query least: more than these only make the programme large."""
    some = some[np.lexsort((costs[some], query[some]))]
    starts = np.flatnonzero(np.diff(query[some], prepend=-1))
    place = np.arange(len(some)) - np.repeat(starts, np.diff(starts, append=len(some)))
    return some[place < _SINGLES]


def _check_kept(rows: Rows, committees: Committees, given: Proposals, found: Solution) -> None:
    """Raise where limits cannot be kept, and name those that cannot."""
    if not found.breach.any():
        return
    for _ in range(_ROUNDS):
        found = solve(rows, given, only_breaches=True)
        if not found.breach.any():
            break
        prices, rate, of_size = rows.prices(found.worth)
        before = len(given)
        given = given.with_more(committees.best(prices, rate, of_size))
        if len(given) == before:
            break
    broken = [_too_little(limit, by) for limit, by in zip(rows.limits, found.breach.tolist(), strict=True) if by]
    if broken:
        raise InvalidInputError(
            f"`capacity` must leave a way to give out all {rows.n} queries, got {'; '.join(broken)}."
        )


def _too_little(limit: Limit, by: float) -> str:
    """A limit that cannot be kept, and by how much."""
    much = abs(by) if limit.kind == "budget" else math.ceil(abs(by) - _LOWER)
    return f"{limit}, which is {much:g} too {'little' if by > 0 else 'much'}"


def _groups(by: Any, table: Mapping[str, np.ndarray] | None, n: int) -> Shaped[np.ndarray, " n"] | None:  # noqa: ANN401
    if by is None:
        return None
    if isinstance(by, str):
        if table is None or by not in table:
            held = "what was seen of them" if table is None else ", ".join(table)
            raise InvalidInputError(f"`by` must be a column of the queries, got {by!r}: they have {held}.")
        by = table[by]
    groups = np.array([str(each) for each in np.asarray(by).tolist()], dtype=object)
    check.same_shape(groups, "by", (n,), "one group for each query")
    return groups


def _least(one: float | None, other: float | None) -> float | None:
    given = [check.finite_number(each, "total", minimum=0.0) for each in (one, other) if each is not None]
    return min(given) if given else None

"""The one linear programme: a committee for each query, within limits, at the least cost; HiGHS solves it.

Dantzig and Wolfe (1960): columns are committees of single queries, rows are limits. Where everybody is asked alone and
only heads are counted it is a transportation problem, whose vertices are whole numbers (Hoffman and Kruskal 1956).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from askwho.exceptions import InvalidInputError
from askwho.policy._assign._committees import Proposals
from askwho.policy._assign._limits import Limit

# What a limit's breach costs, in the largest cost that there is: no committee is worth one, yet numbers stay small.
_BREACH = 1e3
# Shares of committees, and breaches, below this are none: HiGHS itself is exact to 1e-7.
_NEARLY = 1e-6
# Beyond so many committees the interior point method, with its crossover to a vertex, is far ahead of the simplex.
_LARGE = 5_000
# Whole numbers are searched for among so many committees at once; of more only what was left in parts is searched.
_SEARCHED = 20_000
# How near to the least cost a search stops, in parts of it.
_SEARCH_GAP = 1e-5


@dataclass(frozen=True, eq=False)
class Rows:
    """The limits of a batch, as rows of a linear programme.

    Args:
        limits: what is counted.
        own: shape (|A|,), who is not asked.
        groups: shape (n,), the group of each query; None where there are none.
        n: how many queries there are.
        fee_weight: λ, what one unit of money costs.
    """

    limits: tuple[Limit, ...]
    own: Bool[np.ndarray, " a"]
    groups: Shaped[np.ndarray, " n"] | None
    n: int
    fee_weight: float

    @property
    def lower(self) -> Float[np.ndarray, " r"]:
        """The least of each count, shape (r,)."""
        return np.array([limit.at_least for limit in self.limits], dtype=np.float64)

    @property
    def upper(self) -> Float[np.ndarray, " r"]:
        """The most of each count, shape (r,)."""
        return np.array([limit.at_most for limit in self.limits], dtype=np.float64)

    def counts(self, given: Proposals) -> Float[np.ndarray, "m r"]:
        """Return how much each committee counts for each limit, shape (m, r)."""
        groups = None if self.groups is None else self.groups[given.query]
        found = [limit.counts(given.members, self.own, given.fee, groups) for limit in self.limits]
        return np.stack(found, axis=1) if found else np.zeros((len(given), 0))

    def costs(self, given: Proposals) -> Float[np.ndarray, " m"]:
        """Return what each committee costs, shape (m,)."""
        return given.error + self.fee_weight * given.fee

    def prices(self, worth: Float[np.ndarray, " r"]) -> tuple[np.ndarray, float, np.ndarray]:
        """Return what one more count of each limit costs whom: by query and entity, by money, and by size."""
        a = len(self.own)
        prices, rate, of_size = np.zeros((self.n, a)), self.fee_weight, np.zeros(a + 1)
        for limit, price in zip(self.limits, worth.tolist(), strict=True):
            if limit.kind == "budget":
                rate += price
            elif limit.kind == "size":
                of_size[limit.which] += price
            elif limit.group is None or self.groups is None:
                prices[:, limit.which] += price
            else:
                prices[self.groups == limit.group, limit.which] += price
        return prices, rate, of_size


@dataclass(frozen=True, eq=False)
class Solution:
    """What the linear programme says.

    Args:
        shares: shape (m,), how much of each committee.
        cost: of all queries together.
        worth: shape (r,), by how much one more of each limit would lower that.
        queries: shape (n,), the price of each query itself.
        breach: shape (r,), by how much the count of each is above its most; below 0, below its least.
    """

    shares: Float[np.ndarray, " m"]
    cost: float
    worth: Float[np.ndarray, " r"]
    queries: Float[np.ndarray, " n"]
    breach: Float[np.ndarray, " r"]


def solve(rows: Rows, given: Proposals, *, only_breaches: bool = False) -> Solution:
    """Return the least cost of shares of committees, each limit kept, or broken at a price where it cannot be.

    Args:
        rows: the limits.
        given: the committees, at least one for each query.
        only_breaches: whether nothing but breaches costs anything.
    """
    # Here alone, and where whole numbers are searched for: they take long to import, and few users need them.
    from scipy.optimize import linprog  # noqa: PLC0415
    from scipy.sparse import csr_matrix, hstack, identity, vstack  # noqa: PLC0415

    m, count = len(given), len(rows.limits)
    costs = np.zeros(m) if only_breaches else rows.costs(given)
    breach = _BREACH * (1.0 + float(np.abs(costs).max()))
    counts = csr_matrix(rows.counts(given).T)
    scale = _scale(rows)
    above, below = np.flatnonzero(np.isfinite(rows.upper)), np.flatnonzero(rows.lower > 0)
    sides = vstack([counts[above], -counts[below]]) if count else csr_matrix((0, m))
    slack = identity(len(above) + len(below), format="csr")
    found: Any = None
    # Breaches are allowed at a price, so there is always a way: where one method loses it among small numbers, another
    # finds it.
    ways = [("highs-ipm", True), ("highs-ds", True), ("highs-ds", False)]
    for method, presolve in ways if m > _LARGE else ways[1:]:
        found = linprog(
            np.concatenate([costs, breach / scale[np.concatenate([above, below])]]),
            A_ub=hstack([sides, -slack], format="csr"),
            b_ub=np.concatenate([rows.upper[above], -rows.lower[below]]),
            A_eq=hstack([_one_each(rows.n, given), csr_matrix((rows.n, len(above) + len(below)))], format="csr"),
            b_eq=np.ones(rows.n),
            method=method,
            options={"presolve": presolve},
        )
        if found.x is not None:
            break
    if found.x is None:
        raise InvalidInputError(f"`capacity` cannot be solved for: {found.message}")
    price = -found.ineqlin.marginals
    worth, broken = np.zeros(count), np.zeros(count)
    worth[above] += price[: len(above)]
    worth[below] -= price[len(above) :]
    broken[above] += found.x[m : m + len(above)]
    broken[below] -= found.x[m + len(above) :]
    broken = np.where(np.abs(broken) > _NEARLY * scale, broken, 0.0)
    return Solution(found.x[:m], float(costs @ found.x[:m]), worth, found.eqlin.marginals, broken)


def whole(
    rows: Rows, given: Proposals, found: Solution, *, seconds: float
) -> tuple[Int[np.ndarray, " n"] | None, float]:
    """Return the committee of each query, shape (n,), and what no whole numbers cost less than, if more than shares do.

    Committees are places in `given`; None where none were found that keep the limits.

    Args:
        rows: the limits.
        given: the committees.
        found: the shares of them that are best.
        seconds: how long to search.
    """
    chosen = np.full(rows.n, -1)
    certain = np.flatnonzero(found.shares > 1.0 - _NEARLY)
    chosen[given.query[certain]] = certain
    if (chosen >= 0).all():
        return chosen, found.cost
    if len(given) > _SEARCHED:
        # Of a vertex no more queries are in parts than there are limits: those alone, and the rest as it is.
        some, _ = _searched(rows, given, chosen, seconds)
        if some is not None:
            return some, found.cost
    return _searched(rows, given, np.full(rows.n, -1), seconds)


def _searched(rows: Rows, given: Proposals, fixed: np.ndarray, seconds: float) -> tuple[np.ndarray | None, float]:
    """The best committees in whole numbers where some queries have theirs already, and the bound of what those cost."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415
    from scipy.sparse import csr_matrix  # noqa: PLC0415

    open_ = np.flatnonzero(fixed[given.query] < 0)
    some, taken = given.rows(open_), rows.counts(given.rows(fixed[fixed >= 0])).sum(axis=0)
    left, query = np.unique(some.query, return_inverse=True)
    part = Proposals(query.reshape(-1), some.members, some.error, some.fee)
    constraints = [LinearConstraint(_one_each(len(left), part), 1.0, 1.0)]
    if rows.limits:
        counts = csr_matrix(rows.counts(some).T)
        # What HiGHS takes for kept may be over by its tolerance: money is kept to the last digit, heads are whole.
        room = np.where([limit.kind == "budget" for limit in rows.limits], _NEARLY * _scale(rows), 0.0)
        constraints.append(LinearConstraint(counts, rows.lower - taken, rows.upper - taken - room))
    found: Any = milp(
        rows.costs(some),
        integrality=np.ones(len(some)),
        bounds=Bounds(0.0, 1.0),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": _SEARCH_GAP},
    )
    if found.x is None:
        return None, -np.inf
    chosen, taken_now = fixed.copy(), np.flatnonzero(found.x > 0.5)
    chosen[some.query[taken_now]] = open_[taken_now]
    return chosen, float(found.mip_dual_bound)


def _one_each(n: int, given: Proposals) -> Any:  # noqa: ANN401 - SciPy does not say of what class its matrices are
    from scipy.sparse import csr_matrix  # noqa: PLC0415

    return csr_matrix((np.ones(len(given)), (given.query, np.arange(len(given)))), shape=(n, len(given)))


def _scale(rows: Rows) -> np.ndarray:
    """What one count of each limit is large beside: a head, or the fee that a query may be charged."""
    money = [max(limit.at_most / max(rows.n, 1), _NEARLY) if limit.kind == "budget" else 1.0 for limit in rows.limits]
    return np.array(money, dtype=np.float64)

"""What a policy did on a log at one setting, query by query, and what of it is worth showing."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from askwho._unit import FEWEST_EFFECTIVE
from askwho.data import Log
from askwho.evaluation import Point, Resamples, figures_of, interval, point_of
from askwho.policy import Decisions, Policy, Target, effective
from askwho.replay import Replay
from askwho.report._html import plain

MOST_GROUPS = 24
"""Groups that a table and a figure can hold and still be read."""


@dataclass(frozen=True, eq=False)
class Decided:
    """The decisions at one setting; errors are zero-one, squared, or 1 − grade.

    Args:
        policy: whose decisions they are.
        held: the log as the policy sees it.
        decisions: whom it asks.
        errors: shape (n,), what each committee got; NaN where it cannot be scored.
        first: shape (n,), what the first alone would have got.
        fees: shape (n,), what was charged.
        expected: shape (n,), what each committee was expected to get.
    """

    policy: Policy
    held: Replay
    decisions: Decisions
    errors: Float[np.ndarray, " n"]
    first: Float[np.ndarray, " n"]
    fees: Float[np.ndarray, " n"]
    expected: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, policy: Policy, log: Log, target: Target, *, scores: ArrayLike | None = None) -> "Decided":
        """Return the decisions of a policy at a target, ranked by somebody else's scores where these are given."""
        held = Replay.of(policy, log, scores=scores)
        decisions = policy.decide(held.seen, target)
        prefix = held.errors(decisions.order)
        errors, fees = held.outcome(decisions.order, prefix, decisions.k)
        expected = np.maximum(decisions.expected_error, 0.0)
        return cls(
            policy,
            held,
            decisions,
            errors=errors,
            first=prefix[:, 0],
            fees=fees,
            # As a loss, so that its means are taken before a root is.
            expected=policy.unit.losses(expected),
        )

    @property
    def point(self) -> Point:
        """The setting, query by query."""
        return point_of(self.policy, self.held, self.decisions.order, self.decisions.k)

    def got(
        self,
        errors: Float[np.ndarray, " n"],
        members: Bool[np.ndarray, "n a"],
        rows: Bool[np.ndarray, " n"],
        resamples: Resamples,
    ) -> tuple[float | None, list[float | None]]:
        """Return what some committees got on some of the queries, and its interval; nothing where too few tell.

        Args:
            errors: shape (n,), NaN where a committee cannot be scored.
            members: shape (n, |A|), who is in them.
            rows: shape (n,), which queries.
            resamples: of the queries.
        """
        chances = self.held.chances
        weights = None if chances is None else chances.weights(members)
        told = figures_of(*resamples.tally([Point(np.where(rows, errors, np.nan), self.fees, weights=weights)]))
        return told["error"], told["error_interval"]

    @property
    def difficulty(self) -> Float[np.ndarray, " n"]:
        """The least that anybody is expected to get, shape (n,): how hard a query looks beforehand, at any price."""
        return self.held.seen.expected.min(axis=1)

    @property
    def by_rank(self) -> Float[np.ndarray, "a K"]:
        """The share of queries about which each entity is asked at each rank, shape (|A|, K)."""
        within, order = self.decisions.within, self.decisions.order
        size = len(self.decisions.panel)
        return np.stack([np.bincount(order[within[:, r], r], minlength=size) for r in range(order.shape[1])], 1) / len(
            order
        )

    def asked(self, rows: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " a"]:
        """Return the share of some queries about which each entity is asked, shape (|A|,)."""
        return self.decisions.members[rows].mean(axis=0)


@dataclass(frozen=True)
class Bin:
    """Queries that looked alike beforehand: what was expected of them, and what came.

    Args:
        n: how many.
        expected: mean expected error, as it is shown.
        error: what came.
        error_interval: of what came.
    """

    n: int
    expected: float
    error: float
    error_interval: list[float | None]


def reliability(
    expected: Float[np.ndarray, "n m"],
    errors: Float[np.ndarray, "n m"],
    resamples: Resamples,
    weights: Float[np.ndarray, "n m"] | None = None,
) -> list[Bin]:
    """Return expected and observed errors in bins of equal size by expected error, over cells that can be scored.

    A reliability diagram (DeGroot and Fienberg 1983). A bin of too few rows, or of too few groups, is left out. Cells
    that can be scored stand for those that cannot: where asking went by answers, those were asked about harder queries
    than others that looked alike beforehand.

    Args:
        expected: shape (n, m), what was expected of each cell.
        errors: shape (n, m), what came; NaN where that is not known.
        resamples: of the queries.
        weights: shape (n, m), one by the probability that a cell could be scored; all weigh the same, unless said.
    """
    there = ~np.isnan(errors) & np.isfinite(expected)
    share = there.astype(np.float64) if weights is None else np.where(there, weights, 0.0)
    there &= share > 0
    if not there.any():
        return []
    codes = np.full(errors.shape, -1)
    codes[there] = bins_of(expected[there])
    found: list[Bin] = []
    for b in range(int(codes.max()) + 1):
        inside = codes == b
        weight = np.where(inside, share, 0.0)
        total, count = (weight * np.where(inside, errors, 0.0)).sum(axis=1), weight.sum(axis=1)
        if effective(count, resamples.group) < FEWEST_EFFECTIVE:
            continue
        # Cells of one row are drawn together: they are of one query.
        drawn = resamples.weights @ count
        means = np.divide(resamples.weights @ total, drawn, out=np.full(len(drawn), np.nan), where=drawn > 0)
        figures = resamples.shown(means)
        mean = resamples.shown(np.average(expected[inside], weights=weight[inside], keepdims=True))
        found.append(Bin(int(inside.sum()), float(mean[0]), float(figures[0]), _plain(interval(figures[1:]))))
    return found


def gap(bins: list[Bin]) -> float:
    """Return the mean distance between expected and observed error, each bin by its size.

    The expected calibration error (Naeini, Cooper and Hauskrecht 2015), of errors.
    """
    return float(np.average([abs(b.expected - b.error) for b in bins], weights=[b.n for b in bins]))


def bins_of(values: Float[np.ndarray, " n"], most: int = 10) -> Int[np.ndarray, " n"]:
    """Return the bin of each value, shape (n,), from the lowest: as many of equal size as there are rows and values."""
    count = max(1, min(most, len(values) // FEWEST_EFFECTIVE))
    edges = np.unique(np.quantile(values, np.arange(1, count) / count))
    _, codes = np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)
    return codes.reshape(-1)


@dataclass(frozen=True, eq=False)
class Grouping:
    """The kinds of query that a log tells apart.

    Args:
        column: what tells them apart.
        names: of the groups, the largest first.
        codes: shape (n,), indices into `names`.
    """

    column: str
    names: tuple[str, ...]
    codes: Int[np.ndarray, " n"]


def grouping_of(log: Log, by: tuple[str, np.ndarray] | None) -> Grouping | None:
    """Return the groups of a log: those of `by`, else of its groups or of its first column of a few words."""
    if by is not None:
        return _grouping(*by)
    columns = [(log.columns.groups, log.groups)] if log.columns.groups else []
    columns += [(n, v) for n, v in log.known.items() if n != log.columns.text and v.dtype.kind in "OUb"]
    for name, values in columns:
        if 2 <= len({str(value) for value in values.tolist()}) <= MOST_GROUPS:
            return _grouping(name, values)
    return None


def _grouping(column: str, values: np.ndarray) -> Grouping:
    words = np.array([plain("" if value is None else value, 60) or "(empty)" for value in values.tolist()])
    names, codes, counts = np.unique(words, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    shown = [str(names[i]) for i in order]
    if len(shown) > MOST_GROUPS:
        shown = [*shown[: MOST_GROUPS - 1], f"{len(shown) - MOST_GROUPS + 1} others"]
    return Grouping(column, tuple(shown), np.minimum(place[codes.reshape(-1)], len(shown) - 1))


def _plain(bounds: list[float]) -> list[float | None]:
    return [None if np.isnan(bound) else bound for bound in bounds]

"""What the router thinks of everybody, and what the committees it would choose get on the log's own rows."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho._types import Order
from askwho.aggregation import Combine, Committee, best_of_k
from askwho.answers import Answers
from askwho.beliefs import Beliefs, Case
from askwho.frontier import Frontier, area, stated_budgets
from askwho.metrics import prefix_errors
from askwho.panel import Panel
from askwho.router._diversity import by_marginal_gain
from askwho.selection import Selection, in_order

Task = Literal["classification", "regression"]
POSTERIOR = "posterior"
"""The committee that knows its members: `Beliefs`, fitted with the router."""
FAR = 1e9
"""Finite, so that scores stay numbers; far above any cost, so that the absent come last."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is thought of each entity for each query.

    Args:
        expected: expected errors, shape (n, |A|).
        error_weights: α, what an error of each entity weighs, shape (|A|,).
        scores: shape (n, |A|), higher asked earlier, where a price is baked into the ranking; else None.
        overlap: shape (|A|, |A|), how much entities repeat each other, where that counts; else None.
        covered: shape (n, |A|), whom the log knows on such queries; None where everybody.
    """

    expected: Float[np.ndarray, "n a"]
    error_weights: Float[np.ndarray, " a"]
    scores: Float[np.ndarray, "n a"] | None = None
    overlap: Float[np.ndarray, "a a"] | None = None
    covered: Bool[np.ndarray, "n a"] | None = None

    def costs(self, fees: Float[np.ndarray, "n a"], price: float) -> Float[np.ndarray, "n a"]:
        """Return what ranks the entities, lower first, shape (n, |A|); who is not known there comes last."""
        costs = self.error_weights * self.expected + price * fees if self.scores is None else -self.scores
        return costs if self.covered is None else np.where(self.covered, costs, costs + FAR)

    def rows(self, chosen: Int[np.ndarray, " m"]) -> "Judgement":
        """Return the judgement of some of the queries."""
        scores = None if self.scores is None else self.scores[chosen]
        covered = None if self.covered is None else self.covered[chosen]
        return Judgement(self.expected[chosen], self.error_weights, scores, self.overlap, covered)

    def order(self, fees: Float[np.ndarray, "n a"], price: float, width: int) -> Order:
        """Return whom to ask, best first, shape (n, width)."""
        return self.ordered(self.costs(fees, price), width)

    def ordered(self, costs: Float[np.ndarray, "n a"], width: int) -> Order:
        """Return the order that costs give, shape (n, width): by what each adds, where entities repeat each other."""
        if self.overlap is None:
            return costs.argsort(axis=1, kind="stable")[:, :width]
        # A mere copy comes after the worst of the others.
        worth = np.broadcast_to((self.error_weights * self.expected).max(axis=1, keepdims=True), costs.shape)
        return by_marginal_gain(costs, worth, self.overlap, width)


def price_grid(
    fees: Float[np.ndarray, " a"], expected: Float[np.ndarray, "..."], count: int = 31
) -> Float[np.ndarray, " p"]:
    """Return prices λ from 0 to where money alone decides, shape (count,); errors of any shape tell their spread."""
    paid = fees[fees > 0]
    if not paid.size:
        return np.zeros(1)
    spread = float(np.quantile(expected, 0.95) - np.quantile(expected, 0.05)) or 1.0
    # A fee under a hundredth of the largest is as good as free: no price need tell it from nothing.
    cheap = paid[paid >= paid.max() / 100].min()
    return np.concatenate([[0.0], np.geomspace(0.003 * spread / paid.max(), 2.0 * spread / cheap, count - 1)])


@dataclass(frozen=True, eq=False)
class Scoring:
    """What committees get on the log's own rows."""

    panel: Panel
    answers: Answers | None
    truth: np.ndarray | None
    charged: np.ndarray
    fees: np.ndarray
    foreseen: np.ndarray
    task: Task
    errors: np.ndarray
    n_classes: int
    believed: tuple[Beliefs, Case] | None = None

    @property
    def budgets(self) -> np.ndarray:
        single = np.nanmean(self.errors, axis=0)
        return stated_budgets(self.fees, float(self.fees[single.argmin()]), 20)

    def prefix(self, judged: Judgement, order: Order, committee: str | None) -> np.ndarray:
        """Committee errors of every k, shape (n, K); without answers the first entity's own error."""
        if self.answers is None or self.truth is None or committee is None:
            return in_order(self.errors, order)[:, :1]
        scores = -judged.expected if judged.scores is None else judged.scores
        chosen = Selection(self.panel, order, np.ones(len(order), dtype=np.intp), scores, np.array(self.charged))
        members = Committee.of(
            chosen,
            self.answers,
            expected_errors=probabilities(judged.expected, self.task),
            n_classes=self.n_classes or None,
        )
        error = "zero-one" if self.task == "classification" else "squared"
        combine: str | Combine = committee
        if committee == POSTERIOR and self.believed is not None:
            beliefs, case = self.believed
            combine = lambda members: beliefs.verdicts(members, case)[0]  # noqa: E731
        return prefix_errors(members, self.truth, combine=combine, error=error)

    def prices(self, judged: Judgement, count: int) -> np.ndarray:
        """Prices to learn at, or to compare at, shape (count,)."""
        return price_grid(self.fees, judged.expected, count)

    def area(self, judged: Judgement, committee: str | None, width: int) -> float:
        """The area under the hull of all fixed k at a handful of prices."""
        fees: list[float] = []
        errors: list[float] = []
        # Where the price is baked into the scores the ranking is the same at every other.
        for price in self.prices(judged, 9) if judged.scores is None else (0.0,):
            order = judged.order(self.foreseen, float(price), width)
            per_k = self.prefix(judged, order, committee)
            paid = np.cumsum(in_order(self.charged, order), axis=1)
            for k in range(per_k.shape[1]):
                scored = ~np.isnan(per_k[:, k])
                if scored.any():
                    fees.append(float(paid[scored, k].mean()))
                    errors.append(mean_error(per_k[:, k], self.task))
        return area(Frontier.of(fees, errors), self.budgets)


@dataclass(frozen=True, eq=False)
class Lessons:
    """What committees of every size get and are expected to cost, at each price: what k(x) is learned from.

    Args:
        score: how committees are scored.
        judged: out of fold.
        prices: shape (p,).
        orders: one a price, each (n, K).
        errors: one a price, each (n, K), of the deployed committee.
        fees: one a price, each (n, K), summed along the order.
    """

    score: Scoring
    judged: Judgement
    prices: Float[np.ndarray, " p"]
    orders: list[np.ndarray]
    errors: list[np.ndarray]
    fees: list[np.ndarray]

    @classmethod
    def of(cls, score: Scoring, judged: Judgement, prices: np.ndarray, width: int, committee: str | None) -> "Lessons":
        """Return the lessons of a judgement."""
        distinct = prices if judged.scores is None else prices[:1]
        orders = [judged.order(score.foreseen, float(price), width) for price in distinct]
        errors = [score.prefix(judged, order, committee) for order in orders]
        fees = [np.cumsum(in_order(score.foreseen, order), axis=1)[:, : errors[0].shape[1]] for order in orders]
        times = 1 if judged.scores is None else len(prices)
        return cls(score, judged, prices, orders * times, errors * times, fees * times)

    def of_metric(self, metric: str) -> list[np.ndarray]:
        """Return the errors by another metric: an aggregation's, or the best member's, which needs the truth."""
        if metric == "best-of-k":
            return [best_of_k(in_order(self.score.errors, order)) for order in self.orders]
        return [self.score.prefix(self.judged, order, metric) for order in self.orders]


def probabilities(expected: np.ndarray | None, task: Task) -> np.ndarray | None:
    """Expected errors as an aggregation takes them: probabilities where answers are right or wrong."""
    return None if expected is None else np.clip(expected, 0.0, 1.0) if task == "classification" else expected


def mean_error(errors: np.ndarray, task: Task) -> float:
    mean = float(np.nanmean(errors)) if (~np.isnan(errors)).any() else float("nan")
    return float(np.sqrt(mean)) if task == "regression" else mean

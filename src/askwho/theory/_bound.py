"""The consistency bound on a finite problem: both of its sides, with minimisability gaps."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from askwho import _validation as check
from askwho._comp_sum import check_u, psi_of_log_share
from askwho.core import in_order, rank
from askwho.exceptions import InvalidInputError
from askwho.theory._bayes import bayes_risk, sums_to_one
from askwho.theory._calibration import inverse_calibration


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """A deferral problem with m queries and finitely many outcomes, all probabilities known.

    Args:
        costs: μ_j(x, z), shape (m, Z, |A|).
        conditionals: P(z | x), shape (m, Z).
        marginal: P(x), shape (m,).
    """

    costs: Float[np.ndarray, "m Z a"]
    conditionals: Float[np.ndarray, "m Z"]
    marginal: Float[np.ndarray, " m"]

    def __post_init__(self) -> None:
        if self.costs.ndim != 3 or not np.isfinite(self.costs).all() or (self.costs < 0).any():
            raise InvalidInputError(
                "`costs` must be finite, at least 0, and of shape (queries, outcomes, entities), got shape "
                f"{self.costs.shape} with values from {self.costs.min(initial=np.inf):g} to "
                f"{self.costs.max(initial=-np.inf):g}."
            )
        m, outcomes, _ = self.costs.shape
        check.same_shape(self.conditionals, "conditionals", (m, outcomes), "one probability for each outcome")
        check.same_shape(self.marginal, "marginal", (m,), "one probability for each query")
        sums_to_one(check.nonnegative(self.conditionals, "conditionals"), "conditionals")
        sums_to_one(check.nonnegative(self.marginal, "marginal"), "marginal")

    @property
    def expected_costs(self) -> Float[np.ndarray, "m a"]:
        """μ̄_j(x) = E[μ_j(x, Z) | x], shape (m, |A|)."""
        return np.einsum("mz,mza->ma", self.conditionals, self.costs)

    def weights(self, shift: Literal["max", "sum"] | float = "max") -> Float[np.ndarray, "m a"]:
        """Return E[M − μ_j | x], the surrogate's expected weights, shape (m, |A|)."""
        if shift == "max":
            level = self.costs.max(axis=2)
        elif shift == "sum":
            level = self.costs.sum(axis=2)
        else:
            level = np.full(self.conditionals.shape, check.finite_number(shift, "shift"))
            if (level < self.costs.max(axis=2)).any():
                raise InvalidInputError(f"`shift` must be at least every cost, got {shift}.")
        return (self.conditionals * level).sum(axis=1)[:, None] - self.expected_costs


@dataclass(frozen=True)
class ConsistencyBound:
    """Both sides of Theorem 4.7 on a finite problem.

    With R(π) a policy's risk, R*(H) the least in its class and U(H) = R*(H) − E_X[inf C(x)] the minimisability gap,
    a side is R(π) − R*(H) + U(H). (The paper's appendix writes − U(H); with its own definition of U the sign is +.)
    """

    deferral_excess: float
    """R(π) − R^B(H) for the top-k deferral loss."""
    deferral_gap: float
    """U(H) for the top-k deferral loss."""
    surrogate_excess: float
    """R(π) − R*(H) for the surrogate."""
    surrogate_gap: float
    """U(H) for the surrogate."""
    base_excess: float
    """E[μ̄_1 − inf_g μ̄_1], what a better base predictor would save; 0 outside the two-stage regime."""
    right: float
    """k S Γ_u^{-1}((surrogate_excess + surrogate_gap)/S) + base_excess."""

    @property
    def left(self) -> float:
        """The deferral side, excess plus gap."""
        return self.deferral_excess + self.deferral_gap


def consistency_bound(
    problem: FiniteProblem,
    scores: ArrayLike,
    *,
    k: int,
    u: float = 1.0,
    shift: Literal["max", "sum"] | float = "max",
    cells: ArrayLike | None = None,
    best_base_costs: ArrayLike | None = None,
) -> ConsistencyBound:
    """Return both sides of the consistency bound (paper, Theorem 4.7) for the policy with these scores.

    For any shift M, S = |A| E[M] − Σ_j E[μ̄_j]; with the paper's M = Σμ that is (|A| − 1) Σ_j E[μ̄_j]. The bound holds
    for u ≤ 1.5 at every k, and for every u at k = 1; beyond, its rate fails for k ≥ 2.

    Args:
        problem: the finite problem, m queries.
        scores: π(x, j), shape (m, |A|), constant within each cell.
        k: how many entities are asked.
        u: the member of the comp-sum family.
        shift: M, as in `losses.deferral_weights`.
        cells: shape (m,), the class H: all score functions that see a query only through its cell. Left out, every
            query is a cell of its own, H is all functions, and both gaps are 0.
        best_base_costs: inf_g μ̄_1(x), shape (m,), for the two-stage bound; entity 0 is the base.
    """
    check_u(u)
    table = check.table(scores, "scores")
    expected, weights = problem.expected_costs, problem.weights(shift)
    check.same_shape(table, "scores", expected.shape, "one score for each query and entity of the problem")
    check.cardinalities(k, 1, expected.shape[1])
    members = _members(cells, len(expected))
    _constant_within(table, members)

    ideal = np.array(expected)
    if best_base_costs is not None:
        least = check.numeric(best_base_costs, "best_base_costs")
        check.same_shape(least, "best_base_costs", (len(ideal),), "one cost for each query")
        ideal[:, 0] = np.minimum(ideal[:, 0], least)
    base_excess = float(problem.marginal @ (expected - ideal)[:, 0])

    deferral = problem.marginal @ in_order(expected, rank(table))[:, :k].sum(axis=1)
    surrogate = problem.marginal @ surrogate_risk(table, weights, u=u)
    # Within a cell a policy is one vector of scores, so the least risk there is that of the cell's mean costs.
    mass = members @ problem.marginal
    mean_costs = members @ (problem.marginal[:, None] * ideal) / mass[:, None]
    mean_weights = members @ (problem.marginal[:, None] * weights) / mass[:, None]
    deferral_least = mass @ bayes_risk(mean_costs)[:, k - 1]
    surrogate_least = mass @ least_surrogate_risk(mean_weights, u=u)
    deferral_floor = problem.marginal @ bayes_risk(ideal)[:, k - 1]
    surrogate_floor = problem.marginal @ least_surrogate_risk(weights, u=u)

    scale = float(problem.marginal @ weights.sum(axis=1))
    above = max(0.0, float(surrogate - surrogate_floor))
    reach = 0.0 if scale == 0 else inverse_calibration(above / scale, u=u, n_entities=table.shape[1])
    return ConsistencyBound(
        deferral_excess=float(deferral - deferral_least),
        deferral_gap=float(deferral_least - deferral_floor),
        surrogate_excess=float(surrogate - surrogate_least),
        surrogate_gap=float(surrogate_least - surrogate_floor),
        base_excess=base_excess,
        right=k * scale * reach + base_excess,
    )


def surrogate_risk(scores: np.ndarray, weights: np.ndarray, *, u: float) -> Float[np.ndarray, " m"]:
    """Return the conditional surrogate risk Σ_j w_j Φ^u(π, x, j), shape (m,)."""
    losses = psi_of_log_share(np.where(weights > 0, log_softmax(scores, axis=1), 0.0), u, np.expm1)
    return (weights * losses).sum(axis=1)


def least_surrogate_risk(weights: np.ndarray, *, u: float) -> Float[np.ndarray, " m"]:
    """Return inf over scores of Σ_j w_j Φ^u, shape (m,), in closed form.

    For u < 2 the best softmax shares are s_j ∝ w_j^{1/(2−u)}; for u ≥ 2 all share goes to the largest weight.
    """
    total = weights.sum(axis=1, keepdims=True)
    if u >= 2:
        return (total[:, 0] - weights.max(axis=1)) / (u - 1)
    with np.errstate(divide="ignore"):
        scores = np.log(np.where(total > 0, weights, 1.0)) / (2 - u)
    return surrogate_risk(scores, weights, u=u)


def _members(cells: ArrayLike | None, m: int) -> Int[np.ndarray, "c m"]:
    """Which query lies in which cell, as 0 and 1."""
    labels = np.arange(m) if cells is None else np.asarray(cells)
    check.same_shape(labels, "cells", (m,), "one cell for each query")
    return (np.unique(labels)[:, None] == labels).astype(np.int64)


def _constant_within(scores: np.ndarray, members: np.ndarray) -> None:
    first = scores[members.argmax(axis=1)]
    if not np.array_equal(members.T @ first, scores):
        query = int(np.argmax((members.T @ first != scores).any(axis=1)))
        raise InvalidInputError(
            f"`scores` must be equal for all queries of a cell, got others for query {query}: the class sees no more."
        )

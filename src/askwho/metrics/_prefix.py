"""What a committee of every size gets, pays and costs: one column for each k."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import FloatRanks, FloatTable, Ties
from askwho.aggregation import Combine, Committee, aggregation
from askwho.core import (
    Answers,
    Cell,
    ErrorFunction,
    Selection,
    elementwise_error,
    in_order,
    recorded_errors,
    truth_column,
    unusable_errors,
)


def prefix_errors(
    committee: Committee,
    truth: ArrayLike,
    *,
    combine: str | Combine = "majority",
    error: str | ErrorFunction = "zero-one",
    ties: Ties = "rank",
) -> FloatRanks:
    """Return d(Π_k(x), x, z) for every query and every k, shape (n, K) (paper, Section 5 and Appendix A.13).

    NaN where a member of the prefix was not asked: nobody knows what it would have said. Where every member was
    asked and none gave a usable answer, the committee abstains at the reject entity's price if it holds one, and
    else makes an error: 1 under the zero-one error, what the truth's worst mistake does under a `CostMatrix`, the worst
    recorded otherwise.

    Args:
        committee: members in rank order.
        truth: shape (n,).
        combine: a name in `AGGREGATIONS`, or the user's own function from committee to verdicts.
        error: a name in `ERRORS`, or the user's own function of decisions and truths, elementwise.
        ties: how votes break ties.
    """
    right = truth_column(truth, committee.said, committee.panel)
    verdicts = aggregation(combine, ties=ties)(committee)
    expected = np.broadcast_to(right[:, None], verdicts.values.shape)
    decided = verdicts.decided
    if decided.all():
        errors = elementwise_error(verdicts.values, expected, error)
    else:
        errors = np.zeros(decided.shape)
        errors[decided] = elementwise_error(verdicts.values[decided], expected[decided], error)
        recorded = recorded_errors(committee.said, right, error)
        errors[~decided] = unusable_errors(expected[~decided], recorded, error)
        errors[~decided & committee.may_abstain] = _price_of_abstaining(committee)
    return errors if committee.scorable.all() else np.where(committee.scorable, errors, np.nan)


def prefix_fees(selection: Selection, *, answers: Answers | None = None) -> FloatRanks:
    """Return what the first k members charge, for every query and every k, shape (n, K); never decreasing in k.

    Args:
        selection: whom to ask.
        answers: where given, an entity that was not asked charges nothing.
    """
    fees: FloatTable = selection.fees
    if answers is not None:
        check.same_shape(answers.states, "answers", fees.shape, "the selection's queries and its panel's entities")
        fees = np.where(answers.states == Cell.NOT_ASKED, 0.0, fees)
    return np.cumsum(in_order(fees, selection.order), axis=1)


def prefix_deferral_losses(selection: Selection, costs: ArrayLike) -> FloatRanks:
    """Return the top-k true deferral loss Σ_{j ∈ Π_k} μ_j, for every query and every k, shape (n, K).

    Paper, Definition 4.2. NaN where a member of the prefix was not asked.

    Args:
        selection: whom to ask.
        costs: μ, shape (n, |A|), as `augmented_costs` gives them.
    """
    table = check.table(costs, "costs", entities=selection.panel.names, allow_nan=True)
    check.same_shape(table, "costs", selection.scores.shape, "the selection's queries and its panel's entities")
    return np.cumsum(in_order(table, selection.order), axis=1)


def at_own_k(per_k: Float[np.ndarray, "n K"], selection: Selection) -> Float[np.ndarray, " n"]:
    """Return each query's entry at its own k, shape (n,), out of a table with one column for each k."""
    return in_order(per_k, selection.k[:, None] - 1)[:, 0]


def _price_of_abstaining(committee: Committee) -> float:
    panel = committee.panel
    return float(panel.error_weights[panel.is_kind("reject")].max(initial=0.0))

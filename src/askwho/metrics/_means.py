"""The paper's measures of a policy (Appendix B.1), each the mean over queries of a column of prefix errors.

All take the arguments of `committee_error`, and return one figure at the selection's own k, or with `every_k` one for
each k, shape (K,).
"""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import Ties
from askwho.aggregation import Combine, Committee, best_of_k, inclusion
from askwho.core import Answers, ErrorFunction, Selection, in_order, squared, task_errors, truth_column
from askwho.exceptions import InvalidInputError
from askwho.metrics._prefix import at_own_k, prefix_deferral_losses, prefix_errors, prefix_fees

Missing = Literal["refuse", "skip"]
Measure = float | Float[np.ndarray, " K"]
"""One number at the selection's own k, or with `every_k` one for each k, shape (K,)."""


def committee_error(
    selection: Selection,
    answers: Answers,
    truth: ArrayLike,
    *,
    combine: str | Combine,
    error: str | ErrorFunction = "zero-one",
    expected_errors: ArrayLike | None = None,
    ties: Ties = "rank",
    every_k: bool = False,
    missing: Missing = "refuse",
) -> Measure:
    """Return the mean committee error E[d(Π_k(X), X, Z)], for any aggregation and any error d.

    Args:
        selection: whom to ask.
        answers: what every entity of the panel said.
        truth: shape (n,).
        combine: a name in `AGGREGATIONS`, or the user's own function from committee to verdicts.
        error: a name in `ERRORS`, or the user's own function.
        expected_errors: shape (n, |A|), for the aggregations that weigh members by them.
        ties: how votes break ties.
        every_k: return one figure for each k, shape (K,), instead of one at the selection's own.
        missing: what to do with committees that cannot be scored, because a member was not asked: `"refuse"`, or
            `"skip"` them and average over the rest (`scored_share` says how many that is).
    """
    committee = Committee.of(selection, answers, expected_errors=expected_errors)
    errors = prefix_errors(committee, truth, combine=combine, error=error, ties=ties)
    return _mean(errors, selection, every_k=every_k, missing=missing)


def accuracy_majority(
    selection: Selection,
    answers: Answers,
    truth: ArrayLike,
    *,
    ties: Ties = "rank",
    every_k: bool = False,
    missing: Missing = "refuse",
) -> Measure:
    """Return Acc_maj, the accuracy of the majority vote (paper, Appendix B.1).

    Arguments as in `committee_error`; with `every_k` one figure for each k, shape (K,).
    """
    return 1.0 - committee_error(
        selection, answers, truth, combine="majority", ties=ties, every_k=every_k, missing=missing
    )


def accuracy_weighted_vote(
    selection: Selection,
    answers: Answers,
    truth: ArrayLike,
    *,
    ties: Ties = "rank",
    every_k: bool = False,
    missing: Missing = "refuse",
) -> Measure:
    """Return Acc_w-vl, the accuracy of the softmax-weighted vote (paper, Appendix B.1).

    Arguments as in `committee_error`; with `every_k` one figure for each k, shape (K,).
    """
    return 1.0 - committee_error(
        selection, answers, truth, combine="weighted-vote", ties=ties, every_k=every_k, missing=missing
    )


def accuracy_top_k(
    selection: Selection,
    answers: Answers,
    truth: ArrayLike,
    *,
    every_k: bool = False,
    missing: Missing = "refuse",
) -> Measure:
    """Return Acc_top-k, the share of queries of which some member is right (paper, Appendix B.1).

    Needs the truth: it is what an oracle could make of the committee, and cannot be deployed.
    Arguments as in `committee_error`; with `every_k` one figure for each k, shape (K,).
    """
    committee = Committee.of(selection, answers)
    errors = inclusion(committee, truth_column(truth, answers, selection.panel))
    return 1.0 - _mean(errors, selection, every_k=every_k, missing=missing)


def rmse_mean(
    selection: Selection,
    answers: Answers,
    truth: ArrayLike,
    *,
    every_k: bool = False,
    missing: Missing = "refuse",
) -> Measure:
    """Return RMSE_avg, the root of the mean squared error of the members' mean (paper, Appendix B.1).

    Arguments as in `committee_error`; with `every_k` one figure for each k, shape (K,).
    """
    return _root(
        committee_error(selection, answers, truth, combine="mean", error=squared, every_k=every_k, missing=missing)
    )


def rmse_weighted_mean(
    selection: Selection,
    answers: Answers,
    truth: ArrayLike,
    *,
    every_k: bool = False,
    missing: Missing = "refuse",
) -> Measure:
    """Return RMSE_w-avg, that of the members' softmax-weighted mean (paper, Appendix B.1).

    Arguments as in `committee_error`; with `every_k` one figure for each k, shape (K,).
    """
    return _root(
        committee_error(
            selection,
            answers,
            truth,
            combine="weighted-mean",
            error=squared,
            every_k=every_k,
            missing=missing,
        )
    )


def rmse_best(
    selection: Selection,
    answers: Answers,
    truth: ArrayLike,
    *,
    every_k: bool = False,
    missing: Missing = "refuse",
) -> Measure:
    """Return RMSE_min, that of each committee's best member (paper, Appendix B.1).

    Needs the truth: nobody knows beforehand which member is best.
    Arguments as in `committee_error`; with `every_k` one figure for each k, shape (K,).
    """
    errors = task_errors(answers, truth, panel=selection.panel, error=squared)
    per_k = best_of_k(in_order(errors, selection.order))
    return _root(_mean(per_k, selection, every_k=every_k, missing=missing))


def deferral_loss(
    selection: Selection, costs: ArrayLike, *, every_k: bool = False, missing: Missing = "refuse"
) -> Measure:
    """Return the mean top-k true deferral loss E[Σ_{j ∈ Π_k} μ_j] (paper, Definition 4.2).

    Arguments as in `committee_error`; with `every_k` one figure for each k, shape (K,).
    """
    return _mean(prefix_deferral_losses(selection, costs), selection, every_k=every_k, missing=missing)


def mean_fee(selection: Selection, *, answers: Answers | None = None, every_k: bool = False) -> Measure:
    """Return the expected budget β̄(k), what a query's committee charges on average (paper, Appendix B.1).

    Args:
        selection: whom to ask.
        answers: where given, an entity that was not asked charges nothing.
        every_k: return one figure for each k, shape (K,), instead of one at the selection's own.
    """
    return _mean(prefix_fees(selection, answers=answers), selection, every_k=every_k)


def mean_k(selection: Selection) -> float:
    """Return k̄, the expected committee size (paper, Appendix B.1)."""
    return float(selection.k.mean())


def mean_asked(selection: Selection, *, every_k: bool = False) -> Measure:
    """Return how many experts are asked on average; labels, the base and reject are in-house and do not count.

    With `every_k` one figure for each k, shape (K,).
    """
    outside = selection.panel.is_kind("expert")[selection.order]
    return _mean(np.cumsum(outside, axis=1).astype(np.float64), selection, every_k=every_k)


def coverage(selection: Selection, answers: Answers, *, every_k: bool = False) -> Measure:
    """Return the share of queries that get a decision: some member gives a usable answer.

    With `every_k` one figure for each k, shape (K,).
    """
    return _mean(Committee.of(selection, answers).decided.astype(np.float64), selection, every_k=every_k)


def scored_share(selection: Selection, answers: Answers, *, every_k: bool = False) -> Measure:
    """Return the share of committees that can be scored, because all their members were asked.

    With `every_k` one figure for each k, shape (K,).
    """
    scorable = Committee.of(selection, answers).scorable.astype(np.float64)
    return _mean(scorable, selection, every_k=every_k)


def _mean(
    per_k: Float[np.ndarray, "n K"], selection: Selection, *, every_k: bool, missing: Missing = "refuse"
) -> Measure:
    values = per_k if every_k else at_own_k(per_k, selection)[:, None]
    check.one_of(missing, "missing", get_args(Missing))
    means = values.mean(axis=0)
    if np.isnan(means).any():
        unscored = np.isnan(values)
        if missing == "refuse":
            raise InvalidInputError(
                f"`answers` must hold what every chosen entity said, got {int(unscored.any(axis=1).sum())} of "
                f"{len(values)} queries with a member that was not asked. Pass missing='skip' to average over the "
                "rest, and report `scored_share` beside it."
            )
        if unscored.all(axis=0).any():
            raise InvalidInputError("`answers` must let one committee be scored at least: none can be.")
        means = np.nanmean(values, axis=0)
    return means if every_k else float(means[0])


def _root(measure: Measure) -> Measure:
    root = np.sqrt(measure)
    return root if isinstance(measure, np.ndarray) else float(root)

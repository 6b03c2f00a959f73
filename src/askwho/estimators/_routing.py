"""The router behind an estimator: what it can learn from, and verdicts that are the same for one row as for many."""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Shaped

from askwho.aggregation import Committee, Verdicts, log_odds_vote
from askwho.answers import Answers, Cell
from askwho.estimators._targets import Labels, Target
from askwho.exceptions import InvalidInputError
from askwho.learners import SURROGATE_NAMES, CompSum, folds
from askwho.panel import Panel
from askwho.router import Router, SurrogateCardinality
from askwho.selection import Selection

# A committee of k is worth learning of where so many rows have k answers.
_FEWEST_ROWS = 8


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a router learns from, besides the features.

    Args:
        panel: who can be asked.
        errors: shape (n, |A|), NaN where an entity was not asked.
        answers: of the whole panel.
        truth: shape (n,), as the answers are.
        fees: what each charged, shape (n, |A|).
        groups: shape (n,), what must stay on one side of a split.
        task: what the truth is.
    """

    panel: Panel
    errors: Float[np.ndarray, "n a"]
    answers: Answers
    truth: Shaped[np.ndarray, " n"]
    fees: Float[np.ndarray, "n a"]
    groups: np.ndarray | None
    task: Literal["classification", "regression"]


def priced_learner(learner: str | CompSum, fee_weight: float) -> str | CompSum:
    """Return the learner as the router takes it: into a surrogate by name the estimator's own price is baked."""
    if isinstance(learner, CompSum) or learner not in SURROGATE_NAMES:
        return learner
    return CompSum(learner, fee_weight=fee_weight)


def priced_cardinality(cardinality: str | SurrogateCardinality, fee_weight: float) -> str | SurrogateCardinality:
    """Return the cardinality as the router takes it: the paper's, by name, is trained at the estimator's own price."""
    return SurrogateCardinality(fee_weights=(fee_weight,)) if cardinality == "surrogate" else cardinality


def fit_router(router: Router, X: np.ndarray, lesson: Lesson) -> Router:
    """Return the router fitted, with committees no larger than the log can tell anything of."""
    _check_everybody_was_asked(lesson, router.cv, router.random_state)
    answered = np.sort((~np.isnan(lesson.errors)).sum(axis=1))[::-1]
    router.max_k = int(np.clip(answered[min(_FEWEST_ROWS, len(answered)) - 1], 1, router.max_k))
    while True:
        try:
            with warnings.catch_warnings():
                # Where no row tells of a committee of k, its mean error is one of nothing.
                action = "error" if router.max_k > 1 else "ignore"
                warnings.filterwarnings(action, "Mean of empty slice", RuntimeWarning)
                return router.fit(
                    X,
                    errors=lesson.errors,
                    panel=lesson.panel,
                    answers=lesson.answers,
                    truth=lesson.truth,
                    fees=lesson.fees,
                    groups=lesson.groups,
                    task=lesson.task,
                )
        except RuntimeWarning:
            router.max_k //= 2


def verdicts(router: Router, selection: Selection, said: Answers, X: np.ndarray | None, target: Target) -> Verdicts:
    """Return what each committee decides; who was not chosen is not heard."""
    if router.committee_ != "log-odds-vote" or X is None or not isinstance(target, Labels):
        return router.combine(selection, said, X=X)
    # The vote's weights depend on how many classes there are: those of y, not those that this batch happens to hold.
    states = np.where(selection.members, said.states, np.int8(Cell.NOT_ASKED)).astype(np.int8)
    expected = np.clip(router.expected_errors(X), 0.0, 1.0)
    committee = Committee.of(selection, Answers(said.values, states), expected_errors=expected)
    return log_odds_vote(committee, n_classes=len(target.classes))


def _check_everybody_was_asked(lesson: Lesson, cv: int, seed: int) -> None:
    """Raise where somebody was asked too seldom: there must be answers left whichever fold is held out."""
    n = len(lesson.errors)
    fold = folds(np.arange(n) if lesson.groups is None else lesson.groups, cv, random_state=seed)
    for name, asked in zip(lesson.panel.names, ~np.isnan(lesson.errors).T, strict=True):
        if len(np.unique(fold[asked])) < 2:
            raise InvalidInputError(
                f"`answers` of {name} must be there in more than one fold, got {int(asked.sum())} in all: "
                "with so few nobody can tell how good it is. Leave it out, or log more of its answers."
            )

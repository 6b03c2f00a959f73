"""The aggregations by name, and the door for the user's own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from askwho import _validation as check
from askwho._types import Task, Ties
from askwho.aggregation import _averages, _votes
from askwho.aggregation._committee import Committee, Verdicts
from askwho.exceptions import InvalidInputError

Combine = Callable[[Committee], Verdicts]
"""An aggregation: committees in rank order in, the decisions of every prefix out."""


@dataclass(frozen=True)
class Aggregation:
    """One way to make one answer out of many.

    Args:
        name: what it is called in `AGGREGATIONS`.
        task: what kind of answers it takes.
        combine: the function; votes take `ties=`.
        needs: what the committee must know of its members, besides their answers.
    """

    name: str
    task: Task
    combine: Callable[..., Verdicts]
    needs: Literal["answers", "scores", "expected errors"]


AGGREGATIONS: Mapping[str, Aggregation] = {
    entry.name: entry
    for entry in (
        Aggregation("majority", "classification", _votes.majority, "answers"),
        Aggregation("weighted-vote", "classification", _votes.weighted_vote, "scores"),
        Aggregation("log-odds-vote", "classification", _votes.log_odds_vote, "expected errors"),
        Aggregation("mean", "regression", _averages.mean, "answers"),
        Aggregation("weighted-mean", "regression", _averages.weighted_mean, "scores"),
        Aggregation("inverse-error-mean", "regression", _averages.inverse_error_mean, "expected errors"),
        Aggregation("median", "regression", _averages.median, "answers"),
        Aggregation("weighted-median", "regression", _averages.weighted_median, "expected errors"),
    )
}
"""Every aggregation that can be deployed, by name."""


def aggregation(given: str | Combine, *, ties: Ties = "rank") -> Combine:
    """Return the aggregation of that name, votes with that rule for ties; the user's own passes through."""
    if callable(given):
        return given
    check.one_of(given, "aggregation", AGGREGATIONS)
    entry = AGGREGATIONS[given]
    if entry.task == "regression":
        return entry.combine
    return lambda committee: entry.combine(committee, ties=ties)


def prefixwise(one_size: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> Combine:
    """Return an aggregation from a function that knows committees of one size only.

    Args:
        one_size: called for k = 1, 2, ... with answers (n, k), which of them are usable (n, k), and scores (n, k);
            it returns one decision for each query, shape (n,).

    >>> first_success = prefixwise(lambda answers, voted, scores: answers[np.arange(len(answers)), voted.argmax(1)])
    """

    def combine(committee: Committee) -> Verdicts:
        answers, voted = committee.answers, committee.voted
        columns: list[np.ndarray] = []
        for k in range(1, voted.shape[1] + 1):
            decisions = np.asarray(one_size(answers[:, :k], voted[:, :k], committee.scores[:, :k]))
            if decisions.shape != (len(voted),):
                raise InvalidInputError(
                    f"`one_size` must return one decision a query, shape {(len(voted),)}, got {decisions.shape}."
                )
            columns.append(decisions)
        return Verdicts(values=np.stack(columns, axis=1), decided=committee.decided)

    return combine

"""Every kind of bad input ends in one error, whose message says what was expected, what came, and what to do."""

import pytest

from askwho import metrics
from tests.refusals import NAN, answers, case, refuses, selection


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "member that was not asked",
            lambda: metrics.accuracy_majority(selection(2), answers([None, 1], [1, 1]), [1, 1]),
            "`answers` must hold what every chosen entity said, got 1 of 2 queries with a member that was not asked. "
            "Pass missing='skip' to average over the rest, and report `scored_share` beside it.",
        ),
        case(
            "cost of a member that was not asked",
            lambda: metrics.deferral_loss(selection(1, 2), [[0.1, NAN]]),
            "`answers` must hold what every chosen entity said, got 1 of 1 queries",
        ),
        case(
            "nothing left to score",
            lambda: metrics.accuracy_majority(selection(), answers([None, 1]), [1], missing="skip"),
            "`answers` must let one committee be scored at least: none can be.",
        ),
        case(
            "rows of answers for fees",
            lambda: metrics.prefix_fees(selection(2), answers=answers([1, 1])),
            "`answers` must have shape (2, 2), got (1, 2): the selection's queries and its panel's entities.",
        ),
        case(
            "shape of costs",
            lambda: metrics.prefix_deferral_losses(selection(2), [[0.1, 0.2]]),
            "`costs` must have shape (2, 2), got (1, 2): the selection's queries and its panel's entities.",
        ),
    ],
)
def test_metrics(call, message):
    refuses(call, message)


@pytest.mark.parametrize(
    "name",
    [
        "accuracy_majority",
        "accuracy_weighted_vote",
        "accuracy_top_k",
        "rmse_mean",
        "rmse_weighted_mean",
        "rmse_best",
    ],
)
def test_typo_in_missing(name):
    message = "`missing` must be one of 'refuse', 'skip', got 'skipp'."
    refuses(lambda: getattr(metrics, name)(selection(), answers([1.0, 2.0]), [1.0], missing="skipp"), message)


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.committee_error(selection(), answers([1, 2]), [1], combine="majority", missing="skipp"),
        lambda: metrics.deferral_loss(selection(), [[0.1, 0.2]], missing="skipp"),
    ],
    ids=["committee_error", "deferral_loss"],
)
def test_typo_in_missing_of_other_metrics(call):
    refuses(call, "`missing` must be one of 'refuse', 'skip', got 'skipp'.")

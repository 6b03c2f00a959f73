"""Every kind of bad input ends in one error, whose message says what was expected, what came, and what to do."""

import pytest

from askwho import aggregation
from askwho.aggregation import Committee
from tests.refusals import answers, case, committee, refuses, selection


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "rows of answers",
            lambda: Committee.of(selection(2), answers([1, 2])),
            "`answers` must have shape (2, 2), got (1, 2): the selection's queries and its panel's entities.",
        ),
        case(
            "shape of expected errors",
            lambda: Committee.of(selection(), answers([1, 2]), expected_errors=[[0.1]]),
            "`expected_errors` must have shape (1, 2), got (1, 1): one column for each entity of the panel.",
        ),
        case(
            "expected error below zero",
            lambda: Committee.of(selection(), answers([1, 2]), expected_errors=[[0.1, -0.1]]),
            "`expected_errors` must not be below zero, got -0.1 at index (0, 1).",
        ),
        case(
            "expected error above 1",
            lambda: aggregation.log_odds_vote(
                Committee.of(selection(k=2), answers([1, 2]), expected_errors=[[0.1, 1.5]])
            ),
            "`expected_errors` must be between 0 and 1 for log-odds, got 1.5: they are probabilities.",
        ),
        case(
            "vote without expected errors",
            lambda: aggregation.log_odds_vote(committee([1, 2])),
            "`expected_errors` must be given to this aggregation: it weighs members by them. "
            "Pass them to `Committee.of`, or use a vote that weighs by scores.",
        ),
        case(
            "mean without expected errors",
            lambda: aggregation.inverse_error_mean(committee([1, 2])),
            "`expected_errors` must be given to this aggregation",
        ),
        case(
            "mean of texts",
            lambda: aggregation.mean(committee(["x", "y"])),
            "`answers` must hold numbers in rows of one length, got an array of <U1 with shape (1, 2): "
            "encode text, dates and categories first.",
        ),
        case(
            "name of the aggregation",
            lambda: aggregation.aggregation("mode"),
            "`aggregation` must be one of 'majority', 'weighted-vote', 'log-odds-vote', 'mean', 'weighted-mean', "
            "'inverse-error-mean', 'median', 'weighted-median', got 'mode'.",
        ),
        case(
            "rule for ties",
            lambda: aggregation.majority(committee([1, 2]), ties="coin"),
            "`ties` must be one of 'rank', 'index', got 'coin'.",
        ),
        case(
            "number of classes",
            lambda: aggregation.log_odds_vote(
                Committee.of(selection(), answers([1, 2]), expected_errors=[[0.1, 0.1]]), n_classes=1
            ),
            "`n_classes` must be a finite number of at least 2, got 1.",
        ),
        case(
            "own aggregation of another shape",
            lambda: aggregation.prefixwise(lambda said, _voted, _scores: said)(committee([1, 2])),
            "`one_size` must return one decision a query, shape (1,), got (1, 1).",
        ),
    ],
)
def test_aggregation(call, message):
    refuses(call, message)

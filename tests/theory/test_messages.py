"""Every kind of bad input ends in one error, whose message says what was expected, what came, and what to do."""

import numpy as np
import pytest

from askwho import theory
from tests.refusals import INF, NAN, PANEL, case, problem, refuses


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "u below zero",
            lambda: theory.psi(1.0, u=-0.5),
            "`u` must be a finite number of at least 0, got -0.5: 1 is the logistic loss.",
        ),
        case(
            "infinite u",
            lambda: theory.calibration(0.5, u=INF, n_entities=2),
            "`u` must be a finite number of at least 0, got inf: 1 is the logistic loss.",
        ),
        case(
            "excess above 1",
            lambda: theory.calibration(1.5, u=1.0, n_entities=2),
            "`t` must be between 0 and 1, got 1.5: it is an excess of the zero-one loss.",
        ),
        case(
            "one entity",
            lambda: theory.calibration(0.5, u=1.0, n_entities=1),
            "`n_entities` must be a finite number of at least 2, got 1.",
        ),
        case(
            "surrogate excess below zero",
            lambda: theory.inverse_calibration(-1.0, u=1.0, n_entities=2),
            "`value` must be a finite number of at least 0, got -1.0.",
        ),
        case(
            "order of a cascade",
            lambda: theory.cascade_scores([0, 0], [1]),
            "`order` must be a permutation of the entities' indices, got [0, 0].",
        ),
        case(
            "order of another panel",
            lambda: theory.Cascade(PANEL, [0, 1, 2], [0.5, 0.5]),
            "`order` must have shape (2,), got (3,): a permutation of the panel's entities.",
        ),
        case(
            "depth of a cascade",
            lambda: theory.Cascade.fixed(PANEL, [0, 1], 3),
            "`k` must be between 1 and 2, got 3: the panel has 2 entities.",
        ),
        case(
            "number of thresholds",
            lambda: theory.Cascade(PANEL, [0, 1], [0.5]),
            "`thresholds` must have shape (2,), got (1,): one threshold for each stage.",
        ),
        case(
            "threshold above 1",
            lambda: theory.Cascade(PANEL, [0, 1], [0.5, 1.5]),
            "`thresholds` must be between 0 and 1 (infinite: never stop there), got 1.5.",
        ),
        case(
            "shape of confidences",
            lambda: theory.Cascade.fixed(PANEL, [0, 1], 1).cardinality([[0.5]]),
            "`confidences` must have shape (1, 2), got (1, 1): one column for each entity of the panel.",
        ),
        case(
            "confidence above 1",
            lambda: theory.Cascade.fixed(PANEL, [0, 1], 1).cardinality([[1.5, 0.5]]),
            "`confidences` must be between 0 and 1, got values from 0.5 to 1.5.",
        ),
        case(
            "confidence below 0",
            lambda: theory.Cascade.fixed(PANEL, [0, 1], 1).select([[-0.5, 0.5]]),
            "`confidences` must be between 0 and 1, got values from -0.5 to 0.5.",
        ),
        case(
            "NaN confidence",
            lambda: theory.Cascade.fixed(PANEL, [0, 1], 1).cardinality([[NAN, 0.5]]),
            "`confidences` must be finite, got nan at row 0, column 0 (1 such cells): fill or drop them first.",
        ),
        case(
            "NaN in the conditionals of a problem",
            lambda: theory.FiniteProblem(np.ones((1, 2, 2)), np.array([[NAN, 1.0]]), np.ones(1)),
            "`conditionals` must sum to 1 for each query, got a sum that is off by nan.",
        ),
        case(
            "NaN in the marginal of a problem",
            lambda: theory.FiniteProblem(np.ones((1, 1, 2)), np.ones((1, 1)), np.array([NAN])),
            "`marginal` must sum to 1 for each query, got a sum that is off by nan.",
        ),
        case(
            "NaN in the costs of a problem",
            lambda: problem(costs=NAN),
            "`costs` must be finite, at least 0, and of shape (queries, outcomes, entities), got shape (2, 1, 2) "
            "with values from nan to nan.",
        ),
        case(
            "probabilities off 1",
            lambda: theory.chow_rule([[0.5, 0.4]], penalty=0.1),
            "`probabilities` must sum to 1 for each query, got a sum that is off by 0.1.",
        ),
        case(
            "probability below zero",
            lambda: theory.chow_rule([[1.5, -0.5]], penalty=0.1),
            "`probabilities` must not be below zero, got -0.5 at index (0, 1).",
        ),
        case(
            "NaN in expected errors",
            lambda: theory.bayes_cardinality([[0.1, NAN]], [[0.1, 0.2]], fee_weight=1.0),
            "`expected_errors` must be finite, got nan at row 0, column 1",
        ),
        case(
            "costs of a problem",
            lambda: problem(costs=-1.0),
            "`costs` must be finite, at least 0, and of shape (queries, outcomes, entities), got shape (2, 1, 2) "
            "with values from -1 to -1.",
        ),
        case(
            "conditionals of a problem",
            lambda: theory.FiniteProblem(np.ones((1, 1, 2)), np.ones((1, 2)), np.ones(1)),
            "`conditionals` must have shape (1, 1), got (1, 2): one probability for each outcome.",
        ),
        case(
            "marginal of a problem",
            lambda: theory.FiniteProblem(np.ones((1, 1, 2)), np.ones((1, 1)), np.ones(2)),
            "`marginal` must have shape (1,), got (2,): one probability for each query.",
        ),
        case(
            "marginal off 1",
            lambda: theory.FiniteProblem(np.ones((1, 1, 2)), np.ones((1, 1)), np.array([0.5])),
            "`marginal` must sum to 1 for each query, got a sum that is off by 0.5.",
        ),
        case(
            "shift below a cost",
            lambda: problem().weights(0.5),
            "`shift` must be at least every cost, got 0.5.",
        ),
        case("unknown shift", lambda: problem().weights("mean"), "`shift` must be a number, got 'mean'."),
        case(
            "scores of another problem",
            lambda: theory.consistency_bound(problem(), [[0.0, 1.0]], k=1),
            "`scores` must have shape (2, 2), got (1, 2): one score for each query and entity of the problem.",
        ),
        case(
            "scores within a cell",
            lambda: theory.consistency_bound(problem(), [[0.0, 1.0], [1.0, 0.0]], k=1, cells=[0, 0]),
            "`scores` must be equal for all queries of a cell, got others for query 1: the class sees no more.",
        ),
        case(
            "number of cells",
            lambda: theory.consistency_bound(problem(), [[0.0, 1.0], [0.0, 1.0]], k=1, cells=[0]),
            "`cells` must have shape (2,), got (1,): one cell for each query.",
        ),
        case(
            "k of a bound",
            lambda: theory.consistency_bound(problem(), [[0.0, 1.0], [0.0, 1.0]], k=3),
            "`k` must be between 1 and 2, got 3: the panel has 2 entities.",
        ),
    ],
)
def test_theory(call, message):
    refuses(call, message)

"""What can be proved and computed where the probabilities are known; Chow's rule and cascades as baselines."""

from askwho._comp_sum import psi
from askwho.theory._bayes import bayes_cardinality, bayes_ranking, bayes_risk, chow_rule
from askwho.theory._bound import (
    ConsistencyBound,
    FiniteProblem,
    consistency_bound,
    least_surrogate_risk,
    surrogate_risk,
)
from askwho.theory._calibration import calibration, inverse_calibration
from askwho.theory._cascades import Cascade, cascade_scores

__all__ = [
    "Cascade",
    "ConsistencyBound",
    "FiniteProblem",
    "bayes_cardinality",
    "bayes_ranking",
    "bayes_risk",
    "calibration",
    "cascade_scores",
    "chow_rule",
    "consistency_bound",
    "inverse_calibration",
    "least_surrogate_risk",
    "psi",
    "surrogate_risk",
]

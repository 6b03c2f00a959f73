"""From the answers of a committee to one decision, for every query and every prefix k at once."""

from askwho.aggregation._averages import average, inverse_error_mean, mean, median, weighted_mean, weighted_median
from askwho.aggregation._committee import Committee, Verdicts
from askwho.aggregation._needs_truth import best_of_k, inclusion
from askwho.aggregation._registry import AGGREGATIONS, Aggregation, Combine, aggregation, prefixwise
from askwho.aggregation._votes import log_odds_vote, majority, vote, weighted_vote
from askwho.aggregation._weights import inverse_error_weights, log_odds_weights, softmax_weights

__all__ = [
    "AGGREGATIONS",
    "Aggregation",
    "Combine",
    "Committee",
    "Verdicts",
    "aggregation",
    "average",
    "best_of_k",
    "inclusion",
    "inverse_error_mean",
    "inverse_error_weights",
    "log_odds_vote",
    "log_odds_weights",
    "majority",
    "mean",
    "median",
    "prefixwise",
    "softmax_weights",
    "vote",
    "weighted_mean",
    "weighted_median",
    "weighted_vote",
]

"""What a policy gets and what it pays: committee errors, deferral loss, mean fee, mean k, mean asked, coverage."""

from askwho.aggregation import best_of_k
from askwho.metrics._frontier import Frontier, area, stated_budgets
from askwho.metrics._means import (
    Measure,
    accuracy_majority,
    accuracy_top_k,
    accuracy_weighted_vote,
    committee_error,
    coverage,
    deferral_loss,
    mean_asked,
    mean_fee,
    mean_k,
    rmse_best,
    rmse_mean,
    rmse_weighted_mean,
    scored_share,
)
from askwho.metrics._prefix import at_own_k, prefix_deferral_losses, prefix_errors, prefix_fees

__all__ = [
    "Frontier",
    "Measure",
    "accuracy_majority",
    "accuracy_top_k",
    "accuracy_weighted_vote",
    "area",
    "at_own_k",
    "best_of_k",
    "committee_error",
    "coverage",
    "deferral_loss",
    "mean_asked",
    "mean_fee",
    "mean_k",
    "prefix_deferral_losses",
    "prefix_errors",
    "prefix_fees",
    "rmse_best",
    "rmse_mean",
    "rmse_weighted_mean",
    "scored_share",
    "stated_budgets",
]

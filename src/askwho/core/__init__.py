"""The paper's words: who can be asked, what they said, what it cost, and whom a ranking chooses."""

from askwho.core._answers import Answers, Cell, Nulls, column, family, is_null, null_states
from askwho.core._cardinality import FeeTransform, cardinality_losses
from askwho.core._cost_matrix import CostMapping, CostMatrix
from askwho.core._costs import (
    ERRORS,
    ErrorFunction,
    augmented_costs,
    cost_table,
    elementwise_error,
    error_function,
    errors_from_grades,
    multi_task_errors,
    recorded_errors,
    squared,
    task_errors,
    truth_column,
    unusable_errors,
    zero_one,
)
from askwho.core._folds import each_fold, folds, folds_in_time, last_moments
from askwho.core._panel import Entity, Panel
from askwho.core._selection import Selection, fees_table, in_order, rank, select_adaptive, select_top_k

__all__ = [
    "ERRORS",
    "Answers",
    "Cell",
    "CostMapping",
    "CostMatrix",
    "Entity",
    "ErrorFunction",
    "FeeTransform",
    "Nulls",
    "Panel",
    "Selection",
    "augmented_costs",
    "cardinality_losses",
    "column",
    "cost_table",
    "each_fold",
    "elementwise_error",
    "error_function",
    "errors_from_grades",
    "family",
    "fees_table",
    "folds",
    "folds_in_time",
    "in_order",
    "is_null",
    "last_moments",
    "multi_task_errors",
    "null_states",
    "rank",
    "recorded_errors",
    "select_adaptive",
    "select_top_k",
    "squared",
    "task_errors",
    "truth_column",
    "unusable_errors",
    "zero_one",
]

"""askwho: whom to ask about each query, how many of them, and how to combine what they say.

The names here need NumPy and SciPy only; `askwho.losses` needs torch.
"""

from askwho import aggregation, metrics, theory
from askwho.answers import Answers, Cell
from askwho.cardinality import cardinality_losses
from askwho.costs import (
    ERRORS,
    augmented_costs,
    errors_from_grades,
    multi_task_errors,
    task_errors,
)
from askwho.exceptions import AskwhoError, InvalidInputError, MissingDependencyError
from askwho.panel import Entity, Panel
from askwho.selection import Choice, Explanation, Selection, rank, select_adaptive, select_top_k

__version__ = "0.1.0"

__all__ = [
    "ERRORS",
    "Answers",
    "AskwhoError",
    "Cell",
    "Choice",
    "Entity",
    "Explanation",
    "InvalidInputError",
    "MissingDependencyError",
    "Panel",
    "Selection",
    "aggregation",
    "augmented_costs",
    "cardinality_losses",
    "errors_from_grades",
    "metrics",
    "multi_task_errors",
    "rank",
    "select_adaptive",
    "select_top_k",
    "task_errors",
    "theory",
]

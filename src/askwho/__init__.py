"""askwho: whom to ask about each query, how many of them, and how to combine what they say.

The names here are light: the router, the estimators and the artefacts are imported when first used, and torch only by
`askwho.losses`.
"""

import importlib
from typing import TYPE_CHECKING, Any

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
from askwho.exceptions import AskwhoError, DivergedError, InvalidInputError, MissingDependencyError
from askwho.panel import Entity, Panel
from askwho.selection import Choice, Explanation, Selection, rank, select_adaptive, select_top_k

if TYPE_CHECKING:
    from askwho.data import Columns, read_log
    from askwho.estimators import OneStageClassifier, TwoStageClassifier, TwoStageRegressor
    from askwho.evaluation import evaluate
    from askwho.persistence import load, save
    from askwho.policy import Policy, fit_policy
    from askwho.router import Router

__version__ = "0.1.0"

# Names whose rooms import scikit-learn or ONNX Runtime: found when first asked for.
_LATER = {
    "Columns": "askwho.data",
    "OneStageClassifier": "askwho.estimators",
    "Policy": "askwho.policy",
    "Router": "askwho.router",
    "TwoStageClassifier": "askwho.estimators",
    "TwoStageRegressor": "askwho.estimators",
    "evaluate": "askwho.evaluation",
    "fit_policy": "askwho.policy",
    "load": "askwho.persistence",
    "read_log": "askwho.data",
    "save": "askwho.persistence",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _LATER:
        raise AttributeError(f"module 'askwho' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


__all__ = [
    "ERRORS",
    "Answers",
    "AskwhoError",
    "Cell",
    "Choice",
    "Columns",
    "DivergedError",
    "Entity",
    "Explanation",
    "InvalidInputError",
    "MissingDependencyError",
    "OneStageClassifier",
    "Panel",
    "Policy",
    "Router",
    "Selection",
    "TwoStageClassifier",
    "TwoStageRegressor",
    "aggregation",
    "augmented_costs",
    "cardinality_losses",
    "errors_from_grades",
    "evaluate",
    "fit_policy",
    "load",
    "metrics",
    "multi_task_errors",
    "rank",
    "read_log",
    "save",
    "select_adaptive",
    "select_top_k",
    "task_errors",
    "theory",
]

"""askwho: whom to ask about each query, how many of them, and how to combine what they say.

    log = read_log("log.parquet", Columns(truth="truth", answers="answer_*", features="x_*", fees=...))
    policy = fit(log)                                    # what the log teaches
    decisions = policy.decide(queries, Target(budget=0.1))   # whom to ask
    decided = policy.combine(decisions, answers)         # what comes of it
    save(policy, "policy"); policy = load("policy")

Here is what users need. Research names live in their rooms: `askwho.core`, `askwho.aggregation`, `askwho.metrics`,
`askwho.theory`, and, with torch, `askwho.losses`. Nothing heavy is imported before it is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from askwho.core import Answers, Entity, Panel
from askwho.exceptions import AskwhoError, DivergedError, InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    from askwho.data import Columns, Log, read_log
    from askwho.estimators import OneStageClassifier, TwoStageClassifier, TwoStageRegressor
    from askwho.evaluation import evaluate
    from askwho.experts import read_experts
    from askwho.fitting import calibrate, fit, teaching_questions, with_expert
    from askwho.ledger import open_ledger
    from askwho.live import Asker, ask_all
    from askwho.persistence import load, save
    from askwho.policy import Assigned, Decision, Decisions, Online, Policy, Target, assign
    from askwho.report import write_report

__version__ = "0.1.0"

# Names whose rooms import scikit-learn or ONNX Runtime: found when first asked for.
_LATER = {
    "Asker": "askwho.live",
    "Assigned": "askwho.policy",
    "Columns": "askwho.data",
    "Decision": "askwho.policy",
    "Decisions": "askwho.policy",
    "Log": "askwho.data",
    "OneStageClassifier": "askwho.estimators",
    "Online": "askwho.policy",
    "Policy": "askwho.policy",
    "Target": "askwho.policy",
    "TwoStageClassifier": "askwho.estimators",
    "TwoStageRegressor": "askwho.estimators",
    "ask_all": "askwho.live",
    "assign": "askwho.policy",
    "calibrate": "askwho.fitting",
    "evaluate": "askwho.evaluation",
    "fit": "askwho.fitting",
    "load": "askwho.persistence",
    "open_ledger": "askwho.ledger",
    "read_experts": "askwho.experts",
    "read_log": "askwho.data",
    "save": "askwho.persistence",
    "teaching_questions": "askwho.fitting",
    "with_expert": "askwho.fitting",
    "write_report": "askwho.report",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _LATER:
        raise AttributeError(f"module 'askwho' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "Answers",
    "Asker",
    "AskwhoError",
    "Assigned",
    "Columns",
    "Decision",
    "Decisions",
    "DivergedError",
    "Entity",
    "InvalidInputError",
    "Log",
    "MissingDependencyError",
    "OneStageClassifier",
    "Online",
    "Panel",
    "Policy",
    "Target",
    "TwoStageClassifier",
    "TwoStageRegressor",
    "ask_all",
    "assign",
    "calibrate",
    "evaluate",
    "fit",
    "load",
    "open_ledger",
    "read_experts",
    "read_log",
    "save",
    "teaching_questions",
    "with_expert",
    "write_report",
]

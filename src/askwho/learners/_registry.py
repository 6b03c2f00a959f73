"""The learners by name."""

import importlib.util
from collections.abc import Mapping

from askwho import _validation as check
from askwho.learners._learner import MakeLearner
from askwho.learners._smooth import Linear, Neighbours
from askwho.learners._trees import Boosting, Forest

LEARNERS: Mapping[str, MakeLearner] = {
    "forest": Forest,
    "boosting": Boosting,
    "neighbours": Neighbours,
    "linear": Linear,
}
"""Every learner, by name; each is made from a seed."""


def candidates(learner: str) -> list[str]:
    """Return the learners to compare: all that can run for `"auto"`, else the one named."""
    if learner != "auto":
        check.one_of(learner, "learner", ["auto", *LEARNERS])
        return [learner]
    return [name for name in LEARNERS if name != "boosting" or _can_import("lightgbm")]


def _can_import(library: str) -> bool:
    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:
        return False

"""Batches of any size: one function from record batch to record batch, in this process or on an engine's workers.

`askwho.engines.ray` and `askwho.engines.spark` hand it to those engines; neither is imported before it is used.
"""

from askwho.engines._artefact import Artefact
from askwho.engines._parts import Parts, plan_of
from askwho.engines._shards import Shards, facts_of
from askwho.engines._sums import Evaluate, Merge, figures_from
from askwho.engines._types import decision_types, route_types, step_types
from askwho.engines._work import Combine, Made, Next, Route, Work

__all__ = [
    "Artefact",
    "Combine",
    "Evaluate",
    "Made",
    "Merge",
    "Next",
    "Parts",
    "Route",
    "Shards",
    "Work",
    "decision_types",
    "facts_of",
    "figures_from",
    "plan_of",
    "route_types",
    "step_types",
]

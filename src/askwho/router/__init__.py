"""The heart: learners, cardinality, committee and calibration, and the decisions they make together."""

from askwho.router._calibration import Calibration
from askwho.router._cardinality import Curve
from askwho.router._router import COMMITTEES, Router, Rows
from askwho.router._scoring import Judgement, price_grid
from askwho.router._surrogate import CardinalityNetwork, SurrogateCardinality

__all__ = [
    "COMMITTEES",
    "Calibration",
    "CardinalityNetwork",
    "Curve",
    "Judgement",
    "Router",
    "Rows",
    "SurrogateCardinality",
    "price_grid",
]

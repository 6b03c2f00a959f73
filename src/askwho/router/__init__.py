"""The heart: learners, cardinality, committee and calibration, and the decisions they make together."""

from askwho.router._calibration import Calibration
from askwho.router._cardinality import Curve
from askwho.router._coverage import Coverage
from askwho.router._deciding import Decider, Mode
from askwho.router._explain import Past, Reason, Why
from askwho.router._foresight import Foresight
from askwho.router._router import COMMITTEES, Router
from askwho.router._rows import Rows, Setting
from askwho.router._scoring import POSTERIOR, Judgement, price_grid
from askwho.router._surrogate import CardinalityNetwork, SurrogateCardinality
from askwho.router._turns import Step

__all__ = [
    "COMMITTEES",
    "POSTERIOR",
    "Calibration",
    "CardinalityNetwork",
    "Coverage",
    "Curve",
    "Decider",
    "Foresight",
    "Judgement",
    "Mode",
    "Past",
    "Reason",
    "Router",
    "Rows",
    "Setting",
    "Step",
    "SurrogateCardinality",
    "Why",
    "price_grid",
]

"""The heart: learners, cardinality, committee and calibration, and the decisions they make together."""

from askwho.router._calibration import Calibration
from askwho.router._cardinality import Curve
from askwho.router._router import COMMITTEES, Router, Rows, price_grid

__all__ = ["COMMITTEES", "Calibration", "Curve", "Router", "Rows", "price_grid"]

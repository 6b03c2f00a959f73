"""From a log to a policy, in pure steps: rows in, a part out."""

from askwho.fit._calibrate import calibrate
from askwho.fit._committee import COMMITTEES
from askwho.fit._fit import fit
from askwho.fit._surrogate import SurrogateCardinality

__all__ = ["COMMITTEES", "SurrogateCardinality", "calibrate", "fit"]

"""From a log to a policy, in pure steps: rows in, a part out."""

from askwho.fitting._calibrate import calibrate
from askwho.fitting._committee import COMMITTEES
from askwho.fitting._fit import fit
from askwho.fitting._priced import priced, priced_cardinality
from askwho.fitting._surrogate import SurrogateCardinality

__all__ = ["COMMITTEES", "SurrogateCardinality", "calibrate", "fit", "priced", "priced_cardinality"]

"""From a log to a policy, in pure steps: rows in, a part out."""

from askwho.fitting._calibrate import calibrate
from askwho.fitting._committee import COMMITTEES
from askwho.fitting._fit import fit, fold_count
from askwho.fitting._newcomers import with_expert
from askwho.fitting._priced import priced, priced_cardinality
from askwho.fitting._surrogate import SurrogateCardinality, checked_cardinality
from askwho.fitting._teaching import teaching_questions
from askwho.learners import check_learner

__all__ = [
    "COMMITTEES",
    "SurrogateCardinality",
    "calibrate",
    "check_learner",
    "checked_cardinality",
    "fit",
    "fold_count",
    "priced",
    "priced_cardinality",
    "teaching_questions",
    "with_expert",
]

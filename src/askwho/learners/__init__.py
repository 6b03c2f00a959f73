"""Learners of expected error: features in, one expected error an entity out; and the base of our own."""

from askwho.learners._learner import Learner, MakeLearner, cross_fit, each_fold, folds
from askwho.learners._own import OwnBase, Trial, own_base
from askwho.learners._registry import LEARNERS, candidates
from askwho.learners._smooth import Linear, Neighbours
from askwho.learners._trees import Boosting, Forest

__all__ = [
    "LEARNERS",
    "Boosting",
    "Forest",
    "Learner",
    "Linear",
    "MakeLearner",
    "Neighbours",
    "OwnBase",
    "Trial",
    "candidates",
    "cross_fit",
    "each_fold",
    "folds",
    "own_base",
]

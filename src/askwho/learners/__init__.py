"""Learners of expected error: features in, one expected error an entity out; and the base of our own."""

from askwho.learners._comp_sum import SURROGATE_NAMES, CompSum, Exportable, Scorer, Shares
from askwho.learners._learner import Learner, MakeLearner, cross_fit, each_fold, folds
from askwho.learners._own import OwnBase, Trial, Words, own_base, weigh_words
from askwho.learners._perceptrons import Perceptrons, fit_perceptrons, fit_regressors, log_shares
from askwho.learners._registry import LEARNERS, candidates, suited
from askwho.learners._smooth import Linear, Neighbours
from askwho.learners._trees import Boosting, Forest

__all__ = [
    "LEARNERS",
    "SURROGATE_NAMES",
    "Boosting",
    "CompSum",
    "Exportable",
    "Forest",
    "Learner",
    "Linear",
    "MakeLearner",
    "Neighbours",
    "OwnBase",
    "Perceptrons",
    "Scorer",
    "Shares",
    "Trial",
    "Words",
    "candidates",
    "cross_fit",
    "each_fold",
    "fit_perceptrons",
    "fit_regressors",
    "folds",
    "log_shares",
    "own_base",
    "suited",
    "weigh_words",
]

"""Learners of expected error: features in, one expected error an entity out; and the base of our own."""

from askwho._parts import State
from askwho.engine import Training, require_torch
from askwho.learners._comp_sum import SURROGATE_NAMES, CompSum
from askwho.learners._grow import grow
from askwho.learners._learner import Learner, MakeLearner, cross_fit, fitted, predicted
from askwho.learners._log_shares import log_shares
from askwho.learners._network_graph import NetworkGraph
from askwho.learners._own import OwnBase, Trial, own_base
from askwho.learners._perceptrons import Perceptrons, fit_perceptrons, fit_regressors
from askwho.learners._registry import (
    LEARNERS,
    candidates,
    check_learner,
    learner_name,
    make_learner,
    suited,
    surrogate_settings,
)
from askwho.learners._scorer import Scorer, Shares
from askwho.learners._smooth import Linear, Neighbours
from askwho.learners._tree_graph import TreeModel, graph_of_forest
from askwho.learners._trees import Boosting, Forest

__all__ = [
    "LEARNERS",
    "SURROGATE_NAMES",
    "Boosting",
    "CompSum",
    "Forest",
    "Learner",
    "Linear",
    "MakeLearner",
    "Neighbours",
    "NetworkGraph",
    "OwnBase",
    "Perceptrons",
    "Scorer",
    "Shares",
    "State",
    "Training",
    "TreeModel",
    "Trial",
    "candidates",
    "check_learner",
    "cross_fit",
    "fit_perceptrons",
    "fit_regressors",
    "fitted",
    "graph_of_forest",
    "grow",
    "learner_name",
    "log_shares",
    "make_learner",
    "own_base",
    "predicted",
    "require_torch",
    "suited",
    "surrogate_settings",
]

"""The scikit-learn face: classifiers and a regressor that ask only whom they need."""

from askwho.estimators._one_stage import OneStageClassifier
from askwho.estimators._two_stage import TwoStageClassifier, TwoStageRegressor

__all__ = ["OneStageClassifier", "TwoStageClassifier", "TwoStageRegressor"]

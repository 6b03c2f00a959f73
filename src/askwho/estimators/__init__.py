"""The scikit-learn face: a classifier and a regressor that ask only whom they need."""

from askwho.estimators._two_stage import TwoStageClassifier, TwoStageRegressor

__all__ = ["TwoStageClassifier", "TwoStageRegressor"]

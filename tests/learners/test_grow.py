"""Forests are scikit-learn's own, tree by tree, on however many threads; they leave the process as it was."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.tree import ExtraTreeRegressor

from askwho.learners import grow


class Careless:
    """A forest whose threads put back no filters at all, as a race of scikit-learn's does."""

    n_estimators = 10
    estimator = ExtraTreeRegressor()

    def set_params(self, n_jobs):
        self.n_jobs = n_jobs
        return self

    def fit(self, X, targets):  # noqa: ARG002 - it learns nothing
        warnings.filters = []
        return self


def test_filters_of_warnings_outlive_a_race():
    before = warnings.filters
    kept = list(before)
    assert grow(Careless(), np.zeros((1, 1)), np.zeros(1)).n_jobs == 1
    assert warnings.filters is before
    assert list(warnings.filters) == kept


@pytest.mark.parametrize("kind", [ExtraTreesRegressor, ExtraTreesClassifier])
@pytest.mark.parametrize("worth", [0, 10**9])  # two threads, and one
def test_any_threads_grow_what_scikit_learn_does(kind, worth, monkeypatch):
    monkeypatch.setattr("askwho.learners._grow._WORTH_THREADS", worth)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, size=200)
    settings = {"min_samples_leaf": 2, "max_features": 0.4, "random_state": 3}
    grown, own = grow(kind(10, **settings), X, y), kind(10, **settings).fit(X, y)
    assert grown.n_jobs == 1
    for one, other in zip(grown.estimators_, own.estimators_, strict=True):
        assert one.get_params() == other.get_params()
        for part in ("children_left", "feature", "threshold", "value"):
            np.testing.assert_array_equal(getattr(one.tree_, part), getattr(other.tree_, part))
    np.testing.assert_array_equal(grown.predict(X), own.predict(X))

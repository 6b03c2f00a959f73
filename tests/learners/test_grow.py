"""Forests on two threads leave the process as it was."""

import warnings

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from askwho.learners import grow


class Careless:
    """A forest whose threads put back no filters at all, as a race of scikit-learn's does."""

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


def test_two_threads_grow_what_one_would():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    two = grow(ExtraTreesRegressor(10, random_state=0), X, y)
    assert two.n_jobs == 1
    np.testing.assert_array_equal(two.predict(X), ExtraTreesRegressor(10, random_state=0).fit(X, y).predict(X))

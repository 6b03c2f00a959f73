"""How good a committee of each size is: learned by trees, by means where rows are few, and walked with newcomers."""

import numpy as np
import pytest

from askwho.policy._curve import Curve
from askwho.policy._seats import Seats


def rows(n, seed=0):
    """Features, what is expected of two entities, and the order of both."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.uniform(0.1, 0.4, (n, 2)), np.tile([0, 1], (n, 1))


def test_of_two_sizes_each_is_learned():
    X, expected, order = rows(400)
    errors = np.column_stack([np.full(400, 0.3), np.full(400, 0.1)])
    found = Curve.fit(X, expected, [order], [errors]).predict(X[:5], expected[:5], order[:5])
    np.testing.assert_allclose(found, np.tile([0.3, 0.1], (5, 1)), atol=1e-6)


def test_of_one_size_there_is_one_figure_for_each_query():
    X, expected, order = rows(400)
    curve = Curve.fit(X, expected, [order[:, :1]], [np.full((400, 1), 0.3)])
    np.testing.assert_allclose(curve.predict(X[:5], expected[:5], order[:5, :1]), np.full((5, 1), 0.3), atol=1e-6)


def test_few_rows_teach_means_and_a_size_that_one_row_scored_has_its_error():
    X, expected, order = rows(6)
    errors = np.full((6, 2), np.nan)
    errors[:, 0], errors[2, 1] = [0, 0, 1, 1, 1, 1], 0.5
    curve = Curve.fit(X, expected, [order], [errors])
    assert curve.means.tolist() == pytest.approx([4 / 6, 0.5])
    unscored = Curve.fit(X, expected, [order], [np.column_stack([errors[:, 0], np.full(6, np.nan)])])
    assert unscored.means[1] == np.inf


def test_a_newcomer_brings_half_of_what_one_more_brought_the_others():
    # Entities 0 and 1 were learned, 2 came since. Two of the learned get .1 where one gets .2: half of it is left.
    seats, curve = Seats.all(2, 2).joined(), np.array([[0.2, 0.1]])
    expected = np.array([[0.2, 0.2, 0.16]])
    order, old = np.array([[0, 2]]), np.array([[0, 1]])
    # The better of the first and the newcomer, and of that a quarter off: half of the half.
    np.testing.assert_allclose(seats.walked(curve, expected, order, old), [[0.2, 0.75 * 0.16]])
    # Alone he is as good as is expected of him.
    np.testing.assert_allclose(seats.walked(curve, expected, np.array([[2, 0]]), old)[0, 0], 0.16)


def test_a_row_that_stands_for_others_counts_as_they_would():
    n = 400
    X, expected, order = np.zeros((n, 1)), np.full((n, 2), 0.3), np.tile([0, 1], (n, 1))
    came = np.tile((np.arange(n) % 2 == 0).astype(float)[:, None], (1, 2))
    weights = np.where(came[:, 0] == 1, 1.0, 3.0)
    for given, mean in ((None, 0.5), (weights, 0.25)):
        curve = Curve.fit(X, expected, [order, order], [came, came], weights=given)
        np.testing.assert_allclose(curve.predict(X[:3], expected[:3], order[:3]), mean, atol=1e-6)

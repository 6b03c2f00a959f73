import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho.exceptions import InvalidInputError
from askwho.metrics import Frontier, area, stated_budgets

points = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1)), min_size=1, max_size=12)


@given(points)
def test_no_point_lies_below_the_hull_and_the_hull_falls(given_points):
    fees, errors = map(np.array, zip(*given_points, strict=True))
    hull = Frontier.of(fees, errors)
    assert (np.diff(hull.fees) > 0).all()
    assert (np.diff(hull.errors) < 0).all()
    for fee, error in given_points:
        assert hull.error_at(fee) <= error + 1e-9
    assert hull.errors[-1] == errors.min()


def test_mixing_two_settings_reaches_what_lies_between():
    hull = Frontier.of([0.0, 2.0], [0.5, 0.1])
    assert hull.error_at(1.0) == pytest.approx(0.3)
    assert hull.fee_for(0.3) == pytest.approx(1.0)
    assert np.isnan(hull.fee_for(0.05))
    assert np.isnan(Frontier.of([1.0], [0.2]).error_at(0.5))


def test_budgets_run_from_the_cheapest_to_everyone():
    budgets = stated_budgets([0.1, 1.0, 2.0], 1.0)
    assert len(budgets) == 10
    assert budgets[0] == pytest.approx(0.1)
    assert budgets[-1] == pytest.approx(3.1)
    assert stated_budgets([0.0, 1.0], 1.0)[0] == pytest.approx(0.02)


def test_a_better_frontier_has_the_smaller_area():
    budgets = stated_budgets([1.0, 2.0], 1.0)
    assert area(Frontier.of([1.0, 3.0], [0.3, 0.1]), budgets) < area(Frontier.of([1.0, 3.0], [0.3, 0.2]), budgets)


def test_an_error_that_is_reached_but_for_rounding_is_reached():
    frontier = Frontier.of([1.0, 2.0], [0.4, 0.3])
    assert frontier.fee_for(0.3 * (1 - 1e-15)) == 2.0
    assert np.isnan(frontier.fee_for(0.3 - 1e-6))


@pytest.mark.parametrize("fees", [[], [1.0, np.inf], [1.0, np.nan]])
def test_a_hull_of_nothing_or_of_what_is_not_finite_is_refused(fees):
    for given_fees, errors in ((fees, [0.1] * len(fees)), ([0.1] * len(fees), fees)):
        with pytest.raises(InvalidInputError, match="must be finite, one point at least"):
            Frontier.of(given_fees, errors)


def test_where_the_best_is_free_budgets_begin_at_a_fiftieth_of_the_cheapest_fee():
    assert stated_budgets([0.0, 0.5, 2.0], 0.0)[0] == pytest.approx(0.01)
    # A fee of less than one counts as a fee.
    assert stated_budgets([0.0, 0.0, 0.25], 0.0)[[0, -1]] == pytest.approx([0.005, 0.25])
    # Where nobody charges anything any budget will do.
    assert stated_budgets([0.0, 0.0], 0.0)[[0, -1]] == pytest.approx([1.0, 2.0])


def test_a_budget_below_the_cheapest_setting_counts_as_its_error():
    assert area(Frontier.of([1.0, 3.0], [0.5, 0.1]), np.array([0.1, 3.0])) == pytest.approx(0.3)

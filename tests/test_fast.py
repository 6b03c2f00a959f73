"""Compiled loops give the bits of the NumPy that they stand for."""

import subprocess
import sys

import numpy as np
import pytest

from askwho import _fast
from askwho._unit import Unit
from askwho.aggregation import Committee, majority, weighted_vote
from askwho.beliefs._asking import Basis
from askwho.core import Answers, Panel, argsorted, distinct_orders, in_order, orders_by_price
from askwho.data import Columns, read_log
from askwho.evaluation import Resamples, evaluate
from askwho.fitting import fit
from askwho.policy._calibration import Calibration
from askwho.policy._cardinality import Cardinality
from askwho.policy._curve import Curve
from tests.beliefs.worlds import ANSWERED, NO_ANSWER, habits, independent, taught

pytest.importorskip("numba")

FEES = {"a": 0.3, "b": 0.1, "c": 0.05, "d": 0.2}


@pytest.fixture
def both(monkeypatch):
    """Do something compiled, and without."""

    def both_ways(work):
        monkeypatch.setattr(_fast, "WORTH", 1)
        monkeypatch.setattr(_fast, "WORTH_LOADING", 1)
        assert _fast.loops(1) is not None
        fast = work()
        monkeypatch.setattr(_fast, "WORTH", 1 << 40)
        assert _fast.loops(1 << 30) is None
        return fast, work()

    return both_ways


def _table(n, *, holes=False, seed=0):
    """Answers of four experts about three classes; nobody gives some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    table = {"x_0": X[:, 0], "x_1": X[:, 1], "truth": np.array(list("lmn"))[truth]}
    for name, right in zip(FEES, (0.9, 0.75, 0.6, 0.7), strict=True):
        said = np.array(list("lmn"), dtype=object)[np.where(rng.random(n) < right, truth, rng.integers(0, 3, n))]
        table[f"answer_{name}"] = np.where(rng.random(n) < 0.1, None, said) if holes else said
    return table


@pytest.mark.parametrize("holes", [False, True])
def test_evaluating_gives_the_same_figures(both, holes):
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)
    policy = fit(read_log(_table(500, holes=holes), columns), learner="linear", cv=2)
    fresh = read_log(_table(400, holes=holes, seed=1), columns)
    fast, slow = both(lambda: evaluate(policy, fresh, draws=20))
    assert fast == slow


def test_orders_are_those_of_a_stable_sort(both):
    rng = np.random.default_rng(0)
    # Whole numbers tie often, and some are no numbers.
    worth, fees = (rng.integers(0, 4, (300, 5)).astype(float) for _ in range(2))
    worth[:20, 2] = np.nan
    worth[:10, 4] = np.nan
    absent, prices = np.where(rng.random((300, 5)) < 0.2, 1e9, 0.0), [0.0, 0.5, 0.5, 1.0, 7.0]
    for rest in (None, absent):
        fast, slow = both(lambda rest=rest: orders_by_price(worth, fees, rest, prices, 3))
        _same(fast, slow)
        costs = [worth + price * fees + (0.0 if rest is None else rest) for price in prices]
        _same(fast, distinct_orders([each.argsort(axis=1, kind="stable")[:, :3] for each in costs]))
    _same(*both(lambda: [argsorted(worth)]))


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i1", "?", "U3", "O"])
def test_cells_in_an_order_are_those_of_the_table(both, kind):
    rng = np.random.default_rng(0)
    table, order = rng.integers(0, 2, (50, 4)).astype(kind), rng.integers(-4, 4, (50, 3))
    for rows in (None, rng.integers(0, 50, 50)):
        fast, slow = both(lambda rows=rows: in_order(table, order, rows))
        assert fast.dtype == slow.dtype == table.dtype
        np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("ties", ["rank", "index"])
@pytest.mark.parametrize("rule", [majority, weighted_vote])
def test_votes_are_the_same_with_ties_and_silence(both, rule, ties):
    rng = np.random.default_rng(0)
    panel = Panel.two_stage(FEES)
    states = np.where(rng.random((400, 5)) < 0.3, NO_ANSWER, ANSWERED)
    said = Answers(rng.integers(3, 6, (400, 5)), states)
    order = rng.random((400, 5)).argsort(axis=1)[:, :4]
    committee = Committee(panel, order, said, rng.integers(0, 3, (400, 5)).astype(float))
    fast, slow = both(lambda: rule(committee, ties=ties))
    decided = slow.decided
    np.testing.assert_array_equal(fast.values[decided], slow.values[decided])


def test_beliefs_after_any_order_and_set_are_the_same(both):
    truth, said = independent(900, habits([0.8, 0.7, 0.6, 0.75], 3))
    silent = np.where(np.random.default_rng(1).random(said.shape) < 0.2, NO_ANSWER, ANSWERED)
    beliefs, case = taught(said, truth, states=silent)
    rng = np.random.default_rng(2)
    rows, order = rng.integers(0, 900, 1500), rng.random((1500, 4)).argsort(axis=1)
    asked = rng.random((1500, 4)) < 0.5
    _same(*both(lambda: (beliefs.pool.likeliest(case, rows, order), beliefs.pool.after(case, rows, asked))))


def test_candidates_whose_scores_differ_by_rounding_alone_tie_as_their_probabilities_do(both):
    truth, said = independent(400, habits([0.8, 0.7], 3))
    beliefs, case = taught(said, truth)
    # Evidence that is nothing but rounding: probabilities are equal, or nearly so, and the first of equal ones counts.
    case.prior[:] = 0.0
    case.evidence[:] = np.random.default_rng(0).choice(np.float32([0.0, 2e-8, 6e-8, 1e-7]), case.evidence.shape)
    order = np.tile([0, 1], (400, 1))
    fast, slow = both(lambda: beliefs.pool.likeliest(case, np.arange(400), order))
    np.testing.assert_array_equal(fast, slow)
    assert len(np.unique(slow)) > 1


def test_calibrated_errors_are_the_same_between_knots_on_them_and_beyond(both):
    rng = np.random.default_rng(0)
    for knots in (2, 3, 7, 66):
        # Quantiles of few different errors are the same knot several times over.
        raw = np.sort(rng.integers(-3, 4, (4, knots)) / rng.choice([3.0, 7.0], (4, 1)), axis=1)
        raw[0], raw[1, -1] = np.linspace(-2, 2, knots), raw[1, -1] + 1e-300
        calibration = Calibration(raw, np.sort(rng.normal(size=(4, knots)), axis=1))
        values = np.concatenate([raw.T, raw.T + rng.choice([-1e-16, 1e-9], raw.T.shape), rng.normal(size=(300, 4))])
        values[-6:, 0] = [np.nan, np.inf, -np.inf, -0.0, 1e300, -1e300]
        fast, slow = both(lambda made=calibration, given=values: made.apply(given))
        np.testing.assert_array_equal(fast, slow)
        plain = [np.interp(*column) for column in zip(values.T, raw, calibration.calibrated, strict=True)]
        np.testing.assert_array_equal(fast, np.maximum(np.column_stack(plain), 0.0))


def test_sizes_of_least_cost_are_the_same_with_ties_and_what_is_no_number(both):
    rng = np.random.default_rng(0)
    # Whole numbers tie often.
    curve, paid = (rng.integers(0, 3, (300, 5)).astype(float) for _ in range(2))
    curve[rng.random(curve.shape) < 0.1], curve[:20, 1], curve[:10, 3] = np.inf, np.nan, np.nan
    made, rates = Cardinality(5, Curve(None, np.zeros(5))), rng.integers(0, 2, 300).astype(float)
    for most in (1, 3, 5, rng.integers(0, 6, 300)):
        fast, slow = both(lambda most=most: made.sizes(np.zeros((300, 1)), curve[:, :4], paid, rates, most))
        np.testing.assert_array_equal(fast, slow)
        assert (slow <= np.maximum(most, 1)).all()


def test_resamples_are_the_same(both):
    fast, slow = both(lambda: Resamples.of(np.arange(3000), Unit(), draws=60, random_state=7).weights)
    np.testing.assert_array_equal(fast, slow)
    assert slow.max() > 4


def test_a_basis_is_a_constant_lines_and_bent_ones():
    summary = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    basis = Basis.of(summary, random_state=0)
    scaled = (summary - basis.centre) / basis.scale
    bent = np.maximum(scaled @ basis.directions + basis.offsets, 0.0)
    found = basis.apply(summary)
    assert found.shape == (50, basis.width)
    np.testing.assert_array_equal(found, np.concatenate([np.ones((50, 1)), scaled, bent], axis=1, dtype=np.float32))


def test_few_rows_load_nothing_and_the_rest_of_many_takes_what_is_loaded():
    code = """import sys
from askwho._fast import WORTH, WORTH_LOADING, loops
assert loops(WORTH_LOADING - 1) is None and "numba" not in sys.modules
assert loops(WORTH_LOADING) is not None and "numba" in sys.modules
assert loops(WORTH) is not None and loops(WORTH - 1) is None"""
    subprocess.run([sys.executable, "-c", code], check=True)


def _same(fast, slow):
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)

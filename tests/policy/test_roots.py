"""Of numbers every error that is shown is a root of a mean square, on a log where root and square are far apart."""

import re

import numpy as np
import pytest

from askwho import InvalidInputError, Target
from askwho.policy import Past
from tests import cases


@pytest.fixture(scope="module")
def far():
    """A policy, queries, and the root mean squared error of each entity on other rows."""
    policy, log = cases.case("far")
    alone = np.sqrt(np.mean(np.square(log.answers.values - log.truth[:, None]), axis=0))
    # A mean of squares is tens of thousands here, whoever errs.
    assert (alone**2 > 10 * alone.max()).all()
    return policy, log.known, alone


def test_what_routes_say_is_expected(far):
    policy, queries, alone = far
    decisions = policy.decide(queries, Target(fee_weight=100.0))
    columns = decisions.to_columns()
    expected = np.sqrt(np.take_along_axis(policy.see(queries).expected, decisions.order, axis=1))
    np.testing.assert_allclose(columns["expected_errors"], expected)
    np.testing.assert_allclose(columns["expected_error"], decisions.expected_error)
    assert columns["expected_error"] == [decision.expected_error for decision in decisions]
    for name in ("expected_error", "expected_errors"):
        assert np.max(columns[name]) < 3 * alone.max()
    # The mean square that is expected of each is the one that came, to a factor of two.
    means = np.sqrt(policy.see(queries).expected.mean(axis=0))
    assert (np.abs(np.log(means / alone)) < np.log(2)).all()


def test_one_query_is_expected_what_it_is_among_many(far):
    policy, queries, _ = far
    many = policy.decide(queries, Target(fee_weight=100.0))
    for i in range(5):
        one = policy.decide({name: values[[i]] for name, values in queries.items()}, Target(fee_weight=100.0))
        assert one[0].expected_error == pytest.approx(many[i].expected_error)


def test_routes_are_read_back_as_they_were(far):
    policy, queries, _ = far
    decisions = policy.decide(queries, Target(k=2))
    again = policy.read(decisions.to_columns())
    assert again.to_columns()["expected_errors"] == pytest.approx(np.array(decisions.to_columns()["expected_errors"]))
    np.testing.assert_allclose(again.expected_error, decisions.expected_error)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_why(far, k):
    policy, queries, alone = far
    decisions = policy.decide(queries, Target(k=k))
    for i in range(10):
        why = policy.why(decisions, i)
        expected = policy.see(queries).expected[i]
        for reason in why.reasons:
            entity = policy.panel.names.index(reason.name)
            assert reason.expected_error == pytest.approx(np.sqrt(expected[entity]))
            near = policy.past.errors[policy.past.nearest(decisions.seen.X[i]), entity]
            assert reason.nearby_error == pytest.approx(np.sqrt(near.mean(dtype=np.float64)))
            for error in (reason.expected_error, reason.nearby_error, reason.committee_error):
                assert 0 <= error < 4 * alone.max()
        assert why.chosen[-1].committee_error == pytest.approx(decisions.expected_error[i])
        if k < 3:
            gain = why.chosen[-1].committee_error - why.one_more.committee_error
            assert why.gain_of_one_more == pytest.approx(gain)
        said = [float(number) for number in re.findall(r"(?:error|nearby|committee) ([\d.]+)", str(why))]
        assert len(said) == 1 + 3 * len(why.reasons)
        assert max(said) < 4 * alone.max()


def test_what_was_tried_is_told_in_roots(far):
    policy, _, alone = far
    told = policy.tried.validated(policy.unit)
    for point, errors in zip(told, policy.tried.errors, strict=True):
        assert point["error"] == pytest.approx(np.sqrt(np.nanmean(errors)))
        assert point["error"] < 2 * alone.max()


def test_an_error_that_is_aimed_at_is_a_root(far):
    policy, queries, alone = far
    least = min(point["error"] for point in policy.tried.validated(policy.unit))
    with pytest.raises(InvalidInputError, match="`max_error` must be at least"):
        policy.setting(Target(max_error=least / 2))
    found = policy.setting(Target(max_error=1.2 * least))
    assert found.fee_weight > 0
    mean = np.sqrt(np.mean(policy.decide(queries, Target(max_error=1.2 * least)).expected_error ** 2))
    assert mean < 2 * alone.max()


def test_a_feature_that_hardly_moves_divides_nothing():
    X = np.zeros((50, 2), dtype=np.float32)
    X[:, 0], X[0, 1] = np.arange(50), 1e-44
    past = Past.of(X, np.zeros((50, 1)), np.zeros((50, 1)), random_state=0)
    assert np.isfinite(past.features).all()
    assert past.scale[1] > 0

"""Why a query goes to whom it goes to."""

import json

import numpy as np
import pytest

from askwho import InvalidInputError, Target, load, save
from askwho.policy import Past
from tests import policies, synthetic

QUERY = {"x_0": -0.8, "x_1": 0.0, "x_2": 0.0}


@pytest.fixture(scope="module")
def why(policy):
    return policy.explain(QUERY, Target(fee_weight=0.05))


def test_everybody_is_named_in_the_order_of_asking(why, policy):
    assert [reason.rank for reason in why.reasons] == [1, 2, 3, 4]
    assert {reason.name for reason in why.reasons} == set(policy.panel.names)
    assert [reason.asked for reason in why.reasons] == sorted((r.asked for r in why.reasons), reverse=True)
    assert len(why.chosen) >= 1


def test_queries_like_it_show_who_is_good_there(why):
    nearby = {reason.name: reason.nearby_error for reason in why.reasons}
    assert nearby["left"] < nearby["right"]
    assert nearby["left"] < nearby["noise"]
    assert all(reason.nearby == 20 for reason in why.reasons)


def test_neighbours_are_rows_of_the_log_on_the_same_side(why):
    x = synthetic.classification(900)["x_0"]
    assert len(why.neighbours) == 20
    assert (x[list(why.neighbours)] < 0).all()


def test_one_more_is_the_first_who_is_skipped_and_its_gain_is_the_difference(why):
    k = len(why.chosen)
    assert why.one_more is why.reasons[k]
    assert why.gain_of_one_more == pytest.approx(why.reasons[k - 1].committee_error - why.reasons[k].committee_error)


def test_with_everybody_asked_nobody_is_left(policy):
    everybody = policy.explain(QUERY, Target(k=4))
    assert everybody.one_more is None
    assert everybody.gain_of_one_more is None
    assert "one more" not in str(everybody)


def test_it_explains_the_decision_itself(policy, new):
    decisions = policy.decide(new, Target(fee_weight=0.05))
    for i in (0, 7, -1):
        told = policy.why(decisions, i)
        assert tuple(reason.name for reason in told.chosen) == decisions.ask(i)
        assert told.chosen[-1].committee_error == pytest.approx(decisions.expected_error[i], abs=1e-6)
        assert sum(reason.fee for reason in told.chosen) == pytest.approx(decisions.fee[i])
        for reason in told.reasons:
            j = policy.panel.index(reason.name)
            assert reason.expected_error == pytest.approx(decisions.seen.expected[i, j])


def test_the_options_of_a_decision_are_those_of_its_explanation(policy):
    told = policy.explain(QUERY, Target(fee_weight=0.05), available=["noise"], fees=[1.0, 1.0, 1.0, 7.0])
    assert [reason.name for reason in told.chosen] == ["noise"]
    assert told.chosen[0].fee == 7.0


def test_errors_of_numbers_are_roots_as_in_the_routes():
    policy, table = policies.fitted("numbers"), policies.queries("numbers")
    decisions = policy.decide(table, Target(k=2))
    routes = decisions.to_columns()
    for i in (0, 5, 17):
        told = policy.why(decisions, i)
        shown = [reason.expected_error for reason in told.reasons]
        np.testing.assert_allclose(shown, routes["expected_errors"][i], rtol=1e-9)
        np.testing.assert_allclose(np.square(shown), decisions.seen.expected[i, decisions.order[i]], rtol=1e-9)
        assert told.chosen[-1].committee_error == pytest.approx(routes["expected_error"][i], rel=1e-4)
        nearest = policy.past.nearest(decisions.seen.X[i])
        j = policy.panel.index(told.reasons[0].name)
        root = np.sqrt(policy.past.errors[nearest, j].astype(float).mean())
        assert told.reasons[0].nearby_error == pytest.approx(root, rel=1e-4)


def test_it_reads_as_text(why):
    text = str(why)
    assert text.startswith("query 0: ask ")
    assert "one more (" in text
    assert f"most like rows {why.neighbours[0]}" in text


def test_a_loaded_policy_explains_alike(policy, why, tmp_path):
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy").explain(QUERY, Target(fee_weight=0.05))
    assert again.neighbours == why.neighbours
    assert [reason.name for reason in again.reasons] == [reason.name for reason in why.reasons]
    assert again.reasons[0].nearby_error == pytest.approx(why.reasons[0].nearby_error)


def test_the_last_query_counts_from_the_end_and_others_are_refused(policy):
    decisions = policy.decide(synthetic.classification(5, seed=3), Target(k=2))
    assert policy.why(decisions, -1).query == 4
    for i in (5, -6):
        with pytest.raises(InvalidInputError, match=rf"`i` must be a query between 0 and 4, got {i}\."):
            policy.why(decisions, i)


def test_what_was_read_back_has_no_features_to_explain_by(policy, new):
    columns = json.loads(policy.decide(new, Target(k=2)).to_json())
    with pytest.raises(InvalidInputError, match="those read back have no features"):
        policy.why(policy.read(columns))


def test_of_many_rows_some_are_kept_and_the_nearest_is_the_query_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3)).astype(np.float32) * np.array([1, 100, 0.01], dtype=np.float32)
    past = Past.of(X, rng.random((5000, 2)), rng.random((5000, 2)), random_state=0)
    assert len(past.rows) == 2000
    assert past.rows[past.nearest(X[past.rows[7]])[0]] == past.rows[7]

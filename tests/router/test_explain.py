import numpy as np
import pytest
from askwho.router import Past

from askwho import InvalidInputError, load, save
from askwho.data import Columns, read_log
from askwho.policy import fit_policy
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)


@pytest.fixture(scope="module")
def policy():
    return fit_policy(read_log(synthetic.classification(900), COLUMNS), learner="linear", base="none", cv=3)


@pytest.fixture(scope="module")
def why(policy):
    return policy.explain({"x_0": np.array([-0.8]), "x_1": np.zeros(1), "x_2": np.zeros(1)}, fee_weight=0.05)


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
    query = {"x_0": np.zeros(1), "x_1": np.zeros(1), "x_2": np.zeros(1)}
    everybody = policy.explain(query, k=4)
    assert everybody.one_more is None
    assert everybody.gain_of_one_more is None
    assert "one more" not in str(everybody)


def test_it_reads_as_text(why):
    text = str(why)
    assert text.startswith("query 0: ask ")
    assert "one more (" in text
    assert f"most like rows {why.neighbours[0]}" in text


def test_a_loaded_policy_explains_alike(policy, why, tmp_path):
    save(policy, tmp_path / "policy")
    query = {"x_0": np.array([-0.8]), "x_1": np.zeros(1), "x_2": np.zeros(1)}
    again = load(tmp_path / "policy").explain(query, fee_weight=0.05)
    assert again.neighbours == why.neighbours
    assert [reason.name for reason in again.reasons] == [reason.name for reason in why.reasons]
    assert again.reasons[0].nearby_error == pytest.approx(why.reasons[0].nearby_error)


def test_the_last_query_counts_from_the_end_and_others_are_refused(policy):
    queries = synthetic.classification(5, seed=3)
    X = policy.features(queries)
    selection = policy.router.select(X, k=2)
    assert policy.router.explain(X, selection, -1).query == 4
    with pytest.raises(InvalidInputError, match=r"`i` must be a query between 0 and 4, got 5\."):
        policy.router.explain(X, selection, 5)
    with pytest.raises(InvalidInputError, match=r"`X` must have the selection's 5 queries, got 3\."):
        policy.router.explain(X[:3], selection)


def test_of_many_rows_some_are_kept_and_the_nearest_is_the_query_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3)).astype(np.float32) * np.array([1, 100, 0.01], dtype=np.float32)
    past = Past.of(X, rng.random((5000, 2)), random_state=0)
    assert len(past.rows) == 2000
    assert past.rows[past.nearest(X[past.rows[7]])[0]] == past.rows[7]

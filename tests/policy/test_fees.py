"""What a query will be charged, where fees differ by query."""

import numpy as np
import pytest

from askwho import Target, load, save
from askwho.data import Charged, read_log
from askwho.fitting import fit
from askwho.policy import Fees
from tests import synthetic


def log_with_fees(n=300):
    table = synthetic.classification(n)
    return table | {f"fee_{name}": 2.0 + table["x_0"] for name in synthetic.FEES}


@pytest.fixture(scope="module")
def policy():
    return fit(read_log(log_with_fees(), synthetic.CHARGED), learner="linear", base="none", cv=3)


def fees_of(policy, *features):
    return policy.see_encoded(np.array(features, dtype=np.float32)).fees


def test_a_fee_is_foretold_by_the_features(policy):
    np.testing.assert_allclose(fees_of(policy, [-0.8, 0, 0], [0.8, 0, 0]), [[1.2] * 4, [2.8] * 4], atol=0.05)
    np.testing.assert_allclose(policy.judge.fees.usual, 2.0, atol=0.05)


@pytest.mark.parametrize("far", [-1e6, 1e6])
def test_a_query_unlike_all_before_is_foretold_no_fee_unlike_all_before(policy, far, tmp_path):
    save(policy, tmp_path / "policy")
    for each in (policy, load(tmp_path / "policy")):
        fees = fees_of(each, [far, 0.0, 0.0])
        assert (fees >= 1.0).all()
        assert (fees <= 3.0).all()


def test_rows_are_foretold_without_having_been_seen():
    X = np.random.default_rng(0).normal(size=(60, 2))
    charged = X[:, :1] + 5.0
    odd = charged.copy()
    odd[0] += 1.0
    fold = np.arange(60) % 3
    _, plain = Fees.fit(X, Charged(charged), fold)
    _, moved = Fees.fit(X, Charged(odd), fold)
    np.testing.assert_allclose(plain[fold == 0], moved[fold == 0])
    assert not np.allclose(plain[fold == 1], moved[fold == 1])


def test_fees_that_are_always_the_same_need_no_model(log):
    X = np.random.default_rng(0).normal(size=(len(log), 2))
    fees, foretold = Fees.fit(X, log.charged, np.arange(len(log)) % 3)
    assert fees.model is None
    np.testing.assert_array_equal(fees.usual, log.panel.fees)
    np.testing.assert_array_equal(foretold, log.fees)


def test_fees_that_differ_by_query_are_foreseen_from_the_features_and_charged_as_they_were(tmp_path):
    table = synthetic.classification(900)
    # Long queries (x_1 > 0) cost ten times as much at "both"; everybody else charges the same always.
    for name, fee in synthetic.FEES.items():
        table[f"fee_{name}"] = np.full(900, fee)
    table["fee_both"] = np.where(table["x_1"] > 0, 1.0, 0.1)
    policy = fit(read_log(table, synthetic.CHARGED), learner="linear", base="none", cv=3)
    new = synthetic.classification(400, seed=1)
    decisions = policy.decide(new, Target(fee_weight=0.5))
    both = policy.panel.index("both")
    asked = decisions.members[:, both]
    assert asked[new["x_1"] < -0.3].mean() > asked[new["x_1"] > 0.3].mean() + 0.3
    foreseen = decisions.seen.fees[:, both]
    assert foreseen[new["x_1"] < -0.3].mean() < 0.5 * foreseen[new["x_1"] > 0.3].mean()
    save(policy, tmp_path / "policy")
    np.testing.assert_allclose(load(tmp_path / "policy").see(new).fees, decisions.seen.fees)

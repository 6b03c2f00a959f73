import numpy as np
import pytest
from askwho.router import Foresight

from askwho import load, save
from askwho.data import Columns, read_log
from askwho.policy import fit_policy
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*")


def log_with_fees(n=300):
    table = synthetic.classification(n)
    return table | {f"fee_{name}": 2.0 + table["x_0"] for name in synthetic.FEES}


@pytest.fixture(scope="module")
def policy():
    return fit_policy(read_log(log_with_fees(), COLUMNS), learner="linear", base="none", cv=3)


def test_a_fee_is_foretold_by_the_features(policy):
    fees = policy.router.expected_fees(np.array([[-0.8, 0.0, 0.0], [0.8, 0.0, 0.0]], dtype=np.float32))
    np.testing.assert_allclose(fees, [[1.2] * 4, [2.8] * 4], atol=0.05)


@pytest.mark.parametrize("far", [-1e6, 1e6])
def test_a_query_unlike_all_before_is_foretold_no_fee_unlike_all_before(policy, far, tmp_path):
    save(policy, tmp_path / "policy")
    for each in (policy, load(tmp_path / "policy")):
        fees = each.router.expected_fees(np.array([[far, 0.0, 0.0]], dtype=np.float32))
        assert (fees >= 1.0).all()
        assert (fees <= 3.0).all()


def test_rows_are_foretold_without_having_been_seen():
    X = np.random.default_rng(0).normal(size=(60, 2))
    charged = X[:, :1] + 5.0
    odd = charged.copy()
    odd[0] += 1.0
    fold = np.arange(60) % 3
    _, plain = Foresight.fit(X, charged, fold)
    _, moved = Foresight.fit(X, odd, fold)
    np.testing.assert_allclose(plain[fold == 0], moved[fold == 0])
    assert not np.allclose(plain[fold == 1], moved[fold == 1])

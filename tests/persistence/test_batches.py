"""A loaded policy decides a large batch, whose trees are laid out for it, as it decides one query at a time."""

import numpy as np

from askwho.data import Columns, read_log
from askwho.fitting import fit
from askwho.learners import TreeModel
from askwho.persistence import load, save
from askwho.policy import Target
from tests import synthetic

# From so many rows on trees are laid out.
MANY = 1 << 14
FEATURES = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)


def test_a_large_batch_is_decided_as_one_query_at_a_time(tmp_path):
    log = read_log(synthetic.classification(300), FEATURES)
    save(fit(log, learner="forest", base="none", committee="majority", cv=2), tmp_path / "policy")
    policy, table = load(tmp_path / "policy"), synthetic.classification(MANY, seed=1)
    queries = {name: values for name, values in table.items() if name.startswith("x_")}
    target = Target(fee_weight=0.5)
    batch = policy.decide(queries, target)
    curve = policy.cardinality.curve.forest
    assert isinstance(curve, TreeModel)
    assert curve._layout is not None
    assert len(np.unique(batch.k)) > 1
    for i in range(0, MANY, 100):
        one = policy.decide({name: values[i : i + 1] for name, values in queries.items()}, target)
        np.testing.assert_array_equal(batch.order[i], one.order[0])
        assert batch.k[i] == one.k[0]
        np.testing.assert_allclose(batch.seen.expected[i], one.seen.expected[0], rtol=1e-12)
        np.testing.assert_allclose(batch.expected_error[i], one.expected_error[0], rtol=1e-12)

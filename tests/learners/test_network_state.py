"""Policies that torch trained, as they are written and read: the same scores, and no torch to give them."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from askwho import Panel  # noqa: E402
from askwho._parts import read_part, state_of  # noqa: E402
from askwho.engine import resnet  # noqa: E402
from askwho.learners import CompSum, NetworkGraph, Shares  # noqa: E402
from askwho.learners._objective import Module  # noqa: E402
from tests.learners.own import squared  # noqa: E402
from tests.learners.test_state import GAP, travelled  # noqa: E402
from tests.networks import QUICK, every_kind  # noqa: E402

TWO_STAGE = Panel.two_stage(["a", "b", "c"])
ONE_STAGE = Panel.one_stage(["cat", "dog", "owl"], ["a", "b"])


SETTINGS = {
    **every_kind(),
    "a surrogate of one's own": CompSum(surrogate=squared, hidden=(16,), training=QUICK),
    "its function is lost": CompSum(surrogate=lambda scores, costs: 2 * squared(scores, costs), training=QUICK),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_fitted_policy_is_written_and_read_back(name):
    rng = np.random.default_rng(0)
    X, errors = rng.normal(size=(80, 3)), rng.random((80, 4))
    scorer = SETTINGS[name].fit(X, errors, panel=TWO_STAGE)
    read = travelled(scorer)
    assert isinstance(read, NetworkGraph)
    for part in (read, copy.deepcopy(read), pickle.loads(pickle.dumps(read))):  # noqa: S301 - our own bytes
        for rows in (1, 2, 80):
            np.testing.assert_allclose(part.scores(X[:rows]), scorer.scores(X[:rows]), atol=GAP / 2)


@pytest.mark.parametrize("surrogate", ["asymmetric-softmax", "one-vs-all", "top-k"])
def test_a_policy_of_labels_and_experts_travels(surrogate):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 3))
    truth = np.digitize(X[:, 0], [-0.33, 0.33])
    errors = np.column_stack([truth[:, None] != np.arange(3), X[:, 1:] < 0]).astype(float)
    scorer = CompSum(surrogate=surrogate, hidden=(8,), training=QUICK).fit(X, errors, panel=ONE_STAGE)
    read = travelled(scorer)
    assert isinstance(read, Shares) == (surrogate == "asymmetric-softmax")
    np.testing.assert_allclose(read.scores(X), scorer.scores(X), atol=GAP / 2)


def test_a_residual_network_is_written_and_read_back():
    module = Module(resnet(4, 5, width=4, seed=2), 3072)
    X = np.random.default_rng(0).random((3, 3072)).astype(np.float32)
    graph = read_part(state_of(module, "scorer"))
    np.testing.assert_allclose(graph.scores(X), module.scores(X), atol=1e-4)
    np.testing.assert_allclose(graph.scores(X, batch=1), module.scores(X), atol=1e-4)

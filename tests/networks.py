"""Networks of one's own, small ones, and the paper's policy trained with each kind of them; they need torch."""

import torch
from torch import nn

from askwho.engine import Training
from askwho.learners import CompSum

QUICK = Training(epochs=8, batch=64, rate=2e-2)
"""Enough to tell one entity from another."""


def make_network(inputs, outputs, seed):
    """A network of one's own, with a layer whose state is more than its weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(inputs, 12), nn.BatchNorm1d(12), nn.GELU(), nn.Linear(12, outputs))


def make_encoder(inputs=3):
    """An encoder of one's own, with a layer that behaves otherwise while it trains."""
    with torch.random.fork_rng():
        torch.manual_seed(9)
        return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Dropout(0.5))


def every_kind(**given):
    """The paper's policy, by what it is made of; the options are those of `CompSum`."""
    return {
        "perceptrons": CompSum(hidden=(16,), training=QUICK, **given),
        "linear": CompSum(hidden=(), training=QUICK, **given),
        "a module": CompSum(network=make_network, training=QUICK, **given),
        "an encoder": CompSum(encoder=make_encoder(), hidden=(16,), training=QUICK, **given),
        "an encoder and a module": CompSum(encoder=make_encoder(), network=make_network, training=QUICK, **given),
    }

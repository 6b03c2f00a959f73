"""A small problem for the training loop: inputs, targets, a loss, and who is learned from."""

import pytest

torch = pytest.importorskip("torch")

N, D, M = 61, 4, 3
_GENERATOR = torch.Generator().manual_seed(7)
INPUTS = torch.randn(N, D, generator=_GENERATOR)
TARGETS = torch.rand(1, N, M, generator=_GENERATOR)
ROWS, HELD = torch.arange(45), torch.arange(45, N)


def cross_entropy(scores, weights):
    """Unreduced, (members, b) from scores and weights (members, b, m)."""
    return -(weights * torch.log_softmax(scores, dim=-1)).sum(dim=-1)


def held_losses(network, targets=TARGETS, held=HELD, loss=cross_entropy):
    """Every member's mean loss on held-out rows, as the network is now."""
    network.eval()
    members = network.members
    rows = held.expand(members, -1) if held.ndim == 1 else held
    with torch.no_grad():
        scores = network(INPUTS if held.ndim == 1 else INPUTS[held])
    if held.ndim == 1:
        scores = scores[:, held]
    wanted = torch.stack([targets.expand(members, *targets.shape[1:])[i, rows[i]] for i in range(members)])
    return loss(scores, wanted).mean(dim=1)


def weights_of(network, member=None):
    """Copies of all weights by name, of one member if said."""
    state = network.state_dict()
    return {name: (value if member is None else value[member : member + 1]).clone() for name, value in state.items()}


def assert_same_weights(one, other, **tolerance):
    """Bit by bit, unless a tolerance is given."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], **(tolerance or {"rtol": 0, "atol": 0}))


def same_weights(one, other):
    return all(torch.equal(value, other[name]) for name, value in one.items())

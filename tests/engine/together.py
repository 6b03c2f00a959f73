"""What trains together in the tests: `torchrun --nproc-per-node 2 -m tests.engine.together FOLDER`."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from askwho.engine import Mlp, Training, train  # noqa: E402
from tests.engine.problem import HELD, INPUTS, ROWS, TARGETS, D, M, cross_entropy  # noqa: E402

# 45 rows make batches of 16, 16 and 13, which no two share evenly; and of 3, which are too few to share.
PLANS = {
    "uneven": Training(epochs=6, batch=16, rate=2e-2),
    "small": Training(epochs=4, batch=3, rate=(1e-2, 3e-2)),
}


class KilledError(Exception):
    """What stops a training in these tests."""


def trained(plan, checkpoint=None, stop=None):
    """Two members, trained; their losses after each epoch, and their weights."""
    network = Mlp(D, M, hidden=(8,), seeds=(0, 1))

    def kill(line):
        if stop is not None and line.startswith(f"epoch {stop}/"):
            raise KilledError

    history = train(
        network,
        INPUTS,
        [TARGETS],
        cross_entropy,
        rows=ROWS,
        held=HELD,
        training=PLANS[plan],
        random_state=4,
        device="cpu",
        checkpoint=checkpoint,
        checkpoint_every=1,
        progress=kill,
    )
    return history.held, network.state_dict()


def main():
    """Train every plan, and go on from a checkpoint; write what came into a file of this process."""
    place = Path(sys.argv[1])
    found = {plan: trained(plan) for plan in PLANS} | {"on": trained("uneven", place / "checkpoint")}
    rank = torch.distributed.get_rank()
    torch.save(found | {"size": torch.distributed.get_world_size()}, place / f"{rank}.pt")


if __name__ == "__main__":
    main()

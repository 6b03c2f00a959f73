"""What training must remember to go on as if it had never stopped, in memory and in a file."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from askwho._files import write_atomically
from askwho.engine._networks import Network
from askwho.exceptions import InvalidInputError


@dataclass(eq=False)
class Checkpoint:
    """Where training stands: the next epoch, the losses so far, the best weights, and the state of chance."""

    generator: torch.Generator
    weights: dict[str, Tensor]
    best: Float[Tensor, " members"]
    best_epoch: Int[Tensor, " members"]
    epoch: int = 0
    held: list[Tensor] = field(default_factory=list[Tensor])

    @classmethod
    def start(cls, network: Network, generator: torch.Generator) -> "Checkpoint":
        """Return the state before the first epoch."""
        return cls(
            generator,
            {name: value.detach().clone() for name, value in network.state_dict().items()},
            torch.full((network.members,), torch.inf),
            torch.full((network.members,), -1),
        )

    def record(self, network: Network, mean: Float[Tensor, " members"]) -> None:
        """Note an epoch's held-out losses, and keep the weights of members that were never better."""
        better = mean < self.best
        self.best = torch.where(better, mean, self.best)
        self.best_epoch = torch.where(better, self.epoch, self.best_epoch)
        self.held.append(mean)
        self.epoch += 1
        for name, value in network.state_dict().items():
            if network.members == 1:
                if bool(better[0]):
                    self.weights[name].copy_(value)
            else:
                chosen = better.to(value.device).view(-1, *[1] * (value.ndim - 1))
                torch.where(chosen, value, self.weights[name], out=self.weights[name])

    def give_best(self, network: Network) -> None:
        """Put every member's best weights into the network."""
        network.load_state_dict(self.weights)


def fingerprint(network: Network, plan: Any, loss_name: str, random_state: int, data: Sequence[Tensor]) -> str:  # noqa: ANN401
    """Return a digest of everything that training depends on."""
    kinds = {name: type(module).__qualname__ for name, module in network.named_modules()}
    shapes = {name: list(value.shape) for name, value in network.state_dict().items()}
    digest = hashlib.sha256(
        json.dumps([asdict(plan), loss_name, random_state, kinds, shapes, torch.__version__]).encode()
    )
    for value in [*network.state_dict().values(), *data]:
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def store(path: Path, mark: str, state: Checkpoint, network: Network, optimizer: torch.optim.Optimizer) -> None:
    """Write everything to a file, whole or not at all."""
    tensors = {f"now.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in state.weights.items()}
    for i, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{i}.{name}": value for name, value in moments.items()}
    tensors |= {
        "generator": state.generator.get_state(),
        "losses": torch.stack(state.held),
        "best_epoch": state.best_epoch,
        "best_loss": state.best,
    }
    plain = {"mark": mark, "epoch": str(state.epoch)}
    # Copies: weights that a network uses twice share their memory, which the file format refuses.
    copies = {
        name: value.detach().cpu().clone(memory_format=torch.contiguous_format) for name, value in tensors.items()
    }
    write_atomically(path, to_bytes(copies, plain))


def restore(path: Path, mark: str, state: Checkpoint, network: Network, optimizer: torch.optim.Optimizer) -> None:
    """Put what a file holds into the state, the network and the optimizer; another training's file is refused."""
    try:
        with safe_open(path, framework="pt") as stored:
            plain = stored.metadata() or {}
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, OSError) as error:
        raise InvalidInputError(f"`checkpoint` must be whole, got {str(path)!r}: {error}. Remove it.") from None
    if plain.get("mark") != mark:
        raise InvalidInputError(
            f"`checkpoint` must be of this training, got {str(path)!r}, which is of other data, settings or another "
            "seed: remove it, or name another file."
        )
    under = _grouped(tensors)
    network.load_state_dict(under["now"])
    for name, value in under["best"].items():
        state.weights[name].copy_(value)
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in under["adam"].items():
        i, _, part = name.partition(".")
        moments.setdefault(int(i), {})[part] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    state.generator.set_state(tensors["generator"])
    state.held = list(tensors["losses"])
    state.best, state.best_epoch, state.epoch = tensors["best_loss"], tensors["best_epoch"], int(plain["epoch"])


def _grouped(tensors: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    groups: dict[str, dict[str, Tensor]] = {"now": {}, "best": {}, "adam": {}}
    for name, value in tensors.items():
        group, _, rest = name.partition(".")
        if group in groups:
            groups[group][rest] = value
    return groups

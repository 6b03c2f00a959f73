"""Processes that train one network together: each takes its part of every batch, and all make the same step."""

import atexit
import os
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed, nn

from askwho._processes import under_torchrun
from askwho.exceptions import InvalidInputError

# Rows that each process has of a batch at the least; of smaller batches each takes all: a batch norm needs two.
_FEWEST = 2
# Seeds of two processes are this far apart: farther than epochs are many.
_BETWEEN_SEEDS = 1_000_003


@dataclass(frozen=True)
class Crew:
    """This process among those that train together.

    Args:
        rank: which of them it is; the first, 0, writes checkpoints.
        size: how many there are.
    """

    rank: int
    size: int

    @classmethod
    def found(cls, where: torch.device) -> "Crew":
        """Return the crew of this process: itself, unless `torchrun` or the program started others beside it."""
        if not distributed.is_available():
            return cls(0, 1)
        if not distributed.is_initialized():
            if not under_torchrun():
                return cls(0, 1)
            # NCCL wants a GPU for each process; gloo shares one, and needs none.
            own = where.type == "cuda" and _here() <= torch.cuda.device_count()
            distributed.init_process_group("nccl" if own else "gloo")
            atexit.register(_leave)
        return cls(distributed.get_rank(), distributed.get_world_size())

    @property
    def alone(self) -> bool:
        """Whether nobody trains beside this process."""
        return self.size == 1

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes and tells."""
        return self.rank == 0

    def wrap(self, network: nn.Module, where: torch.device) -> nn.Module:
        """Return the network with the first process's weights, whose gradients are means over all processes."""
        if self.alone:
            return network
        ids = [where.index] if where.type == "cuda" else None
        made: Any = nn.parallel.DistributedDataParallel(network, device_ids=ids)
        return made

    def part(self, batch: Tensor) -> Tensor:
        """Return this process's rows of a batch, shape (..., b); all where there are too few to share."""
        if self.alone or batch.shape[-1] < _FEWEST * self.size:
            return batch
        return batch.tensor_split(self.size, dim=-1)[self.rank]

    def weighed(self, loss: Tensor, part: Tensor, batch: Tensor) -> Tensor:
        """Return the loss of a part so that the mean over all processes is the loss of the batch."""
        return loss if part is batch else loss * (part.shape[-1] * self.size / batch.shape[-1])

    def total(self, value: Tensor) -> Tensor:
        """Return the sum over all processes, to the same bit in each."""
        if self.alone:
            return value
        value = value.clone()
        distributed.all_reduce(value)
        distributed.broadcast(value, src=0)
        return value

    def agree(self, epoch: int, mark: str, where: torch.device) -> None:
        """Raise in every process where they would not go on from the same place of the same training."""
        if self.alone:
            return
        mine = torch.tensor([epoch, int(mark[:15] or "0", 16)], device=where)
        least, most = mine.clone(), mine.clone()
        distributed.all_reduce(least, distributed.ReduceOp.MIN)
        distributed.all_reduce(most, distributed.ReduceOp.MAX)
        if not torch.equal(least, most):
            raise InvalidInputError(
                "`checkpoint` must be the same file for every process, on the same data, got different ones: put it "
                "where all of them reach it."
            )

    def chance(self, seed: int) -> int:
        """Return the seed of this process: rows of one that are dropped say nothing of those of another."""
        return seed + _BETWEEN_SEEDS * self.rank


def own_device(where: torch.device) -> torch.device:
    """Return the GPU of this process, one after the other, where several train together; else the device as it is."""
    if str(where) != "cuda" or not under_torchrun():
        return where
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def _here() -> int:
    """How many processes there are on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _leave() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()

"""Which of several processes that do the same work this is: under `torchrun` the first alone writes and prints."""

import multiprocessing
import os
import sys


def is_first() -> bool:
    """Return whether this process is by itself, or the first of those that `torchrun` started; no torch is needed."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank() == 0
    return not under_torchrun() or os.environ.get("RANK", "0") == "0"


def under_torchrun() -> bool:
    """Return whether `torchrun` started this process, and others beside it; its children work by themselves."""
    if multiprocessing.parent_process() is not None:
        return False
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1

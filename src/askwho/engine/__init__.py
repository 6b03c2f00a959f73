"""The one training loop, and the networks it trains: many small ones side by side, or one of any kind.

Everything but `Training` imports torch, when it is first asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

from askwho.engine._plan import Training
from askwho.exceptions import missing_dependency

if TYPE_CHECKING:
    from askwho.engine._networks import Alone, Mlp, Network, Pixels, resnet
    from askwho.engine._train import History, apply, pick_device, train

# Public names and their files, all of which import torch: found when first asked for.
_LATER = {
    "Alone": "_networks",
    "Mlp": "_networks",
    "Network": "_networks",
    "Pixels": "_networks",
    "resnet": "_networks",
    "History": "_train",
    "apply": "_train",
    "pick_device": "_train",
    "train": "_train",
}


def require_torch(feature: str) -> None:
    """Raise, with the command that installs it, where `feature` needs torch and it is not there."""
    try:
        importlib.import_module("torch")
    except ImportError:
        raise missing_dependency(feature, "torch", "torch") from None


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _LATER:
        raise AttributeError(f"module 'askwho.engine' has no attribute {name!r}")
    require_torch("Training a network")
    return getattr(importlib.import_module(f"askwho.engine.{_LATER[name]}"), name)


__all__ = [
    "Alone",
    "History",
    "Mlp",
    "Network",
    "Pixels",
    "Training",
    "apply",
    "pick_device",
    "require_torch",
    "resnet",
    "train",
]

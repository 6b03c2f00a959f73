"""The one training loop, and the networks it trains: many small ones side by side, or one of any kind."""

import importlib

from askwho.exceptions import missing_dependency

try:
    importlib.import_module("torch")
except ImportError:
    raise missing_dependency("askwho.engine", "torch", "torch") from None

from askwho.engine._networks import Alone, Mlp, Network, resnet
from askwho.engine._train import History, Training, apply, pick_device, train

__all__ = ["Alone", "History", "Mlp", "Network", "Training", "apply", "pick_device", "resnet", "train"]

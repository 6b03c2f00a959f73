"""Settings for the whole suite: hypothesis deterministic and without a clock, torch on one thread."""

import importlib.util

from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.register_profile("smoke", parent=settings.get_profile("suite"), max_examples=5)
settings.load_profile("suite")

if importlib.util.find_spec("torch") is not None:
    import torch

    torch.set_num_threads(1)

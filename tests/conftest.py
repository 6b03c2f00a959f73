"""Settings for the whole suite: hypothesis deterministic and without a clock, torch on one thread."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.register_profile("smoke", parent=settings.get_profile("suite"), max_examples=5)
settings.load_profile("suite")

try:
    import torch
except ImportError:
    pass
else:
    torch.set_num_threads(1)

"""Settings for the studies' tests: torch on one thread, and no script of another Python is imported."""

# They need DESlib, which has an environment of its own.
collect_ignore = ["askwho_studies/logs/deslib"]

try:
    import torch
except ImportError:
    pass
else:
    torch.set_num_threads(1)

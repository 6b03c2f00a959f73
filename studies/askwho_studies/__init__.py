"""Studies that come out of one command: the paper's experiments, and the benchmark on real logs."""

from askwho_studies._command import run
from askwho_studies.data import get, inventory, told

__all__ = ["get", "inventory", "run", "told"]

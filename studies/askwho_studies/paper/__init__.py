"""The paper's experiments, each out of one command: the data, the policy, every baseline, and the paper's panels.

An experiment makes one `Scored` for each seed and arm; `measure` gives every method's points, `summary` puts the
seeds together, and `study` and `write` make the files.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from askwho_studies.paper._california_study import run_california
from askwho_studies.paper._frontiers import Progress
from askwho_studies.paper._image_experiments import EXPERIMENTS as IMAGE_EXPERIMENTS
from askwho_studies.paper._image_study import run_images

__all__ = ["EXPERIMENTS", "NEEDS", "Experiment", "run_california", "run_images"]


class Experiment(Protocol):
    """One of the paper's experiments: it returns its results, and writes them where `out` says."""

    def __call__(
        self,
        data: Path,
        *,
        out: Path | None = None,
        seeds: int | None = None,
        quick: bool = False,
        workers: int = 2,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Run it."""
        ...


EXPERIMENTS: Mapping[str, Experiment] = {
    "california": run_california,
    **{name: partial(run_images, name) for name in IMAGE_EXPERIMENTS},
}
"""The experiments by the name that the command line knows them by."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "california": ("california",),
    **{name: (each.data, *(["cifar10n"] if each.pool == "people" else [])) for name, each in IMAGE_EXPERIMENTS.items()},
}
"""The sets of data that each reads."""

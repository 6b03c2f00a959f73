"""Ray: batches of a Ray Data set in actors that load the policy once, and parts of a table on a Ray cluster."""

import importlib
import logging
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from askwho._threads import use_processors
from askwho.engines._failing import failing
from askwho.engines._work import Work
from askwho.exceptions import missing_dependency

__all__ = ["check_installed", "map_batches", "run"]


Dataset = Any
"""A `ray.data.Dataset`: Ray is an extra, and need not be there to be written about."""


def check_installed() -> None:
    """Raise where Ray is not there, with the command that installs it."""
    _ray()


def map_batches(dataset: Dataset, work: Work, *, workers: int, rows: int = 1 << 16) -> Dataset:
    """Return a data set of what the batches of another come to; nothing is done before it is read.

    Args:
        dataset: of Ray Data, with rows that the work takes.
        work: on each batch.
        workers: how many actors, of one processor each.
        rows: of a batch: from 16,384 on trees are laid out for many.
    """
    return dataset.map_batches(
        _Worker,
        fn_constructor_args=(work,),
        batch_format="pyarrow",
        batch_size=rows,
        compute=_ray().data.ActorPoolStrategy(size=workers),
        num_cpus=1,
    )


def run(work: Work, plan: pa.RecordBatch, *, workers: int) -> Iterator[pa.RecordBatch]:
    """Yield what each row of a plan comes to, as workers finish them: a stretch of parts is a row.

    The cluster is the one that Ray finds (`RAY_ADDRESS`), or one of so many processors on this machine.
    """
    ray = _ray()
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="error", **_alone(workers))
    # Whoever calls tells how far it is.
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    rows = [pa.Table.from_batches([plan.slice(i, 1)]) for i in range(plan.num_rows)]
    done = map_batches(ray.data.from_arrow(rows), work, workers=min(workers, len(rows)), rows=1)
    with failing("ray", ray.exceptions.RayError):
        for found in done.iter_batches(batch_format="pyarrow", batch_size=None):
            yield from found.to_batches()


def _alone(workers: int) -> dict[str, Any]:
    """How a cluster on this machine is started; nothing, where there is one already."""
    if "RAY_ADDRESS" in os.environ:
        return {}
    # Its own processes write to this one's terminal what is told of actors that may start again.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    return {"num_cpus": workers, "include_dashboard": False}


class _Worker:
    """An actor's work: what Ray makes once, and calls for each batch."""

    def __init__(self, work: Work) -> None:
        use_processors(1)
        work.load()
        self._work = work

    def __call__(self, rows: pa.Table) -> pa.Table:
        return pa.Table.from_batches([self._work(batch) for batch in rows.combine_chunks().to_batches()])


def _ray() -> Any:  # noqa: ANN401 - a module
    try:
        importlib.import_module("ray.data")
    except ImportError:
        raise missing_dependency("The engine 'ray'", "ray", "ray") from None
    return importlib.import_module("ray")

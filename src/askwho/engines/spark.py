"""Spark: batches of a data frame through `mapInArrow`, and parts of a table on a Spark cluster."""

import gc
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from askwho._threads import use_processors
from askwho.engines._failing import failing
from askwho.engines._work import Work
from askwho.exceptions import MissingDependencyError, missing_dependency

__all__ = ["check_installed", "map_batches", "run"]

DataFrame = Any
"""A `pyspark.sql.DataFrame`: Spark is an extra, and need not be there to be written about."""
# A task is tried so often, as on a cluster; on one machine Spark would give up after the first.
_TRIES = 4
# Works that a process keeps loaded: one job does one or two, and processes may outlive a job.
_HELD = 4


def check_installed() -> None:
    """Raise where Spark or its Java is not there, with the command that installs it."""
    _types()
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise MissingDependencyError(
            "The engine 'spark' needs Java, 17 or newer: install it, such as by apt-get install default-jre-headless, "
            "or say where it is by JAVA_HOME.",
            name="java",
        )


def map_batches(frame: DataFrame, work: Work) -> DataFrame:
    """Return a data frame of what the batches of another come to; nothing is done before it is read.

    How many rows a batch has says `spark.sql.execution.arrow.maxRecordsPerBatch`: from 16,384 on trees are laid out
    for many. Every process that works loads the policy once.

    Args:
        frame: of rows that the work takes.
        work: on each batch.
    """
    return _mapped(frame, work, _types().to_arrow_schema(frame.schema), lambda batch: batch)


def run(work: Work, plan: pa.RecordBatch, *, workers: int) -> Iterator[pa.RecordBatch]:
    """Yield what each row of a plan comes to, when all are done: a stretch of parts is a row, and a task.

    The cluster is the one that Spark was started on, or this machine with so many processors.
    """
    check_installed()
    session = _session(workers)
    # Numbers alone, which Spark counts itself: rows sent from Python go through Python once more in each task.
    numbers = session.range(0, plan.num_rows, 1, max(1, plan.num_rows))
    with failing("spark", importlib.import_module("pyspark.errors").PySparkException):
        found = _mapped(numbers, work, plan.schema, lambda batch: plan.take(batch.column(0))).toArrow()
    yield from found.to_batches()


def _mapped(
    frame: DataFrame, work: Work, given: pa.Schema, rows: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> DataFrame:
    """A data frame of what the work makes of some rows, which the batches of another stand for."""
    schema = work.schema(given)

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = _held(work)
        for batch in batches:
            # Spark sends empty ones, too.
            if batch.num_rows:
                yield pa.Table.from_batches([held(rows(batch))]).cast(schema).combine_chunks().to_batches()[0]

    return frame.mapInArrow(each, _types().from_arrow_schema(schema))


@lru_cache(maxsize=_HELD)
def _held(work: Work) -> Work:
    """The same work, loaded: Spark hands a copy to each task, and a process lives longer than a task."""
    use_processors(1)
    work.load()
    # Spark's Python collects garbage after every task: a tenth of a second, if it looks through all that is loaded.
    gc.freeze()
    return work


def _session(workers: int) -> Any:  # noqa: ANN401 - a session of Spark
    sessions = importlib.import_module("pyspark.sql").SparkSession
    running = sessions.getActiveSession()
    if running is not None:
        return running
    builder = sessions.builder.appName("askwho").config("spark.ui.enabled", "false")
    # `spark-submit` has started a session's Java side and knows its cluster; `MASTER` names another.
    if not {"MASTER", "PYSPARK_GATEWAY_PORT"} & set(os.environ):
        builder = builder.master(f"local[{workers},{_TRIES}]")
        # Workers on this machine are Pythons like this one, not whichever is found first.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return builder.getOrCreate()


def _types() -> Any:  # noqa: ANN401 - a module
    try:
        return importlib.import_module("pyspark.sql.pandas.types")
    except ImportError:
        raise missing_dependency("The engine 'spark'", "pyspark", "spark") from None

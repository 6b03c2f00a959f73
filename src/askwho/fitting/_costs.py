"""What mistakes cost, as a policy takes it: in its columns, so that it is saved, and of classes that the log has."""

from dataclasses import replace

import numpy as np

from askwho.core import OWN, Cell, CostMatrix, cost_table
from askwho.data import Log
from askwho.exceptions import InvalidInputError

# A function is asked about every pair of so many classes; of more it stays a function, which no file can hold.
_MOST_CLASSES = 64
# Classes that a message shows.
_SHOWN = 12


def with_costs(log: Log) -> Log:
    """Return the log with what its mistakes cost in its columns, or say that they are of other classes than its own."""
    if not log.weighed or log.truth is None or log.answers is None:
        return log
    said = log.answers.values[log.answers.states == Cell.ANSWERED]
    classes = np.unique(np.concatenate([said, log.truth.astype(np.result_type(said, log.truth))]))
    error = log.error
    if isinstance(error, CostMatrix):
        unknown = error.unknown(classes)
        if unknown:
            # A slip of the pen would cost nothing.
            raise InvalidInputError(
                f"`error` must name classes of the log, got {unknown[0]!r}: it has {classes[:_SHOWN].tolist()}."
            )
    elif not callable(error):
        return log
    elif len(classes) > _MOST_CLASSES:
        return replace(log, columns=replace(log.columns, error=OWN))
    else:
        error = CostMatrix.on(classes, cost_table(classes, error))
    return replace(log, error=error, columns=replace(log.columns, error=error.to_json()))


def mean_mistake(log: Log) -> float | None:
    """Return what a mistake cost in the mean; None where all are alike."""
    if not log.weighed or log.truth is None or log.answers is None:
        return None
    wrong = log.asked & ~((log.answers.values == log.truth[:, None]) & (log.answers.states == Cell.ANSWERED))
    # Where nobody ever erred, or it cost nothing, any unit will do.
    return float(log.errors[wrong].mean()) if wrong.any() and log.errors[wrong].any() else 1.0

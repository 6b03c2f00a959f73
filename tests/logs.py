"""Logs made of arrays, as tests have them."""

from typing import Any

import numpy as np

from askwho._types import Task
from askwho.core import Answers, Panel, fees_table, task_errors
from askwho.data import Charged, Columns, Log, Sampling


def log_of_arrays(
    X: np.ndarray,
    *,
    panel: Panel,
    answers: Answers | None = None,
    truth: np.ndarray | None = None,
    errors: Any = None,
    fees: Any = None,
    groups: np.ndarray | None = None,
    task: Task = "classification",
    info: np.ndarray | None = None,
) -> Log:
    """Return a log whose one known column is the matrix X; errors follow from answers and truth unless given."""
    n = len(X)
    if errors is None:
        assert answers is not None
        error = "zero-one" if task == "classification" else "squared"
        errors = task_errors(answers, truth, panel=panel, error=error)
    answered = answers is not None
    return Log(
        columns=Columns(
            truth="truth" if answered else None,
            answers="answer_*" if answered else None,
            grades=None if answered else "grade_*",
            features="X",
        ),
        panel=panel,
        task=task,
        known={"X": np.asarray(X, dtype=np.float64)},
        answers=answers,
        truth=truth,
        errors=np.asarray(errors, dtype=np.float64),
        charged=Charged(fees_table(fees, panel, n)),
        sampling=Sampling(np.arange(n) if groups is None else groups),
        info=np.full((n, len(panel)), np.nan) if info is None else info,
    )

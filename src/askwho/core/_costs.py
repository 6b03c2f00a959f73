"""From answers to errors, and from errors to the costs that the paper's losses weigh."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import FloatTable, Task
from askwho._unit import COST, Unit
from askwho.core._answers import Answers, Cell, Nulls, column, family, is_null, null_states
from askwho.core._cost_matrix import CostMatrix
from askwho.core._panel import Panel
from askwho.core._selection import fees_table
from askwho.exceptions import InvalidInputError

ErrorFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A task error ψ, elementwise: answers and truths of one shape in, errors of at least 0 out."""


def zero_one(answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return 1 where the answer is not the truth, else 0, in the shape of the answers."""
    return (answers != truth).astype(np.float64)


def absolute(answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return |answer − truth|, in the shape of the answers."""
    return np.abs(answers - truth)


def squared(answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return (answer − truth)², in the shape of the answers."""
    return np.square(answers - truth)


def smooth_l1(answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return half the squared difference up to 1, and the absolute difference less a half beyond."""
    gap = np.abs(answers - truth)
    return np.where(gap < 1, 0.5 * gap * gap, gap - 0.5)


@dataclass(frozen=True)
class Pinball:
    """The error of a quantile (Koenker and Bassett 1978): q for each unit too low, 1 − q for each too high.

    Args:
        quantile: q, between 0 and 1; an answer errs least in the mean where the truth is below it so often.
    """

    quantile: float

    def __call__(self, answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the errors, in the shape of the answers."""
        gap = truth - answers
        return np.maximum(self.quantile * gap, (self.quantile - 1.0) * gap)


ERRORS: Mapping[str, ErrorFunction] = {
    "zero-one": zero_one,
    "absolute": absolute,
    "squared": squared,
    "smooth-l1": smooth_l1,
}
"""The task errors by name; beside them there is `"pinball:0.9"`, of any quantile."""

OWN = "own"
"""What an error is called that is a function of the user's own: no file holds it."""
# How the name of a pinball loss begins; its quantile follows.
_PINBALL = "pinball:"
# Errors that subtract: answers and truths must be numbers, which is said before NumPy fails on them.
_OF_NUMBERS = (absolute, squared, smooth_l1)


def error_function(error: str | ErrorFunction) -> ErrorFunction:
    """Return the task error of that name, or the user's own function unchanged."""
    if callable(error):
        return error
    if error == OWN:
        raise InvalidInputError("`error` must have a name to score answers by, got a function that no file holds.")
    if isinstance(error, str) and error.startswith(_PINBALL):  # pyright: ignore[reportUnnecessaryIsInstance]
        return Pinball(_quantile(error))
    check.one_of(error, "error", [*ERRORS, f"{_PINBALL}0.9"])
    return ERRORS[error]


def quantile_of(error: ErrorFunction) -> float | None:
    """Return which quantile of the truth errs least; None where it is no quantile."""
    if isinstance(error, Pinball):
        return error.quantile
    return 0.5 if error is absolute else None


# What a mean of each error is called, by the error's name; a pinball loss says its quantile itself.
_NAMES = {
    "absolute": "mean absolute error",
    "squared": "RMSE",
    "smooth-l1": "mean smooth L1 error",
}


def unit_of(error: str | ErrorFunction, task: Task) -> Unit:
    """Return how an error is shown, or the one that a task has where it is left to us."""
    if error == "auto":
        error = "zero-one" if task == "classification" else "squared"
    if isinstance(error, CostMatrix):
        return Unit() if error.alike else Unit(COST, share=False, most=error.most)
    if not isinstance(error, str) or error == OWN:
        return Unit(COST if task == "classification" else "error", share=False, most=np.inf)
    function = error_function(error)
    if function is zero_one:
        return Unit()
    name = f"pinball loss at {function.quantile:g}" if isinstance(function, Pinball) else _NAMES[error]
    return Unit(name, root=function is squared, share=False, most=np.inf)


def check_error(error: object) -> None:
    """Raise unless an error is left to us, has a name, or is a function of the user's own."""
    if callable(error) or error == "auto":
        return
    if isinstance(error, str) and error.startswith(_PINBALL):
        _quantile(error)
        return
    check.one_of(error, "error", ["auto", *ERRORS, f"{_PINBALL}0.9"])


def _quantile(error: str) -> float:
    try:
        quantile = float(error.removeprefix(_PINBALL))
    except ValueError:
        quantile = float("nan")
    if not 0.0 < quantile < 1.0:
        raise InvalidInputError(f"`error` must name a quantile between 0 and 1, such as 'pinball:0.9', got {error!r}.")
    return quantile


def task_errors(
    answers: Answers, truth: ArrayLike, *, panel: Panel, error: str | ErrorFunction = "zero-one"
) -> FloatTable:
    """Return ψ(â_j(x), z) for each query and entity, shape (n, |A|); NaN where an entity was not asked.

    An unusable answer costs 1 under the zero-one error, what the truth's worst mistake does under a `CostMatrix`, and
    else the panel's worst recorded error. Abstaining costs 1 about every query: its `error_weight` is its price.

    Args:
        answers: what the entities said.
        truth: shape (n,).
        panel: who they are.
        error: a name in `ERRORS`, or a function of answers and truths, elementwise.

    >>> panel = Panel.two_stage(["a"])
    >>> task_errors(Answers.from_table([[2, 5], [3, None]], panel), [2, 3], panel=panel)
    array([[ 0.,  1.],
           [ 0., nan]])
    """
    right = truth_column(truth, answers, panel)
    check.same_shape(answers.values, "answers", (len(right), len(panel)), "one column for each entity of the panel")
    errors = recorded_errors(answers, right, error)
    if not answers.complete:
        silent = answers.states == Cell.NO_ANSWER
        errors[silent] = unusable_errors(np.broadcast_to(right[:, None], silent.shape)[silent], errors, error)
        errors[:, panel.is_kind("reject")] = 1.0
    return errors


def recorded_errors(answers: Answers, truth: np.ndarray, error: str | ErrorFunction) -> FloatTable:
    """Return the errors of the answers that were given, shape (n, |A|), NaN elsewhere."""
    truths = np.broadcast_to(truth[:, None], answers.values.shape)
    if answers.complete:
        return elementwise_error(answers.values, truths, error)
    answered = answers.states == Cell.ANSWERED
    errors = np.full(answered.shape, np.nan)
    errors[answered] = elementwise_error(answers.values[answered], truths[answered], error)
    return errors


def elementwise_error(answers: np.ndarray, truth: np.ndarray, error: str | ErrorFunction) -> np.ndarray:
    """Return the errors of answers, in their shape, checked to be finite numbers of at least 0."""
    function = error_function(error)
    if function in _OF_NUMBERS or isinstance(function, Pinball):
        answers, truth = check.numeric(answers, "answers"), check.numeric(truth, "truth")
    with np.errstate(over="ignore", invalid="ignore"):
        errors = check.numeric(function(answers, truth), "error")
    check.same_shape(errors, "error", answers.shape, "the error function must work elementwise")
    if not np.isfinite(errors).all():
        bad = ~np.isfinite(errors)
        raise InvalidInputError(
            f"`error` must give finite numbers, got {errors[bad][0]} for the answer {answers[bad][0]!r} to "
            f"{truth[bad][0]!r}: drop or mend such answers first."
        )
    return check.nonnegative(errors, "error")


def cost_table(classes: np.ndarray, error: str | ErrorFunction) -> FloatTable:
    """Return what each mistake costs, shape (C, C): a row a truth, a column for what was said; classes (C,)."""
    said = np.tile(classes, (len(classes), 1))
    return elementwise_error(said, said.T, error)


def worst_error(recorded: np.ndarray, error: str | ErrorFunction) -> float:
    """Return what an unusable answer costs: 1 under the zero-one error, else the worst error recorded."""
    known = recorded[~np.isnan(recorded)]
    return 1.0 if error_function(error) is zero_one or known.size == 0 else float(known.max())


def unusable_errors(truth: np.ndarray, recorded: np.ndarray, error: str | ErrorFunction) -> np.ndarray:
    """Return what answers to some truths cost that cannot be used, in their shape.

    Args:
        truth: of the queries that have such an answer.
        recorded: the errors of all answers that were given, NaN elsewhere.
        error: a name in `ERRORS`, or a function.
    """
    function = error_function(error)
    if isinstance(function, CostMatrix):
        return function.unusable(truth)
    return np.full(truth.shape, worst_error(recorded, error))


def truth_column(truth: ArrayLike, answers: Answers, panel: Panel) -> np.ndarray:
    """Return the truth as an array (n,) without nulls, of the answers' type, its labels known to the panel."""
    array = column(truth, "truth")
    check.same_shape(array, "truth", (len(answers),), "one truth for each row of answers")
    bad = is_null(array)
    if array.dtype.kind == "f":
        bad |= np.isinf(array)
    if bad.any():
        raise InvalidInputError(
            f"`truth` must hold no nulls and be finite, got {array[bad][0]} in {int(bad.sum())} rows, the first "
            f"{int(bad.argmax())}: drop those rows first."
        )
    theirs, ours = answers.family, family(array)
    if " and " in ours or (theirs is not None and theirs != ours):
        raise InvalidInputError(
            f"`truth` must be of the answers' type, got {ours} for answers that are {theirs}: "
            "1 and '1' would never agree. Convert one of them first."
        )
    if panel.labels:
        check.known_labels(array.tolist(), panel.labels, "truth")
    return array


def errors_from_grades(
    grades: ArrayLike, *, panel: Panel, nulls: Nulls | Mapping[str, Nulls] = "not-asked"
) -> FloatTable:
    """Return 1 − grade, shape (n, |A|), for logs that hold grades in [0, 1] and no truth.

    Args:
        grades: shape (n, |A|), 1 = right; NaN as `nulls` says: not asked (NaN), or no answer (an error of 1).
        panel: who was graded.
        nulls: what an empty cell means, for all entities or by name.
    """
    table = check.table(grades, "grades", entities=panel.names, allow_nan=True)
    outside = (table < 0) | (table > 1)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise InvalidInputError(
            f"`grades` must be between 0 and 1, got {table[row, column]} at row {row}, column {column}."
        )
    errors = 1.0 - table
    silent = np.array([state is Cell.NO_ANSWER for state in null_states(nulls, panel.names)])
    return np.where(silent & np.isnan(errors), 1.0, errors)


def multi_task_errors(parts: Mapping[str, ArrayLike], *, weights: Mapping[str, float]) -> FloatTable:
    """Return the weighted sum of the errors of several outputs, shape (n, |A|).

    An output with several parts (a class and a box, a diagnosis and a survival time) has one table of errors a
    part; an entity that was not asked for one part has no error as a whole.

    Args:
        parts: from the part's name to its errors, each (n, |A|), NaN where not asked.
        weights: from the part's name to its weight, at least 0.
    """
    if not parts or set(parts) != set(weights):
        raise InvalidInputError(
            f"`weights` must name the same parts as `parts`, at least one: got {sorted(weights)} for {sorted(parts)}."
        )
    frames = [list(errors.columns) for errors in parts.values() if hasattr(errors, "columns")]  # pyright: ignore[reportAttributeAccessIssue]
    for columns in frames[1:]:
        check.columns(columns, frames[0], "parts")
    tables = {name: check.table(errors, name, allow_nan=True) for name, errors in parts.items()}
    shape = next(iter(tables.values())).shape
    total = np.zeros(shape)
    for name, errors in tables.items():
        check.same_shape(errors, name, shape, "all parts are of the same queries and entities")
        check.nonnegative(errors, name)
        total += check.finite_number(weights[name], f"weight of {name}", minimum=0.0) * errors
    return total


def augmented_costs(
    errors: ArrayLike, *, panel: Panel, fees: ArrayLike | None = None, fee_weight: float = 1.0
) -> FloatTable:
    """Return μ_j = α_j ψ_j + fee_weight · β_j, shape (n, |A|) (paper, Section 4.1); NaN where not asked.

    The paper's β are already in units of error: `fee_weight` 1.

    Args:
        errors: ψ, shape (n, |A|), at least 0; NaN where an entity was not asked.
        panel: holds α and, unless `fees` is given, β.
        fees: shape (|A|,) or (n, |A|), where they differ from the panel's.
        fee_weight: how much error one unit of money is worth.
    """
    table = check.nonnegative(check.table(errors, "errors", entities=panel.names, allow_nan=True), "errors")
    rate = check.finite_number(fee_weight, "fee_weight", minimum=0.0)
    return panel.error_weights * table + rate * fees_table(fees, panel, len(table))

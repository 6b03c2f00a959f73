"""Errors row by row: their mean as it is shown, and as small numbers in a file."""

import numpy as np
from jaxtyping import Float, Shaped

from askwho._unit import Unit


def mean_error(errors: Float[np.ndarray, " n"], unit: Unit, weights: Float[np.ndarray, " n"] | None = None) -> float:
    """Return the mean of the errors that are known, as it is shown.

    Args:
        errors: shape (n,), NaN where unknown.
        unit: how errors are shown.
        weights: shape (n,), what each row weighs; alike, unless said.
    """
    known = ~np.isnan(errors)
    if not known.any():
        return float("nan")
    return unit.shown(float(np.average(errors[known], weights=None if weights is None else weights[known])))


def as_small(errors: Float[np.ndarray, "p n"]) -> Shaped[np.ndarray, "p n"]:
    """Return errors as they are written: a byte each where all are right or wrong, −1 where unknown."""
    known = ~np.isnan(errors)
    wrong = bool(np.isin(errors[known], (0.0, 1.0)).all())
    return np.where(known, errors, -1.0).astype(np.int8) if wrong else errors


def from_small(given: Shaped[np.ndarray, "p n"]) -> Float[np.ndarray, "p n"]:
    """Return the errors that `as_small` made so."""
    errors = given.astype(np.float64)
    if given.dtype.kind == "i":
        errors[errors < 0] = np.nan
    return errors

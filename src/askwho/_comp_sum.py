"""The outer function of the comp-sum family, written once for floats, NumPy arrays and torch tensors."""

import math
from collections.abc import Callable
from typing import Any

from askwho.exceptions import InvalidInputError


def check_u(u: float) -> float:
    """Return `u` as a float, or say why it is none of the family's."""
    if not (isinstance(u, int | float) and math.isfinite(u) and u >= 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"`u` must be a finite number of at least 0, got {u!r}: 1 is the logistic loss.")
    return float(u)


def psi_of_log_share(q: Any, u: float, expm1: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    """Return Ψ^u(v) where q = −log(1 + v) is the logarithm of an entity's softmax share.

    Ψ^u(v) = [(1 + v)^{1−u} − 1]/(1 − u), and log(1 + v) at u = 1. In q it is −expm1((u − 1) q)/(u − 1): no
    exponential is formed before the logarithm, and nothing cancels as u passes through 1.
    """
    if u == 1:
        return -q
    return -expm1((u - 1) * q) / (u - 1)


def psi(v: float, *, u: float) -> float:
    """Return Ψ^u(v), the comp-sum outer function, for one v ≥ 0."""
    return psi_of_log_share(-math.log1p(v), check_u(u), math.expm1)

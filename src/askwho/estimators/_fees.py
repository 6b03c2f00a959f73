"""What the experts charge, in any of the forms a user may have it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from askwho import _validation as check
from askwho.exceptions import InvalidInputError


def expert_fees(given: Any, names: Sequence[str], n: int) -> Float[np.ndarray, "n j"]:  # noqa: ANN401
    """Return what each expert charges for each query, shape (n, J).

    Args:
        given: None (all are free), a mapping from every name to its fee or to its column of fees, one fee an expert
            (J,), or one a query and expert (n, J); named columns must have the experts' names, in their order.
        names: the experts.
        n: how many queries.
    """
    if given is None:
        return np.zeros((n, len(names)))
    if isinstance(given, Mapping):
        return np.column_stack([_fee_column(value, name, n) for name, value in _by_name(given, names).items()])
    if np.ndim(given) == 1:
        fees = check.numeric(given, "fees")
        check.same_shape(fees, "fees", (len(names),), f"one fee for each of {list(names)}")
        return np.tile(_charge(fees), (n, 1))
    fees = check.table(given, "fees", entities=names)
    check.same_shape(fees, "fees", (n, len(names)), "one row for each query")
    return _charge(fees)


def _by_name(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    missing, unknown = [name for name in names if name not in given], [name for name in given if name not in names]
    if missing or unknown:
        raise InvalidInputError(
            f"`fees` must name every expert and nobody else ({list(names)}), got {list(given)}: "
            f"missing {missing}, unknown {unknown}."
        )
    return {name: given[name] for name in names}


def _fee_column(value: Any, name: str, n: int) -> Float[np.ndarray, " n"]:  # noqa: ANN401
    if np.ndim(value) == 0:
        return np.full(n, check.finite_number(value, f"fees of {name}", minimum=0.0))
    fees = check.numeric(value, f"fees of {name}")
    check.same_shape(fees, f"fees of {name}", (n,), "one number for all queries, or one for each")
    return _charge(fees)


def _charge(fees: np.ndarray) -> np.ndarray:
    if not np.isfinite(fees).all():
        raise InvalidInputError(f"`fees` must be finite, got {fees[~np.isfinite(fees)][0]}: fill or drop it first.")
    return check.nonnegative(fees, "fees")

"""What queries are called: by the user, or by us where nobody named them."""

import itertools
import os
import secrets
from typing import Any

import numpy as np
from jaxtyping import Shaped

from askwho.core import column
from askwho.data import id_texts
from askwho.exceptions import InvalidInputError

# Names begin with what tells this process from all others, and then count its calls: chance for each call would take
# longer than the rest of a name.
_PROCESS, _CALLS = [secrets.token_hex(6)], itertools.count()


def _renew() -> None:
    _PROCESS[0] = secrets.token_hex(6)


# A process that was forked would go on with the names of its parent. Windows knows no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def made_up_ids(n: int) -> Shaped[np.ndarray, " n"]:
    """Return names for queries that have none, shape (n,): in no process is one given twice, and in no two the same."""
    call = f"{_PROCESS[0]}-{next(_CALLS):x}"
    return np.array([f"{call}-{i}" for i in range(n)], dtype=object)


def _are_texts(given: Any) -> bool:  # noqa: ANN401 - any column
    """Whether a column is what ids are made into, as a file is read: texts, none of them empty."""
    if not isinstance(given, np.ndarray) or given.dtype != object or given.ndim != 1:
        return False
    texts = given.tolist()
    return set(map(type, texts)) == {str} and all(map(str.strip, texts))


def checked_ids(given: Any, n: int, name: str = "id") -> Shaped[np.ndarray, " n"]:  # noqa: ANN401 - any column
    """Return ids as text, one a query, each its own; or say what is wrong with them."""
    ids = given.copy() if _are_texts(given) else id_texts(column(given, name))
    if len(ids) != n:
        raise InvalidInputError(f"`{name}` must be one for each of the {n} queries, got {len(ids)}.")
    different = set(ids.tolist())
    if None in different:
        raise InvalidInputError(f"`{name}` must not be empty: something must name each query.")
    if len(different) < n:
        raise InvalidInputError(f"`{name}` must name each query once, got one of them twice.")
    return ids

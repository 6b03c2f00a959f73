"""How many folds small data can bear, and which row goes where."""

from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from askwho import _validation as check
from askwho.exceptions import InvalidInputError
from askwho.learners import folds

# What the router needs in a fold to learn anything from it.
_ROWS_A_FOLD = 4


def fold_count(cv: Any, n: int, groups: np.ndarray | None) -> int:  # noqa: ANN401
    """Return how many folds to use: `cv`, or as many as so few rows or groups allow."""
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise InvalidInputError(f"`cv` must be a whole number of at least 2, got {cv!r}.")
    fewest = 2 * _ROWS_A_FOLD
    if n < fewest:
        raise InvalidInputError(
            f"`X` must have at least {fewest} rows, got n_samples={n}: who is good at what is learned on held-out rows."
        )
    count = min(int(cv), n // _ROWS_A_FOLD)
    if groups is None:
        return count
    different = len(np.unique(groups))
    if different < 2:
        raise InvalidInputError(f"`groups` must hold at least two groups, got {different}: none could be held out.")
    return min(count, different)


def group_column(groups: Any, n: int) -> Shaped[np.ndarray, " n"] | None:  # noqa: ANN401
    """Return the groups as an array (n,), or None."""
    if groups is None:
        return None
    array = np.asarray(groups)
    check.same_shape(array, "groups", (n,), "one group for each row of `X`")
    return array


def training_folds(
    labels: Shaped[np.ndarray, " n"] | None, groups: np.ndarray | None, n: int, count: int, *, seed: int
) -> Int[np.ndarray, " n"]:
    """Return the fold of each row, shape (n,): groups stay whole; without groups each label is spread evenly.

    Unlike scikit-learn's stratified folds it takes labels rarer than there are folds without a word.
    """
    if groups is not None or labels is None:
        return folds(np.arange(n) if groups is None else groups, count, random_state=seed)
    shuffled = np.random.default_rng(seed).permutation(n)
    fold = np.empty(n, dtype=np.intp)
    fold[shuffled[np.argsort(labels[shuffled], kind="stable")]] = np.arange(n) % count
    return fold

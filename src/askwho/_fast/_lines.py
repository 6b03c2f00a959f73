"""Lines between knots: NumPy would search the knots of every value by guesses that a processor cannot foresee."""

from typing import no_type_check

import numpy as np

from askwho._fast._compiled import compiled


@compiled
@no_type_check
def interpolated(values, knots, levels, found) -> None:  # noqa: ANN001
    """Write what `np.interp` says of each column.

    Args:
        values: shape (n, a).
        knots: shape (a, t), rising in each row; t at least 2.
        levels: shape (a, t), finite.
        found: shape (n, a), to be written to.
    """
    size, last = knots.shape[1], knots.shape[1] - 1
    for j in range(values.shape[1]):
        own, level = knots[j], levels[j]
        for i in range(len(values)):
            value = values[i, j]
            # The last knot that is not above the value, or the first: by halves, with no branch.
            at, left = 0, size
            while left > 1:
                half = left // 2
                at += half * (own[at + half] <= value)
                left -= half
            if np.isnan(value):
                found[i, j] = value
            elif value < own[0]:
                found[i, j] = level[0]
            elif at == last or own[at] == value:
                found[i, j] = level[at]
            else:
                slope = (level[at + 1] - level[at]) / (own[at + 1] - own[at])
                found[i, j] = slope * (value - own[at]) + level[at]

"""Lines between knots: NumPy would search for each value by halves, and a processor guess every half wrong."""

from typing import no_type_check

import numpy as np

from askwho._fast._compiled import compiled

# Knots that are compared at a time: as many as a register holds. First those that every such block begins with are.
_BLOCK = 8


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
    last = knots.shape[1] - 1
    slopes, own = np.empty(last), np.full((last // _BLOCK + 1) * _BLOCK, np.inf)
    for j in range(values.shape[1]):
        own[: last + 1], level = knots[j], levels[j]
        begins = own[::_BLOCK].copy()
        for t in range(last):
            run = own[t + 1] - own[t]
            slopes[t] = (level[t + 1] - level[t]) / run if run > 0 else 0.0
        for i in range(len(values)):
            # No comparison is a branch.
            value, block = values[i, j], -1
            for t in range(len(begins)):
                block += begins[t] <= value
            begin = max(block, 0) * _BLOCK
            at = begin - 1
            for t in range(_BLOCK):
                at += own[begin + t] <= value
            if np.isnan(value):
                found[i, j] = value
            elif at < 0:
                found[i, j] = level[0]
            elif at >= last:
                found[i, j] = level[last]
            elif own[at] == value:
                found[i, j] = level[at]
            else:
                found[i, j] = slopes[at] * (value - own[at]) + level[at]

"""Resamples of a log."""

from typing import no_type_check

import numpy as np

from askwho._fast._compiled import compiled
from askwho._splitmix import FIRST, GOLDEN, SECOND


@compiled
@no_type_check
def drawn(keys, limits, weights) -> None:  # noqa: ANN001
    """Write how often each row occurs in the sample, which is once, and in each resample.

    Args:
        keys: shape (n,), 64 bits a row.
        limits: a number of 53 bits below so many of these counts so often.
        weights: shape (n, draws + 1), to be written to.
    """
    draws = weights.shape[1] - 1
    words, counts = np.empty(draws, np.uint64), np.empty(draws)
    for i in range(len(keys)):
        for draw in range(draws):
            # `mixed` and `step`, word for word.
            word = keys[i] + np.uint64(draw + 2) * GOLDEN
            word = (word ^ (word >> np.uint64(30))) * FIRST
            word = (word ^ (word >> np.uint64(27))) * SECOND
            words[draw] = (word ^ (word >> np.uint64(31))) >> np.uint64(11)
        counts[:] = 0.0
        # Limit by limit, for hardly any resample has a row more than a few times.
        for limit in limits:
            more = 0
            for draw in range(draws):
                below = words[draw] < limit
                counts[draw] += below
                more += below
            if not more:
                break
        weights[i, 0] = 1.0
        weights[i, 1:] = counts

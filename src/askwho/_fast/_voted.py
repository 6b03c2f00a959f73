"""Votes of many committees."""

from typing import no_type_check

import numpy as np

from askwho._fast._compiled import compiled


@compiled
@no_type_check
def leaders(codes, voted, weights, by_rank, found) -> None:  # noqa: ANN001
    """Write the leading code after each member, where no weight is negative.

    Args:
        codes: shape (n, K).
        voted: shape (n, K), who gave an answer.
        weights: shape (n, K), of each member's answer.
        by_rank: whether ties go to the answer that was given first; else to the smaller code.
        found: shape (n, K), to be written to.
    """
    size, most = codes.shape[1], 0
    for i in range(len(codes)):
        for r in range(size):
            most = max(most, codes[i, r])
    tally, first = np.zeros(most + 1), np.full(most + 1, size)
    for i in range(len(codes)):
        leader, best, led_since = 0, -np.inf, size
        for r in range(size):
            code = codes[i, r]
            if voted[i, r]:
                tally[code] += weights[i, r]
                first[code] = min(first[code], r)
                earlier = first[code] < led_since if by_rank else code < leader
                if tally[code] > best or (tally[code] == best and earlier):
                    leader, best, led_since = code, tally[code], first[code]
            found[i, r] = leader
        for r in range(size):
            tally[codes[i, r]], first[codes[i, r]] = 0.0, size

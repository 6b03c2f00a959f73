"""SplitMix64 (Steele, Lea and Flood 2014): numbers that look drawn, and are always the same for the same key."""

import numpy as np
from jaxtyping import Float, UInt64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits, as published: steps of it fill the words evenly."""
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""The two odd factors of the finaliser (Stafford's Mix13), as published: any other would be another sequence."""


def mixed(words: UInt64[np.ndarray, "..."]) -> UInt64[np.ndarray, "..."]:
    """Return the finaliser of the words, of the same shape: every bit in moves every bit out; uint64 wraps."""
    with np.errstate(over="ignore"):
        words = words + GOLDEN
        words = (words ^ (words >> np.uint64(30))) * FIRST
        words = (words ^ (words >> np.uint64(27))) * SECOND
    return words ^ (words >> np.uint64(31))


def step(words: UInt64[np.ndarray, "..."], count: int) -> UInt64[np.ndarray, "..."]:
    """Return the words so many steps along the sequence, of the same shape."""
    with np.errstate(over="ignore"):
        return words + np.uint64(count) * GOLDEN


def uniform(words: UInt64[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return numbers in [0, 1) from the upper 53 bits of mixed words, of the same shape."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53

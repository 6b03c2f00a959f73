"""MurmurHash3 of many stretches of bytes at a time: scikit-learn's hash, which takes one text a call.

References:
    Appleby. MurmurHash3, x86, 32 bits, seed 0. In the public domain, 2011.
"""

import numpy as np
from jaxtyping import Int, UInt8, UInt32

_FIRST, _SECOND, _ADDED = np.uint32(0xCC9E2D51), np.uint32(0x1B873593), np.uint32(0xE6546B64)
"""The constants of its mixing steps."""
_LAST, _VERY_LAST = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
"""Those of the steps that end it."""
# What is left of four bytes where a stretch ends within them.
_LEFT = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)

BEHIND = 4
"""So many bytes must follow the last stretch: four are read at a time, whatever is left of it."""
# Longer stretches are hashed one by one: there are few, and each would take a pass for every four of its bytes.
_LONG = 256


class Stretches:
    """Bytes, of which stretches are hashed.

    Args:
        written: the bytes, `BEHIND` more behind the last stretch.
    """

    def __init__(self, written: UInt8[np.ndarray, " b"]) -> None:
        self.written = written
        # The four bytes from each place on, the first the least. They overlap, which copying ends.
        self._four = np.ndarray((len(written) - 3,), dtype="<u4", buffer=written, strides=(1,)).astype(np.uint32)

    def hashes(self, starts: Int[np.ndarray, " m"], sizes: Int[np.ndarray, " m"]) -> UInt32[np.ndarray, " m"]:
        """Return the hash of each stretch without its sign, shape (m,), as scikit-learn's hashing takes it.

        Args:
            starts: where each stretch begins.
            sizes: how many bytes it has.
        """
        mixed = np.zeros(len(starts), dtype=np.uint32)
        whole = sizes >> 2
        most = int(whole.max(initial=0))
        for step in range(min(most, _LONG >> 2)):
            rows = slice(None) if (going := whole > step).all() else np.flatnonzero(going)
            part = mixed[rows] ^ _scrambled(self._four.take(starts[rows] + 4 * step))
            mixed[rows] = _turned(part, 13) * np.uint32(5) + _ADDED
        mixed ^= _scrambled(self._four.take(starts + 4 * whole) & _LEFT.take(sizes & 3))
        mixed ^= sizes.astype(np.uint32)
        for bits, factor in ((16, _LAST), (13, _VERY_LAST)):
            mixed ^= mixed >> np.uint32(bits)
            mixed *= factor
        mixed ^= mixed >> np.uint32(16)
        signed = mixed.view(np.int32)
        if most > _LONG >> 2:
            for row in np.flatnonzero(whole > _LONG >> 2).tolist():
                signed[row] = _one_by_one(self.written[starts[row] : starts[row] + sizes[row]].tobytes())
        # The least number has no other sign, and stays what it is: 2^31.
        return np.abs(signed).view(np.uint32)


def _one_by_one(stretch: bytes) -> int:
    from sklearn.utils import murmurhash3_32  # noqa: PLC0415 - it takes long to import

    return murmurhash3_32(stretch)


def _scrambled(part: UInt32[np.ndarray, " m"]) -> UInt32[np.ndarray, " m"]:
    """Four bytes as they are mixed into the hash; nothing stays nothing."""
    part *= _FIRST
    part = _turned(part, 15)
    part *= _SECOND
    return part


def _turned(part: UInt32[np.ndarray, " m"], bits: int) -> UInt32[np.ndarray, " m"]:
    """The bits moved up, those that fall off at the bottom."""
    turned = part << np.uint32(bits)
    turned |= part >> np.uint32(32 - bits)
    return turned

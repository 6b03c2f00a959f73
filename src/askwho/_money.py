"""Money that is booked: whole numbers of a billionth of the user's own unit, so that sums are exact."""

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import numpy as np

from askwho.exceptions import InvalidInputError

NANOS = 1_000_000_000
"""How many of the ledger's integers make one unit of the user's currency: a token may cost a ten-millionth of it."""

LARGEST = 2**62
"""No single amount may be larger: databases hold 63 bits, and one amount more must never turn a sum below zero."""


def nanos(amount: float | Decimal | str | np.number[Any]) -> int:
    """Return an amount of the user's unit in billionths: exact by how it is spelt in decimals, halves upwards.

    A float means the shortest decimal that reads back as it: 0.1 is a tenth, not the binary fraction nearest to it.
    """
    try:
        exact = Decimal(str(amount))
    except InvalidOperation:
        raise InvalidInputError(f"An amount must be a number, got {amount!r}: write it as 0.05 or '0.05'.") from None
    if not exact.is_finite() or exact < 0:
        raise InvalidInputError(
            f"An amount must be a finite number of at least 0, got {amount!r}: nobody is paid for being asked."
        )
    if exact > LARGEST // NANOS:
        raise InvalidInputError(
            f"An amount must be at most {LARGEST // NANOS:,}, got {amount!r}: take a larger unit of money."
        )
    # `quantize` rounds once, from all the digits: a product would first be cut to those of the decimal context.
    return int(exact.quantize(Decimal(1) / NANOS, ROUND_HALF_UP).scaleb(9))


def amount(nanos: int) -> float:
    """Return so many billionths as a float of the user's unit: the one nearest to it."""
    return nanos / NANOS

"""The comparison with the paper: its claim, our figure, the spread over seeds, and whether the two agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# How a table says whether a claim agrees; what does not must not be overlooked.
_WORDS = {True: "yes", False: "**no**", None: "-"}


@dataclass(frozen=True)
class Claim:
    """One row of the comparison.

    Args:
        claim: what the paper says, with its figure.
        ours: our figure, a mean over seeds.
        spread: its standard deviation over seeds.
        agrees: whether it does; None where the two cannot be compared.
        why: what we think the reason is, where it does not.
        arm: which of our arms it is held against, where there are several.
    """

    claim: str
    ours: str
    spread: str
    agrees: bool | None
    why: str = ""
    arm: str = ""


def claims_table(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the comparison as lines of Markdown."""
    lines = ["| the paper | arm | ours | spread | agrees | why we think so |", "|---" * 6 + "|"]
    for row in claims:
        cells = (row["claim"], row["arm"], row["ours"], row["spread"], _WORDS[row["agrees"]], row["why"])
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def mean_of(values: ArrayLike, form: str = ".2f") -> str:
    """Return the mean over seeds as text."""
    return format(float(np.asarray(values, dtype=np.float64).mean()), form)


def spread_of(*columns: ArrayLike, form: str = ".2f") -> str:
    """Return the standard deviations over seeds as text, one for each column; a dash for a single seed."""
    if np.size(columns[0]) < 2:
        return "-"
    deviations = [float(np.asarray(values, dtype=np.float64).std(ddof=1)) for values in columns]
    return ", ".join(f"± {format(deviation, form)}" for deviation in deviations)

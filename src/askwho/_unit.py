"""The unit that errors are shown in: what they are called, and what is done to a mean of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

COST = "cost"
"""What an error is called where some mistakes are worse than others."""
FEWEST_EFFECTIVE = 30
"""Figures on fewer effective rows are not told: a share of thirty has a standard error of nine points."""


@dataclass(frozen=True)
class Unit:
    """How errors are shown, everywhere the same; what is learned and summed stays as it is.

    Args:
        name: what an error is called on an axis or in a table.
        root: whether the root of a mean is shown: of squares, so that it is in the unit of the truth.
        share: whether errors are shares of wrong answers, or 1 less a grade: within 0 and 1.
        most: the largest error that can be: 1 of shares, what the worst mistake costs, infinite where nothing says.
    """

    name: str = "error"
    root: bool = False
    share: bool = True
    most: float = 1.0

    @property
    def with_article(self) -> str:
        """The name behind its article."""
        return f"{'an' if self.name[0] in 'aeiouR' else 'a'} {self.name}"

    @property
    def word(self) -> str:
        """What one answer's error is called, where the mean has a longer name: a cost, or an error."""
        return self.name if self.name == COST else "error"

    @property
    def at_the_start(self) -> str:
        """The name as a sentence begins with it."""
        return self.name[0].upper() + self.name[1:]

    def shown(self, loss: float) -> float:
        """Return an expected or a mean error as it is shown."""
        return float(np.sqrt(max(loss, 0.0))) if self.root else loss

    def all_shown(self, losses: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return expected or mean errors as they are shown, of the same shape."""
        return np.sqrt(np.maximum(losses, 0.0)) if self.root else losses

    def losses(self, shown: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return the errors that are shown so, of the same shape."""
        return np.square(shown) if self.root else shown

    def to_json(self) -> dict[str, Any]:
        """Return the plain form that `from_json` reads: JSON has no infinity."""
        return {**asdict(self), "most": self.most if self.most < np.inf else None}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Unit":
        """Return the unit that `to_json` wrote."""
        most = float("inf") if plain["most"] is None else float(plain["most"])
        return cls(plain["name"], plain["root"], plain["share"], most)

"""Shapes of the arrays that travel between the rooms: n queries, a entities, K ranks."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Int8, Shaped

FloatTable = Float[np.ndarray, "n a"]
FloatRanks = Float[np.ndarray, "n K"]
BoolRanks = Bool[np.ndarray, "n K"]
Order = Int[np.ndarray, "n K"]
States = Int8[np.ndarray, "n a"]
Table = Shaped[np.ndarray, "n a"]

Kind = Literal["label", "base", "expert", "reject"]
Task = Literal["classification", "regression"]
Ties = Literal["rank", "index"]
Names = Sequence[str]

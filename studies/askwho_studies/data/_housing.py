"""California housing as it lies in StatLib's archive: one line of nine numbers for each block."""

from pathlib import Path

import numpy as np
from jaxtyping import Float

from askwho_studies.data._damaged import not_the_set

FILE = "cal_housing.data"
"""Longitude, latitude, age, rooms, bedrooms, population, households, income, value: separated by commas."""
_COLUMNS = 9
"""So many numbers on a line."""
_DOLLARS = 100_000.0
"""What scikit-learn, and so the studies, count values of houses in."""


def read_housing(path: Path) -> tuple[Float[np.ndarray, "n 8"], Float[np.ndarray, " n"]]:
    """Return features (n, 8) and values (n,) as scikit-learn has them: rooms and people by household, 100,000 USD."""
    try:
        raw = np.loadtxt(path, delimiter=",", ndmin=2, dtype=np.float64)
    except ValueError as error:
        raise not_the_set(path, f"numbers separated by commas ({error})") from None
    if raw.shape[1] != _COLUMNS:
        raise not_the_set(path, f"{_COLUMNS} numbers a line, got {raw.shape[1]}")
    longitude, latitude, age, rooms, bedrooms, population, households, income, value = raw.T
    if not (households > 0).all():
        raise not_the_set(path, "households in every block")
    by_household = (rooms / households, bedrooms / households, population, population / households)
    return np.column_stack([income, age, *by_household, latitude, longitude]), value / _DOLLARS


def check_housing(folder: Path, rows: tuple[int, ...]) -> None:
    """Raise where a folder does not hold the census whole."""
    found = len(read_housing(folder / FILE)[1])
    if (found,) != rows:
        raise not_the_set(folder / FILE, f"{rows[0]} blocks, got {found}")

"""What took long to make, kept in files, so that a run that was interrupted goes on where it stopped."""

from collections.abc import Callable
from pathlib import Path

import numpy as np


def kept(path: Path, mark: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return arrays from a file, where it was made under the same settings, or made and written to it whole."""
    if path.exists():
        with np.load(path, allow_pickle=False) as stored:
            if "mark" in stored.files and str(stored["mark"]) == mark:
                return dict(stored)
    made = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, mark=np.array(mark), **made)
    part.replace(path)
    return made

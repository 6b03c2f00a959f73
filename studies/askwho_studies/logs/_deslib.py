"""DESlib's rivals, run in an environment of their own: it works on scikit-learn 1.6.1 and below only."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from askwho.evaluation import Point
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._split import Split

PYTHON = "ASKWHO_DESLIB_PYTHON"
"""The environment variable that names a Python with `deslib/requirements.txt` installed."""
SCRIPT = Path(__file__).parent / "deslib" / "predict.py"
"""What that Python runs; `requirements.txt` lies beside it."""


def knora_u(split: Split) -> list[Point]:
    """KNORA-Union: everybody who was right near the query votes, once for each time."""
    return _point(split, "knora-u")


def knora_e(split: Split) -> list[Point]:
    """KNORA-Eliminate: those who were right on all of the nearest queries vote."""
    return _point(split, "knora-e")


def meta_des(split: Split) -> list[Point]:
    """META-DES: a meta-classifier says who is competent for the query."""
    return _point(split, "meta-des")


def _point(split: Split, method: str) -> list[Point]:
    if not split.classes or split.train.answers is None:
        raise SkippedError("DESlib needs classes and answers")
    python = os.environ.get(PYTHON)
    if not python:
        raise SkippedError(f"{PYTHON} is not set (see askwho_studies/logs/deslib/requirements.txt)")
    if not Path(python).exists() or not SCRIPT.is_file():
        raise SkippedError(f"{python} or {SCRIPT} is not there")
    with tempfile.TemporaryDirectory() as folder:
        given, said = Path(folder) / "given.npz", Path(folder) / "said.npz"
        write_rows(split, given)
        command = [python, str(SCRIPT), str(given), str(said), "--method", method, "--seed", str(split.seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the user's own Python
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise SkippedError(f"DESlib failed: {lines[-1] if lines else 'no message'}")
        with np.load(said) as loaded:
            decided = loaded["said"]
    errors = (decided != split.truths(split.test)).astype(np.float64)
    return [Point(errors, split.everyone(split.test), {"k": len(split.price)})]


def write_rows(split: Split, path: Path) -> None:
    """Write what DESlib's own Python is given: scaled features, everybody's answers, and the truth of training rows."""
    scaler: Any = StandardScaler().fit(split.X_train)
    np.savez(
        path,
        X_train=scaler.transform(split.X_train).astype(np.float64),
        X_test=scaler.transform(split.X_test).astype(np.float64),
        votes_train=split.votes(split.train),
        votes_test=split.votes(split.test),
        truth_train=split.truths(split.train),
    )

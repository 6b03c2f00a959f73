"""What people said of CIFAR-10's images, as CIFAR-10N and CIFAR-10H offer it. Nothing is unpickled."""

import pickletools
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from askwho_studies.data._damaged import not_the_set

PEOPLE = "CIFAR-10_human.pt"
"""CIFAR-10N's file in the order of CIFAR-10's own batches; the others of its repository are in another library's."""
VOTES = "cifar10h-probs.npy"
"""CIFAR-10H's shares of labels: of its files the one with a published sum."""
_COLUMNS = ("clean_label", "random_label1", "random_label2", "random_label3")
"""CIFAR-10's own label, and what each of three people said."""
_CLASSES = 10
"""CIFAR-10's, which both sets go by."""
_WIDTHS = (8, 4, 2, 1)
"""Bytes of a label, in the whole numbers that arrays hold."""
_ROUNDING = 1e-9
"""How far shares may be from a sum of 1: far more than what the division of counts leaves."""


def read_people(path: Path) -> dict[str, Int[np.ndarray, " n"]]:
    """Return CIFAR-10's labels and those of three people, by the names of the file, each of shape (n,).

    The file is a pickle of a dict of arrays. Unpickling runs what a stranger wrote, so its stream is only looked
    through, as a disassembler would: a name, and the bytes of the array behind it.
    """
    try:
        found = _arrays(path.read_bytes())
    except (IndexError, KeyError, UnicodeError, ValueError, zipfile.BadZipFile) as error:
        raise not_the_set(path, f"arrays of labels by name ({type(error).__name__})") from None
    absent = [name for name in _COLUMNS if name not in found]
    if absent:
        raise not_the_set(path, f"the labels {', '.join(_COLUMNS)}, got none of {', '.join(absent)}")
    if len({len(labels) for labels in found.values()}) != 1:
        raise not_the_set(path, "as many labels of each")
    return found


def read_votes(path: Path) -> Float[np.ndarray, "n 10"]:
    """Return for each test image the share of people who gave each label, shape (n, 10)."""
    try:
        shares = np.asarray(np.load(path, allow_pickle=False))
    except (EOFError, ValueError) as error:
        raise not_the_set(path, f"an array of shares ({type(error).__name__})") from None
    if shares.ndim != 2 or shares.shape[1] != _CLASSES or shares.dtype != np.float64:
        raise not_the_set(path, f"shares of shape (n, {_CLASSES}), got {shares.dtype} of shape {shares.shape}")
    if not (shares.min(initial=0.0) >= 0 and np.abs(shares.sum(axis=1) - 1).max(initial=0.0) <= _ROUNDING):
        raise not_the_set(path, "shares that sum to 1 for each image")
    return shares


def check_people(folder: Path, rows: tuple[int, ...]) -> None:
    """Raise where a folder does not hold CIFAR-10N's labels whole."""
    found = len(read_people(folder / PEOPLE)[_COLUMNS[0]])
    if (found,) != rows:
        raise not_the_set(folder / PEOPLE, f"labels of {rows[0]} images, got {found}")


def check_votes(folder: Path, rows: tuple[int, ...]) -> None:
    """Raise where a folder does not hold CIFAR-10H's shares whole."""
    found = len(read_votes(folder / VOTES))
    if (found,) != rows:
        raise not_the_set(folder / VOTES, f"shares of {rows[0]} images, got {found}")


def _arrays(raw: bytes) -> dict[str, np.ndarray]:
    """The arrays of labels in a file of torch: a zip archive that holds one pickle, or several pickles in a row."""
    if zipfile.is_zipfile(BytesIO(raw)):
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            raw = archive.read(next(name for name in archive.namelist() if name.endswith("/data.pkl")))
    stream, found, name = BytesIO(raw), dict[str, np.ndarray](), ""
    while stream.tell() < len(raw):
        for _, value, _ in pickletools.genops(stream):
            if value in _COLUMNS:
                name = str(value)
            elif name and (labels := _labels(value)) is not None:
                found[name], name = labels, ""
    return found


def _labels(value: object) -> np.ndarray | None:
    """The labels in the bytes of an array, which old protocols of pickle hold as a text; None of anything else."""
    if isinstance(value, str):
        value = value.encode("latin-1", errors="ignore")
    if not isinstance(value, (bytes, bytearray)):
        return None
    for width in _WIDTHS:
        if len(value) > width and len(value) % width == 0:
            labels = np.frombuffer(value, dtype=f"<i{width}").astype(np.int64)
            if labels.min() >= 0 and labels.max() < _CLASSES:
                return labels
    return None

"""Image sets as their makers offer them: CIFAR's binary batches and SVHN's `.mat` files. Nothing is unpickled."""

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from askwho.exceptions import InvalidInputError
from askwho_studies.data._damaged import not_the_set

PIXELS = 3 * 32 * 32
"""Bytes of an image: channel after channel, each row by row."""
_FILES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cifar10": {"train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test": ("test_batch.bin",)},
    "cifar100": {"train": ("train.bin",), "test": ("test.bin",)},
    "svhn": {"train": ("train_32x32.mat",), "test": ("test_32x32.mat",)},
}
"""By set and split, in the official order, which labels of other sets go by."""
_CLASSES: Mapping[str, int] = {"cifar10": 10, "cifar100": 100, "svhn": 10}
"""As the makers of each set count them."""
_LABELS: Mapping[str, int] = {"cifar10": 1, "cifar100": 2}
"""Bytes before each image: its class; of CIFAR-100 the coarse class, then the fine one."""
_DAMAGED = (
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
    MatReadError,
)
"""What scipy raises of a `.mat` file that was cut short, or is none."""


def read_split(
    folder: Path, name: str, split: str, *, most: int | None = None
) -> tuple[UInt8[np.ndarray, "n 3072"], Int[np.ndarray, " n"]]:
    """Return the images (n, 3072), channel after channel, and labels (n,) of one split, in the official order.

    Args:
        folder: where the official files lie.
        name: `"cifar10"`, `"cifar100"` or `"svhn"`.
        split: `"train"` or `"test"`.
        most: how many, the first; all unless said.
    """
    paths = [folder / file for file in _FILES[name][split]]
    for path in paths:
        if not path.is_file():
            raise InvalidInputError(f"`data` must hold {name}'s {path.name}, got a folder without it: {str(folder)!r}.")
    images, labels = _mat(paths[0], most) if name == "svhn" else _batches(paths, _LABELS[name], most)
    if len(labels) and int(labels.max()) >= _CLASSES[name]:
        raise not_the_set(paths[0], f"labels below {_CLASSES[name]}, got {int(labels.max())}")
    return images, labels


def check_cifar10(folder: Path, rows: tuple[int, ...]) -> None:
    """Raise where a folder does not hold CIFAR-10 whole."""
    _check(folder, "cifar10", rows)


def check_cifar100(folder: Path, rows: tuple[int, ...]) -> None:
    """Raise where a folder does not hold CIFAR-100 whole."""
    _check(folder, "cifar100", rows)


def check_svhn(folder: Path, rows: tuple[int, ...]) -> None:
    """Raise where a folder does not hold SVHN whole."""
    _check(folder, "svhn", rows)


def _check(folder: Path, name: str, rows: tuple[int, ...]) -> None:
    for split, expected in zip(("train", "test"), rows, strict=True):
        found = len(read_split(folder, name, split)[1])
        if found != expected:
            raise not_the_set(folder, f"{expected} images to {split}, got {found}")


def _batches(paths: list[Path], before: int, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Records of labels and pixels, one after the other; no more are read than are wanted."""
    size = before + PIXELS
    parts: list[np.ndarray] = []
    left = most
    for path in paths:
        records, over = divmod(path.stat().st_size, size)
        if over or not records:
            raise not_the_set(path, f"records of {size} bytes, got {path.stat().st_size} bytes")
        count = records if left is None else min(left, records)
        parts.append(np.fromfile(path, dtype=np.uint8, count=count * size).reshape(count, size))
        left = None if left is None else left - count
    table = np.concatenate(parts)
    return np.ascontiguousarray(table[:, before:]), table[:, before - 1].astype(np.int64)


def _mat(path: Path, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """X of shape (32, 32, 3, n) and y of shape (n, 1), in which the digit 0 is written as 10."""
    try:
        found = loadmat(path, variable_names=("X", "y"))
        X, y = np.asarray(found["X"]), np.asarray(found["y"]).reshape(-1)
    except _DAMAGED as error:
        raise not_the_set(path, f"a whole .mat file with X and y ({type(error).__name__})") from None
    if X.dtype != np.uint8 or X.ndim != 4 or X.shape[:3] != (32, 32, 3) or X.shape[3] != len(y):
        raise not_the_set(path, f"bytes of shape (32, 32, 3, {len(y)}), got {X.dtype} of shape {X.shape}")
    if not np.isin(y, np.arange(1, 11)).all():
        raise not_the_set(path, "labels from 1 to 10")
    images = np.ascontiguousarray(X[..., :most].transpose(3, 2, 0, 1)).reshape(-1, PIXELS)
    return images, y[:most].astype(np.int64) % 10

"""The image sets of the paper, read from their makers' files, or from sheets of tiles."""

import importlib
import io
import json
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int, UInt8

from askwho.exceptions import InvalidInputError, missing_dependency
from askwho_studies.data import SETS, held, read_split, require

# Pixels a side of CIFAR's and SVHN's images, which lie tiled in sheets.
_TILE = 32


@dataclass(frozen=True, eq=False)
class Images:
    """One image set: training images first, in their official order, then test images.

    Args:
        rows: bytes, channel after channel, shape (n, 3072).
        labels: shape (n,).
        n_train: how many of them are for training.
        n_classes: how many labels there are.
        form: `"sheets"` of JPEG, which are near their originals, or `"official"`, which are the originals.
    """

    rows: UInt8[np.ndarray, "n 3072"]
    labels: Int[np.ndarray, " n"]
    n_train: int
    n_classes: int
    form: Literal["official", "sheets"] = "sheets"

    @property
    def exactly(self) -> str:
        """What to add to the name of anything made from these images, so that other bytes are not taken for them."""
        return ", official" if self.form == "official" else ""

    @property
    def described(self) -> str:
        """How many images, and in which form."""
        return f"{len(self.rows)} images{self.exactly}"

    @property
    def train(self) -> Int[np.ndarray, " r"]:
        """Which rows are for training."""
        return np.arange(self.n_train)

    @property
    def test(self) -> Int[np.ndarray, " s"]:
        """Which rows are for testing."""
        return np.arange(self.n_train, len(self.rows))

    @cached_property
    def scale(self) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Mean and deviation of each channel over the training images, 0 to 255."""
        channels = self.rows[: self.n_train].reshape(self.n_train, 3, -1)
        mean = channels.mean(axis=(0, 2), dtype=np.float64)
        square = np.stack([np.square(channels[:, c], dtype=np.float32).mean(dtype=np.float64) for c in range(3)])
        return mean, np.sqrt(square - mean**2)


def read_images(data: Path, name: str, *, most: tuple[int, int] | None = None) -> Images:
    """Return an image set from its official files in `images/<name>`; where these are not, from its sheets.

    Sheets are `images/<name>_train.zip` and `images/<name>_test.zip`: the same images, to JPEG's accuracy.

    Args:
        data: the folder.
        name: of the set.
        most: how many training and test images to read, the first of each; all unless said.
    """
    if name in SETS:
        require(data, [name])
    form = "official" if name in SETS and held(data, name).form == "official" else "sheets"
    sides = [
        read_split(data / SETS[name].folder, name, split, most=limit)
        if form == "official"
        else _side(data / "images" / f"{name}_{split}.zip", split, limit)
        for split, limit in zip(("train", "test"), most or (None, None), strict=True)
    ]
    labels = np.concatenate([y for _, y in sides]).astype(np.int64)
    return Images(np.concatenate([x for x, _ in sides]), labels, len(sides[0][1]), int(labels.max()) + 1, form)


def _side(path: Path, split: str, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, 3072) and labels (n,) of one archive."""
    if not path.is_file():
        raise InvalidInputError(f"`data` must hold images/{path.name}, got {str(path.parents[1])!r}.")
    try:
        picture: Any = importlib.import_module("PIL.Image")
    except ImportError:
        raise missing_dependency("Reading images", "pillow", "plot") from None
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read("meta.json"))
        with np.load(io.BytesIO(archive.read("labels.npz")), allow_pickle=False) as stored:
            labels = stored[f"{split}_y"]
        count = meta["n"] if most is None else min(most, meta["n"])
        sheets = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
        sheets = sheets[: -(-count // meta["per_sheet"])]
        tiles = [_tiles(np.asarray(picture.open(io.BytesIO(archive.read(name))).convert("RGB"))) for name in sheets]
    return np.concatenate(tiles)[:count], labels[:count]


def _tiles(sheet: np.ndarray) -> np.ndarray:
    """The tiles of a sheet, row by row, each as channels first, shape (tiles, 3072)."""
    down, across = sheet.shape[0] // _TILE, sheet.shape[1] // _TILE
    grid = sheet.reshape(down, _TILE, across, _TILE, 3).transpose(0, 2, 4, 1, 3)
    return np.ascontiguousarray(grid).reshape(down * across, 3 * _TILE * _TILE)

"""How a text becomes numbers: the protocol, what a user may give for it, and what comes back of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32

from askwho import _validation as check
from askwho.data._sentences import SentenceEncoder
from askwho.data._text import TextEncoder
from askwho.exceptions import InvalidInputError


@runtime_checkable
class TextEncoding(Protocol):
    """Whatever turns texts into rows of numbers, the same row for the same text; it is not fitted any more."""

    def transform(self, texts: list[str]) -> Float[np.ndarray, "n d"]:
        """Return one row a text, shape (n, d), finite; d is always the same."""
        ...


TextFunction = Callable[[list[str]], Any]
"""The same as a function: texts in, an array of shape (n, d) out."""

EncoderLike = str | Path | TextEncoding | TextFunction
"""What `encoder` may be: `"hashing"`, `"minilm"`, a folder of a model, or one's own object or function."""


def encoder_of(given: EncoderLike, texts: list[str], *, random_state: int) -> TextEncoding | TextFunction:
    """Return the encoder that a user means.

    Args:
        given: `"hashing"`, `"minilm"`, a folder, an object with `transform`, or a function.
        texts: the log's own, on which hashing is fitted.
        random_state: the seed.
    """
    if isinstance(given, str | Path):
        if given == "hashing":
            return TextEncoder.fit(texts, random_state=random_state)
        if given == "minilm":
            return SentenceEncoder.installed()
        if Path(given).is_dir():
            return SentenceEncoder.read(given)
    elif not isinstance(given, type) and (isinstance(given, TextEncoding) or callable(given)):
        return given
    raise InvalidInputError(
        f"`encoder` must be 'hashing', 'minilm', a folder that is there, an object with `transform`, or a function, "
        f"got {given!r}."
    )


def encode(encoder: TextEncoding | TextFunction, texts: list[str]) -> Float32[np.ndarray, "n d"]:
    """Return what an encoder makes of texts, shape (n, d), or say what is wrong with it."""
    given = encoder.transform(texts) if isinstance(encoder, TextEncoding) else encoder(texts)
    rows = np.asarray(given)
    if rows.ndim != 2 or len(rows) != len(texts) or rows.dtype.kind not in "biuf" or not rows.shape[1]:
        raise InvalidInputError(
            f"`encoder` must return numbers of shape ({len(texts)}, d), one row a text, got {rows.dtype} of shape "
            f"{rows.shape}."
        )
    return usable(rows, "encoder")


def usable(rows: np.ndarray, name: str) -> Float32[np.ndarray, "n d"]:
    """Return numbers as float32, the same array where it is one; raise where one is not finite or is too large."""
    if rows.dtype == np.float16:
        # Half precision cannot hold what it is compared with.
        rows = rows.astype(np.float32)
    if not is_usable(rows):
        bad = ~np.isfinite(rows).all(axis=1)
        if bad.any():
            i = int(np.argmax(bad))
            raise InvalidInputError(
                f"`{name}` must be finite, got {rows[i][~np.isfinite(rows[i])][0]} in row {i} ({int(bad.sum())} such "
                "rows): fill or drop them first."
            )
        check.bounded(rows, name)
    return rows.astype(np.float32, copy=False)


def is_usable(rows: np.ndarray) -> bool:
    """Return True where all numbers are finite and none is too large; False where a closer look is needed."""
    # A sum of squares that is finite has finite terms alone: that is one step for what nearly always holds.
    return rows.dtype.kind != "f" or float(np.vdot(rows, rows)) <= check.LARGEST**2

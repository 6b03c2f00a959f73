"""Sentence embeddings of a log's texts, made once and kept in a file that can be carried to another machine.

They are those of all-MiniLM-L6-v2, in half precision: rows of length one lose less than a thousandth of it. A file is
named by the texts it is of, whatever their order, so that all splits of a log share it. To make the files of all logs
beforehand, and to use them where the model is not installed:

    ASKWHO_EMBEDDINGS=FOLDER python -c "from askwho_studies.logs import embed; embed('DATA')"
    ASKWHO_EMBEDDINGS=FOLDER askwho reproduce logs --final ...
"""

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float

from askwho.data import SentenceEncoder
from askwho.exceptions import MissingDependencyError
from askwho_studies._kept import kept
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._split import load_log, log_names

FOLDER = "ASKWHO_EMBEDDINGS"
"""The environment variable that names the folder of the files."""
# Of what is in a file: of another model or precision it is made anew.
_MARK = "all-MiniLM-L6-v2, float16"


def embeddings(texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
    """Return one row a text of a log, shape (n, d), from the file of all its texts; made where it is not there."""
    folder = os.environ.get(FOLDER)
    if not folder:
        raise SkippedError(f"{FOLDER} is not set: a folder for sentence embeddings, made once for all splits")
    distinct = sorted(set(texts))
    rows = _kept(Path(folder), tuple(distinct))
    place = {text: i for i, text in enumerate(distinct)}
    return rows[[place[text] for text in texts]].astype(np.float32)


def embed(data: Path | str) -> None:
    """Make the files of all studied logs that have texts."""
    for name in log_names(Path(data)):
        log = load_log(Path(data), name)
        if log.columns.text is not None:
            embeddings(log.known[log.columns.text].tolist())


@lru_cache(maxsize=1)
def _kept(folder: Path, distinct: tuple[str, ...]) -> np.ndarray:
    digest = hashlib.sha256("\0".join(distinct).encode("utf-8", "surrogatepass")).hexdigest()
    # As many digits as tell any two logs apart.
    return kept(folder / f"{digest[:16]}.npz", _MARK, lambda: {"rows": _made(distinct)})["rows"]


def _made(distinct: Sequence[str]) -> np.ndarray:
    try:
        encoder = SentenceEncoder.installed()
    except MissingDependencyError as missing:
        raise SkippedError(f"{missing} and pip install 'askwho[text]', or carry the file: {FOLDER}") from None
    return encoder.transform(list(distinct)).astype(np.float16)

"""Where the data lies, what of it is there, and the one command that brings what is not."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from askwho.exceptions import InvalidInputError
from askwho_studies.data._sets import RECORD, SETS

FOLDER = Path("askwho-data")
"""Where `askwho data get` puts things, and the studies look for them, unless ASKWHO_DATA or --data says otherwise."""
Form = Literal["official", "sheets", "arrays"]
"""How a set can lie in the folder of data."""


@dataclass(frozen=True)
class Held:
    """What is there of a set.

    Args:
        name: of the set.
        form: `"official"`: the files of its makers; `"sheets"`: JPEG sheets of tiles; `"arrays"`: NumPy's; None where
            nothing is there.
        verified: whether the published sums were checked when it was fetched; None where nobody wrote that down.
        lacking: the official files that are missing, or not as long as they were.
    """

    name: str
    form: Form | None
    verified: bool | None = None
    lacking: tuple[str, ...] = ()


def held(data: Path, name: str) -> Held:
    """Return what a folder of data holds of a set: its official files where all are there, else another form."""
    wanted = SETS[name]
    folder = data / wanted.folder
    lengths, verified = _record(folder)
    lacking = tuple(file for file in wanted.files if not _as_it_was(folder / file, lengths.get(file)))
    if not lacking:
        return Held(name, "official", verified)
    if all((data / other).is_file() for other in wanted.others):
        return Held(name, wanted.form)
    return Held(name, None, lacking=lacking if len(lacking) < len(wanted.files) else ())


def require(data: Path, names: Sequence[str]) -> None:
    """Raise where a set is not there, with the one command that brings all that are missing."""
    missing = [name for name in names if held(data, name).form is None]
    if missing:
        raise InvalidInputError(
            f"`data` must hold {' and '.join(names)}, got {str(data)!r} without {' and '.join(missing)}: type "
            f"`{command(data, missing)}`."
        )


def command(data: Path, names: Sequence[str]) -> str:
    """Return what to type to have some sets.

    >>> command(FOLDER, ["cifar10", "cifar10n"])
    'askwho data get cifar10 cifar10n --unverified'
    """
    words = ["askwho", "data", "get", *names]
    words += [] if all(SETS[name].verified for name in names) else ["--unverified"]
    words += [] if data == FOLDER else ["--data", str(data)]
    return shlex.join(words)


def _record(folder: Path) -> tuple[dict[str, int], bool | None]:
    """How long each file was, and whether all sums were checked, as it was written down when they were fetched."""
    try:
        stored = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return dict(stored["files"]), all(each["verified"] for each in stored["archives"])
    except (KeyError, OSError, TypeError, ValueError):
        return {}, None


def _as_it_was(path: Path, length: int | None) -> bool:
    return path.is_file() and (length is None or path.stat().st_size == length)

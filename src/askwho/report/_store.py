"""The report and its figures on disk: killed at any moment, the old ones or the new.

A figure's name carries a piece of its checksum, and the page, which names the figures, is replaced in one step after
they are all there: so a page never names a figure of another run.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from askwho._files import write_atomically
from askwho.exceptions import InvalidInputError

# What this module calls a figure: only such files are cleared away, and none that somebody else put there.
_NAME = re.compile(r"^[a-z]+\.[0-9a-f]{12}\.(png|svg)$")


def checked(out: str | Path) -> Path:
    """Return the path of a report, or say why none can be written there."""
    path = Path(out)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"`out` must end in .html, got {str(path)!r}.")
    if not path.resolve().parent.is_dir():
        raise InvalidInputError(f"`out` must lie in a folder that is there, got {str(path)!r}.")
    if path.is_dir():
        raise InvalidInputError(f"`out` must be a file, got {str(path)!r}: there is a folder of that name.")
    folder = folder_of(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"`out` must leave room for its figures, got {str(path)!r}: {folder.name!r} is a file.")
    return path


def folder_of(out: Path) -> Path:
    """Return where the figures of a report lie."""
    return out.with_name(f"{out.stem}_figures")


def write(out: Path, figures: Mapping[str, bytes], page: Callable[[Mapping[str, str]], str]) -> tuple[Path, ...]:
    """Write the figures and the page that names them; return where the figures are.

    Args:
        out: where the page goes, from `checked`.
        figures: by name and ending, such as `frontier.png`.
        page: from those names to the figures' addresses beside the page, to its text.
    """
    folder, fresh = folder_of(out), not folder_of(out).exists()
    stored = {name: _stored(name, data) for name, data in figures.items()}
    text = page({name: f"{quote(folder.name)}/{file}" for name, file in stored.items()})
    made: list[Path] = []
    try:
        if stored:
            folder.mkdir(exist_ok=True)
        for name, file in stored.items():
            if not (folder / file).exists():
                made.append(folder / file)
            write_atomically(folder / file, figures[name])
        write_atomically(out, text.encode())
    except BaseException:
        with contextlib.suppress(OSError):
            # Stopped between the page's own step and here, the page is the new one and needs its figures.
            if not out.is_file() or out.read_bytes() != text.encode():
                for path in made:
                    path.unlink(missing_ok=True)
                if fresh:
                    folder.rmdir()
        raise
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in stored.values() and _NAME.match(path.name):
            path.unlink()
    return tuple(folder / file for file in stored.values())


def _stored(name: str, data: bytes) -> str:
    stem, suffix = name.rsplit(".", 1)
    return f"{stem}.{hashlib.sha256(data).hexdigest()[:12]}.{suffix}"

"""Files that are there whole or not at all, and lines of a journal that are."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal of JSON up to the first that was cut off; nothing where there is none."""
    if not path.exists():
        return []
    found: list[dict[str, Any]] = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(text))
        except ValueError:
            break
    return found

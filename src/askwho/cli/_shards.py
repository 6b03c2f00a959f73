"""Routes in numbered parts: a run that was killed goes on where it stopped, to the same bytes."""

import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from askwho._files import write_atomically
from askwho.data import files_of, write_batches
from askwho.exceptions import InvalidInputError

# Other programs, and our own reading of folders, take what begins with an underscore for no part of the table.
_MANIFEST, _JOURNAL = "_manifest.json", "_parts.jsonl"

Item = TypeVar("Item")


class Shards:
    """A folder of parts of one table, each there whole or not at all.

    The manifest says what the parts are of; a line of the journal stands for each part that is there, with its sums.

    Args:
        folder: made where there is none.
        run: what the parts are made of and how, as JSON: another run does not go on with them.
    """

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        self.folder, self.run = folder, dict(run)
        _make(folder)
        if (folder / _MANIFEST).exists():
            self._check_same()
        elif any(folder.iterdir()):
            raise InvalidInputError(f"`--out` must be a folder of its own for --shard-rows, got {str(folder)!r}.")
        else:
            self._say({"complete": False})
        self.sums = self._kept()

    def skip(self, items: Iterator[Item]) -> Iterator[Item]:
        """Return the items whose parts are not there yet."""
        return islice(items, len(self.sums), None)

    def write(self, columns: Mapping[str, Any], sums: Mapping[str, float], *, types: Mapping[str, type]) -> None:
        """Write the next part, and then that it is there."""
        path = self._part(len(self.sums))
        write_batches(path, [columns], types=types)
        with (self.folder / _JOURNAL).open("a", encoding="utf-8", newline="\n") as journal:
            journal.write(json.dumps({"bytes": path.stat().st_size, **sums}) + "\n")
            journal.flush()
            os.fsync(journal.fileno())
        self.sums.append(dict(sums))

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:06}.parquet"

    def finish(self) -> dict[str, float]:
        """Write down that every part is there; return the sums of all."""
        total: dict[str, float] = {}
        for sums in self.sums:
            for name, value in sums.items():
                total[name] = total.get(name, 0) + value
        self._say({"complete": True, "parts": len(self.sums), **total})
        return total

    def _say(self, found: Mapping[str, Any]) -> None:
        text = json.dumps({"run": self.run, **found}, indent=2) + "\n"
        write_atomically(self.folder / _MANIFEST, text.encode())

    def _check_same(self) -> None:
        try:
            before = json.loads((self.folder / _MANIFEST).read_text(encoding="utf-8"))["run"]
        except (KeyError, TypeError, ValueError):
            before = {}
        changed = sorted(name for name in {*before, *self.run} if before.get(name) != self.run.get(name))
        if changed:
            raise InvalidInputError(
                f"`--out` must be a folder of the same run, got {str(self.folder)!r}, which differs in "
                f"{', '.join(changed)}: take another folder, or remove it."
            )

    def _kept(self) -> list[dict[str, float]]:
        """The sums of the parts that are there whole, up to the first that is not; the journal keeps no others."""
        journal = self.folder / _JOURNAL
        lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
        found: list[dict[str, float]] = []
        for number, line in enumerate(lines):
            part = self._part(number)
            said = json.loads(line) if line.endswith(b"\n") else None
            if said is None or not part.is_file() or part.stat().st_size != said.pop("bytes"):
                write_atomically(journal, b"".join(lines[:number]))
                break
            found.append(said)
        return found


def _make(folder: Path) -> None:
    """Make a folder for parts, without what a run that was killed had not finished writing."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"`--out` must be a folder for --shard-rows, got {str(folder)!r}: {error}.") from None
    for partial in folder.glob(".*.partial"):
        partial.unlink()


def facts_of(path: Path, name: str) -> list[list[Any]]:
    """Return what tells the files of a table from others or from changed ones: names, sizes, and when they changed."""
    files = [file for file in files_of(path, name) if file.is_file()]
    return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]

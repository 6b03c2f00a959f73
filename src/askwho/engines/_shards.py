"""Routes in numbered parts: a run that was killed goes on where it stopped, to the same bytes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from askwho.data import Folder, StoredFile, files_of, folder_at, seekable, write_batches
from askwho.exceptions import FailedError, InvalidInputError

# Other programs, and our own reading of folders, take what begins with an underscore for no part of the table.
_MANIFEST = "_manifest.json"
# Under this name a part says what its rows sum up to.
_SUMS = "askwho.sums"


class Shards:
    """A folder of parts of one table, each there whole or not at all, with the sums over its rows in it.

    The manifest says what the parts are of, and in the end that all are there.

    Args:
        folder: made where there is none; a URI, too.
        run: what the parts are made of and how, as JSON: another run does not go on with them.
    """

    def __init__(self, folder: str | Path, run: Mapping[str, Any]) -> None:
        self.folder, self.run = folder_at(folder), dict(run)
        _make(self.folder)
        there = self.folder.names()
        if _MANIFEST in there:
            self._check_same()
        elif there:
            raise InvalidInputError(f"`--out` must be a folder of its own for --shard-rows, got {str(folder)!r}.")
        else:
            self._say({"complete": False})

    def done(self) -> dict[int, dict[str, float]]:
        """Return the sums of the parts that are there, by their numbers; whoever wrote them."""
        found: dict[int, dict[str, float]] = {}
        for name in self.folder.names("part-*.parquet"):
            sums = _sums_in(self.folder.file(name))
            if sums is not None:
                found[int(name.removeprefix("part-").removesuffix(".parquet"))] = sums
        return found

    def finish(self, parts: int) -> dict[str, float]:
        """Write down that so many parts are all that there are to be; return the sums of all."""
        done, total = self.done(), dict[str, float]()
        missing = [number for number in range(parts) if number not in done]
        if missing:
            raise FailedError(
                f"{len(missing)} of {parts} parts are not there, the first is {missing[0]}: run it again."
            )
        for number in range(parts):
            for name, value in done[number].items():
                total[name] = total.get(name, 0) + value
        self._say({"complete": True, "parts": parts, **total})
        return total

    def _say(self, found: Mapping[str, Any]) -> None:
        text = json.dumps({"run": self.run, **found}, indent=2) + "\n"
        self.folder.write(_MANIFEST, text.encode())

    def _check_same(self) -> None:
        try:
            before = json.loads(self.folder.read(_MANIFEST))["run"]
        except (KeyError, TypeError, ValueError):
            before = {}
        changed = sorted(name for name in {*before, *self.run} if before.get(name) != self.run.get(name))
        if changed:
            raise InvalidInputError(
                f"`--out` must be a folder of the same run, got {str(self.folder)!r}, which differs in "
                f"{', '.join(changed)}: take another folder, or remove it."
            )


def write_part(
    folder: str, number: int, columns: Mapping[str, Any], sums: Mapping[str, float], *, types: Mapping[str, type]
) -> None:
    """Write one part with its sums; any worker may, and to the same bytes once more."""
    write_batches(_part(folder, number), [columns], types=types, facts={_SUMS: json.dumps(sums)})


def is_there(folder: str, number: int) -> bool:
    """Return whether a part is there whole."""
    return _sums_in(_part(folder, number)) is not None


def facts_of(source: str | Path, name: str) -> list[list[Any]]:
    """Return what tells the files of a table from others or from changed ones: names, sizes, and when they changed."""
    return [[file.name, *_changed(file)] for file in files_of(source, name) if file.is_file()]


def _changed(file: Path | StoredFile) -> tuple[int, int]:
    """How many bytes a file has, and when it changed."""
    if isinstance(file, StoredFile):
        return file.facts
    return file.stat().st_size, file.stat().st_mtime_ns


def _part(folder: str, number: int) -> Path | StoredFile:
    return folder_at(folder).file(f"part-{number:06}.parquet")


def _sums_in(path: Path | StoredFile) -> dict[str, float] | None:
    """What a part says of itself; None where it is not there, or cut off: Parquet ends with what it says."""
    try:
        return json.loads(pa_parquet.read_metadata(seekable(path)).metadata[_SUMS.encode()])
    except (pa.ArrowException, KeyError, OSError, TypeError, ValueError):
        return None


def _make(folder: Folder) -> None:
    """Make a folder for parts, without what a run that was killed had not finished writing."""
    try:
        folder.make()
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(f"`--out` must be a folder for --shard-rows, got {str(folder)!r}: {error}.") from None

"""Files that lie in an object store, or wherever else a URI leads: s3://, gs://, abfs://, hdfs://, file://."""

import fnmatch
import io
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

import pyarrow as pa
from pyarrow import fs

from askwho.exceptions import InvalidInputError

# A scheme has two letters or more: one alone is a disk. A path that was made of a URI has lost a slash.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
# What makes a name a pattern.
_MARKS = "*?["


@dataclass(frozen=True)
class StoredFile:
    """A file of a store, with the face of a path as far as tables are read from one.

    Args:
        store: that holds it.
        path: its place there.
        uri: how it was named.
    """

    store: Any
    path: str
    uri: str

    @property
    def name(self) -> str:
        """The last piece of its path."""
        return PurePosixPath(self.path).name

    @cached_property
    def _info(self) -> Any:  # noqa: ANN401 - Arrow's
        return self.store.get_file_info(self.path)

    @property
    def facts(self) -> tuple[int, int]:
        """How many bytes it has, and when it changed."""
        return int(self._info.size or 0), int(self._info.mtime_ns or 0)

    def is_file(self) -> bool:
        """Return whether it is there."""
        return self._info.type == fs.FileType.File

    def __str__(self) -> str:
        return self.uri


File = Path | StoredFile
"""One file of a table: on this machine, or in a store."""


def size_of(file: File) -> int:
    """Return how many bytes a file has."""
    return file.facts[0] if isinstance(file, StoredFile) else file.stat().st_size


def is_uri(source: str | Path) -> bool:
    """Return whether a source is named by a URI; on this machine a name with a colon is no file of a folder."""
    return _URI.fullmatch(str(source)) is not None


def whole(source: str | Path) -> str:
    """Return a source so that any worker finds it: a URI, or the whole path."""
    return str(source) if is_uri(source) else str(Path(source).resolve())


def stored_files(source: str | Path, name: str) -> list[StoredFile]:
    """Return the files that a URI means, sorted: one, those of a folder, or those that its last piece matches."""
    uri, pattern, query = _parted(source)
    try:
        store, path = fs.FileSystem.from_uri(uri + query)
        info = store.get_file_info(path)
        if pattern is None and info.type != fs.FileType.Directory:
            return [StoredFile(store, path, uri)]
        inside = store.get_file_info(fs.FileSelector(path, allow_not_found=True))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInputError(
            f"`{name}` must be a URI that can be reached, got {str(source)!r}: {str(error).splitlines()[0]}"
        ) from None
    found = sorted(
        (each.path, each.base_name)
        for each in inside
        if each.type == fs.FileType.File
        and not each.base_name.startswith((".", "_"))
        and (pattern is None or fnmatch.fnmatchcase(each.base_name, pattern))
    )
    if not found:
        what = "a folder of files" if pattern is None else "a pattern of files"
        raise InvalidInputError(f"`{name}` must be {what}, got {str(source)!r}: there is none.")
    return [StoredFile(store, path, f"{uri.rstrip('/')}/{base}") for path, base in found]


def store_at(source: str | Path, name: str) -> StoredFile:
    """Return the place that a URI means, whether or not anything is there; no letter of it is a pattern."""
    uri, query = _with_slashes(source)
    try:
        store, path = fs.FileSystem.from_uri(uri + query)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInputError(
            f"`{name}` must be a URI that can be reached, got {str(source)!r}: {str(error).splitlines()[0]}"
        ) from None
    return StoredFile(store, path, uri)


def entries_of(folder: StoredFile) -> list[str]:
    """Return the names of what lies in a folder of a store."""
    return [each.base_name for each in folder.store.get_file_info(fs.FileSelector(folder.path, allow_not_found=True))]


def _parted(source: str | Path) -> tuple[str, str | None, str]:
    """A URI without the pattern at its end, that pattern, and what it says to the store."""
    uri, query = _with_slashes(source)
    head, _, last = uri.rpartition("/")
    pattern = last if any(each in last for each in _MARKS) else None
    return uri if pattern is None else head, pattern, query


def _with_slashes(source: str | Path) -> tuple[str, str]:
    """A URI with all its slashes, and what it says to the store."""
    found = _URI.fullmatch(str(source))
    assert found is not None  # noqa: S101 - looked at before
    scheme, rest = found.groups()
    rest, mark, query = rest.partition("?")
    start = f"{scheme}:///" if scheme.lower() == "file" else f"{scheme}://"
    return start + rest, mark + query


def seekable(file: File) -> Any:  # noqa: ANN401 - what Arrow's readers take
    """Return what Arrow reads from anywhere in a file."""
    return file.store.open_input_file(file.path) if isinstance(file, StoredFile) else file


def streamed(file: File) -> Any:  # noqa: ANN401 - what Arrow's readers take
    """Return what Arrow reads from its beginning, unpacked where its name says that it is packed."""
    return file.store.open_input_stream(file.path) if isinstance(file, StoredFile) else str(file)


def lines_of(file: StoredFile) -> io.TextIOWrapper:
    """Return the lines of a file of a store, unpacked where its name says that it is packed."""
    stream = file.store.open_input_stream(file.path)
    return io.TextIOWrapper(cast("BinaryIO", stream), encoding="utf-8-sig", newline="\n")

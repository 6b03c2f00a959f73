"""Where files are written, on this machine or in a store: under another name first, then there whole or not at all."""

import contextlib
import fnmatch
import os
from collections.abc import Generator
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from askwho._files import write_atomically
from askwho.data._stores import StoredFile, entries_of, is_uri, store_at
from askwho.exceptions import InvalidInputError


class LocalOutput:
    """A file of this machine that is being written.

    Args:
        path: where it will be.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.partial = path, path.with_name(_partial(path.name))

    @property
    def ending(self) -> str:
        """What its name ends in, in small letters."""
        return self.path.suffix.lower()

    def check(self) -> None:
        """Raise where it cannot be."""
        if not self.path.resolve().parent.is_dir():
            raise InvalidInputError(f"`out` must lie in a folder that is there, got {str(self.path)!r}.")

    def sink(self) -> Any:  # noqa: ANN401 - what Arrow's writers take
        """Return what Arrow's writers write to."""
        return pa.OSFile(str(self.partial), "wb")

    def keep(self) -> None:
        """Put what was written where it belongs."""
        self.partial.replace(self.path)

    def leave(self) -> None:
        """Remove what was written and not kept."""
        self.partial.unlink(missing_ok=True)

    def __str__(self) -> str:
        return str(self.path)


class StoredOutput:
    """A file of a store that is being written; what is there under its name is replaced when it is whole.

    An object store copies it then within itself, under its own limits: 5 GB in S3.

    Args:
        file: where it will be.
    """

    def __init__(self, file: StoredFile) -> None:
        self.file = file
        self._partial = str(PurePosixPath(file.path).with_name(_partial(file.name)))

    @property
    def ending(self) -> str:
        """What its name ends in, in small letters."""
        return PurePosixPath(self.file.name).suffix.lower()

    def check(self) -> None:
        """Nothing: a store says what is wrong when it is written to."""

    def sink(self) -> Any:  # noqa: ANN401
        """Return what Arrow's writers write to."""
        return self.file.store.open_output_stream(self._partial)

    def keep(self) -> None:
        """Put what was written where it belongs."""
        self.file.store.move(self._partial, self.file.path)

    def leave(self) -> None:
        """Remove what was written and not kept."""
        # Where nothing was written there is nothing to remove, and a store that cannot be reached has been told of.
        with contextlib.suppress(pa.ArrowException, OSError):
            self.file.store.delete_file(self._partial)

    def __str__(self) -> str:
        return str(self.file)


Output = LocalOutput | StoredOutput
"""A file that is being written."""


def output_at(place: str | Path | StoredFile) -> Output:
    """Return a file to be written, by a path or a URI."""
    if isinstance(place, StoredFile):
        return StoredOutput(place)
    return StoredOutput(store_at(place, "out")) if is_uri(place) else LocalOutput(Path(place))


class LocalFolder:
    """A folder of this machine to write files into.

    Args:
        place: where it is.
    """

    def __init__(self, place: Path) -> None:
        self.place = place

    def make(self) -> None:
        """Make it, where it is not there, and remove what somebody who was killed had not finished writing."""
        self.place.mkdir(exist_ok=True)
        for partial in self.place.glob(".*.partial"):
            partial.unlink()

    def names(self, pattern: str = "*") -> list[str]:
        """Return the names of what is there, sorted, those that begin with a dot too."""
        return sorted(path.name for path in self.place.iterdir() if fnmatch.fnmatchcase(path.name, pattern))

    def file(self, name: str) -> Path:
        """Return a file of it, there or not."""
        return self.place / name

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        return (self.place / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        write_atomically(self.place / name, data)

    def __str__(self) -> str:
        return str(self.place)


class StoredFolder:
    """A folder of a store, or what a store has in place of one.

    Args:
        root: its place in the store.
    """

    def __init__(self, root: StoredFile) -> None:
        self.root = root

    def make(self) -> None:
        """Make it, where it is not there, and remove what somebody who was killed had not finished writing."""
        self.root.store.create_dir(self.root.path, recursive=False)
        for name in self.names(".*.partial"):
            self.root.store.delete_file(self.file(name).path)

    def names(self, pattern: str = "*") -> list[str]:
        """Return the names of what is there, sorted, those that begin with a dot too."""
        return sorted(name for name in entries_of(self.root) if fnmatch.fnmatchcase(name, pattern))

    def file(self, name: str) -> StoredFile:
        """Return a file of it, there or not."""
        root = self.root
        return StoredFile(root.store, f"{root.path.rstrip('/')}/{name}", f"{root.uri.rstrip('/')}/{name}")

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        with self.root.store.open_input_stream(self.file(name).path) as stream:
            return stream.read()

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        with writing(output_at(self.file(name))) as sink:
            sink.write(data)

    def __str__(self) -> str:
        return str(self.root)


Folder = LocalFolder | StoredFolder
"""A folder to write files into."""


def folder_at(place: str | Path) -> Folder:
    """Return a folder to write files into, by a path or a URI."""
    return StoredFolder(store_at(place, "--out")) if is_uri(place) else LocalFolder(Path(place))


@contextlib.contextmanager
def writing(output: Output) -> Generator[Any]:
    """Yield what to write to, and put it where it belongs; or leave nothing behind."""
    try:
        sink = output.sink()
        try:
            yield sink
        finally:
            sink.close()
        output.keep()
    finally:
        output.leave()


def _partial(name: str) -> str:
    return f".{name}.{os.getpid()}.partial"

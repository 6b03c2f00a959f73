"""A public set, fetched and unpacked to where the studies look for it."""

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from urllib.parse import quote

from askwho._validation import one_of
from askwho.exceptions import FailedError, InvalidInputError
from askwho_studies.data._fetch import Progress, checksum, fetch, room_for
from askwho_studies.data._place import FOLDER, held
from askwho_studies.data._sets import RECORD, SETS, Archive, PublicSet
from askwho_studies.data._unpack import unpack

_DOWNLOADS = ".downloads"
"""Under the folder of data: archives on their way, which are removed once they are unpacked."""


def get(
    names: Sequence[str],
    *,
    data: Path | None = None,
    mirror: str | None = None,
    unverified: bool = False,
    progress: Progress,
    wait: Callable[[float], None] = time.sleep,
) -> list[Path]:
    """Fetch some sets; return the folder of each. A set that is there is left as it is.

    Args:
        names: of the sets.
        data: the folder of data, made where it is not there; `askwho-data` unless said.
        mirror: an address under which the archives lie by their own names; their makers' unless said.
        unverified: whether to fetch what nobody published a sum of. Published sums are checked in any case.
        progress: called with a line of text as it goes on.
        wait: called with seconds before another try.
    """
    for name in names:
        one_of(name, "name", list(SETS))
    place = FOLDER if data is None else data
    unsure = [name for name in names if not SETS[name].verified and held(place, name).form != "official"]
    if unsure and not unverified:
        raise InvalidInputError(
            f"`unverified` must be said to fetch {' and '.join(unsure)}: nobody published a checksum of it, so nothing "
            "tells whether what comes is what its makers put there. Add --unverified to take it as it comes."
        )
    return [_get(SETS[name], place, mirror, progress, wait) for name in dict.fromkeys(names)]


def _get(wanted: PublicSet, data: Path, mirror: str | None, progress: Progress, wait: Callable[[float], None]) -> Path:
    folder = data / wanted.folder
    progress(f"{wanted.name}: {wanted.holds}")
    progress(f"from {wanted.page}; licence: {wanted.licence}")
    if held(data, wanted.name).form == "official":
        progress(f"{wanted.name} is there: {folder}")
        return folder
    downloads = data / _DOWNLOADS
    downloads.mkdir(parents=True, exist_ok=True)
    with _alone(downloads / f"{wanted.name}.lock"):
        paths = [
            fetch(archive, downloads, url=_address(archive, mirror), progress=progress, wait=wait)
            for archive in wanted.archives
        ]
        _settle(wanted, paths, folder, mirror)
        for path in paths:
            path.unlink()
    with contextlib.suppress(OSError):
        downloads.rmdir()  # unless another set is on its way
    progress(f"{wanted.name} in {folder}")
    return folder


def _settle(wanted: PublicSet, paths: list[Path], folder: Path, mirror: str | None) -> None:
    """Unpack archives beside the folder, look at what came, and only then give it the folder's name."""
    free = shutil.disk_usage(paths[0].parent).free
    if free < wanted.room:
        raise FailedError(
            f"{wanted.name} needs {wanted.room:,} bytes to be unpacked, got room for {free:,}: make room, and the same "
            "command goes on from here."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = (folder.with_name(f".{folder.name}.{state}") for state in ("partial", "old"))
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir()
    try:
        with room_for(wanted.name):
            _fill(wanted, paths, new, mirror)
        if folder.exists():
            folder.replace(old)
        new.replace(folder)
    except InvalidInputError as error:
        # The next run must not take it up again.
        for path in paths:
            path.unlink()
        raise FailedError(
            f"{wanted.name} must be what its makers offer, got something else from {mirror or wanted.page}, which was "
            f"removed: run the same command again, or name another --mirror. {error}"
        ) from None
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


def _fill(wanted: PublicSet, paths: list[Path], new: Path, mirror: str | None) -> None:
    """Put a set's files into a folder, with a record of whence they came; raise where they are not the set."""
    for archive, path in zip(wanted.archives, paths, strict=True):
        if archive.members:
            unpack(path, archive.members, new)
        else:
            shutil.copyfile(path, new / archive.name)
    wanted.check(new, wanted.rows)
    record = json.dumps(_record(wanted, paths, new, mirror), indent=1)
    (new / RECORD).write_text(record, encoding="utf-8")


def _record(wanted: PublicSet, paths: list[Path], new: Path, mirror: str | None) -> dict[str, object]:
    return {
        "set": wanted.name,
        "page": wanted.page,
        "licence": wanted.licence,
        "archives": [
            {
                "name": archive.name,
                "from": _address(archive, mirror),
                "sha256": checksum(path, "sha256"),
                "verified": archive.sum is not None,
                "sum": None if archive.sum is None else f"{archive.sum.kind}:{archive.sum.value}",
                "sum cited from": None if archive.sum is None else archive.sum.cited,
            }
            for archive, path in zip(wanted.archives, paths, strict=True)
        ],
        "files": {file: (new / file).stat().st_size for file in wanted.files},
    }


def _address(archive: Archive, mirror: str | None) -> str:
    return archive.url if mirror is None else f"{mirror.rstrip('/')}/{quote(archive.name)}"


@contextlib.contextmanager
def _alone(lock: Path) -> Generator[None]:
    """Keep other processes from writing to the same files; a process that dies lets go."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        yield
        return
    with lock.open("wb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FailedError(
                f"{lock.stem} must be fetched by one process at a time, got another that does: wait for it, and type "
                "the command again."
            ) from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

"""A file from the web, resumed where it was cut, whole or not at all."""

import errno
import hashlib
import http.client
import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from askwho._files import write_atomically
from askwho.exceptions import FailedError, InvalidInputError
from askwho_studies.data._sets import Archive

Progress = Callable[[str], None]

TRIES = 5
"""So many in a row that bring nothing new: then somebody has to look."""
_PAUSES = (1.0, 2.0, 5.0, 10.0)
"""Seconds before the next try: a server that is restarted is back by the last."""
_BLOCK = 1 << 20
"""Bytes a read: the most that a cut connection loses, and few enough that progress is seen."""
_SILENCE = 60.0
"""Seconds without a byte that count as a cut connection."""
_LARGEST = 1 << 30
"""Bytes that no archive comes near: a server that sends more sends something else."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a write fails with where there is no room."""
_LATER = (http.HTTPStatus.REQUEST_TIMEOUT, http.HTTPStatus.TOO_MANY_REQUESTS)
"""Refusals that hold for now only."""


@dataclass(frozen=True)
class _Reply:
    """What a server is about to send.

    Args:
        start: the place in the file that it begins at.
        total: the length of the whole file; None where it is not told.
        version: what tells this file from a later one of the same address; empty where nothing does.
    """

    start: int
    total: int | None
    version: str


def fetch(
    archive: Archive,
    place: Path,
    *,
    url: str,
    progress: Progress,
    wait: Callable[[float], None] = time.sleep,
) -> Path:
    """Return the file, fetched whole into a folder; a part that is there already is gone on from.

    Args:
        archive: what to fetch. Where it has a sum, a file with another is removed and refused.
        place: the folder; the file is called `<name>.partial` there until it is whole.
        url: where from.
        progress: called with a line of text now and then.
        wait: called with seconds before the next try.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidInputError(f"`mirror` must be an address of the web, http or https, got {url!r}.")
    done, partial = place / archive.name, place / f"{archive.name}.partial"
    failed, most = 0, _length(partial)
    while not done.exists():
        try:
            if _go_on(archive, partial, url, progress):
                _whole(archive, partial, done, url)
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            failed, most = (failed + 1, most) if _length(partial) <= most else (1, _length(partial))
            told = str(getattr(error, "reason", error)) if type(error) is urllib.error.URLError else str(error)
            if failed == TRIES or _final(error):
                raise FailedError(
                    f"{archive.name} must come from {url}, got {_length(partial):,} bytes of it, then: {told}. What "
                    "came is kept: the same command goes on from there; --mirror names another address."
                ) from None
            progress(f"{archive.name}: {told}; trying again")
            wait(_PAUSES[min(failed, len(_PAUSES)) - 1])
    return done


def _go_on(archive: Archive, partial: Path, url: str, progress: Progress) -> bool:
    """Add to the part that is there; return whether it is the whole now."""
    have = _length(partial)
    with _ask(archive, partial, url) as body:
        reply = _reply(body, have)
        if reply is None:
            if not have:
                raise ConnectionError(f"status {body.status} for a file asked for from its beginning")
            # The part is no part of what lies there now: begin again.
            _forget(partial)
            return False
        if have and reply.start == reply.total:
            return True
        total = reply.total
        _room(partial.parent, (total or archive.size) - reply.start, archive.name)
        write_atomically(_version_of(partial), json.dumps({"url": url, "version": reply.version}).encode())
        with room_for(archive.name), partial.open("r+b" if reply.start else "wb") as stream:
            stream.seek(reply.start)
            stream.truncate()
            at = reply.start
            told = 10 * at // total if total else 0
            if at:
                progress(f"{archive.name}: going on from byte {at:,}")
            while block := body.read(_BLOCK):
                stream.write(block)
                at += len(block)
                if at > _LARGEST:
                    stream.truncate(0)
                    raise FailedError(f"{archive.name} must have about {archive.size:,} bytes, got over {_LARGEST:,}.")
                if total and 10 * at // total > told:
                    told = 10 * at // total
                    progress(f"{archive.name}: {at:,} of {total:,} bytes")
    if total is not None and at < total:
        raise ConnectionError(f"the connection was cut {total - at:,} bytes before the end")
    return True


def _ask(archive: Archive, partial: Path, url: str) -> http.client.HTTPResponse | urllib.error.HTTPError:
    """Ask for the rest, where a part is there that can be trusted to be of the same file; else for all of it."""
    request = urllib.request.Request(url, headers={"User-Agent": "askwho", "Accept-Encoding": "identity"})  # noqa: S310 - `fetch` has looked at the scheme
    have = _length(partial)
    if have:
        version = _version(partial, url)
        if version:
            request.add_header("If-Range", version)
        # Without a version only the published sum can tell whether both parts are of one file.
        if version or archive.sum is not None:
            request.add_header("Range", f"bytes={have}-")
    try:
        return urllib.request.urlopen(request, timeout=_SILENCE)  # noqa: S310 - `fetch` has looked at the scheme
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return error
        raise


def _reply(body: http.client.HTTPResponse | urllib.error.HTTPError, have: int) -> _Reply | None:
    """What a server is about to send; None where what is asked for is not there, and all must be asked for anew."""
    version = body.headers.get("ETag") or body.headers.get("Last-Modified") or ""
    # A weak tag says that two files mean the same, not that their bytes are the same.
    version = "" if version.startswith("W/") else version
    if body.status == http.HTTPStatus.PARTIAL_CONTENT:
        start, total = _range(body.headers.get("Content-Range", ""))
        return _Reply(start, total, version) if start == have else None
    if body.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        whole = _range(body.headers.get("Content-Range", ""))[1] == have
        return _Reply(have, have, version) if whole else None
    length = body.headers.get("Content-Length")
    return _Reply(0, int(length) if length and length.isdecimal() else None, version)


def _range(text: str) -> tuple[int, int | None]:
    """The first byte, or -1, and the length, or None, of a header such as `bytes 100-199/200` or `bytes */200`."""
    span, _, total = text.removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return int(start) if start.isdecimal() else -1, int(total) if total.isdecimal() else None


def _whole(archive: Archive, partial: Path, done: Path, url: str) -> None:
    """Give a whole file its name, or remove it where its sum is not the published one."""
    if archive.sum is not None:
        found = checksum(partial, archive.sum.kind)
        if found != archive.sum.value:
            _forget(partial)
            raise FailedError(
                f"{archive.name} must have the {archive.sum.kind} sum {archive.sum.value}, as {archive.sum.cited} says,"
                f" got {found} from {url}: it was removed. Run the same command again, or name another --mirror."
            )
    partial.replace(done)
    _version_of(partial).unlink(missing_ok=True)


def checksum(path: Path, kind: str) -> str:
    """Return the sum of a file, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


@contextmanager
def room_for(name: str) -> Generator[None]:
    """Say what to do where what is written within finds the disk full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise FailedError(
            f"{name} needs more room, got a full disk. What came is kept: make room, and the same command goes on."
        ) from None


def _room(place: Path, wanted: int, name: str) -> None:
    free = shutil.disk_usage(place).free
    if free < wanted:
        raise FailedError(
            f"{name} needs {wanted:,} bytes more, got room for {free:,} in {str(place)!r}: make room, or name another "
            "--data."
        )


def _final(error: Exception) -> bool:
    """Whether trying again is of no use: the server has said that it will not send this file."""
    return isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code not in _LATER


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _version_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.json")


def _version(partial: Path, url: str) -> str:
    """The version of the file that the part is of; empty where it is not known, or of another address."""
    try:
        stored = json.loads(_version_of(partial).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(stored["version"]) if stored.get("url") == url else ""


def _forget(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    _version_of(partial).unlink(missing_ok=True)

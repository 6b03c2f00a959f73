"""The files of a tar archive that are wanted, and no others."""

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from askwho.exceptions import InvalidInputError


def unpack(path: Path, members: Mapping[str, str], into: Path) -> None:
    """Write some members of an archive into a folder, each under the name that `members` gives it.

    Names in the archive choose nothing: a member is compared with those that are wanted, and its bytes go to a file of
    ours. An archive with a member that points out of it was not made by the set's makers, and is refused whole.
    """
    left = dict(members)
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts or "\\" in member.name:
                    raise _refused(path, f"members inside of it, got {member.name!r}")
                file = left.pop(str(name), None)
                if file is None:
                    continue
                source = archive.extractfile(member) if member.isreg() else None
                if source is None:
                    raise _refused(path, f"the file {member.name!r}, got a link or a folder of that name")
                with source, (into / file).open("xb") as target:
                    shutil.copyfileobj(source, target)
    except (EOFError, gzip.BadGzipFile, tarfile.TarError, zlib.error) as error:
        raise _refused(path, f"a whole tar archive ({error})") from None
    if left:
        raise _refused(path, f"{', '.join(sorted(left))}, got an archive without")


def _refused(path: Path, expected: str) -> InvalidInputError:
    return InvalidInputError(f"`{path.name}` must hold {expected}.")

"""A saved policy that each worker of an engine loads once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from askwho.exceptions import InvalidInputError
from askwho.persistence import digest, load
from askwho.policy import Policy


@dataclass(frozen=True)
class Artefact:
    """Where a policy lies, and which one: every worker must see the folder.

    Args:
        folder: as `save` wrote it.
        digest: its checksum; another policy that took its place in the meantime is refused.
        allow: which parts of your own may be imported.
    """

    folder: str
    digest: str
    allow: tuple[str, ...] = ()

    @classmethod
    def at(cls, folder: str | Path, *, allow: Sequence[str] = ()) -> "Artefact":
        """Return the policy that lies in a folder now."""
        # A worker may run elsewhere.
        return cls(str(Path(folder).resolve()), digest(folder), tuple(allow))

    def load(self) -> Policy:
        """Return the policy, read when it is first asked for."""
        return self._loaded

    @cached_property
    def _loaded(self) -> Policy:
        if digest(self.folder) != self.digest:
            raise InvalidInputError(
                f"`policy` must stay as it is while workers use it, got another one in {self.folder!r}: start again."
            )
        return load(self.folder, allow=self.allow)

    def __getstate__(self) -> dict[str, Any]:
        # What an engine sends to its workers: they load the policy themselves.
        return {name: value for name, value in vars(self).items() if name != "_loaded"}

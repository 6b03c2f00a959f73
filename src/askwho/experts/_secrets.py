"""Secrets: they come from the environment, are sent, and appear nowhere else."""

import os
from collections.abc import Iterable, Mapping

from askwho.exceptions import InvalidInputError

# What stands where a secret was.
_MASK = "***"
# A word of fewer letters is too common to be blotted out wherever it occurs, and no key.
_SHORTEST = 4


class Secret:
    """A text that `repr`, `str` and messages do not show; `reveal` is called where it is sent.

    >>> Secret("sk-123")
    Secret('***')
    >>> f"{Secret('sk-123')}"
    '***'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({_MASK!r})"

    def __str__(self) -> str:
        return _MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> tuple[type["Secret"], tuple[str]]:
        # Whoever copies an expert to another process writes what it holds: a secret is not to be written.
        raise TypeError("A secret must not be copied or written: read the experts again where they are needed.")


def from_environment(variable: str, environment: Mapping[str, str] | None = None) -> Secret:
    """Return the secret that a variable of the environment holds, or say that there is none."""
    found = (os.environ if environment is None else environment).get(variable, "").strip()
    if not found:
        raise InvalidInputError(
            f"`{variable}` must be set in the environment, got nothing: a secret is never written into a file."
        )
    if not found.isprintable() or len(found) < _SHORTEST:
        raise InvalidInputError(
            f"`{variable}` must hold a key of {_SHORTEST} printable characters at the least, got something else."
        )
    return Secret(found)


def masked(text: str, secrets: Iterable[Secret]) -> str:
    """Return a text with every secret blotted out: a stranger's message may repeat the key that it was sent."""
    for secret in secrets:
        text = text.replace(secret.reveal(), _MASK)
    return text

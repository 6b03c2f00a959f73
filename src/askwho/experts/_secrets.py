"""Secrets: they come from the environment, are sent, and appear nowhere else."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from askwho.exceptions import InvalidInputError

# What stands where a secret was.
_MASK = "***"
# A word of fewer letters is too common to be blotted out wherever it occurs, and no key.
_SHORTEST = 4


class Secret:
    """A text that `repr`, `str` and messages do not show; `reveal` is called where it is sent.

    Args:
        text: what must appear nowhere.
        before: what is sent in front of it, such as "Bearer ".

    >>> Secret("sk-123")
    Secret('***')
    >>> f"{Secret('sk-123')}"
    '***'
    """

    __slots__ = ("_before", "_text")

    def __init__(self, text: str, *, before: str = "") -> None:
        self._text = text
        self._before = before

    def reveal(self) -> str:
        """Return the text as it is sent."""
        return self._before + self._text

    def hide(self, text: str) -> str:
        """Return a text in which it is blotted out."""
        return text.replace(self._text, _MASK)

    def __repr__(self) -> str:
        return f"Secret({_MASK!r})"

    def __str__(self) -> str:
        return _MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self.reveal()

    def __hash__(self) -> int:
        return hash((Secret, self.reveal()))

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


def masked(value: Any, secrets: Sequence[Secret]) -> Any:  # noqa: ANN401 - a text, or JSON
    """Return a text, or JSON, with every secret blotted out: a stranger may repeat the key that he was sent."""
    if not secrets:
        return value
    if isinstance(value, str):
        for secret in secrets:
            value = secret.hide(value)
        return value
    if isinstance(value, dict):
        return {masked(key, secrets): masked(each, secrets) for key, each in value.items()}
    return [masked(each, secrets) for each in value] if isinstance(value, list) else value

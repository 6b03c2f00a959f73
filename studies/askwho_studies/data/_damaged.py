"""The one message for a file that is not what its name says."""

from pathlib import Path

from askwho.exceptions import InvalidInputError


def not_the_set(path: Path, expected: str) -> InvalidInputError:
    """The error to raise where a file does not hold what the set of its name holds."""
    return InvalidInputError(f"`{path.name}` must hold {expected}: {str(path)!r} is damaged, or another file.")

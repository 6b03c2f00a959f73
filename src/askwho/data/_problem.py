"""What a look at a log says of it: what it holds, and what is wrong."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong (`"error"`: nothing can be trained) or worth a look (`"warning"`)."""

    severity: Literal["error", "warning"]
    message: str
    column: str | None = None
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Description:
    """What a log holds, and what is wrong with it."""

    rows: int
    summary: dict[str, Any]
    entities: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def usable(self) -> bool:
        """Whether a policy can be fitted."""
        return not any(problem.severity == "error" for problem in self.problems)


def listed(words: Iterable[str], most: int = 3) -> str:
    """Return the first of some words in one phrase, and how many more there are: a message stays one line."""
    every = list(words)
    if len(every) <= most:
        return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)
    return f"{', '.join(every[:most])} and {len(every) - most} more"


def shown(value: Any) -> str:  # noqa: ANN401 - a cell of any type
    """Return a cell as a message shows it: a text in quotes, a number without its NumPy type."""
    plain = value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value
    if isinstance(plain, float):
        return f"{plain:.4g}"
    return repr(plain) if isinstance(plain, str) else str(plain)

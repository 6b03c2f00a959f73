"""Where things stand in a TOML file: its own reader does not tell, and a message without a line helps little."""

import re
from collections.abc import Sequence

# `[experts.small]`, `[experts."a b".price]`: the path of a table.
_TABLE = re.compile(r"^\s*\[\[?\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
# `timeout = 3`, `price.input = 3`: the path of a key.
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
# The steps of a path.
_STEP = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


class Lines:
    """The line of each key and table of a file."""

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        inside = ""
        for number, line in enumerate(text.splitlines(), start=1):
            if inside:
                # A text over several lines may hold anything: it is passed over.
                inside = "" if inside in line else inside
                continue
            opened = _TABLE.match(line)
            if opened is not None:
                table = _steps(opened.group(1))
                for end in range(1, len(table) + 1):
                    self._lines.setdefault(table[:end], number)
                continue
            key = _KEY.match(line)
            if key is not None:
                self._lines.setdefault((*table, *_steps(key.group(1))), number)
            inside = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")

    def of(self, path: Sequence[str]) -> int | None:
        """Return the line where a path stands, or the nearest table around it; None where it is nowhere."""
        for end in range(len(path), 0, -1):
            found = self._lines.get(tuple(path[:end]))
            if found is not None:
                return found
        return None


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step.strip("\"'") for step in _STEP.findall(path))

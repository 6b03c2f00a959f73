"""Pages that prove themselves: their ```python blocks are executed, their ```sh blocks typed, in the page's order.

A page's Python shares one namespace. A ```sh block holds askwho commands and nothing else; blocks of any other kind
(```text, or no word at all) are to be read only.
"""

import re
import shlex
from pathlib import Path

from askwho.cli import status_of

_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The kind and the text of each block that can be run."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(block: str) -> list[list[str]]:
    """The words of each command in a ```sh block; a backslash continues a line, a hash begins a comment."""
    lines = block.replace("\\\n", " ").splitlines()
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def run_page(page: Path) -> None:
    """Run a page's blocks in the current folder."""
    namespace: dict[str, object] = {}
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), namespace)  # noqa: S102 - our own pages
            continue
        for program, *words in commands(text):
            assert program == "askwho", f"{page.name}: a ```sh block holds askwho commands, got {program!r}"
            assert status_of(words) == 0, f"{page.name}: askwho {shlex.join(words)}"

"""Pages that prove themselves: their ```python blocks are executed, their ```sh blocks typed, in the page's order.

A page's Python shares one namespace; a block with a title is written to the file of that name, to be imported by those
behind it. A ```sh block holds askwho commands and nothing else; blocks of any other kind (```py, ```text, or no word
at all) are to be read only. The cells of a notebook share one namespace, too.
"""

import contextlib
import importlib
import io
import json
import re
import shlex
import sys
from pathlib import Path

from askwho.cli import status_of

_BLOCK = re.compile(r'^```(python|sh)(?: title="([a-z_]+\.py)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """The kind, the title if any, and the text of each block that can be run."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(block: str) -> list[list[str]]:
    """The words of each command in a ```sh block; a backslash continues a line, a hash begins a comment."""
    lines = block.replace("\\\n", " ").splitlines()
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def write_module(name: str, text: str) -> None:
    """Write a block into the current folder, whence the page's other blocks can import it."""
    Path(name).write_text(text, encoding="utf-8")
    sys.modules.pop(Path(name).stem, None)
    if sys.path[0] != str(Path.cwd()):
        sys.path.insert(0, str(Path.cwd()))
    importlib.invalidate_caches()


def cells(notebook: Path) -> list[tuple[str, str]]:
    """The code of each cell of a notebook, and what is shown below it."""
    found = [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    return [("".join(cell["source"]), "".join("".join(out["text"]) for out in cell["outputs"])) for cell in found]


def run_notebook(notebook: Path) -> list[tuple[str, str]]:
    """Run a notebook's cells in the current folder; return what each shows, and what stands below it."""
    namespace: dict[str, object] = {}
    shown: list[tuple[str, str]] = []
    for text, below in cells(notebook):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, str(notebook), "exec"), namespace)  # noqa: S102 - our own notebooks
        shown.append((out.getvalue(), below))
    return shown


def run_page(page: Path) -> None:
    """Run a page's blocks in the current folder."""
    namespace: dict[str, object] = {}
    for kind, title, text in blocks(page):
        if title:
            write_module(title, text)
            continue
        if kind == "python":
            exec(compile(text, str(page), "exec"), namespace)  # noqa: S102 - our own pages
            continue
        for program, *words in commands(text):
            assert program == "askwho", f"{page.name}: a ```sh block holds askwho commands, got {program!r}"
            assert status_of(words) == 0, f"{page.name}: askwho {shlex.join(words)}"

"""What took long to make, kept in files, so that a run that was interrupted goes on where it stopped."""

import ast
import hashlib
import io
import os
import tokenize
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from askwho._processes import is_first


def kept(path: Path, mark: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return arrays from a file, where it was made under the same settings, or made and written to it whole."""
    if path.exists():
        with np.load(path, allow_pickle=False) as stored:
            if "mark" in stored.files and str(stored["mark"]) == mark:
                return dict(stored)
    made = make()
    if not is_first():
        # Of processes that train together the first keeps it.
        return made
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: another process may be making the same.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, mark=np.array(mark), **made)
    part.replace(path)
    return made


@lru_cache
def fingerprint(*modules: str) -> str:
    """Return what tells apart the code of some modules, and of all that a package holds.

    It is a part of the mark of what they make: a change of the code makes it anew. Comments, docstrings and layout do
    not count. Nothing is imported for it but the packages that modules lie in.
    """
    digest = hashlib.sha256()
    for name in modules:
        found = find_spec(name)
        if found is None or found.origin is None:
            raise ModuleNotFoundError(name)
        folders = found.submodule_search_locations
        paths = sorted(Path(folders[0]).rglob("*.py")) if folders else [Path(found.origin)]
        for path in paths:
            digest.update(f"{name} {path.name}\n{_code(path.read_text(encoding='utf-8'))}\n".encode())
    # As many digits as tell any two versions of a few files apart.
    return digest.hexdigest()[:16]


def _code(text: str) -> str:
    """A file's code, the same whichever Python reads it, which what `ast` would write is not."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        # Strings that stand alone, as docstrings do.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())

"""Every module-level constant has its reason beside it: a comment above, one behind it, or a docstring below."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "studies").rglob("*.py")])
CONSTANT = re.compile(r"^_?[A-Z][A-Z0-9_]+$")
# Said to a tool, not to a reader.
PRAGMA = re.compile(r"#\s*(noqa|pyright|type:|pragma|ruff)")


def without_reason(text):
    """The constants of a module that nothing is said of, each with its line."""
    lines = text.splitlines()
    comments = {
        token.start[0]: token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and not PRAGMA.match(token.string)
    }
    alone = {line for line in comments if lines[line - 1].lstrip().startswith("#")}
    body = ast.parse(text).body
    found = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        names = [name for name in _assigned(node) if CONSTANT.match(name)]
        above, behind = node.lineno - 1 in alone, bool({node.lineno, node.end_lineno} & (set(comments) - alone))
        below = isinstance(after, ast.Expr) and isinstance(getattr(after.value, "value", None), str)
        if names and not (above or behind or below):
            found.append((node.lineno, ", ".join(names)))
    return found


def _assigned(node):
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def test_every_constant_has_its_reason_beside_it():
    silent = [
        f"{path.relative_to(ROOT)}:{line}: {names}"
        for path in FILES
        for line, names in without_reason(path.read_text(encoding="utf-8"))
    ]
    assert not silent, "these constants do not say why:\n" + "\n".join(silent)


def test_there_are_constants_to_speak_of():
    assert sum(len(re.findall(r"^_?[A-Z][A-Z0-9_]+\b.* = ", path.read_text(), re.MULTILINE)) for path in FILES) > 100


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("SIZE = 3\n", True),
        ("_SIZE: int = 3\n", True),
        ("A, BB = 1, 2\n", True),
        ("TABLE = {\n    'a': 1,  # of this entry alone\n    'b': 2,\n}\n", True),
        ("COLOUR = '#fff'\n", True),
        ("SIZE = 3  # noqa: X100\n", True),
        ("# of the first\nSIZE = 3\nWIDTH = 4\n", True),
        ("# of something else\n\nSIZE = 3\n", True),
        ("# why\nSIZE = 3\n", False),
        ("SIZE = 3  # why\n", False),
        ("TABLE = {\n    'a': 1,\n}  # why\n", False),
        ('SIZE = 3\n"""Why."""\n', False),
        ("def f():\n    SIZE = 3\n", False),
        ("size = 3\nT = 4\nName = int\n__all__ = []\n", False),
    ],
)
def test_what_counts_as_a_reason(text, silent):
    assert bool(without_reason(text)) == silent

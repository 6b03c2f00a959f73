"""A library that cannot be imported, as if it were not installed.

As a pytest plugin: `-p tests.blocked --block torch`; in a script: `block("torch")`.
"""

import sys
from importlib.abc import MetaPathFinder


class _Blocked(MetaPathFinder):
    def __init__(self, library):
        self.library = library

    def find_spec(self, name, _path=None, _target=None):
        if name == self.library or name.startswith(f"{self.library}."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def block(library):
    """Make every import of the library fail."""
    sys.meta_path.insert(0, _Blocked(library))


def pytest_addoption(parser):
    parser.addoption("--block", action="append", default=[], help="a library that must not be importable")


def pytest_configure(config):
    for library in config.getoption("--block"):
        block(library)

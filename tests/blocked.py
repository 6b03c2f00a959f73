"""A pytest plugin that makes a library impossible to import: `-p tests.blocked --block torch`."""

import sys


def pytest_addoption(parser):
    parser.addoption("--block", action="append", default=[], help="a library that must not be importable")


def pytest_configure(config):
    for library in config.getoption("--block"):
        sys.modules[library] = None

"""The one seam to the studies, a package of its own: it is looked for when one of its commands is run, never before."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from askwho.exceptions import MissingDependencyError

_PACKAGE = "askwho_studies"
"""Named here alone: nothing else in the library knows of it, which import-linter keeps so."""


def studies(command: str = "reproduce") -> Any:  # noqa: ANN401 - a module that need not be there has no type
    """Return the package of the studies, or say what `command` needs installed."""
    if find_spec(_PACKAGE) is None:
        raise MissingDependencyError(
            f"`askwho {command}` needs {_PACKAGE}: pip install . ./studies in a checkout of askwho's repository",
            name=_PACKAGE,
        )
    return import_module(_PACKAGE)

"""What an engine's workers raise, in one line: an engine tells it in pages."""

import contextlib
import re
from collections.abc import Generator

from askwho.exceptions import FailedError

# How one of our own errors ends a traceback, on its own line.
_OURS = re.compile(r"askwho\.exceptions\.\w+: (.+)")


@contextlib.contextmanager
def failing(engine: str, error: type[Exception]) -> Generator[None]:
    """One clear line for what an engine raises: what askwho said in a worker, or else the engine's first words."""
    try:
        yield
    except error as raised:
        text = str(raised).strip() or type(raised).__name__
        found = _OURS.findall(text)
        raise FailedError(f"The engine {engine!r} gave up: {found[-1] if found else text.splitlines()[0]}") from None

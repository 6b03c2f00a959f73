"""What can go wrong, as types a caller can catch."""


class AskwhoError(Exception):
    """Anything that askwho itself raises."""


class InvalidInputError(AskwhoError, ValueError):
    """An argument, a table or a file that cannot be used; the message says what was expected and what to do."""


class FailedError(AskwhoError):
    """Work that came to nothing although what was asked for was right; the message says how far it came."""


class DivergedError(FailedError):
    """A training whose loss is no longer a finite number; the message says where, and what to change."""


class MissingDependencyError(AskwhoError, ImportError):
    """An optional dependency that is not installed; the message holds the command that installs it."""


def missing_dependency(feature: str, package: str, extra: str) -> MissingDependencyError:
    """The error to raise where `feature` needs `package` and it cannot be imported."""
    return MissingDependencyError(f"{feature} needs {package}: pip install 'askwho[{extra}]'", name=package)

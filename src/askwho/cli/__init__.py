"""The command line: thin, it parses, calls and prints. Exit status 0, 1 (failed), 2 (bad input, one clear line)."""

import os

# Threads that wait for each other spin unless told otherwise: on a machine that is busy they wait twenty times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import sys

import typer

from askwho._processes import is_first
from askwho.cli._commands import app, run
from askwho.cli._printing import hush
from askwho.cli._terminal import visible
from askwho.exceptions import AskwhoError, FailedError

__all__ = ["app", "main"]

# Characters of a message: some ten lines of a terminal, so that a stranger's page of text cannot scroll it away.
_LONGEST = 1000


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit status; of processes under `torchrun` the first prints."""
    if not is_first():
        hush()
    status = status_of(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
    except OSError:
        # That it could not be printed has been said; at the exit Python would try once more, and say it its own way.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def status_of(arguments: list[str]) -> int:
    """Run one command; return 0, 1 where it failed, or 2 for bad input, after one clear line."""
    try:
        run(arguments)
        sys.stdout.flush()
    except AskwhoError as error:
        return _say(str(error), 1 if isinstance(error, FailedError) else 2)
    except typer.TyperException as error:
        # A missing argument is named by its own wording, any other mistake by its text.
        return _say(getattr(error, "format_message", error.__str__)(), 2)
    except typer.Exit as leaving:
        return leaving.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _say("stopped", 1)
    except OSError as error:
        gone = isinstance(error, BrokenPipeError)  # a reader that has gone, as `head` does, is no news
        return 1 if gone else _say(f"{error.strerror or type(error).__name__}: {error.filename or ''}", 2)
    return 0


def _say(message: str, status: int) -> int:
    line = " ".join(message.split())
    # Names and cells are a stranger's: what a terminal would obey is spelt out, and a page of them is cut short.
    typer.echo(f"askwho: {visible(line[:_LONGEST])}{'…' if len(line) > _LONGEST else ''}", err=True)
    return status

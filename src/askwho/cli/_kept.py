"""What a run has decided so far: a line for each query, so that a run that was stopped goes on where it stopped."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askwho._files import whole_lines, write_atomically
from askwho.exceptions import InvalidInputError


class Kept:
    """The queries that are done, each by its place in the file, in a journal beside what is to be written.

    A line stands once it is written, though the process be killed; a last one that was cut off counts as not written.
    When everything is written where it belongs the journal goes.

    Args:
        out: the file that is to be written.
        run: what tells this run from any other: the journal of another is refused.
        begun: what is to be remembered of its first start.
    """

    def __init__(self, out: Path, run: Mapping[str, Any], begun: Mapping[str, Any]) -> None:
        self._path = out.with_name(f".{out.name}.journal")
        lines = whole_lines(self._path)
        self.resumed = bool(lines)
        self.head: dict[str, Any] = lines[0] if lines else {**run, **begun}
        if {name: self.head.get(name) for name in run} != dict(run):
            raise InvalidInputError(
                f"`out` must be of the same policy, experts and options as when it was begun, got others: go on as "
                f"before, or remove {self._path.name!r} to begin anew."
            )
        self._lines = {int(line["place"]): line for line in lines[1:]}
        # Whatever was cut off goes, so that the file is whole lines alone.
        text = "".join(f"{json.dumps(line)}\n" for line in [self.head, *lines[1:]])
        write_atomically(self._path, text.encode())
        self._file = self._path.open("a", encoding="utf-8")

    @property
    def booked(self) -> int:
        """What the queries of earlier starts were booked at, in nanos."""
        return sum(int(line["told"]["paid"]) for line in self._lines.values())

    def holds(self, place: int, query: Mapping[str, Any]) -> bool:
        """Whether a query is done; raise where another one was in its place."""
        line = self._lines.get(place)
        if line is not None and line["query"] != _digest(query):
            raise InvalidInputError(
                f"`queries` must be those that the run was begun with, got another in row {place}: go on as before, or "
                f"remove {self._path.name!r} to begin anew."
            )
        return line is not None

    def add(self, place: int, query: Mapping[str, Any], cells: Mapping[str, Any], told: Mapping[str, int]) -> None:
        """Keep what is to be written of a query, and what it adds to the counts of the run."""
        line = {"place": place, "query": _digest(query), "cells": dict(cells), "told": dict(told)}
        self._lines[place] = line
        self._file.write(f"{json.dumps(line, default=_plain)}\n")
        self._file.flush()

    def take(self, place: int) -> tuple[dict[str, Any], dict[str, int]]:
        """Return the same, which need not be remembered any longer."""
        line = self._lines.pop(place)
        return line["cells"], line["told"]

    def close(self, *, done: bool) -> None:
        """Let the journal go, or leave it for the next start."""
        os.fsync(self._file.fileno())
        self._file.close()
        if done:
            self._path.unlink()


def _digest(query: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(query, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:  # noqa: ANN401 - a number of NumPy's
    return value.item()

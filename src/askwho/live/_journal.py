"""A journal of calls: one line before each and one after, so that what was stopped goes on where it stopped."""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askwho._files import whole_lines, write_atomically
from askwho.exceptions import InvalidInputError
from askwho.live._answered import Asked

# What a journal is called beside the file that it leads to.
_SUFFIX = ".journal"
# What came of a call that need not be made again; whoever failed is asked again.
_DONE = ("answered", "unusable")


class Journal:
    """The calls of one collection, done and under way.

    A line is written before a call is made, and one after it: whoever is killed loses none, though the loss of power
    may cost the last seconds. A last line that was cut off counts as not written. The idempotency key of a call is the
    same however often the collection is started again: who honours it charges once for all starts.

    Args:
        path: of the file.
        design: what is collected: a journal of anything else is refused.
    """

    def __init__(self, path: Path, design: Mapping[str, Any]) -> None:
        self.path = path
        self.done: dict[tuple[str, str], Asked] = {}
        self._settled = 0
        self._open: dict[tuple[str, str], int] = {}
        lines = whole_lines(path)
        if lines:
            self._read(lines, design)
        else:
            self._run = secrets.token_hex(8)
        # Whatever was cut off is written anew: the file is then whole lines alone.
        head = {"run": self._run, **design}
        kept = lines or [head]
        write_atomically(path, "".join(f"{json.dumps(line)}\n" for line in kept).encode())
        self._file = path.open("a", encoding="utf-8")

    @classmethod
    def beside(cls, out: Path, design: Mapping[str, Any]) -> "Journal":
        """Return the journal of a file that is to be written."""
        return cls(out.with_name(f".{out.name}{_SUFFIX}"), design)

    def key(self, query: str, expert: str) -> str:
        """Return the idempotency key of a call."""
        return hashlib.sha256(f"{self._run}\0{query}\0{expert}".encode()).hexdigest()[:32]

    @property
    def booked(self) -> int:
        """What all starts together charged, in nanos, what may have been charged at its worst case included."""
        return self._settled + sum(self._open.values())

    def began(self, query: str, expert: str, worst: int, *, once: bool) -> None:
        """Write down, before it is made, what a call may charge; `once`, if its key is charged once however often."""
        line = {"id": query, "expert": expert, "worst": worst, "once": once}
        self._take(line)
        self._write(line)

    def ended(self, query: str, call: Asked) -> None:
        """Write down what came of a call."""
        told = {
            "came": call.came,
            "answer": call.answer,
            "info": call.info,
            "booked": call.booked,
            "certain": call.certain,
            "why": call.why,
        }
        line = {"id": query, "expert": call.expert, **told}
        self._take(line)
        self._write(line)

    def close(self) -> None:
        """Have the file on the disk, and close it."""
        os.fsync(self._file.fileno())
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(f"{json.dumps(line)}\n")
        self._file.flush()

    def _read(self, lines: Sequence[Mapping[str, Any]], design: Mapping[str, Any]) -> None:
        self._run = str(lines[0].get("run"))
        if {key: lines[0].get(key) for key in design} != dict(design):
            raise InvalidInputError(
                f"`out` must be of the same questions, experts and design as when it was begun, got others: go on as "
                f"before, or remove {self.path.name!r} to begin anew."
            )
        for line in lines[1:]:
            self._take(line)

    def _take(self, line: Mapping[str, Any]) -> None:
        """Count what a line tells."""
        place = (str(line["id"]), str(line["expert"]))
        before = self._open.pop(place, 0)
        if "worst" in line:
            # A call that was stopped, and is made again: without a key that is honoured both may have been charged.
            self._settled += 0 if line["once"] else before
            self._open[place] = int(line["worst"])
        elif line["came"] in _DONE:
            self._settled += int(line["booked"])
            told = {name: line[name] for name in ("answer", "info", "booked", "certain", "why")}
            self.done[place] = Asked(place[1], line["came"], **told)
        elif line["booked"]:
            self._open[place] = int(line["booked"])

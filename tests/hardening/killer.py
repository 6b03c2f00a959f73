"""Run commands that are killed while they write: `python -m tests.hardening.killer PLAN.json`.

Each job has words, in which OUT is a folder; the folder that it starts from; and how many times it is to be killed. It
is run whole once, to count the lines of our own writing code that it passes through; then once for each of some of
those lines, each time in a process of its own and a folder of its own, with SIGKILL right before the line.
"""

import contextlib
import importlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from askwho.cli import _commands, _route, status_of
from askwho.engines import Parts, Shards
from askwho.report import _store

WRITING = (
    "askwho/_files.py",
    "askwho/engines/_shards.py",
    "askwho/data/_writing.py",
    "askwho/report/_store.py",
    "askwho/persistence/_artefact.py",
)
# Tracing slows everything down: it begins where writing does.
ENTRIES = (
    (_commands, "save"),
    (_commands, "write_batches"),
    (_route, "write_batches"),
    (Shards, "__init__"),
    (Parts, "write"),
    (Shards, "finish"),
    (_store, "write"),
)
FUNCTIONS = (
    "write_atomically",
    "write_batches",
    "write",
    "save",
    "_write",
    "_sweep",
    "__init__",
    "_make",
    "_say",
    "write_part",
    "finish",
)


def traced(function, trace):
    def call(*arguments, **options):
        sys.settrace(trace)
        try:
            return function(*arguments, **options)
        finally:
            sys.settrace(None)

    return call


def run(words, start, folder, at):
    """Run a command in a process of its own; return how it ended, and how many lines it passed through."""
    shutil.copytree(start, folder, symlinks=True)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        passed = 0

        def in_line(_frame, event, _argument):
            nonlocal passed
            if event == "line":
                passed += 1
                if passed == at:
                    os.kill(os.getpid(), signal.SIGKILL)
            return in_line

        def in_call(frame, _event, _argument):
            code = frame.f_code
            ours = code.co_name in FUNCTIONS and code.co_filename.endswith(WRITING)
            return in_line if ours else None

        with open(os.devnull, "w") as nowhere:  # noqa: PTH123
            sys.stdout = sys.stderr = nowhere
            for module, function in ENTRIES:
                setattr(module, function, traced(getattr(module, function), in_call))
            status = status_of([word.replace("OUT", str(folder)) for word in words])
        os.write(writer, str(passed).encode())
        os._exit(status)
    os.close(writer)
    _, ended = os.waitpid(child, 0)
    passed = os.read(reader, 100)
    os.close(reader)
    return os.waitstatus_to_exitcode(ended), int(passed or 0)


def main(plan):
    """Run the jobs of a plan; return how each run of each ended, by the line at which it was killed."""
    found = {}
    # Imported once here, and not in every process.
    with contextlib.suppress(ImportError):
        importlib.import_module("matplotlib.figure")
        importlib.import_module("matplotlib.backends.backend_agg")
        importlib.import_module("matplotlib.backends.backend_svg")
    for name, job in json.loads(plan.read_text()).items():
        place = Path(job["place"])
        place.mkdir()
        status, lines = run(job["words"], job["start"], place / "whole", 0)
        assert status == 0, name
        times = min(job["times"], lines)
        points = sorted({1 + round(i * (lines - 1) / max(1, times - 1)) for i in range(times)})
        found[name] = {at: run(job["words"], job["start"], place / str(at), at)[0] for at in points}
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))  # noqa: T201

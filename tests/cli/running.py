"""Commands as a user types them."""

import json
import os
import subprocess
import sys
from pathlib import Path

from askwho.cli import status_of
from tests import synthetic

FEES = ",".join(f"{name}={fee}" for name, fee in synthetic.FEES.items())
COLUMNS = ["--truth", "truth", "--answers", "answer_*", "--features", "x_*", "--fees", FEES]
ROOT = Path(__file__).parents[2]


def run(*words):
    """Run a command here; return its exit status."""
    return status_of([str(word) for word in words])


def printed(capsys, *words):
    """Run a command that must succeed; return the JSON that it prints."""
    capsys.readouterr()
    assert run(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *words):
    """Run a command that must be refused; return its one clear line."""
    capsys.readouterr()
    assert run(*words) == 2
    err = capsys.readouterr().err
    said = [line for line in err.splitlines() if line.startswith("askwho: ")]
    assert len(said) == 1, err
    return said[0]


def elsewhere(code, *flags, cwd=ROOT):
    """Run code in a process of its own, which finds the library and the tests wherever it is run."""
    given = dict(os.environ)
    given["PYTHONPATH"] = os.pathsep.join([str(ROOT), given.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *flags, "-c", code], cwd=cwd, env=given, capture_output=True, text=True, check=False
    )

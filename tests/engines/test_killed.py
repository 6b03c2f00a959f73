"""A run in parts that is killed, at any moment: done again it finishes to the bytes of one that was not.

Once in `make test`; 20 times with ASKWHO_TORTURE=1, or as often as ASKWHO_KILLS says.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from askwho.data import write_table
from askwho.persistence import save
from tests import policies
from tests.cli.conftest import queries

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("ASKWHO_KILLS", "20" if os.environ.get("ASKWHO_TORTURE") else "1"))
# Of so many parts three at the most, less than 1%, are under way when it is killed, and are made once more.
ROWS, PART = 6400, 20
SECONDS = 600


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    save(policies.fitted("classes"), folder / "policy")
    write_table(folder / "new.parquet", queries(ROWS))
    started(folder, folder / "whole").wait(SECONDS)
    return folder


def started(place, out):
    words = ["route", place / "policy", place / "new.parquet", "--fee-weight", "0.2", "--shard-rows", PART]
    command = [sys.executable, "-m", "askwho", *map(str, words), "--workers", "2", "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)


def parts(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*.parquet")}


@pytest.mark.parametrize("number", range(KILLS))
def test_a_run_that_was_killed_finishes_to_the_same_bytes(number, place, tmp_path):
    drawn, out = np.random.default_rng(number), tmp_path / "parts"
    wanted = int(drawn.integers(ROWS // PART))
    job, until = started(place, out), time.monotonic() + SECONDS
    # Anywhere between a part and the next ones, too.
    while job.poll() is None and len(parts(out)) < wanted and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(drawn.uniform(0, 0.02))
    job.send_signal(signal.SIGKILL)
    killed, kept = job.wait(SECONDS), parts(out)
    assert killed == -signal.SIGKILL, "it was over before it was killed"
    assert len(kept) >= wanted
    assert started(place, out).wait(SECONDS) == 0
    whole = {path.name: path.read_bytes() for path in (place / "whole").iterdir()}
    assert len(whole) == ROWS // PART + 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == whole
    # What was there is not made again.
    assert kept.items() <= parts(out).items()

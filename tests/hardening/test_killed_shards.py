"""A run in parts that was killed at any moment goes on to the same bytes, and makes hardly any part twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hardening.commands import everything, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are killed in forks")
ROOT = Path(__file__).parents[2]
ROWS, PARTS = 2, 20
JOBS = {"plain": [], "exploring": ["--explore", 0.5, "--seed", 3]}
TIMES = {"plain": 20, "exploring": 5}


def words_of(place, job, out):
    words = ["route", place.policy, place.new, "--k", 2, *JOBS[job], "--shard-rows", ROWS, "--out", f"{out}/routes"]
    return [str(word) for word in words]


@pytest.fixture(scope="module")
def killed(place, tmp_path_factory):
    """How every run ended, and where its files are."""
    top = tmp_path_factory.mktemp("shards")
    start = top / "start"
    start.mkdir()
    plan = {
        job: {"words": words_of(place, job, "OUT"), "start": str(start), "place": str(top / job), "times": TIMES[job]}
        for job in JOBS
    }
    (top / "plan.json").write_text(json.dumps(plan))
    words = [sys.executable, "-m", "tests.hardening.killer", str(top / "plan.json")]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return top, json.loads(ran.stdout)


@pytest.mark.parametrize("job", JOBS)
def test_a_run_in_parts_goes_on_to_the_same_bytes(job, killed, place, capsys):
    top, found = killed
    whole = everything(top / job / "whole")
    assert sum(name.endswith(".parquet") for name in whole) == PARTS
    assert len(found[job]) == TIMES[job]
    before = set()
    for at, status in found[job].items():
        folder = top / job / at
        assert status == -signal.SIGKILL, at
        there = {name: data for name, data in everything(folder).items() if name.endswith(".parquet")}
        assert all(whole[name] == data for name, data in there.items()), at
        before.add(len(there))
        kept = {path: path.stat().st_mtime_ns for path in (folder / "routes").glob("*.parquet")}
        capsys.readouterr()
        assert run(*words_of(place, job, folder)) == 0
        assert everything(folder) == whole, at
        # What was there stays: nothing is written twice.
        assert {path: path.stat().st_mtime_ns for path in kept} == kept, at
    assert len(before) > TIMES[job] // 2, "killed only at the same few moments"

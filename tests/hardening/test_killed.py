"""Killed at any moment, a command leaves the old output or the new one, and the next run succeeds."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from askwho.persistence import digest, load
from tests.hardening.commands import COLUMNS, QUICK, everything, log, parquet, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are killed in forks")
ROOT = Path(__file__).parents[2]
TIMES = {"fit": 3, "route": 7, "route csv": 4, "combine": 4, "report": 2}
JOBS = [f"{name} {start}" for name in TIMES for start in ("over an old one", "into nothing")]


def words_of(name, place, out, *, new=True):
    """A command and its output; an old run of it, and the new."""
    fit = ["fit", place.short, *COLUMNS, *QUICK, "--base", "none", "--seed", int(new), "--out", f"{out}/policy"]
    words = {
        "fit": fit,
        "route": ["route", place.policy, place.new, "--k", 1 + new, "--out", f"{out}/out.parquet"],
        "route csv": ["route", place.policy, place.new, "--k", 1 + new, "--out", f"{out}/out.csv"],
        "combine": ["combine", place.policy, place.routes, place.new, "--out", f"{out}/out.parquet"],
        "report": ["report", place.policy, place.new, "--k", 1 + new, "--out", f"{out}/out.html"],
    }[name]
    if name == "combine" and not new:
        words[2] = place.other_routes
    return [str(word) for word in words]


@pytest.fixture(scope="module")
def killed(place, tmp_path_factory):
    """How every run of every job ended, and where its files are."""
    top = tmp_path_factory.mktemp("killed")
    place.short = parquet(top / "short.parquet", log(60))
    place.other_routes = top / "other.parquet"
    assert run("route", place.policy, place.new, "--k", 1, "--out", place.other_routes) == 0
    plan = {}
    for job in JOBS:
        name = next(each for each in sorted(TIMES, key=len, reverse=True) if job.startswith(each))
        start = top / f"start {job}"
        start.mkdir()
        if "old" in job:
            assert run(*words_of(name, place, start, new=False)) == 0
        words = words_of(name, place, "OUT")
        plan[job] = {
            "words": words,
            "start": str(start),
            "place": str(top / job),
            "times": TIMES[name],
        }
    (top / "plan.json").write_text(json.dumps(plan))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.hardening.killer", str(top / "plan.json")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stderr
    return top, json.loads(ran.stdout)


def is_whole(name, folder, old, new):
    """The output is there as it was, or as it is to be; nothing where there was nothing."""
    if name == "fit":
        if not (folder / "policy" / "manifest.json").exists():
            return not (old / "policy").exists()
        load(folder / "policy")
        return digest(folder / "policy") in {digest(p / "policy") for p in (old, new) if (p / "policy").exists()}
    out = {"report": "out.html", "route csv": "out.csv"}.get(name, "out.parquet")
    if not (folder / out).exists():
        return not (old / out).exists()
    data = (folder / out).read_bytes()
    if name != "report":
        return data in [(p / out).read_bytes() for p in (old, new) if (p / out).exists()]
    # A page tells the minute, and its own command: it is whole if it ends, and each figure it names is there.
    linked = re.findall(r'(?:href|src)="(out_figures/[^"]+)"', data.decode())
    return data.rstrip().endswith(b"</html>") and all((folder / unquote(link)).is_file() for link in linked)


@pytest.mark.parametrize("job", JOBS)
def test_a_command_that_was_killed(job, killed, place, capsys):
    if job.startswith("report"):
        pytest.importorskip("matplotlib")
    top, found = killed
    name = next(each for each in sorted(TIMES, key=len, reverse=True) if job.startswith(each))
    old, new = top / f"start {job}", top / job / "whole"
    assert len(found[job]) > 1
    changed = {everything(top / job / at) == everything(old) for at in found[job]}
    assert changed == {True, False}, "killed only before anything was written, or only after"
    for at, status in found[job].items():
        folder = top / job / at
        assert status == -signal.SIGKILL, at
        assert is_whole(name, folder, old, new), at
        assert run(*words_of(name, place, folder)) == 0, capsys.readouterr().err
        assert is_whole(name, folder, new, new), at
        if name == "fit":
            assert set(everything(folder)) == set(everything(new)), at

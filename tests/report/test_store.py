"""Killed at any moment, a report and its figures are the old ones or the new."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from askwho.report import _store

ROOT = Path(__file__).parents[2]
OLD = {"asked.png": b"old 1", "asked.svg": b"same"}
NEW = {"asked.png": b"new 1", "asked.svg": b"same", "groups.png": b"new 2"}


def page(word):
    return lambda addresses: word + "".join(f"\n{name} {where}" for name, where in sorted(addresses.items()))


def whole(out):
    """Which report is there, after every figure that it names was found whole."""
    word, *lines = out.read_text().splitlines()
    figures = {"old": OLD, "new": NEW}[word]
    assert len(lines) == len(figures)
    for line in lines:
        name, where = line.split()
        assert (out.parent / where).read_bytes() == figures[name]
    return word


def test_a_report_replaces_the_old_one_and_clears_its_figures(tmp_path):
    out = tmp_path / "r.html"
    _store.write(out, OLD, page("old"))
    (tmp_path / "r_figures" / "mine.png").write_bytes(b"left alone")
    assert whole(out) == "old"
    found = _store.write(out, NEW, page("new"))
    assert whole(out) == "new"
    assert {path.name for path in (tmp_path / "r_figures").iterdir()} == {path.name for path in found} | {"mine.png"}
    assert all(hashlib.sha256(p.read_bytes()).hexdigest()[:12] in p.name for p in found)


@pytest.mark.parametrize("moment", range(8))
def test_stopped_at_any_step_it_is_the_old_or_the_new(tmp_path, monkeypatch, moment):
    out = tmp_path / "r.html"
    _store.write(out, OLD, page("old"))
    before = sorted(tmp_path.rglob("*"))
    replace, steps = Path.replace, iter(range(100))

    def stopped(self, target):
        step = next(steps)
        if step == moment // 2 and moment % 2 == 0:
            raise KeyboardInterrupt
        replace(self, target)
        if step == moment // 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            _store.write(out, NEW, page("new"))
    word = whole(out)
    assert word == ("new" if moment == 7 else "old")
    if word == "old":
        assert sorted(tmp_path.rglob("*")) == before


KILL = """
import os, sys
from pathlib import Path
from askwho.report import _store
from tests.report.test_store import NEW, OLD, page, whole
replace, left = Path.replace, []
for step in range(9):
    out = Path(sys.argv[1]) / f"{step}.html"
    _store.write(out, OLD, page("old"))
    child = os.fork()
    if not child:
        def killed(self, target, step=step):
            left.append(0)
            if len(left) == step // 2 + 1 and step % 2 == 0:
                os._exit(9)
            replace(self, target)
            if len(left) == step // 2 + 1:
                os._exit(9)
        Path.replace = killed
        _store.write(out, NEW, page("new"))
        os._exit(0)
    os.waitpid(child, 0)
    print(whole(out))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork to kill")
def test_killed_outright_it_is_the_old_or_the_new(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILL, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["old"] * 7 + ["new"] * 2


def test_a_first_report_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def full(path, data):
        if re.search("html", path.name):
            raise OSError(28, "No space left on device", str(path))
        path.write_bytes(data)

    monkeypatch.setattr(_store, "write_atomically", full)
    with pytest.raises(OSError, match="No space left"):
        _store.write(tmp_path / "r.html", NEW, page("new"))
    assert not list(tmp_path.iterdir())

import contextlib
import os
import resource
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from askwho.data import Columns, read_log, write_table
from askwho.fitting import fit
from askwho.persistence import save
from tests import synthetic
from tests.hardening.commands import COLUMNS, QUICK, everything, log, run, the_line


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """Two small policies, with a base of their own and without, and what was made with them."""
    folder = tmp_path_factory.mktemp("hardening")
    found = SimpleNamespace(
        log=folder / "log.parquet",
        new=folder / "new.parquet",
        policy=folder / "policy",
        based=folder / "based",
        routes=folder / "routes.parquet",
        based_routes=folder / "based_routes.parquet",
    )
    write_table(found.log, log(300))
    write_table(found.new, log(40, seed=1))
    assert run("fit", found.log, *COLUMNS, *QUICK, "--base", "none", "--out", found.policy) == 0
    columns = Columns(truth="truth", answers="answer_*", features="x_*,hint", fees=synthetic.FEES)
    based = fit(read_log(found.log, columns), learner="linear", committee="posterior", cv=2)
    assert based.base is not None
    save(based, found.based)
    assert run("route", found.policy, found.new, "--k", 2, "--out", found.routes) == 0
    assert run("route", found.based, found.new, "--k", 2, "--out", found.based_routes) == 0
    return found


@pytest.fixture
def refuse(tmp_path, capsys):
    """Run a command that must be refused: exit 2, one clear line, and every file as before; return the line."""

    def refuses(*words, folder=tmp_path):
        before = everything(Path(folder))
        capsys.readouterr()
        status = run(*words)
        err = capsys.readouterr().err
        assert status == 2, err
        assert everything(Path(folder)) == before
        return the_line(err)

    return refuses


NOBODY = 65534


@pytest.fixture
def unprivileged(place):
    """A maker of a folder with a mode, after which the test goes on as somebody who must obey it, root or not."""
    was, made = os.geteuid(), []

    def make(mode):
        # Root may do everything: it becomes nobody, who must be able to read the policies.
        top = Path(tempfile.mkdtemp())
        made.append(top)
        folder = top / "folder"
        (folder / "inner").mkdir(parents=True)
        for name in ("log.parquet", "log.csv"):
            (folder / name).write_bytes(b"truth\n1\n")
            (folder / name).chmod(0)
        top.chmod(0o755)
        folder.chmod(0o755)
        (folder / "inner").chmod(mode)
        for path in (*place.policy.parents, *place.policy.parent.rglob("*")):
            if path.stat().st_uid == was and path != Path("/"):
                path.chmod(0o755)
        if was == 0:
            os.seteuid(NOBODY)
        return folder

    yield make
    os.seteuid(was)
    for path in made:
        shutil.rmtree(path)


@pytest.fixture
def full_disk():
    """No file can grow beyond a few bytes, whoever writes it: Python or a library."""

    @contextlib.contextmanager
    def limited():
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited()

"""Ray and Spark themselves: the bytes of a local run, one worker killed or none; and data sets, row by row the same.

They take minutes and packages that `make torture` installs: ASKWHO_TORTURE=1.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet
import pytest

from askwho.data import write_table
from askwho.persistence import save
from tests import policies
from tests.cli.conftest import queries
from tests.cli.running import run

ROOT = Path(__file__).parents[2]
PACKAGES = {"ray": "ray", "spark": "pyspark"}
ROWS, PART = 6000, 20
# What a worker is called among the processes, and how long one is waited for.
WORKERS = {"ray": "ray::", "spark": "pyspark.daemon"}
SECONDS = 600
pytestmark = pytest.mark.skipif(not os.environ.get("ASKWHO_TORTURE"), reason="make torture runs engines")
# Each job is a process of its own: an engine warns, and warnings are errors here.
MAPPED = {
    "ray": """
import pyarrow as pa, pyarrow.parquet, ray
from askwho.engines.ray import map_batches
ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
read = lambda path: ray.data.from_arrow(pa.parquet.read_table(path))
mapped = lambda data, work: map_batches(data, work, workers=1, rows=700)
done = lambda data: list(data.iter_batches(batch_format='pyarrow', batch_size=None))
# Its join knows no columns of lists.
joined = lambda left, right: left.sort('id').zip(right.sort('id').drop_columns(['id']))
""",
    "spark": """
from pyspark.sql import SparkSession
from askwho.engines.spark import map_batches
session = SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false').getOrCreate()
read = lambda path: session.read.parquet(path).repartition(5)
mapped = map_batches
done = lambda data: [data.toArrow()]
joined = lambda left, right: left.join(right, 'id')
""",
}
JOBS = """
import json, sys
import pyarrow as pa
from askwho.engines import Artefact, Combine, Evaluate, Merge, Next, Route, figures_from
from askwho.policy import Target
place = sys.argv[1]
artefact = Artefact.at(place + '/policy')
price = Target(fee_weight=0.2)
data = read(place + '/new.parquet')
answers = read(place + '/answers.parquet')
routes = mapped(data, Route(artefact, price))
for name, made in {
    'routes': routes,
    'steps': mapped(data, Next(artefact, price)),
    'decisions': mapped(joined(routes, answers), Combine(artefact)),
}.items():
    whole = pa.concat_tables(done(made), promote_options='permissive').sort_by('id')
    pa.parquet.write_table(whole, f'{place}/{name}.parquet')
sums = mapped(mapped(data, Evaluate(artefact, draws=20)), Merge(artefact))
found = figures_from(artefact.load(), [batch for table in done(sums) for batch in table.to_batches()])
open(place + '/figures.json', 'w').write(json.dumps(found))
"""


@pytest.fixture(params=PACKAGES)
def engine(request):
    if importlib.util.find_spec(PACKAGES[request.param]) is None:
        pytest.skip(f"{PACKAGES[request.param]} is not installed")
    if request.param == "spark" and shutil.which("java") is None:
        pytest.skip("there is no Java")
    return request.param


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    save(policies.fitted("classes"), folder / "policy")
    table = queries(ROWS)
    write_table(folder / "new.parquet", table)
    answers = {name: values for name, values in table.items() if name == "id" or name.startswith("answer_")}
    write_table(folder / "answers.parquet", answers)
    assert run(*words(folder, folder / "local")) == 0
    return folder


def words(place, out):
    words = ["route", place / "policy", place / "new.parquet", "--fee-weight", 0.2, "--shard-rows", PART, "--out", out]
    return [str(word) for word in words]


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def started(place, out, engine):
    command = [sys.executable, "-m", "askwho", *words(place, out), "--engine", engine, "--workers", "2"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT)


def below(top: int) -> list[int]:
    """Every process that another started, or one of those it started."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            told = path.read_text().rpartition(")")[2].split()
            parents.setdefault(int(told[1]), []).append(int(path.parent.name))
    found, left = [], [top]
    while left:
        inside = parents.get(left.pop(), [])
        found += inside
        left += inside
    return found


def a_worker(top: int, engine: str) -> int | None:
    """One that works: of Spark's a child of the daemon that starts them, of Ray's an actor."""
    named = [pid for pid in below(top) if WORKERS[engine] in said_of(pid)]
    inner = [pid for pid in named if engine == "ray" or pid in {each for other in named for each in below(other)}]
    busy = [pid for pid in inner if engine == "spark" or "MapWorker" in said_of(pid)]
    return busy[0] if busy else None


def said_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_parts_are_those_of_a_local_run(place, engine, tmp_path):
    job = started(place, tmp_path / "parts", engine)
    told = job.communicate(timeout=SECONDS)[0]
    assert job.returncode == 0, told.decode()
    assert everything(tmp_path / "parts") == everything(place / "local")


def test_a_killed_worker_leaves_every_row_once(place, engine, tmp_path):
    out = tmp_path / "parts"
    job = started(place, out, engine)
    killed, until = None, time.monotonic() + SECONDS
    while killed is None and job.poll() is None and time.monotonic() < until:
        if len(list(out.glob("part-*.parquet"))) > 2:
            killed = a_worker(job.pid, engine)
            if killed is not None:
                os.kill(killed, signal.SIGKILL)
        time.sleep(0.01)
    there = len(list(out.glob("part-*.parquet")))
    told = job.communicate(timeout=SECONDS)[0]
    assert killed is not None
    assert there < ROWS // PART, "it was over before anybody was killed"
    assert job.returncode == 0, told.decode()
    assert everything(out) == everything(place / "local")
    ids = pyarrow.parquet.read_table(out)["id"].to_pylist()
    assert sorted(ids) == sorted(set(ids))
    assert len(ids) == ROWS


def test_data_sets_come_to_what_the_commands_write(place, engine, tmp_path):
    for name in ("new.parquet", "answers.parquet"):
        shutil.copy(place / name, tmp_path / name)
    shutil.copytree(place / "policy", tmp_path / "policy")
    job = subprocess.run(
        [sys.executable, "-c", MAPPED[engine] + JOBS, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert job.returncode == 0, job.stderr[-4000:]
    policy, table = place / "policy", place / "new.parquet"
    assert run("route", policy, table, "--fee-weight", 0.2, "--out", tmp_path / "a.parquet") == 0
    turns = ["--mode", "sequential", "--fee-weight", 0.2, "--out", tmp_path / "b.parquet"]
    assert run("route", policy, table, *turns) == 0
    assert (
        run("combine", policy, tmp_path / "a.parquet", place / "answers.parquet", "--out", tmp_path / "c.parquet") == 0
    )
    for local, name in (("a", "routes"), ("b", "steps"), ("c", "decisions")):
        ours = pyarrow.parquet.read_table(tmp_path / f"{local}.parquet").sort_by("id")
        theirs = pyarrow.parquet.read_table(tmp_path / f"{name}.parquet").select(ours.column_names)
        assert theirs.to_pylist() == ours.to_pylist(), name
    assert (tmp_path / "figures.json").exists()

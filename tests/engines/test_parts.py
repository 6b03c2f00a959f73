"""Parts by workers: each missing one in one stretch, and the bytes of a local run, however often one is made."""

import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho.data import write_table
from askwho.engines import Artefact, Evaluate, Parts, Route, plan_of
from askwho.exceptions import InvalidInputError, MissingDependencyError
from askwho.persistence import save
from askwho.policy import Target
from tests import policies
from tests.cli.conftest import queries
from tests.cli.running import refused, run


@given(st.integers(0, 60), st.sets(st.integers(0, 59)), st.integers(1, 5), st.sampled_from([1, 1 << 18, 1 << 21]))
def test_every_part_that_is_missing_is_in_one_stretch(parts, done, workers, rows):
    plan = plan_of(parts, done, rows=rows, workers=workers).to_pylist()
    made = [row["first"] + i for row in plan for i in range(row["parts"])]
    assert made == [number for number in range(parts) if number not in done]
    assert all(row["parts"] * rows <= max(rows, 1 << 20) for row in plan)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A saved policy, queries in two files, and the parts that a local run makes of them."""
    folder = tmp_path_factory.mktemp("parts")
    save(policies.fitted("classes"), folder / "policy")
    (folder / "queries").mkdir()
    table = queries()
    for number, rows in enumerate((slice(0, 70), slice(70, 120))):
        write_table(folder / "queries" / f"{number}.parquet", {name: values[rows] for name, values in table.items()})
    assert run(*words(folder), "--out", folder / "local") == 0
    return folder


def words(place, *more):
    return ["route", place / "policy", place / "queries", "--k", 2, "--shard-rows", 16, *more]


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_workers_make_the_bytes_of_a_local_run_in_any_order_and_again(place, tmp_path):
    work = Parts(Route(Artefact.at(place / "policy"), Target(k=2)), str(place / "queries"), str(tmp_path), 16)
    plan = plan_of(8, {2}, rows=16, workers=1)
    told = [work(plan.slice(i, 1)) for i in reversed(range(plan.num_rows))]
    assert sum(sum(said.column("queries").to_pylist()) for said in told) == 120 - 16
    assert told[0].schema == work.schema(plan.schema)
    work(plan_of(8, (), rows=16, workers=1))
    local = everything(place / "local")
    local.pop("_manifest.json")
    assert everything(tmp_path) == local


def test_an_engines_run_is_finished_by_what_is_there(place, tmp_path, monkeypatch):
    """The command with an engine whose workers are this process, one of which dies before its parts are written."""
    made, lost = [], []

    class Engine:
        check_installed = staticmethod(lambda: None)

        @staticmethod
        def run(work, plan, *, workers):  # noqa: ARG004 - as engines are called
            for i in range(plan.num_rows):
                if i == 1 and not made:
                    lost.append(plan.slice(i, 1))
                    continue
                yield work(plan.slice(i, 1))
            made.append(plan)

    monkeypatch.setitem(sys.modules, "askwho.engines.ray", Engine)
    there = words(place, "--engine", "ray", "--workers", 2, "--out", tmp_path / "parts")
    assert run(*there) == 1
    assert run(*there) == 0
    assert made[1].to_pylist() == lost[0].to_pylist(), "only what was lost is made again"
    assert everything(tmp_path / "parts") == everything(place / "local")
    assert run(*there) == 0
    assert len(made) == 2, "nothing is left to do"


def test_what_engines_need_is_said_before_anything_is_done(place, tmp_path, monkeypatch, capsys):
    plain = ["route", place / "policy", place / "queries", "--k", 2, "--out", tmp_path / "out"]
    assert "`--shard-rows` must be given with --engine ray" in refused(capsys, *plain, "--engine", "ray")
    assert "`engine` must be" in refused(capsys, *plain, "--engine", "abacus", "--shard-rows", 16)
    write_table(tmp_path / "new.csv", queries())
    monkeypatch.setattr("askwho.engines.ray.check_installed", lambda: None)
    text = ["route", place / "policy", tmp_path / "new.csv", "--k", 2, "--shard-rows", 16, "--out", tmp_path / "out"]
    assert "`queries` must be Parquet for several workers" in refused(capsys, *text, "--engine", "ray")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("spark", "pyspark")])
def test_without_its_package_an_engine_says_how_to_install_it(place, tmp_path, monkeypatch, capsys, engine, package):
    monkeypatch.setitem(sys.modules, package, None)
    said = refused(capsys, *words(place, "--engine", engine, "--out", tmp_path / "parts"))
    assert said == f"askwho: The engine '{engine}' needs {package}: pip install 'askwho[{engine}]'"
    assert not (tmp_path / "parts").exists()


def test_without_java_spark_says_so(monkeypatch):
    spark = importlib.import_module("askwho.engines.spark")
    monkeypatch.setattr(spark, "_types", object)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingDependencyError, match=r"needs Java, 17 or newer: install it"):
        spark.check_installed()


def test_what_a_worker_raises_is_one_line():
    failing = importlib.import_module("askwho.engines._failing").failing
    for told, line in (
        ("Traceback\n  File x\naskwho.exceptions.InvalidInputError: `k` must be 1.\nmore", "`k` must be 1."),
        ("worker lost\nstack", "worker lost"),
    ):
        with pytest.raises(Exception, match=f"^The engine 'ray' gave up: {line}$"), failing("ray", KeyError):
            raise _SaidError(told)


class _SaidError(KeyError):
    def __str__(self):
        return self.args[0]


def test_a_stranger_to_the_folder_is_told(tmp_path):
    with pytest.raises(InvalidInputError):
        Evaluate(Artefact(str(tmp_path), "")).load()

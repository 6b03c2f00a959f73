"""Routes in parts: the rows of one file, made again to the same bytes, by the same run alone."""

import json

import numpy as np
import pyarrow.parquet
import pytest

from askwho.data import table_of, write_table
from tests.cli.conftest import queries
from tests.cli.running import printed, refused, run

K = ["--k", 2, "--shard-rows", 50]


def everything(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_parts(capsys, place, folder, *more, source=None):
    return printed(capsys, "route", place / "policy", source or place / "new.parquet", *K, *more, "--out", folder)


def test_parts_hold_the_rows_of_one_file(place, tmp_path, capsys):
    said = in_parts(capsys, place, tmp_path / "parts")
    one = printed(capsys, "route", place / "policy", place / "new.parquet", "--k", 2, "--out", tmp_path / "one.parquet")
    assert {**said, "out": ""} == pytest.approx({**one, "out": ""})
    sizes = [pyarrow.parquet.read_metadata(path).num_rows for path in sorted((tmp_path / "parts").glob("part-*"))]
    assert sizes == [50, 50, 20]
    parts, whole = table_of(tmp_path / "parts"), table_of(tmp_path / "one.parquet")
    assert list(parts) == list(whole)
    for name, values in whole.items():
        assert [str(cell) for cell in parts[name]] == [str(cell) for cell in values], name
    manifest = json.loads((tmp_path / "parts" / "_manifest.json").read_text())
    assert (manifest["complete"], manifest["parts"], manifest["queries"]) == (True, 3, 120)


def test_parts_are_combined_as_one_file_is(place, tmp_path, capsys):
    in_parts(capsys, place, tmp_path / "parts")
    assert run("route", place / "policy", place / "new.parquet", "--k", 2, "--out", tmp_path / "one.parquet") == 0
    for routes, out in (("parts", "a.csv"), ("one.parquet", "b.csv")):
        words = ["combine", place / "policy", tmp_path / routes, place / "new.parquet", "--out", tmp_path / out]
        assert run(*words) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize("pattern", ["", "day-*.parquet"])
def test_queries_in_a_folder_are_routed_as_one_file(place, tmp_path, pattern):
    table, folder = queries(), tmp_path / "days"
    folder.mkdir()
    for number, rows in enumerate((slice(0, 70), slice(70, 120))):
        write_table(folder / f"day-{number}.parquet", {name: values[rows] for name, values in table.items()})
    for source, out in ((folder / pattern, "many.csv"), (place / "new.parquet", "one.csv")):
        assert run("route", place / "policy", source, "--k", 2, "--out", tmp_path / out) == 0
    assert (tmp_path / "many.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


@pytest.mark.parametrize("more", [[], ["--explore", 0.5, "--seed", 1]])
def test_a_run_goes_on_where_it_stopped(place, tmp_path, capsys, more):
    folder = tmp_path / "parts"
    said = in_parts(capsys, place, folder, *more)
    whole = everything(folder)
    assert in_parts(capsys, place, folder, *more) == said
    assert everything(folder) == whole
    # As it is left by a kill, or by an engine's: parts that are missing, and a file half written.
    (folder / "part-000001.parquet").unlink()
    (folder / ".part-000002.parquet.7.partial").write_bytes(b"PAR1")
    kept = [(folder / f"part-00000{number}.parquet").stat().st_mtime_ns for number in (0, 2)]
    assert in_parts(capsys, place, folder, *more) == said
    assert everything(folder) == whole
    assert [(folder / f"part-00000{number}.parquet").stat().st_mtime_ns for number in (0, 2)] == kept


def test_a_part_that_is_gone_or_cut_off_is_made_again(place, tmp_path, capsys):
    folder = tmp_path / "parts"
    in_parts(capsys, place, folder)
    whole = everything(folder)
    (folder / "part-000001.parquet").write_bytes(whole["part-000001.parquet"][:-1])
    in_parts(capsys, place, folder)
    assert everything(folder) == whole


def test_queries_without_names_are_called_by_their_rows(place, tmp_path, capsys):
    table = {name: values for name, values in queries().items() if name != "id"}
    write_table(tmp_path / "bare.parquet", table)
    in_parts(capsys, place, tmp_path / "parts", source=tmp_path / "bare.parquet")
    assert table_of(tmp_path / "parts")["id"].tolist() == [str(i) for i in range(120)]


def test_each_part_explores_by_its_own_lot(place, tmp_path, capsys):
    same = {name: np.repeat(values[:1], 120) for name, values in queries().items()} | {"id": queries()["id"]}
    write_table(tmp_path / "same.parquet", same)
    more = ["--explore", 0.5, "--seed", 1]
    in_parts(capsys, place, tmp_path / "parts", *more, source=tmp_path / "same.parquet")
    drawn = [table_of(path)["propensity"].tolist() for path in sorted((tmp_path / "parts").glob("part-*"))]
    assert drawn[0] != drawn[1]


def test_another_run_does_not_go_on(place, tmp_path, capsys):
    in_parts(capsys, place, tmp_path / "parts")
    words = ["route", place / "policy", place / "new.parquet", "--shard-rows", 50, "--out", tmp_path / "parts"]
    assert "which differs in target" in refused(capsys, *words, "--k", 1)
    (tmp_path / "parts" / "_manifest.json").write_text("[]")
    assert "which differs in " in refused(capsys, *words, "--k", 2)


def test_a_folder_of_other_files_and_a_file_are_refused(place, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    words = ["route", place / "policy", place / "new.parquet", *K, "--out"]
    assert "must be a folder of its own" in refused(capsys, *words, tmp_path)
    assert "must be a folder for --shard-rows" in refused(capsys, *words, tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert "`--seed` must be given" in refused(capsys, *words, tmp_path / "parts", "--explore", 0.1)


def test_routes_by_uri_are_those_by_path(place, tmp_path, capsys):
    for number in range(2):
        # The second time it goes on.
        in_parts(capsys, place, f"{tmp_path.as_uri()}/uri")
        if not number:
            (tmp_path / "uri" / "part-000001.parquet").unlink()
            (tmp_path / "uri" / ".part-000001.parquet.7.partial").write_bytes(b"PAR1")
    in_parts(capsys, place, tmp_path / "path")
    assert everything(tmp_path / "uri") == everything(tmp_path / "path")
    for out in (f"{tmp_path.as_uri()}/uri.csv", tmp_path / "path.csv"):
        assert run("route", place / "policy", place / "new.parquet", "--k", 2, "--out", out) == 0
    assert (tmp_path / "uri.csv").read_bytes() == (tmp_path / "path.csv").read_bytes()

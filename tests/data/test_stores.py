"""Tables by URI: what a path reads a URI reads, in any format; a folder, a pattern, and a store of another kind."""

import gzip
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from pyarrow import fs

from askwho.data import _stores, count_rows, files_of, read_batches, table_of, write_table
from tests.refusals import refuses

TABLE = {"id": ["a", "b", "c"], "x": [0.5, 1.5, 2.5], "word": ["one", None, "three"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows in every format."""
    place = tmp_path_factory.mktemp("stores")
    for ending in ("parquet", "csv", "jsonl"):
        write_table(place / f"rows.{ending}", TABLE)
    for ending in ("csv", "jsonl"):
        (place / f"packed.{ending}.gz").write_bytes(gzip.compress((place / f"rows.{ending}").read_bytes()))
    pa.feather.write_feather(pa.table(TABLE), place / "rows.arrow")
    return place


def plain(table):
    return {name: values.tolist() for name, values in table.items()}


FILES = ["rows.parquet", "rows.csv", "rows.jsonl", "packed.csv.gz", "packed.jsonl.gz", "rows.arrow"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_uri_reads_what_a_path_reads(folder, name, kind):
    uri = kind((folder / name).as_uri())
    assert plain(table_of(uri)) == plain(table_of(folder / name)) == TABLE
    batches = [plain(batch) for batch in read_batches(uri, rows=2)]
    assert batches == [plain(batch) for batch in read_batches(folder / name, rows=2)]
    assert len(batches) == 2


def days(tmp_path):
    for number in range(2):
        write_table(tmp_path / f"day-{number}.parquet", {"x": [number * 2, number * 2 + 1]})
    write_table(tmp_path / "_other.parquet", {"x": [9]})
    write_table(tmp_path / "night.parquet", {"x": [8]})


def test_a_folder_and_a_pattern_are_tables_by_uri_too(tmp_path):
    days(tmp_path)
    assert table_of(f"{tmp_path.as_uri()}/day-*.parquet")["x"].tolist() == [0, 1, 2, 3]
    assert table_of(tmp_path.as_uri())["x"].tolist() == [0, 1, 2, 3, 8]
    assert count_rows(tmp_path.as_uri()) == 5
    assert [str(file) for file in files_of(f"{tmp_path.as_uri()}/day-*", "log")] == [
        f"{tmp_path.as_uri()}/day-{number}.parquet" for number in range(2)
    ]


def test_a_store_of_another_kind_is_read_by_its_uri(tmp_path, monkeypatch):
    days(tmp_path)
    asked = []

    def from_uri(uri):
        asked.append(uri)
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), uri.partition("?")[0].split("bucket")[1]

    there = SimpleNamespace(
        FileSystem=SimpleNamespace(from_uri=from_uri), FileType=fs.FileType, FileSelector=fs.FileSelector
    )
    monkeypatch.setattr(_stores, "fs", there)
    for source in ("s3://bucket/day-*.parquet?region=here", Path("s3://bucket/day-*.parquet?region=here")):
        assert table_of(source)["x"].tolist() == [0, 1, 2, 3]
    assert set(asked) == {"s3://bucket?region=here"}
    assert table_of("s3://bucket/night.parquet")["x"].tolist() == [8]


def test_only_what_is_needed_is_read(tmp_path):
    write_table(tmp_path / "wide.parquet", {"x": [1, 2, 3], "y": [4, 5, 6], "x.y": [7, 8, 9]})
    shutil.copy(tmp_path / "wide.parquet", tmp_path / "more.parquet")
    for ending in ("arrow", "csv"):
        write = pa.feather.write_feather if ending == "arrow" else write_csv
        write(pa.table({"x": [1, 2, 3], "y": [4, 5, 6]}), tmp_path / f"wide.{ending}")
    for name in ("wide.parquet", "wide.arrow", "wide.csv", "*.parquet"):
        found = list(read_batches(tmp_path / name, rows=2, only=lambda there: ["x"]))
        assert {tuple(batch) for batch in found} == {("x",)}
        assert [x for batch in found for x in batch["x"].tolist()] == [1, 2, 3] * (2 if "*" in name else 1)


def write_csv(table, path):
    write_table(path, table.to_pydict())


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("skip", [0, 1, 2, 3, 4, 9])
def test_batches_that_are_left_out_leave_the_others_as_they_are(tmp_path, ending, skip):
    numbers = list(range(20))
    for number, rows in enumerate((numbers[:7], numbers[7:8], numbers[8:])):
        table = pa.table({"x": rows})
        if ending == "parquet":
            pa.parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=3)
        else:
            write_table(tmp_path / f"{number}.{ending}", table.to_pydict())
    whole = [batch["x"].tolist() for batch in read_batches(tmp_path, rows=4)]
    assert [batch["x"].tolist() for batch in read_batches(tmp_path, rows=4, skip=skip)] == whole[skip:]


def test_what_was_read_is_not_held(tmp_path):
    size, parts = 1 << 14, 40
    with pa.parquet.ParquetWriter(
        tmp_path / "long.parquet", pa.schema({"x": pa.float64()}), use_dictionary=False
    ) as file:
        for number in range(parts):
            file.write_table(pa.table({"x": np.random.default_rng(number).random(size)}))
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in read_batches(tmp_path / "long.parquet", rows=size)]
    assert len(held) == parts
    assert max(held) < parts * size * 8 / 4


def test_what_is_wrong_with_a_uri_is_said_in_one_line(tmp_path):
    refuses(lambda: table_of("nowhere://x/y.parquet"), "`queries` must be a URI that can be reached")
    refuses(lambda: table_of(f"{tmp_path.as_uri()}/none.parquet"), "it is not there")
    refuses(lambda: table_of(f"{tmp_path.as_uri()}/*.parquet"), "there is none")
    refuses(lambda: table_of(f"{tmp_path.as_uri()}"), "there is none")

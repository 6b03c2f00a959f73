"""Tables into stores: the bytes that a path gives, whole or not at all."""

import json
from types import SimpleNamespace

import pytest
from pyarrow import fs

from askwho.data import _stores, folder_at, table_of, write_batches, write_table
from tests.refusals import refuses

TABLE = {"id": ["a", "b"], "x": [0.5, None], "who": [["one"], ["one", "two"]]}
ENDINGS = ["parquet", "csv", "jsonl"]


class BrokenError(Exception):
    """What stops writing in the middle."""


class Store:
    """A store that is no disk, as far as its users can tell, and that writes down what is done to it."""

    def __init__(self, place):
        self.inside, self.done, self.full = fs.SubTreeFileSystem(str(place), fs.LocalFileSystem()), [], False

    def __getattr__(self, name):
        return getattr(self.inside, name)

    def move(self, old, new):
        self.done.append(("move", old, new))
        self.inside.move(old, new)

    def open_output_stream(self, path):
        if self.full:
            raise OSError("no room in the bucket")
        self.done.append(("write", path))
        return self.inside.open_output_stream(path)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """What s3://bucket means."""
    (tmp_path / "bucket").mkdir()
    made = Store(tmp_path / "bucket")
    there = SimpleNamespace(
        FileSystem=SimpleNamespace(from_uri=lambda uri: (made, uri.partition("?")[0].split("bucket/")[1])),
        FileType=fs.FileType,
        FileSelector=fs.FileSelector,
    )
    monkeypatch.setattr(_stores, "fs", there)
    return made


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_uri_of_this_machine_gets_what_a_path_gets(tmp_path, ending):
    write_table(tmp_path / f"path.{ending}", TABLE)
    write_table(f"{tmp_path.as_uri()}/uri.{ending}", TABLE)
    assert (tmp_path / f"uri.{ending}").read_bytes() == (tmp_path / f"path.{ending}").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"path.{ending}", f"uri.{ending}"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_store_gets_it_under_another_name_first(store, tmp_path, ending):
    write_table(tmp_path / f"path.{ending}", TABLE)
    place = f"s3://bucket/routes.{ending}?region=here"
    for _ in range(2):
        # What is there is replaced.
        write_table(place, TABLE)
    (_, hidden), moved = store.done[:2]
    assert hidden.startswith(".routes.")
    assert moved == ("move", hidden, f"routes.{ending}")
    assert (tmp_path / "bucket" / f"routes.{ending}").read_bytes() == (tmp_path / f"path.{ending}").read_bytes()
    assert [path.name for path in (tmp_path / "bucket").iterdir()] == [f"routes.{ending}"]
    assert table_of(f"s3://bucket/routes.{ending}")["id"].tolist() == ["a", "b"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_breaks_off_leaves_what_was_there(store, tmp_path, ending):
    write_table(f"s3://bucket/routes.{ending}", TABLE)
    before = (tmp_path / "bucket" / f"routes.{ending}").read_bytes()

    def tables():
        yield {"id": ["c"]}
        raise BrokenError

    with pytest.raises(BrokenError):
        write_batches(f"s3://bucket/routes.{ending}", tables())
    assert (tmp_path / "bucket" / f"routes.{ending}").read_bytes() == before
    store.full = True
    refuses(lambda: write_table(f"s3://bucket/routes.{ending}", TABLE), "no room in the bucket")
    assert [path.name for path in (tmp_path / "bucket").iterdir()] == [f"routes.{ending}"]


def test_folders_of_both_kinds_do_the_same(store, tmp_path):
    for folder in (folder_at(tmp_path / "here"), folder_at("s3://bucket/there")):
        folder.make()
        folder.make()
        folder.write("_manifest.json", b"{}")
        folder.write("_manifest.json", b'{"a": 1}')
        write_batches(folder.file("part-000000.parquet"), [TABLE])
        assert json.loads(folder.read("_manifest.json")) == {"a": 1}
        assert folder.names() == ["_manifest.json", "part-000000.parquet"]
        assert folder.names("part-*") == ["part-000000.parquet"]
    (tmp_path / "bucket" / "there" / ".x.7.partial").write_bytes(b"")
    folder_at("s3://bucket/there").make()
    assert ".x.7.partial" not in folder_at("s3://bucket/there").names()
    assert store.done


def test_what_is_wrong_is_said_in_one_line(tmp_path):
    refuses(lambda: write_table("nowhere://x/y.parquet", TABLE), "`out` must be a URI that can be reached")
    refuses(lambda: write_table(f"{tmp_path.as_uri()}/y.txt", TABLE), "`out` must end in .parquet")
    refuses(lambda: write_table(f"{tmp_path.as_uri()}/none/y.csv", TABLE), "`out` must be writable")

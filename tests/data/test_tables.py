"""Tables of every source and of every kind of file, and what is said where one cannot be read."""

import datetime as dt
import gzip
import json
import re
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from askwho import Columns, InvalidInputError, read_log
from askwho.core import Cell
from askwho.data import _formats, describe, read_batches, read_table, table_of, write_batches, write_table

NAN = float("nan")
# Three queries of every kind of cell that has a plain type, and one that has none.
ROWS = [
    {"number": 0.5, "whole": 7, "word": "cat", "vector": [1.0, 2.0]},
    {"number": 1.5, "whole": None, "word": None, "vector": [3.0, 4.0]},
    {"number": 2.5, "whole": 2**60 + 1, "word": "owl", "vector": [5.0, 6.0]},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


class Stream:
    """Whatever speaks Arrow's protocol, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def reader(*tables):
    batches = [batch for table in tables for batch in table.to_batches()]
    return pa.RecordBatchReader.from_batches(tables[0].schema, batches)


def pandas():
    return pytest.importorskip("pandas")


def polars():
    return pytest.importorskip("polars")


SOURCES = {
    "columns": lambda: COLUMNS,
    "tuples": lambda: {name: tuple(values) for name, values in COLUMNS.items()},
    "arrays of objects": lambda: {name: objects(values) for name, values in COLUMNS.items()},
    "a matrix": lambda: COLUMNS | {"vector": np.array(COLUMNS["vector"])},
    "a matrix of whole numbers": lambda: COLUMNS | {"vector": np.array(COLUMNS["vector"], dtype=np.int32)},
    "series of pandas": lambda: {name: pandas().Series(values, index=[4, 5, 6]) for name, values in nullable().items()},
    "series of polars": lambda: {name: polars().Series(values) for name, values in COLUMNS.items()},
    "columns of Arrow": lambda: {name: pa.array(values) for name, values in COLUMNS.items()},
    "a list of dicts": lambda: ROWS,
    "a tuple of dicts": lambda: tuple(ROWS),
    "dicts without what is empty": lambda: [{n: v for n, v in row.items() if v is not None} for row in ROWS],
    "pandas": lambda: pandas().DataFrame(nullable(), index=["a", "b", "c"]),
    "polars": lambda: polars().DataFrame(COLUMNS),
    "polars with arrays": lambda: polars().DataFrame(COLUMNS, schema_overrides={"vector": polars().Array(float, 2)}),
    "polars with categories": lambda: polars().DataFrame(COLUMNS, schema_overrides={"word": polars().Categorical}),
    "a lazy frame": lambda: polars().DataFrame(COLUMNS).lazy(),
    "Arrow": lambda: pa.table(COLUMNS),
    "Arrow with a dictionary": lambda: pa.table(COLUMNS | {"word": pa.array(COLUMNS["word"]).dictionary_encode()}),
    "Arrow with lists of one length": lambda: pa.table(COLUMNS | {"vector": pa.array(COLUMNS["vector"], PAIRS)}),
    "Arrow with tensors": lambda: pa.table(COLUMNS | {"vector": tensors(COLUMNS["vector"])}),
    "a record batch": lambda: pa.record_batch(COLUMNS),
    "a reader of record batches": lambda: reader(pa.table(COLUMNS).slice(0, 1), pa.table(COLUMNS).slice(1)),
    "a stranger that speaks Arrow": lambda: Stream(pa.table(COLUMNS)),
}
PAIRS = pa.list_(pa.float64(), 2)


def objects(values):
    return np.fromiter(values, dtype=object, count=len(values))


def nullable():
    """As pandas keeps whole numbers beside a null."""
    return COLUMNS | {"whole": pandas().array(COLUMNS["whole"], dtype="Int64")}


def tensors(values):
    return pa.FixedShapeTensorArray.from_numpy_ndarray(np.array(values))


def is_the_table(found, number=np.float64):
    assert list(found) == list(COLUMNS)
    assert found["number"].dtype == number
    assert found["number"].tolist() == COLUMNS["number"]
    assert found["whole"].tolist() == COLUMNS["whole"]
    assert found["word"].dtype == object
    assert found["word"].tolist() == COLUMNS["word"]
    assert found["vector"].dtype.kind == "f"
    assert found["vector"].tolist() == COLUMNS["vector"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_table_is_the_same_from_every_source(name):
    is_the_table(table_of(SOURCES[name]()))


@pytest.mark.parametrize("name", SOURCES)
def test_a_table_in_batches_is_the_same_from_every_source(name):
    batches = list(read_batches(SOURCES[name](), rows=2))
    assert [len(batch["number"]) for batch in batches] == [2, 1]
    is_the_table({column: np.concatenate([batch[column] for batch in batches]) for column in batches[0]})


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"x_1": 0.3}, {"x_1": [0.3]}),
        ({"prompt": "hi"}, {"prompt": ["hi"]}),
        ({"prompt": ["hi"]}, {"prompt": ["hi"]}),
        ({"x": np.float32(0.5), "n": np.int64(3), "yes": True}, {"x": [0.5], "n": [3], "yes": [True]}),
        ({"x": None, "word": "a"}, {"x": [None], "word": ["a"]}),
        ({"day": dt.date(2020, 1, 1)}, {"day": [dt.date(2020, 1, 1)]}),
        ([{"vector": [0.1, 0.2]}], {"vector": [[0.1, 0.2]]}),
        ({"vector": [[0.1, 0.2]]}, {"vector": [[0.1, 0.2]]}),
        ({3: [1, 2]}, {"3": [1, 2]}),
    ],
    ids=str,
)
def test_one_query(query, found):
    assert {name: values.tolist() for name, values in table_of(query).items()} == found


def test_columns_that_are_arrays_are_taken_as_they_are():
    given = {"x": np.zeros(3), "n": np.arange(3), "word": np.array(["a", "b", "c"]), "vector": np.zeros((3, 2))}
    found = table_of(given)
    assert found is not given
    assert all(found[name] is given[name] for name in given)


@pytest.mark.parametrize("word", [None, NAN, "NA", "NaT"])
def test_an_empty_cell_among_words_is_none_and_never_a_word(word):
    missing = getattr(pandas(), word) if isinstance(word, str) else word
    assert table_of({"word": ["a", missing]})["word"].tolist() == ["a", None]


def test_a_masked_cell_is_empty():
    values = np.ma.array([1.0, 2.0], mask=[False, True])
    assert table_of({"x": values})["x"].tolist() == [1.0, None]


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 4.0]]),
        ([(1, 2), np.array([3, 4])], [[1.0, 2.0], [3.0, 4.0]]),
        ([[True, False], [False, False]], [[1.0, 0.0], [0.0, 0.0]]),
        ([[1.0, None], [3.0, 4.0]], [[1.0, NAN], [3.0, 4.0]]),
        ([None, [3.0, 4.0]], [[NAN, NAN], [3.0, 4.0]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["list", "arrow", "pandas", "polars"])
def test_lists_of_numbers_of_one_length_are_one_array(cells, found, form):
    if form == "arrow":
        cells = pa.array([None if cell is None else list(cell) for cell in cells])
    elif form == "pandas":
        cells = pandas().Series(objects(cells))
    elif form == "polars":
        cells = polars().Series([None if cell is None else list(cell) for cell in cells])
    np.testing.assert_array_equal(table_of({"vector": cells})["vector"], np.array(found))


def test_a_vector_keeps_its_precision():
    given = pa.table({"vector": pa.array([[0.1], [0.2]], pa.list_(pa.float32()))})
    assert table_of(given)["vector"].dtype == np.float32


@pytest.mark.parametrize(
    "cells", [[[1.0], [1.0, 2.0]], [["a"], ["b"]], [[], []], [[1.0], 2.0], [[[1]], [[2]]]], ids=str
)
def test_other_lists_stay_lists(cells):
    found = table_of({"x": cells})["x"]
    assert found.shape == (2,)
    assert found.tolist() == cells


def test_a_frame_with_a_named_index_has_no_more_columns():
    frame = pandas().DataFrame({"x": [1.0]}, index=pandas().Index(["a"], name="key"))
    assert list(table_of(frame)) == ["x"]


def test_a_frame_with_a_column_of_mixed_types_is_read():
    assert table_of(pandas().DataFrame({"x": [1, "a"]}))["x"].tolist() == [1, "a"]


def test_names_of_128_bits_are_texts():
    if not hasattr(pa, "uuid"):
        pytest.skip("this Arrow does not know them")
    name = uuid.UUID(int=7)
    assert table_of(pa.table({"id": pa.array([name.bytes, None], pa.uuid())}))["id"].tolist() == [str(name), None]


def refused(call, message):
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}"):
        call()


BOTH = (
    "`queries` must hold columns, or single values of one query, got a column in 'vector' and a single value in 'x': "
    "put one query with lists in it into a list."
)
NEITHER = (
    "`queries` must be a file, a data frame, a dict, or a list of dicts, got {}: name the columns, such as "
    "{{'x': ...}}."
)
BAD = {
    "nothing": (lambda: None, NEITHER.format("NoneType")),
    "a number": (lambda: 3, NEITHER.format("int")),
    "an array": (lambda: np.zeros((2, 2)), NEITHER.format("ndarray")),
    "an empty array": (lambda: np.array([]), NEITHER.format("ndarray")),
    "an array without an axis": (lambda: np.array(1.0), NEITHER.format("ndarray")),
    "a series of pandas": (lambda: pandas().Series([1]), NEITHER.format("Series")),
    "a series of polars": (lambda: polars().Series([1]), NEITHER.format("Series")),
    "a column of Arrow": (lambda: pa.array([1]), NEITHER.format("Int64Array")),
    "no column": (dict, "`queries` must not be empty: there is no column in it."),
    "no row": (lambda: {"x": []}, "`queries` must not be empty: there is no row in it."),
    "no row in an array": (lambda: {"x": np.array([])}, "`queries` must not be empty: there is no row in it."),
    "no dict": (list, "`queries` must not be empty: there is no row in it."),
    "an empty dict": (lambda: [{}], "`queries` must not be empty: there is no column in it."),
    "an empty frame": (lambda: pandas().DataFrame(), "`queries` must not be empty: there is no column in it."),
    "no row in a frame": (lambda: polars().DataFrame({"x": []}), "`queries` must not be empty: there is no row in it."),
    "an empty reader": (lambda: reader(pa.table({"x": [1]}).slice(1)), "`queries` must not be empty: there is no row"),
    "a column and a value": (lambda: {"x": 1.0, "vector": [0.1, 0.2]}, BOTH),
    "an array and a value": (lambda: {"x": 1.0, "vector": np.zeros(2)}, BOTH),
    "a value without an axis": (
        lambda: {"x": np.array(1.0)},
        "`x` must be a column or a single value, got an array without an axis: take a list.",
    ),
    "a dict in a dict": (lambda: {"x": {"y": 1}}, "`x` must be a column or a single value, got dict: take a list."),
    "a generator": (
        lambda: {"x": (i for i in range(3))},
        "`x` must be a column or a single value, got generator: take a list.",
    ),
    "three axes": (
        lambda: {"x": np.zeros((2, 2, 2))},
        "`x` must hold single values, or lists of numbers of one length, got an array of float64 with shape (2, 2, 2).",
    ),
    "a matrix of words": (
        lambda: {"x": np.array([["a", "b"]])},
        "`x` must hold single values, or lists of numbers of one length, got an array of <U1 with shape (1, 2).",
    ),
    "a matrix without a column": (
        lambda: {"x": np.zeros((2, 0))},
        "`x` must hold single values, or lists of numbers of one length, got an array of float64 with shape (2, 0).",
    ),
    "columns of two lengths": (
        lambda: {"x": [1, 2], "y": np.zeros(3)},
        "`queries` must have columns of one length, got [2, 3].",
    ),
    "arrays of two lengths": (
        lambda: {"x": np.zeros(2), "y": np.zeros(3)},
        "`queries` must have columns of one length, got [2, 3].",
    ),
    "rows that are no dicts": (lambda: [{"x": 1}, "hi"], "`queries` must hold a dict for each query, got str at 1."),
    "a name twice": (
        lambda: {1: [1], "1": [2]},
        "`queries` must have columns of different names, got ['1'] more than once.",
    ),
    "a name twice in a frame": (
        lambda: pandas().DataFrame([[1, 2]], columns=["x", "x"]),
        "`queries` must have columns of different names, got ['x'] more than once.",
    ),
    "a name twice in Arrow": (
        lambda: pa.table([[1], [2]], names=["x", "x"]),
        "`queries` must have columns of different names, got ['x'] more than once.",
    ),
    "no such file": (lambda: "nowhere.csv", "`queries` must be a file, got 'nowhere.csv': it is not there."),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_table(name):
    make, message = BAD[name]
    refused(lambda: table_of(make()), message)


def test_a_message_calls_a_table_what_it_is():
    refused(lambda: table_of([], "answers"), "`answers` must not be empty")
    refused(lambda: read_table({}), "`log` must not be empty")
    refused(lambda: list(read_batches("nowhere.csv", name="routes")), "`routes` must be a file")


def broken():
    def batches():
        yield pa.record_batch({"x": [1]})
        raise pa.ArrowInvalid("the line went dead")

    return pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches())


@pytest.mark.parametrize("read", [table_of, lambda source: list(read_batches(source, name="queries"))])
def test_a_reader_that_breaks_off_is_told_in_one_line(read):
    with pytest.raises(InvalidInputError, match=r"^`queries` must be a table, got RecordBatchReader: .*went dead"):
        read(broken())


# Files.

LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
TEXT = "number,whole,word\n0.5,7,cat\n1.5,,\n2.5,1152921504606846977,owl\n"
ABROAD = TEXT.replace(",", ";").replace(".5", ",5")


def write_stream(path, table):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


FILES = {
    "log.parquet": lambda path: pa.parquet.write_table(pa.table(COLUMNS), path, row_group_size=2),
    "LOG.PARQUET": lambda path: pa.parquet.write_table(pa.table(COLUMNS), path),
    "log.csv": lambda path: path.write_text(TEXT),
    "log.2024.csv": lambda path: path.write_text(TEXT),
    "log.tsv": lambda path: path.write_text(TEXT.replace(",", "\t")),
    "log.csv.gz": lambda path: path.write_bytes(gzip.compress(TEXT.encode())),
    "log.tsv.gz": lambda path: path.write_bytes(gzip.compress(TEXT.replace(",", "\t").encode())),
    "tabs.csv": lambda path: path.write_text(TEXT.replace(",", "\t")),
    "semicolons.csv": lambda path: path.write_text(TEXT.replace(",", ";")),
    "commas for points.csv": lambda path: path.write_text(TEXT.replace(",", ";").replace(".5", ",5")),
    "windows.csv": lambda path: path.write_bytes(
        TEXT.replace(",", ";").replace(".5", ",5").replace("\n", "\r\n").encode()
    ),
    "log.jsonl": lambda path: path.write_text(LINES),
    "log.ndjson": lambda path: path.write_text(LINES.rstrip()),
    "gaps.jsonl": lambda path: path.write_text("\n" + LINES.replace("\n", "\n\n")),
    "log.jsonl.gz": lambda path: path.write_bytes(gzip.compress(LINES.encode())),
    "log.feather": lambda path: pa.feather.write_feather(pa.table(COLUMNS), path),
    "small.feather": lambda path: pa.feather.write_feather(pa.table(COLUMNS), path, compression="zstd", chunksize=1),
    "log.arrow": lambda path: pa.feather.write_feather(pa.table(COLUMNS), path),
    "stream.arrow": lambda path: write_stream(path, pa.table(COLUMNS)),
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file(name, tmp_path):
    path = tmp_path / name
    FILES[name](path)
    for found in (table_of(path), table_of(str(path)), next(iter(read_batches(path)))):
        if "vector" not in found:
            assert path.suffix == ".gz" or path.suffix in (".csv", ".tsv"), "no cell of CSV is a list"
            found["vector"] = np.array(COLUMNS["vector"])
        is_the_table(found)


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_in_batches(name, tmp_path, monkeypatch):
    # Blocks of a few lines: nothing may depend on where one ends.
    monkeypatch.setattr(_formats, "_BLOCK", 100)
    path = tmp_path / name
    FILES[name](path)
    batches = list(read_batches(path, rows=2))
    assert [len(batch["number"]) for batch in batches] == [2, 1]
    assert [value for batch in batches for value in batch["whole"].tolist()] == COLUMNS["whole"]


def test_a_comma_in_quotes_is_no_delimiter(tmp_path):
    (tmp_path / "log.csv").write_text('"a,b";c\n1;2\n')
    assert {name: values.tolist() for name, values in table_of(tmp_path / "log.csv").items()} == {"a,b": [1], "c": [2]}


def test_commas_and_points_in_numbers_of_one_file_are_left_alone(tmp_path):
    (tmp_path / "log.csv").write_text("a;b\n1,5;2.5\n")
    assert {n: v.tolist() for n, v in table_of(tmp_path / "log.csv").items()} == {"a": ["1,5"], "b": [2.5]}


ENDINGS = ".parquet, .csv, .tsv, .jsonl, .ndjson, .feather or .arrow, text also in .gz after that, got "


@pytest.mark.parametrize("name", ["log.xlsx", "log", "log.json", "log.parquet.gz", "log.gz", ".csv"])
def test_an_ending_that_is_not_known(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"a,b\n1,2\n")
    for call in (lambda: table_of(path, "log"), lambda: list(read_batches(path))):
        refused(call, f"`log` must end in {ENDINGS}{str(path)!r}.")


BROKEN = {
    "log.parquet": (b"PAR1PAR1", "a Parquet file"),
    "log.csv": (b"", "a CSV file"),
    "short.csv": (b"a,b\n1\n", "a CSV file"),
    "log.csv.gz": (gzip.compress(TEXT.encode() * 99)[:40], "a CSV file"),
    "plain.csv.gz": (TEXT.encode(), "a CSV file"),
    "list.jsonl": (b"[1, 2]\n", "a file of JSON lines"),
    "null.jsonl": (b"null\n", "a file of JSON lines"),
    "cut.jsonl": (LINES.encode()[:-9], "a file of JSON lines"),
    "latin.jsonl": ('{"a": "caf\xe9"}\n'.encode("latin-1"), "a file of JSON lines"),
    "half a pair.jsonl": (rb'{"a": "\ud83d"}', "a file of JSON lines"),
    "deep.jsonl": (b'{"a": ' + b"[" * 100_000, "a file of JSON lines"),
    "cut.jsonl.gz": (gzip.compress(LINES.encode())[:-12], "a file of JSON lines"),
    "plain.jsonl.gz": (LINES.encode(), "a file of JSON lines"),
    "wrong.jsonl.gz": (gzip.compress(LINES.encode())[:30] + b"x" * 9, "a file of JSON lines"),
    "log.feather": (b"FEA1", "an Arrow file"),
    "log.arrow": (b"ARROW1\0\0", "an Arrow file"),
    "empty.arrow": (b"", "an Arrow file"),
    "stream.arrow": (b"\xff\xff\xff\xff\x10\0\0\0", "an Arrow file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_told_in_one_line(name, tmp_path):
    content, kind = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(content)
    for call in (lambda: table_of(path, "log"), lambda: list(read_batches(path))):
        refused(call, f"`log` must be {kind}, got {str(path)!r}: ")


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"a": 1}\n\n{"a": }\n')
    with pytest.raises(InvalidInputError, match="line 3: Expecting value"):
        table_of(tmp_path / "log.jsonl")


def test_lines_of_json_keep_what_they_hold(tmp_path):
    lines = [
        r'{"a": "\ud83d\ude00", "day": "2020-01-01", "n": 1152921504606846977, "b": [null, 1]}',
        '{"n": null, "c": 2}',
    ]
    (tmp_path / "log.jsonl").write_text("\ufeff" + "\r\n".join(lines), "utf-8")
    found = table_of(tmp_path / "log.jsonl")
    assert {name: values.tolist() for name, values in found.items() if name != "b"} == {
        "a": ["\U0001f600", None],
        "day": ["2020-01-01", None],
        "n": [2**60 + 1, None],
        "c": [None, 2],
    }
    np.testing.assert_array_equal(found["b"], [[NAN, 1], [NAN, NAN]])


def test_a_key_that_a_batch_lacks_is_an_empty_column(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"a": 1, "b": 2}\n{"a": 3}\n{"a": 4, "c": 5}\n')
    batches = [{n: v.tolist() for n, v in batch.items()} for batch in read_batches(tmp_path / "log.jsonl", rows=1)]
    assert batches == [{"a": [1], "b": [2]}, {"a": [3], "b": [None]}, {"a": [4], "b": [None], "c": [5]}]


def test_an_arrow_file_that_points_outside_of_itself_is_refused(tmp_path):
    path = tmp_path / "log.arrow"
    offsets = np.arange(0, 12, 4, dtype=np.int32)
    texts = pa.StringArray.from_buffers(2, pa.py_buffer(offsets), pa.py_buffer(b"abcdefgh"))
    pa.feather.write_feather(pa.table({"word": texts}), path, compression="uncompressed")
    data = path.read_bytes()
    assert data.count(offsets.tobytes()) == 1
    path.write_bytes(data.replace(offsets.tobytes(), np.array([0, 4, 2**30], dtype=np.int32).tobytes()))
    for call in (lambda: table_of(path, "log"), lambda: list(read_batches(path))):
        refused(call, f"`log` must be an Arrow file, got {str(path)!r}: ")


def test_a_file_without_rows_is_empty(tmp_path):
    empty = pa.table({"x": pa.array([], pa.float64())})
    pa.parquet.write_table(empty, tmp_path / "log.parquet")
    pa.feather.write_feather(empty, tmp_path / "log.feather")
    write_stream(tmp_path / "log.arrow", empty)
    (tmp_path / "log.csv").write_text("x\n")
    (tmp_path / "log.jsonl").write_text("\n\n")
    (tmp_path / "nothing.jsonl").write_text("")
    for path in tmp_path.iterdir():
        refused(lambda: table_of(path), "`queries` must not be empty: there is no row in it.")  # noqa: B023
        assert list(read_batches(path)) == []


# What is written.


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_table_travels(suffix, tmp_path):
    path = tmp_path / f"log.{suffix}"
    write_table(path, table_of(COLUMNS))
    is_the_table(table_of(path))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_vector_is_json_in_csv(tmp_path):
    write_table(tmp_path / "log.csv", table_of(COLUMNS))
    assert table_of(tmp_path / "log.csv")["vector"].tolist() == [json.dumps(row) for row in COLUMNS["vector"]]


def test_lines_of_json_are_json(tmp_path):
    path = tmp_path / "out.jsonl"
    write_batches(
        path, [{"x": [NAN, 1.0], "y": [[NAN], [2.0]], "day": [dt.date(2020, 1, 2)] * 2, "word": ["é\n", None]}]
    )
    assert [json.loads(line, parse_constant=pytest.fail) for line in path.read_text("utf-8").splitlines()] == [
        {"x": None, "y": [None], "day": "2020-01-02", "word": "é\n"},
        {"x": 1.0, "y": [2.0], "day": "2020-01-02", "word": None},
    ]


@pytest.mark.parametrize("cell", [float("inf"), b"bytes"])
def test_what_json_does_not_know_is_refused_and_no_file_is_left(cell, tmp_path):
    refused(
        lambda: write_table(tmp_path / "out.jsonl", {"x": [cell]}), "`out` must be able to hold every cell, got .jsonl"
    )
    assert not list(tmp_path.iterdir())


def test_an_ending_that_cannot_be_written(tmp_path):
    refused(lambda: write_table(tmp_path / "out.arrow", {"x": [1]}), "`out` must end in .parquet, .csv or .jsonl, got ")


SPLIT = [".parquet", ".csv", ".jsonl", ".feather"]


def in_parts(folder, ending, sizes=(3, 1, 5)):
    """Whole numbers in files of some sizes, the last written first, and files that are no part."""
    bounds = np.cumsum([0, *sizes])
    for number in reversed(range(len(sizes))):
        rows = {"x": np.arange(bounds[number], bounds[number + 1]), "word": ["é"] * sizes[number]}
        path = folder / f"part-{number}{ending}"
        if ending == ".feather":
            pa.feather.write_feather(pa.table(rows), path)
        else:
            write_table(path, rows)
    (folder / "_manifest.json").write_text("{}")
    (folder / ".hidden").write_text("")
    return folder


@pytest.mark.parametrize("ending", SPLIT)
@pytest.mark.parametrize("pattern", ["", "part-*", "part-[0-2].*"])
def test_a_folder_or_a_pattern_of_files_is_one_table(ending, pattern, tmp_path):
    source = in_parts(tmp_path, ending) / pattern
    whole = table_of(source)
    assert whole["x"].tolist() == list(range(9))
    assert whole["word"].tolist() == ["é"] * 9
    batches = list(read_batches(source, rows=4))
    assert [batch["x"].tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_files_of_other_types_become_those_of_the_first(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n0.5,a\n")
    (tmp_path / "b.csv").write_text("y,x\nb,2\n")
    assert table_of(tmp_path)["x"].tolist() == [0.5, 2.0]
    assert [batch["y"].tolist() for batch in read_batches(tmp_path)] == [["a", "b"]]


MIXED = {
    "another column": ("b.csv", "x,z\n1,2\n", "must have the same columns in every file, got others in "),
    "another type": ("b.csv", "x,y\nword,b\n", "must have the same columns in every file, got others in "),
    "another format": ("b.jsonl", '{"x": 1, "y": "a"}\n', "must be files of one format, got JSON lines beside others."),
    "no table": ("b.txt", "?", "must end in .parquet"),
}


@pytest.mark.parametrize("kind", MIXED)
def test_files_that_are_no_one_table_are_refused(kind, tmp_path):
    name, text, why = MIXED[kind]
    (tmp_path / "a.csv").write_text("x,y\n1,a\n")
    (tmp_path / name).write_text(text)
    refused(lambda: table_of(tmp_path), f"`queries` {why}")
    refused(lambda: list(read_batches(tmp_path, name="queries")), f"`queries` {why}")


@pytest.mark.parametrize(("pattern", "what"), [("", "a folder of files"), ("*.csv", "a pattern of files")])
def test_no_file_at_all(pattern, what, tmp_path):
    (tmp_path / "_manifest.json").write_text("{}")
    refused(lambda: table_of(tmp_path / pattern), f"`queries` must be {what}, got ")


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "columns", "arrays of text", "pandas"])
def test_an_empty_text_is_an_empty_cell_whatever_the_table(form, tmp_path):
    rng = np.random.default_rng(0)
    truth, said = rng.choice(["cat", "dog"], 60).tolist(), rng.choice(["cat", "dog"], 60).tolist()
    truth[::10], said[::3] = [""] * 6, [""] * 20
    table = {"x": rng.normal(size=60), "truth": truth, "answer_a": said, "answer_b": rng.choice(["cat", "dog"], 60)}
    source = table
    if form in ("csv", "parquet", "jsonl"):
        source = tmp_path / f"log.{form}"
        write_table(source, {name: np.array(values, dtype=object) for name, values in table.items()})
    elif form == "arrays of text":
        source = {name: np.array(values) for name, values in table.items()}
    elif form == "pandas":
        source = pandas().DataFrame(table)
    columns = Columns(truth="truth", answers="answer_*", features="x")
    log = read_log(source, columns)
    assert (int((log.answers.states[:, 0] == Cell.ANSWERED).sum()), log.audited.sum()) == (40, 54)
    assert np.unique(log.truth[log.audited]).tolist() == ["cat", "dog"]
    summary = describe(source, columns)
    assert [round(entity["asked"], 2) for entity in summary.entities] == [0.67, 1.0]
    assert any("6 of 60 rows without a truth" in problem.message for problem in summary.problems)


def test_a_class_of_few_rows_whose_mistakes_are_dear_is_named():
    rng = np.random.default_rng(0)
    truth = np.where(np.arange(800) < 60, "fraud", "fine")
    table = {"x": rng.normal(size=800), "truth": truth, "answer_a": rng.permutation(truth), "answer_b": truth[::-1]}

    def warned(worst, rows=slice(None)):
        columns = Columns(truth="truth", answers="answer_*", features="x", error={"fraud": {"fine": worst}})
        found = describe({name: values[rows] for name, values in table.items()}, columns).problems
        return [problem.message for problem in found if "expected costs are too low" in problem.message]

    (message,) = warned(20)
    assert message.startswith("60 rows of 'fraud', about which a mistake costs up to 20")
    assert not warned(2)
    assert not warned(20, np.r_[np.tile(np.arange(60), 2), np.arange(60, 800)])

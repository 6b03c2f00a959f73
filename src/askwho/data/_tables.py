"""Tables of every source: columns by name, each one array."""

import contextlib
import itertools
import json
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from askwho.data._cells import cells, from_arrow, from_list
from askwho.data._formats import Chosen, files_of, holds_json, json_rows, parquet_rows, pieces, read_file, reading
from askwho.data._stores import File
from askwho.exceptions import InvalidInputError

BATCH = 1 << 16
"""Rows in memory at a time."""

Table = dict[str, np.ndarray]
"""Columns by name, all of one length: of shape (n,), or (n, d) where cells are lists of d numbers."""


def table_of(source: Any, name: str = "queries", *, texts: Collection[str] = ()) -> Table:  # noqa: ANN401
    """Return the columns of queries, however they come.

    A dict of columns; a dict of single values, which is one query; a list of dicts, where a key that is missing is an
    empty cell; a data frame of pandas or polars, lazy too; a table, a record batch or a reader of record batches of
    Arrow, or whatever speaks its protocol; a file, a folder of files, or a pattern such as day-*.parquet, each of them
    also by a URI such as s3://bucket/day-*.parquet. Cells that
    are lists of numbers of one length are one array of shape (n, d): of one query they need a list of one dict, for a
    list in a dict is a column.

    Args:
        source: the queries.
        name: what a message calls them.
        texts: columns of a CSV file that are texts even where they look like numbers, such as ids.

    >>> table_of({"x": 0.5, "prompt": "Why?"})
    {'x': array([0.5]), 'prompt': array(['Why?'], dtype=object)}
    >>> table_of([{"x": 1.0, "embedding": [0.1, 0.2]}, {"x": 2.0, "embedding": [0.3, 0.4]}])["embedding"].shape
    (2, 2)
    """
    if isinstance(source, dict) and _is_plain(source):
        return dict(source)
    if isinstance(source, Mapping):
        return _of_mapping(source, name)
    if isinstance(source, str | Path):
        return _of_files(files_of(source, name), name, texts)
    if isinstance(source, list | tuple):
        return _of_rows(source, name)
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):
        source = source.collect()
    # pandas speaks Arrow too, but would add its index to the columns, and refuse columns of mixed types.
    if hasattr(source, "iloc") and hasattr(source, "columns"):
        names = _different([str(label) for label in source.columns], name)
        return _of_one_length({n: cells(source.iloc[:, j], n) for j, n in enumerate(names)}, name)
    if _speaks_arrow(source):
        with _receiving(source, name):
            return _of_arrow(pa.table(source), name)
    raise InvalidInputError(
        f"`{name}` must be a file, a data frame, a dict, or a list of dicts, got {type(source).__name__}: "
        "name the columns, such as {'x': ...}."
    )


def read_table(source: Any, *, texts: Collection[str] = ()) -> Table:  # noqa: ANN401 - as in table_of
    """Return the columns of a log, each of shape (rows,) or (rows, numbers): `table_of` under the log's name."""
    return table_of(source, "log", texts=texts)


def read_batches(
    source: Any,  # noqa: ANN401 - as in table_of
    *,
    rows: int | None = None,
    name: str = "log",
    texts: Collection[str] = (),
    only: Chosen | None = None,
    skip: int = 0,
) -> Iterator[Table]:
    """Yield the columns of a table a batch at a time, each of shape (rows,) or (rows, numbers).

    Files and readers of record batches are never in memory as a whole. All batches but the last have `rows` rows.

    Args:
        source: as in `table_of`, or a reader of record batches.
        rows: of a batch.
        name: what a message calls the table.
        texts: as in `table_of`.
        only: from the columns that are there to those that are needed: others are not read from Parquet, and not
            kept from other files.
        skip: so many batches are left out; of Parquet they are hardly read.
    """
    rows = BATCH if rows is None else rows
    if isinstance(source, str | Path):
        files = files_of(source, name)
        if _hold_json(files, name):
            # Whatever keys the rows before them had are columns of the batches that are left.
            yield from itertools.islice(_of_many_rows(_rows_of(files, name), rows, name), skip, None)
            return
        # The names of columns are those of the first file, and are decoded when they are looked at.
        with reading(files[0], name):
            parts = _parts_of(files, rows, name, texts, only, skip * rows)
            yield from (_of_arrow(part, name) for part in _even(parts, rows))
        return
    if isinstance(source, pa.RecordBatchReader):
        with _receiving(source, name):
            parts = (pa.Table.from_batches([batch]) for batch in source)
            yield from (_of_arrow(part, name) for part in itertools.islice(_even(parts, rows), skip, None))
        return
    table = table_of(source, name, texts=texts)
    for start in range(skip * rows, len(next(iter(table.values()))), rows):
        yield {column: values[start : start + rows] for column, values in table.items()}


def count_rows(source: str | Path, name: str = "queries") -> int:
    """Return how many rows a table of Parquet files has, without reading them; or say that it must be one."""
    files = files_of(source, name)
    counts: list[int] = []
    for file in files:
        with reading(file, name):
            found = parquet_rows(file, name)
        if found is None:
            raise InvalidInputError(
                f"`{name}` must be Parquet for several workers, which read parts of it, got {str(file)!r}."
            )
        counts.append(found)
    return sum(counts)


def lists(values: np.ndarray, name: str) -> list[list[Any]]:
    """Return a column of lists, read from Parquet or from JSON text in CSV."""
    try:
        found = [json.loads(v) if isinstance(v, str) else list(v) for v in values.tolist()]
    except (RecursionError, TypeError, ValueError):
        found = [None]
    if not all(isinstance(row, list) for row in found):
        raise InvalidInputError(f"`{name}` must be a column of lists, as `askwho route` writes it.")
    return found


def _of_files(files: Sequence[File], name: str, texts: Collection[str]) -> Table:
    if _hold_json(files, name):
        return _of_rows(list(_rows_of(files, name)), name)
    # The names of columns are those of the first file, and are decoded when they are looked at.
    with reading(files[0], name):
        return _of_arrow(pa.concat_tables(_like_the_first(_read(files, name, texts), name)), name)


def _hold_json(files: Sequence[File], name: str) -> bool:
    """Whether files hold rows of JSON: all of them, or none."""
    kinds = {holds_json(file) for file in files}
    if len(kinds) > 1:
        raise InvalidInputError(f"`{name}` must be files of one format, got JSON lines beside others.")
    return kinds.pop()


def _rows_of(files: Sequence[File], name: str) -> Iterator[dict[str, Any]]:
    for file in files:
        with reading(file, name):
            yield from json_rows(file, name)


def _read(files: Sequence[File], name: str, texts: Collection[str]) -> Iterator[tuple[File, pa.Table]]:
    for file in files:
        with reading(file, name):
            yield file, read_file(file, name, texts)


def _parts_of(
    files: Sequence[File], rows: int, name: str, texts: Collection[str], only: Chosen | None, start: int
) -> Iterator[pa.Table]:
    """The tables of files, piece by piece, as if they were one file, from a row on."""

    def each() -> Iterator[tuple[File, pa.Table]]:
        left = start
        for file in files:
            with reading(file, name):
                there = parquet_rows(file, name) if left else None
                jump = min(left, there or 0)
                left -= jump
                for piece in pieces(file, rows, name, texts, only=only, start=jump):
                    drop = min(left, piece.num_rows)
                    left -= drop
                    yield file, piece.slice(drop)

    return _like_the_first(each(), name)


def _like_the_first(parts: Iterator[tuple[File, pa.Table]], name: str) -> Iterator[pa.Table]:
    """Tables with the columns and types of the first, in its order; or which file has others."""
    schema: Any = None
    for file, part in parts:
        schema = part.schema if schema is None else schema
        if part.schema.equals(schema):
            yield part
            continue
        try:
            alike = part.select(schema.names).cast(schema)
        except (KeyError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            raise InvalidInputError(
                f"`{name}` must have the same columns in every file, got others in {str(file)!r}: {reason}"
            ) from None
        yield alike


def _is_plain(source: dict[Any, Any]) -> bool:
    """Whether columns are what they should be already: a decision about one query waits for this."""
    rows = -1
    for name, values in source.items():
        if type(values) is not np.ndarray or type(name) is not str:
            return False
        kind = values.dtype.kind
        if values.ndim != 1 and not (values.ndim == 2 and kind == "f" and values.shape[1]):
            return False
        if kind not in "fiubUmM":
            return False
        if rows != len(values):
            if rows >= 0:
                return False
            rows = len(values)
    return rows > 0


def _speaks_arrow(source: Any) -> bool:  # noqa: ANN401
    """Whether a source hands out a table by Arrow's protocol; a single column does so too, without a name."""
    named = not (isinstance(source, pa.Array | pa.ChunkedArray) or hasattr(source, "dtype"))
    return named and (hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"))


@contextlib.contextmanager
def _receiving(source: Any, name: str) -> Generator[None]:  # noqa: ANN401
    """One clear line for a source that breaks off."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(f"`{name}` must be a table, got {type(source).__name__}: {reason}") from None


def _of_mapping(source: Mapping[Any, Any], name: str) -> Table:
    names = _different([str(key) for key in source], name)
    single = [_is_single(value) for value in source.values()]
    if all(single):
        return _of_one_length({n: from_list([v], n) for n, v in zip(names, source.values(), strict=True)}, name)
    if any(single):
        column, value = names[single.index(False)], names[single.index(True)]
        raise InvalidInputError(
            f"`{name}` must hold columns, or single values of one query, got a column in {column!r} and a single value "
            f"in {value!r}: put one query with lists in it into a list."
        )
    return _of_one_length({n: cells(v, n) for n, v in zip(names, source.values(), strict=True)}, name)


def _is_single(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, str | bytes) or not hasattr(value, "__iter__")


def _of_rows(rows: Sequence[Any], name: str, known: Sequence[Any] = ()) -> Table:
    """The table of rows; `known` are keys that it has in any case, for a batch may lack what the others have."""
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidInputError(f"`{name}` must hold a dict for each query, got {type(row).__name__} at {place}.")
    if not rows:
        raise InvalidInputError(f"`{name}` must not be empty: there is no row in it.")
    keys = dict.fromkeys([*known, *itertools.chain.from_iterable(rows)])
    names = _different([str(key) for key in keys], name)
    return _of_one_length(
        {n: from_list([row.get(key) for row in rows], n) for n, key in zip(names, keys, strict=True)}, name
    )


def _of_many_rows(rows: Iterator[dict[str, Any]], size: int, name: str) -> Iterator[Table]:
    known: list[str] = []
    while batch := list(itertools.islice(rows, size)):
        table = _of_rows(batch, name, known)
        known = list(table)
        yield table


def _of_arrow(table: pa.Table, name: str) -> Table:
    names = _different(table.column_names, name)
    return _of_one_length({n: from_arrow(table.column(j)) for j, n in enumerate(names)}, name)


def _even(parts: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of one size."""
    left: list[pa.Table] = []
    for part in parts:
        left.append(part)
        if sum(piece.num_rows for piece in left) >= rows:
            whole = pa.concat_tables(left)
            full = whole.num_rows - whole.num_rows % rows
            for start in range(0, full, rows):
                yield whole.slice(start, rows)
            left = [whole.slice(full)]
    if sum(piece.num_rows for piece in left):
        yield pa.concat_tables(left)


def _different(names: list[str], name: str) -> list[str]:
    repeated = {column for column in names if names.count(column) > 1} if len(set(names)) < len(names) else set()
    if repeated:
        raise InvalidInputError(
            f"`{name}` must have columns of different names, got {sorted(repeated)} more than once."
        )
    return names


def _of_one_length(table: Table, name: str) -> Table:
    if len({len(values) for values in table.values()}) > 1:
        raise InvalidInputError(f"`{name}` must have columns of one length, got {[len(v) for v in table.values()]}.")
    if not table:
        raise InvalidInputError(f"`{name}` must not be empty: there is no column in it.")
    if not len(next(iter(table.values()))):
        raise InvalidInputError(f"`{name}` must not be empty: there is no row in it.")
    return table

"""Tables from files and data frames: columns by name, each one array."""

import contextlib
import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from askwho.answers import column
from askwho.exceptions import InvalidInputError

BATCH = 1 << 16
"""Rows in memory at a time."""
_CSV_BLOCK = 1 << 26
# Batches that are held back until every column has shown a value, and so a type.
_UNTYPED = 8

Table = dict[str, np.ndarray]
"""Columns by name, all of one length."""


def read_table(source: Any) -> Table:  # noqa: ANN401 - a path, a mapping, or a data frame of any library
    """Return the columns of a Parquet or CSV file, a data frame or a mapping, each of shape (rows,)."""
    if isinstance(source, str | Path):
        path = Path(source)
        with _reading(path):
            return _from_arrow(_read_file(path))
    if isinstance(source, pa.Table):
        return _from_arrow(source)
    if isinstance(source, Mapping):
        names = list(source)
    elif hasattr(source, "columns"):
        names = list(source.columns)
    else:
        raise InvalidInputError(
            f"`log` must be a file, a data frame or a mapping of columns, got {type(source).__name__}."
        )
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InvalidInputError(f"`log` must have columns of different names, got {sorted(repeated)} more than once.")
    return _of_one_length({str(name): column(source[name], str(name)) for name in names})


def read_batches(path: Path, *, rows: int | None = None) -> Iterator[Table]:
    """Yield the columns of a file a batch at a time, each of shape (rows,), so that any file fits into memory.

    All batches but the last have `rows` rows.
    """
    rows = BATCH if rows is None else rows
    with _reading(path):
        left: list[pa.Table] = []
        for part in _parts(path, rows):
            left.append(part)
            if sum(piece.num_rows for piece in left) >= rows:
                whole = pa.concat_tables(left)
                full = whole.num_rows - whole.num_rows % rows
                for start in range(0, full, rows):
                    yield _from_arrow(whole.slice(start, rows))
                left = [whole.slice(full)]
        if sum(piece.num_rows for piece in left):
            yield _from_arrow(pa.concat_tables(left))


def _parts(path: Path, rows: int) -> Iterator[pa.Table]:
    """A file in pieces of any size. The types of a CSV file are those of its first block, which is therefore large."""
    if _is_csv(path):
        options = _csv_options(path)
        with pa_csv.open_csv(path, read_options=pa_csv.ReadOptions(block_size=_CSV_BLOCK), **options) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])
    else:
        with pa_parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(rows):
                yield pa.Table.from_batches([batch])


def _read_file(path: Path) -> pa.Table:
    with _reading(path):
        return pa_csv.read_csv(path, **_csv_options(path)) if _is_csv(path) else pa_parquet.read_table(path)


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() in (".csv", ".tsv")


def _csv_options(path: Path) -> dict[str, Any]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    return {
        "parse_options": pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        # An empty cell is a null, also in a column of text; only a quoted "" is the empty text.
        "convert_options": pa_csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False),
    }


@contextlib.contextmanager
def _reading(path: Path) -> Generator[None]:
    """One clear line for a file that is not there or is no table."""
    if not path.is_file():
        raise InvalidInputError(f"`log` must be a file, got {str(path)!r}: it is not there.")
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(f"`log` must be a Parquet or CSV file, got {str(path)!r}: {reason}") from None


def _from_arrow(table: pa.Table) -> Table:
    names = table.column_names
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InvalidInputError(f"`log` must have columns of different names, got {sorted(repeated)} more than once.")
    return _of_one_length({name: _array(table[name]) for name in names})


def _array(values: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return np.array(values.to_pylist(), dtype=object)
    if values.null_count and (pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)):
        # NumPy would make floats of them, and 3 would no longer be the answer 3.
        return np.array(values.to_pylist(), dtype=object)
    return values.to_numpy()


def _of_one_length(table: Table) -> Table:
    if len({len(values) for values in table.values()}) > 1:
        raise InvalidInputError(f"`log` must have columns of one length, got {[len(v) for v in table.values()]}.")
    if not table or not len(next(iter(table.values()))):
        raise InvalidInputError("`log` must not be empty: there is no row in it.")
    return table


def write_table(path: str | Path, table: Mapping[str, Any]) -> None:
    """Write columns to a Parquet or CSV file, by its ending, whole or not at all; lists become JSON text in CSV."""
    write_batches(path, [table])


def write_batches(path: str | Path, tables: Iterable[Mapping[str, Any]]) -> None:
    """Write columns batch by batch, so that a table larger than memory can be written; whole or not at all."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise InvalidInputError(f"`out` must end in .parquet or .csv, got {str(path)!r}.")
    if not path.resolve().parent.is_dir():
        raise InvalidInputError(f"`out` must lie in a folder that is there, got {str(path)!r}.")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    writer: Any = None
    try:
        for rows in _typed(_arrow(table, as_text=suffix == ".csv") for table in tables):
            if writer is None:
                writer = (pa_csv.CSVWriter if suffix == ".csv" else pa_parquet.ParquetWriter)(partial, rows.schema)
            writer.write_table(rows)
        if writer is not None:
            writer.close()
            partial.replace(path)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(f"`out` must be writable, got {str(path)!r}: {str(error).splitlines()[0]}") from None
    finally:
        if writer is not None:
            writer.close()
        partial.unlink(missing_ok=True)


def _arrow(table: Mapping[str, Any], *, as_text: bool) -> pa.Table:
    columns = {name: list(values) for name, values in table.items()}
    if as_text:
        columns = {n: [json.dumps(v) if isinstance(v, list) else v for v in vs] for n, vs in columns.items()}
    return pa.table(columns)


def _typed(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Tables of one schema: the first wait until each column has shown a value, for an empty one has no type."""
    held: list[pa.Table] = []
    schema: Any = None
    for table in tables:
        if schema is not None:
            yield table.cast(schema)
            continue
        held.append(table)
        known = pa.unify_schemas([piece.schema for piece in held])
        if len(held) == _UNTYPED or not any(_has_null(kind) for kind in known.types):
            schema = known
            yield from (piece.cast(schema) for piece in held)
            held = []
    if held:
        schema = pa.unify_schemas([piece.schema for piece in held])
        yield from (piece.cast(schema) for piece in held)


def _has_null(kind: pa.DataType) -> bool:
    """Whether a column, or what its lists hold, has shown no value."""
    return pa.types.is_null(kind) or (pa.types.is_list(kind) and _has_null(kind.value_type))


def lists(values: np.ndarray, name: str) -> list[list[Any]]:
    """Return a column of lists, read from Parquet or from JSON text in CSV."""
    try:
        found = [json.loads(v) if isinstance(v, str) else list(v) for v in values.tolist()]
    except (RecursionError, TypeError, ValueError):
        found = [None]
    if not all(isinstance(row, list) for row in found):
        raise InvalidInputError(f"`{name}` must be a column of lists, as `askwho route` writes it.")
    return found

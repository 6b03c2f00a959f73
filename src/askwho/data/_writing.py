"""Tables into files, batch by batch, whole or not at all."""

import base64
import contextlib
import datetime as dt
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from askwho.data._outputs import output_at
from askwho.data._stores import StoredFile
from askwho.exceptions import InvalidInputError

# Batches that are held back until every column has shown a value, and so a type.
_UNTYPED = 8
# Rows that tell whether the values of a column repeat.
_LOOKED_AT = 1024


def write_table(path: str | Path, table: Mapping[str, Any]) -> None:
    """Write columns to a file, Parquet, CSV or JSON by lines by its ending; whole or not at all.

    Lists become JSON text in CSV.
    """
    write_batches(path, [table])


def write_batches(
    path: str | Path | StoredFile,
    tables: Iterable[Mapping[str, Any]],
    *,
    types: Mapping[str, type] | None = None,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Write columns batch by batch, so that a table larger than memory can be written; whole or not at all.

    Args:
        path: its ending tells the format; a URI such as s3://bucket/routes.parquet, too.
        tables: columns by name.
        types: of columns that may be empty for many batches: `str`, `float`, or `list` of texts.
        facts: what a Parquet file says of itself beside its rows; other formats have no room for it.
    """
    output = output_at(path)
    suffix = output.ending
    if suffix not in _WRITERS:
        raise InvalidInputError(f"`out` must end in .parquet, .csv or .jsonl, got {str(path)!r}.")
    output.check()
    sink, writer = None, None
    try:
        for rows in _typed(_arrow(table, types or {}, as_text=suffix == ".csv") for table in tables):
            if sink is None or writer is None:
                sink = output.sink()
                writer = _WRITERS[suffix](sink, rows, dict(facts or {}))
            writer.write_table(rows)
        if sink is not None and writer is not None:
            writer.close()
            sink.close()
            output.keep()
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(f"`out` must be writable, got {str(path)!r}: {str(error).splitlines()[0]}") from None
    finally:
        for open_ in (writer, sink):
            if open_ is not None:
                # What could not be written before cannot be written now; that was said.
                with contextlib.suppress(pa.ArrowException, OSError, ValueError):
                    open_.close()
        output.leave()


class _JsonWriter:
    """Rows as lines of JSON, with the face of Arrow's own writers."""

    def __init__(self, sink: Any, _rows: pa.Table, _facts: dict[str, str]) -> None:  # noqa: ANN401 - whatever takes bytes
        self._sink = sink

    def write_table(self, rows: pa.Table) -> None:
        try:
            lines = [
                json.dumps(_known(row), ensure_ascii=False, allow_nan=False, default=_dated) for row in rows.to_pylist()
            ]
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"`out` must be able to hold every cell, got .jsonl: {error}.") from None
        self._sink.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Whoever opened what was written to closes it."""


def _parquet(sink: Any, rows: pa.Table, facts: dict[str, str]) -> pa_parquet.ParquetWriter:  # noqa: ANN401
    # Its stubs know of no list of columns.
    repeating: Any = _repeating(rows)
    # Nobody skips rows by the least and the largest of what stands in lists, and to find them takes a sixth of writing.
    bounded: Any = [field.name for field in rows.schema if not pa.types.is_nested(field.type)]
    writer = pa_parquet.ParquetWriter(
        sink, rows.schema, use_dictionary=repeating, write_statistics=bounded, store_schema=False
    )
    # What Arrow itself would say of the types, but that lists of codes are read as what they mean.
    meant = pa.schema([field.with_type(_meant(field.type)) for field in rows.schema], metadata=dict(facts) or None)
    writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(meant.serialize()).decode(), **facts})
    return writer


def _csv(sink: Any, rows: pa.Table, _facts: dict[str, str]) -> pa_csv.CSVWriter:  # noqa: ANN401
    return pa_csv.CSVWriter(sink, rows.schema)


def decoded(values: Any) -> Any:  # noqa: ANN401 - an array of Arrow
    """Return a column of Arrow without codes in its lists: what they mean instead."""
    return values.cast(_meant(values.type))


def _meant(kind: pa.DataType) -> pa.DataType:
    """The type of what a column means: of lists of codes, lists of what they stand for."""
    coded = pa.types.is_list(kind) and pa.types.is_dictionary(kind.value_type)
    return pa.list_(kind.value_type.value_type) if coded else kind


def _repeating(rows: pa.Table) -> list[str]:
    """The columns whose first values repeat, by their paths in Parquet: of others a dictionary takes time and room."""
    found: list[str] = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        values, path = column.slice(0, _LOOKED_AT), name
        if pa.types.is_list(values.type):
            values, path = pc.call_function("list_flatten", [values]), f"{name}.list.element"
        if (
            pa.types.is_dictionary(values.type)
            or pa.types.is_nested(values.type)
            or len(values.unique()) <= len(values) / 2
        ):
            found.append(path)
    return found


# How a table of each ending is written.
_WRITERS: dict[str, Any] = {".parquet": _parquet, ".csv": _csv, ".jsonl": _JsonWriter}


def _known(value: Any) -> Any:  # noqa: ANN401 - what Arrow makes of a row
    """A value without NaN, of which JSON knows nothing."""
    if isinstance(value, dict):
        return {name: _known(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_known(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _dated(value: object) -> str:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    raise TypeError(f"JSON knows no {type(value).__name__}")


def _arrow(table: Mapping[str, Any], types: Mapping[str, type], *, as_text: bool) -> pa.Table:
    said: dict[type, pa.DataType] = {str: pa.string(), float: pa.float64(), list: pa.list_(pa.string())}
    columns: dict[str, Any] = {name: _cells(values) for name, values in table.items()}
    if as_text:
        said[list] = pa.string()
        columns = {name: _texts(values) for name, values in columns.items()}
    return pa.table({n: _as(v, said[types[n]]) if n in types else v for n, v in columns.items()})


def _cells(values: Any) -> Any:  # noqa: ANN401 - any column
    """A column that Arrow takes: its own arrays as they are, all others entry by entry."""
    return values if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)


def _as(values: Any, kind: pa.DataType) -> Any:  # noqa: ANN401
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        return pa.array(values, kind)
    return values if _meant(values.type) == kind else values.cast(kind)


def _texts(values: Any) -> Any:  # noqa: ANN401
    """A column without lists: as text, where there are any."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        if not pa.types.is_list(values.type):
            return values
        values = values.to_pylist()
    return [_as_text(value) for value in values]


def _as_text(value: Any) -> Any:  # noqa: ANN401 - any cell
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return json.dumps(value) if isinstance(value, list) else value


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
